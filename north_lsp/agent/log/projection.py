"""Projects entries to the events that people are shown: the only way from the log to the screen, live and on replay.

Live, an answer's text is shown as it arrives, and a call's progress while it runs; everything that is shown because an
entry was written comes from here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from north_lsp.agent.log.accepted import accepted_part
from north_lsp.agent.log.agent_calls import is_of_agent
from north_lsp.agent.log.block_parser import BlockEnd, BlockParser, BlockStart, BlockText, Piece, Prose
from north_lsp.agent.log.branch_summaries import BranchSummaryEntry
from north_lsp.agent.log.choices import ModeEntry, SlashEntry, TodoEditEntry
from north_lsp.agent.log.compactions import CompactionEntry
from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.marks import RetryEntry, StopEntry
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry, shown_prompt
from north_lsp.agent.log.results import AgentCallEntry, OwnCommandEntry, ResultDetails, ResultEntry
from north_lsp.agent.log.reviews import EditRequest, ReviewEntry, StoredDecision
from north_lsp.agent.log.task_rows import tasks_shown
from north_lsp.agent.log.todos import todo_shown
from north_lsp.agent.log.transcript import FILE_BLOCK
from north_lsp.agent.ports.editor import EditDecision
from north_lsp.agent.ports.events import (
    AnswerDelta,
    CallEnded,
    CallNamed,
    CallProposes,
    CallReady,
    CallRunning,
    CompactionChanged,
    Event,
    ModeChanged,
    RetryWaiting,
    ThoughtDelta,
    TurnStopped,
    UserSaid,
)
from north_lsp.display import one_line, visible
from north_lsp.providers.base import Text, Thinking, ToolCall
from north_lsp.storage.partial_file import NOT_COMPLETE
from north_lsp.workspace.edit.diff import with_texts
from north_lsp.workspace.proposal import EditProposal, FileChange

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry

CANCELLED_MARK = " [Cancelled]"
"""For the model; people are told by the editor."""
_INTERRUPTED = "Interrupted before a result was produced."
_APPLIED = ("accepted", "always", "applied_auto")
_SHOWN_LINES = 20
_SHOWN_WIDTH = 4000

# -- single entries ----------------------------------------------------------------------------------------------------


def prompt_shown(logged: Logged) -> Iterator[Event]:
    """Show a prompt that the client does not show by itself."""
    if isinstance(logged.entry, PromptEntry) and not logged.entry.by_north:
        yield UserSaid(logged.id, shown_prompt(logged.entry), logged.entry.images)


def failure_shown(logged: Logged) -> Iterator[Event]:
    """Show why an answer is incomplete, after what there is of it."""
    entry = logged.entry
    if isinstance(entry, AnswerEntry) and entry.error:
        gap = "\n\n" if any(isinstance(block, Text) and block.text for block in entry.blocks) else ""
        text = f"{gap}**The request failed:** {entry.error}"
        yield AnswerDelta(logged.id, text, failure=entry.error)


def proposal_shown(logged: Logged, files: Sequence[FileChange]) -> Iterator[Event]:
    """Show an edit that is being reviewed; `files` are those of its request."""
    match logged.entry:
        case ReviewEntry(call_id=call_id, request=EditRequest(title)) if files:
            yield CallProposes(call_id, title, tuple(files))
        case _:
            pass


def result_shown(result: ResultEntry, files: Sequence[FileChange]) -> Iterator[Event]:
    """Show a call's result; `files` are those that were accepted of its proposal."""
    if not result.details.refused:
        yield _ended(result.call_id, result.details, files)
        yield from tasks_shown(result)
    yield from todo_shown(result)


def _ended(call_id: str, details: ResultDetails, files: Sequence[FileChange]) -> Event:
    shown = tuple(files) if details.changed else ()
    rest = (details.locations, details.truncation, details.of_tool)
    return CallEnded(call_id, details.title, details.ok, details.text, shown, *rest)


def slash_shown(logged: Logged) -> Iterator[Event]:
    """Show the output of a slash command."""
    if isinstance(logged.entry, SlashEntry):
        yield AnswerDelta(logged.id, f"{logged.entry.output}\n\n")


def compaction_shown(logged: Logged) -> Iterator[Event]:
    """Show a summary where it took the place of what came before."""
    if isinstance(one := logged.entry, CompactionEntry):
        lists = (one.files.read, one.files.modified)
        tokens = (one.tokens_before, one.tokens_after)
        yield CompactionChanged(logged.id, "done", one.reason, one.summary, one.short, *tokens, *lists)


def branch_summary_shown(logged: Logged) -> Iterator[Event]:
    """Show the summary of a branch that was left."""
    if isinstance(logged.entry, BranchSummaryEntry):
        yield AnswerDelta(logged.id, logged.entry.for_people)


def mode_shown(entry: ModeEntry) -> Iterator[Event]:
    yield ModeChanged(entry.mode)


def stop_shown(logged: Logged) -> Iterator[Event]:
    """Show that the user stopped the turn."""
    if isinstance(logged.entry, StopEntry):
        yield TurnStopped(logged.id)


def retry_shown(entry: RetryEntry, *, is_first: bool) -> Event:
    """Show a wait for a model that is over; `is_first`: it was not shown while it lasted."""
    return RetryWaiting(entry.retry_id, entry.attempt, entry.of, 0, entry.reason, entry.outcome, is_first, entry.kind)


def own_command_began(entry_id: str, command: str) -> Iterator[Event]:
    """Show that a command of the user's own began; it is stored when it has ended."""
    title = one_line(f"Running {command}")
    yield CallNamed(entry_id, "shell_run", "execute", title)
    yield CallReady(entry_id, title, {"command": command})
    yield CallRunning(entry_id)


def own_command_ended(entry_id: str, entry: OwnCommandEntry) -> Event:
    """Show how a command of the user's own ended: the last lines of its output, and where the whole is."""
    lines = [line[:_SHOWN_WIDTH] for line in entry.output.split("\n")[-_SHOWN_LINES:]]
    lines += [entry.left_out] if entry.left_out else []
    if entry.cancelled:
        lines.append("cancelled")
    elif entry.exit_code:
        lines.append(f"exit code {entry.exit_code}")
    text = visible("\n".join(lines).strip() or "(no output)")
    missing = {"artifactId": str(entry.artifact)} if entry.artifact is not None else None
    title = one_line(f"Running {entry.command}")
    return CallEnded(entry_id, title, entry.exit_code == 0, text, truncation=missing)


def call_named(call: ToolCall, tools: Registry, title: str) -> Event:
    """Make the event that the model has named a tool."""
    tool = tools.find(call.name)
    return CallNamed(call.id, one_line(call.name), tool.kind if tool is not None else "other", title)


def block_title(path: str) -> str:
    """Return the title of a file in an answer's text."""
    return one_line(f"Writing {Path(path).name or path}")


def block_id(entry_id: str, number: int) -> str:
    """Return the call id under which a file of an answer is shown and stored; `number` counts from 1."""
    return f"file-{entry_id}-{number}"


def block_began(id: str, path: str) -> Iterator[Event]:
    """Show that a file in an answer's text began."""
    title = block_title(path)
    yield CallNamed(id, FILE_BLOCK, "edit", title)
    yield CallReady(id, title, {"path": path})


# -- a whole path ------------------------------------------------------------------------------------------------------


def events_of(path: Iterable[Logged], tools: Registry, still_open: Container[str] = ()) -> Iterator[Event]:
    """Return the events of a path, in order. Calls without a result were interrupted, unless they are `still_open`."""
    for _, events in events_by_entry(path, tools, still_open):
        yield from events


def events_by_entry(
    path: Iterable[Logged], tools: Registry, still_open: Container[str] = ()
) -> Iterator[tuple[Logged | None, Iterable[Event]]]:
    """Return each entry of a path with its events, which must be taken before the next entry is; at the end, without an
    entry, those of the calls that have no result and are not `still_open`."""
    path = list(path)
    projection = Projection(tools, _refused(path), _agents_calls(path))
    for one in path:
        yield one, projection.add(one)
    yield None, projection.interrupted(still_open)


def _refused(path: Iterable[Logged]) -> frozenset[str]:
    """Return the ids of the files in answers that were refused: their text was shown instead."""
    results = (one.entry for one in path if isinstance(one.entry, ResultEntry))
    return frozenset(result.call_id for result in results if result.details.refused)


def _agents_calls(path: Iterable[Logged]) -> dict[str, AgentCallEntry]:
    """Return the calls of agents by their ids."""
    return {one.entry.call_id: one.entry for one in path if isinstance(one.entry, AgentCallEntry)}


class Projection:
    """Projects one entry after the other, and keeps what earlier ones mean for later ones. `refused` are the files in
    answers that were not written, as far as that is known: their text is shown. `agents_calls` are those of agents that
    have ended, as far as they are known."""

    def __init__(
        self,
        tools: Registry,
        refused: frozenset[str] = frozenset(),
        agents_calls: Mapping[str, AgentCallEntry] = MappingProxyType({}),
    ) -> None:
        self._tools = tools
        self._agents_calls = agents_calls
        self._agents_shown: set[str] = set()
        self._standing: dict[str, tuple[FileChange, ...]] = {}  # the accepted files of proposals, by call
        self._open: dict[str, str] = {}  # the titles of calls without a result
        self._files = _Files(refused, self._open)

    def add(self, logged: Logged) -> Iterator[Event]:
        match logged.entry:
            case PromptEntry(by_north=False):
                yield from self.interrupted()
                yield from prompt_shown(logged)
            case AnswerEntry() as answer:
                yield from self._answer(logged.id, answer)
                yield from failure_shown(logged)
            case OwnCommandEntry(command, excluded=excluded) as own:
                # The prompt itself comes first, since on a replay the client does not have it.
                yield UserSaid(logged.id, f"{'!!' if excluded else '!'}{command}")
                yield from own_command_began(logged.id, command)
                yield own_command_ended(logged.id, own)
            case ResultEntry(call_id) as result:
                self._open.pop(call_id, None)
                yield from result_shown(result, self._standing.get(call_id, ()))
            case ReviewEntry(kind="write", request=EditRequest() as request):
                self.note_decision(logged)
                files = tuple(file.change() for file in request.files)
                if (ended := self._agents_calls.get(logged.entry.call_id)) is not None:
                    yield from self._agents_call(ended)
                    yield from proposal_shown(logged, files)
                elif is_of_agent(logged.entry.call_id):
                    yield from self._agents_edit(logged.entry, request.title, files)
                else:
                    yield from proposal_shown(logged, files)
            case AgentCallEntry(call_id, details=details) as call:
                yield from self._agents_call(call)
                self._open.pop(call_id, None)
                yield _ended(call_id, details, self._standing.get(call_id, ()))
            case SlashEntry(input):
                yield UserSaid(logged.id, input)
                yield from slash_shown(logged)
            case BranchSummaryEntry():
                yield from branch_summary_shown(logged)
            case CustomMessageEntry(is_shown=True) as message:
                yield AnswerDelta(logged.id, message.for_people)
            case ModeEntry() as mode:
                yield from mode_shown(mode)
            case CompactionEntry():
                yield from compaction_shown(logged)
            case RetryEntry() as retry:
                yield retry_shown(retry, is_first=True)
            case StopEntry():
                yield from stop_shown(logged)
            case TodoEditEntry() as edit:
                yield from todo_shown(edit)
            case _:
                pass

    def _agents_call(self, call: AgentCallEntry) -> Iterator[Event]:
        """Show a call of an agent's, once."""
        if call.call_id not in self._agents_shown:
            self._agents_shown.add(call.call_id)
            yield CallNamed(call.call_id, call.tool, call.kind, call.title)
            if call.arguments is not None:
                yield CallReady(call.call_id, call.title, call.arguments)

    def _agents_edit(self, review: ReviewEntry, title: str, files: tuple[FileChange, ...]) -> Iterator[Event]:
        """Show an edit of an agent's of which the log has only the review: it waits, or North was killed meanwhile, or
        an older North wrote it."""
        id, status = review.call_id, review.status
        self._agents_shown.add(id)
        yield CallNamed(id, "task", "edit", title)
        yield CallProposes(id, title, files)
        if status == "pending":
            self._open[id] = title
        elif status in _APPLIED:
            yield CallEnded(id, title, True, "", self._standing.get(id, ()))
        else:
            yield CallEnded(id, title, False, "Nothing was written.", files if status == "rejected" else ())

    def note_decision(self, logged: Logged) -> None:
        """Note what a review that was shown while it waited leaves of its proposal."""
        match logged.entry:
            case ReviewEntry(kind="write", request=EditRequest() as request) as review:
                files = tuple(file.change() for file in request.files)
                self._standing[review.call_id] = standing(files, review.decision)
            case _:
                pass

    def interrupted(self, still_open: Container[str] = ()) -> Iterator[Event]:
        """End the calls without a result, but for those that are `still_open`: the process was killed while they
        ran."""
        for call_id, title in [row for row in self._open.items() if row[0] not in still_open]:
            del self._open[call_id]
            yield CallEnded(call_id, title, False, _INTERRUPTED)

    def _answer(self, entry_id: str, answer: AnswerEntry) -> Iterator[Event]:
        self._files.begin(entry_id)
        mark = CANCELLED_MARK if answer.stop_reason == "aborted" else ""
        for block in answer.blocks:
            match block:
                case Text(text):
                    yield from self._files.feed(text.removesuffix(mark))
                case Thinking(thinking):
                    if thinking:
                        yield ThoughtDelta(entry_id, thinking)
                case ToolCall(id, name, arguments, problem):
                    tool = self._tools.find(name)
                    title = one_line(tool.title(dict(arguments)) if tool is not None else name)
                    self._open[id] = title
                    yield call_named(block, self._tools, title)
                    if arguments or problem != NOT_COMPLETE:
                        yield CallReady(id, title, arguments)
        yield from self._files.finish()


def standing(files: tuple[FileChange, ...], decision: StoredDecision | None) -> tuple[FileChange, ...]:
    """Return what a stored decision leaves of the proposed files."""
    if decision is None:
        return files
    chosen = EditDecision("accept", hunks=decision.hunks, texts=decision.texts)
    left = accepted_part(EditProposal("", "", files, ""), chosen).files
    return tuple(change for one in left if (change := _as_written(one, decision)) is not None)


def _as_written(change: FileChange, decision: StoredDecision) -> FileChange | None:
    if change.target not in decision.written:
        return change
    written = decision.written[change.target]
    return with_texts(change, written.old_text, written.new_text) if written is not None else None


class _Files:
    """The files in the texts of answers; a file that was cut off is continued in the next answer."""

    def __init__(self, refused: frozenset[str], open_calls: dict[str, str]) -> None:
        self._refused = refused
        self._open_calls = open_calls
        self._open_path: str | None = None
        self._path = ""
        self._is_refused = False
        self._entry_id, self._count = "", 0
        self._parser = BlockParser()

    def begin(self, entry_id: str) -> None:
        self._entry_id, self._count, self._parser = entry_id, 0, BlockParser()

    def feed(self, text: str) -> Iterator[Event]:
        return self._events(self._parser.feed(text))

    def finish(self) -> Iterator[Event]:
        return self._events(self._parser.finish())

    def _events(self, pieces: Iterable[Piece]) -> Iterator[Event]:
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
                    self._open_calls[id] = block_title(path)
                    yield from block_began(id, path)
                case BlockText(text):
                    if self._is_refused:
                        yield AnswerDelta(self._entry_id, text)
                case BlockEnd(complete):
                    if self._is_refused and complete:
                        yield AnswerDelta(self._entry_id, "</NORTH_FILE>\n")
                    self._open_path = None if complete or self._is_refused else self._path
