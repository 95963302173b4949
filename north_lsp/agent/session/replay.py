"""A stored conversation as the events that were shown live."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from north_lsp.agent.edits.outcome import accepted_part
from north_lsp.agent.log.transcript import FILE_BLOCK, Entry, blocks_of, text_of
from north_lsp.agent.ports.editor import EditDecision
from north_lsp.agent.ports.events import (
    AnswerDelta,
    CallEnded,
    CallNamed,
    CallProposes,
    CallReady,
    Event,
    ModeChanged,
    ThoughtDelta,
    UserSaid,
)
from north_lsp.agent.session.slash_host import slash_events
from north_lsp.agent.shell.user_commands import own_command_events
from north_lsp.agent.turn.block_parser import BlockEnd, BlockParser, BlockStart, BlockText, Piece, Prose
from north_lsp.agent.turn.file_blocks import block_id, block_title
from north_lsp.agent.turn.store import CANCELLED_MARK, error_text
from north_lsp.display import one_line
from north_lsp.providers.base import Text, Thinking, ToolCall
from north_lsp.tools.base import Location
from north_lsp.workspace.edit.diff import make_change, make_deletion, make_folder_change, make_rename
from north_lsp.workspace.proposal import EditProposal, FileChange, TextForm

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry


def events_of(path: Iterable[Entry], tools: "Registry") -> Iterator[Event]:
    """The events of an active path, in order."""
    path = list(path)
    proposals: dict[str, tuple[FileChange, ...]] = {}  # what was accepted of them
    open_calls: dict[str, str] = {}
    blocks = _Blocks(_refused(path))
    for entry in path:
        match entry.get("type"):
            case "message":
                message = entry["message"]
                match message.get("role"):
                    case "user" if message.get("attribution") == "north":
                        pass
                    case "user":
                        yield from _unfinished(open_calls)
                        yield UserSaid(entry["id"], shown_text(message))
                    case "assistant":
                        yield from _answer(entry["id"], message, tools, open_calls, blocks)
                    case "bashExecution":
                        yield from own_command_events(entry["id"], message)
                    case "toolResult" if (message.get("details") or {}).get("refused"):
                        pass
                    case "toolResult":
                        open_calls.pop(str(message.get("toolCallId")), None)
                        yield _ended(message, proposals)
            case "review" if entry.get("kind") == "write":
                call_id = str(entry.get("toolCallId"))
                request = entry.get("request") or {}
                files = _changes(request.get("files") if isinstance(request, dict) else None)
                if files:
                    proposals[call_id] = _accepted(files, entry.get("decision"))
                    yield CallProposes(call_id, str(request.get("title", "")), files)
            case "command_executed":
                yield from slash_events(entry)
            case "mode_change":
                yield ModeChanged("ask" if entry.get("mode") == "ask" else "agent")
            case _:
                pass
    yield from _unfinished(open_calls)


def _unfinished(open_calls: dict[str, str]) -> Iterator[Event]:
    """Calls without a result: the process was killed while they ran."""
    for call_id, title in open_calls.items():
        yield CallEnded(call_id, title, False, "Interrupted before a result was produced.")
    open_calls.clear()


def shown_text(message: Mapping[str, Any]) -> str:
    """A user's message as people see it: the words, and the names of what was attached."""
    names = [str(part["path"]) for part in message.get("content") or () if part.get("type") == "file_mention"]
    return "\n\n".join([text_of(message), *(f"[{name}]" for name in names)]).strip()


class _Blocks:
    """The files in the texts of answers; one that broke off is continued in the next answer."""

    def __init__(self, refused: frozenset[str]) -> None:
        self._refused = refused
        self._open_path: str | None = None
        self._path = ""
        self._is_refused = False
        self._entry_id, self._count = "", 0
        self._parser = BlockParser()

    def begin(self, entry_id: str) -> None:
        self._entry_id, self._count, self._parser = entry_id, 0, BlockParser()

    def events(self, pieces: Iterable[Piece], open_calls: dict[str, str]) -> Iterator[Event]:
        for piece in pieces:
            match piece:
                case Prose(text):
                    yield AnswerDelta(self._entry_id, text)
                case BlockStart(path, mode, tag):
                    self._is_refused = False
                    if mode == "append" and self._open_path is not None and path in ("", self._open_path):
                        continue
                    self._count += 1
                    id, self._path = block_id(self._entry_id, self._count), path
                    self._is_refused = id in self._refused
                    if self._is_refused:
                        yield AnswerDelta(self._entry_id, f"{tag}\n")
                        continue
                    title = open_calls[id] = block_title(path)
                    yield CallNamed(id, FILE_BLOCK, "edit", title)
                    yield CallReady(id, title, {"path": path})
                case BlockText(text):
                    if self._is_refused:
                        yield AnswerDelta(self._entry_id, text)
                case BlockEnd(complete):
                    if self._is_refused and complete:
                        yield AnswerDelta(self._entry_id, "</NORTH_FILE>\n")
                    self._open_path = None if complete or self._is_refused else self._path

    def feed(self, text: str, open_calls: dict[str, str]) -> Iterator[Event]:
        return self.events(self._parser.feed(text), open_calls)

    def finish(self, open_calls: dict[str, str]) -> Iterator[Event]:
        return self.events(self._parser.finish(), open_calls)


def _refused(path: Iterable[Entry]) -> frozenset[str]:
    """The ids of the files that were not taken as such: their text was shown instead."""
    messages = (entry["message"] for entry in path if entry.get("type") == "message")
    results = [message for message in messages if message.get("role") == "toolResult"]
    refused = [result for result in results if (result.get("details") or {}).get("refused")]
    return frozenset(str(result.get("toolCallId")) for result in refused)


def _answer(
    entry_id: str, message: Mapping[str, Any], tools: "Registry", open_calls: dict[str, str], files: _Blocks
) -> Iterator[Event]:
    text = ""
    files.begin(entry_id)
    mark = CANCELLED_MARK if message.get("stopReason") == "aborted" else ""
    for block in blocks_of(message):
        match block:
            case Text(part):
                part = part.removesuffix(mark)
                text += part
                yield from files.feed(part, open_calls)
            case Thinking(thinking):
                if thinking:
                    yield ThoughtDelta(entry_id, thinking)
            case ToolCall(id, name, arguments):
                tool = tools.find(name)
                title = one_line(tool.title(dict(arguments)) if tool is not None else name)
                open_calls[id] = title
                yield CallNamed(id, one_line(name), tool.kind if tool is not None else "other", title)
                yield CallReady(id, title, arguments)
    yield from files.finish(open_calls)
    if message.get("errorMessage"):
        yield AnswerDelta(entry_id, error_text(str(message["errorMessage"]), bool(text)))


def _accepted(files: tuple[FileChange, ...], decision: object) -> tuple[FileChange, ...]:
    """What a decision, as it stands in the log, leaves of the proposed files."""
    if not isinstance(decision, Mapping):
        return files
    hunks, texts = decision.get("hunks"), decision.get("texts")
    chosen = EditDecision(
        "accept",
        hunks={Path(path): frozenset(ids) for path, ids in hunks.items()} if isinstance(hunks, Mapping) else None,
        texts={Path(path): str(text) for path, text in texts.items()} if isinstance(texts, Mapping) else {},
    )
    return accepted_part(EditProposal("", "", files, ""), chosen).files


def _ended(message: Mapping[str, Any], proposals: Mapping[str, tuple[FileChange, ...]]) -> CallEnded:
    call_id = str(message.get("toolCallId"))
    details = message.get("details") or {}
    places = tuple(_places(details.get("locations")))
    files = proposals.get(call_id, ()) if details.get("changed") else ()
    title = str(details.get("title") or message.get("toolName"))
    ok = bool(details.get("ok", not message.get("isError")))
    missing = (details.get("meta") or {}).get("truncation")
    return CallEnded(call_id, title, ok, str(details.get("text", "")), files, places, missing)


def _places(stored: object) -> Iterator[Location]:
    for place in stored if isinstance(stored, list) else ():
        match place:
            case [str(path), None | int() as line]:
                yield Location(Path(path), line)


def _changes(stored: object) -> tuple[FileChange, ...]:
    """Those that can be read: others wrote logs, too."""
    found: list[FileChange] = []
    for row in stored if isinstance(stored, list) else ():
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            found.append(_change(row))
    return tuple(found)


def _change(stored: Mapping[str, Any]) -> FileChange:
    """The hunks are not stored: they follow from the texts."""
    path, relative, old, new = Path(stored["path"]), stored["relative"], stored["oldText"], stored["newText"]
    binary = bool(stored.get("binary"))
    if stored.get("folder") is True:
        change = make_folder_change(path, relative, stored["action"])
        to_path = stored.get("newPath")
        return replace(change, new_path=Path(to_path), new_relative=stored["newRelative"]) if to_path else change
    match stored.get("action"):
        case "delete":
            return make_deletion(path, relative, old or "", TextForm(), binary=binary)
        case "rename":
            to = (Path(stored["newPath"]), stored["newRelative"])
            return make_rename(path, relative, *to, old or "", new, TextForm(), binary=binary)
        case _:
            if binary:
                return FileChange(path, relative, stored["action"], "", "", TextForm(), (), 0, 0, binary=True)
            return make_change(path, relative, old, new, TextForm())
