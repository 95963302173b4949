"""A stored conversation as the events that were shown live."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from north_lsp.agent.events import (
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
from north_lsp.agent.transcript import Entry, blocks_of, text_of
from north_lsp.agent.turn import error_text
from north_lsp.display import one_line
from north_lsp.providers.base import Text, Thinking, ToolCall
from north_lsp.tools.base import Location
from north_lsp.workspace.diff import make_change, make_deletion, make_rename
from north_lsp.workspace.proposal import FileChange, TextForm

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry


def events_of(path: Iterable[Entry], tools: "Registry") -> Iterator[Event]:
    """The events of an active path, in order."""
    proposals: dict[str, tuple[str, tuple[FileChange, ...]]] = {}
    open_calls: dict[str, str] = {}
    for entry in path:
        match entry.get("type"):
            case "message":
                message = entry["message"]
                match message.get("role"):
                    case "user":
                        yield from _unfinished(open_calls)
                        yield UserSaid(entry["id"], _shown_text(message))
                    case "assistant":
                        yield from _answer(entry["id"], message, tools, open_calls)
                    case "toolResult":
                        open_calls.pop(str(message.get("toolCallId")), None)
                        yield _ended(message, proposals)
            case "review" if entry.get("kind") == "write":
                call_id = str(entry.get("toolCallId"))
                request = entry.get("request") or {}
                files = tuple(_change(stored) for stored in request.get("files", ()))
                proposals[call_id] = (str(request.get("title", "")), files)
                yield CallProposes(call_id, proposals[call_id][0], files)
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


def _shown_text(message: Mapping[str, Any]) -> str:
    names = [str(part["path"]) for part in message.get("content") or () if part.get("type") == "file_mention"]
    return "\n\n".join([text_of(message), *(f"[{name}]" for name in names)]).strip()


def _answer(
    entry_id: str, message: Mapping[str, Any], tools: "Registry", open_calls: dict[str, str]
) -> Iterator[Event]:
    text = ""
    for block in blocks_of(message):
        match block:
            case Text(part):
                text += part
                if part:
                    yield AnswerDelta(entry_id, part)
            case Thinking(thinking):
                if thinking:
                    yield ThoughtDelta(entry_id, thinking)
            case ToolCall(id, name, arguments):
                tool = tools.find(name)
                title = one_line(tool.title(dict(arguments)) if tool is not None else name)
                open_calls[id] = title
                yield CallNamed(id, one_line(name), tool.kind if tool is not None else "other", title)
                yield CallReady(id, title, arguments)
    if message.get("errorMessage"):
        yield AnswerDelta(entry_id, error_text(str(message["errorMessage"]), bool(text)))


def _ended(message: Mapping[str, Any], proposals: Mapping[str, tuple[str, tuple[FileChange, ...]]]) -> CallEnded:
    call_id = str(message.get("toolCallId"))
    details = message.get("details") or {}
    places = tuple(Location(Path(path), line) for path, line in details.get("locations", ()))
    files = proposals.get(call_id, ("", ()))[1] if details.get("changed") else ()
    title = str(details.get("title") or message.get("toolName"))
    ok = bool(details.get("ok", not message.get("isError")))
    return CallEnded(call_id, title, ok, str(details.get("text", "")), files, places)


def _change(stored: Mapping[str, Any]) -> FileChange:
    """The hunks are not stored: they follow from the texts."""
    path, relative, old, new = Path(stored["path"]), stored["relative"], stored["oldText"], stored["newText"]
    binary = bool(stored.get("binary"))
    match stored.get("action"):
        case "delete":
            return make_deletion(path, relative, old or "", TextForm(), binary=binary)
        case "rename":
            to = (Path(stored["newPath"]), stored["newRelative"])
            return make_rename(path, relative, *to, old or "", new, TextForm(), binary=binary)
        case _:
            return make_change(path, relative, old, new, TextForm())
