"""Finds what a turn that did not come to its end has left to do, so that another process can continue with it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from north_lsp.agent.log.agent_calls import is_of_agent
from north_lsp.agent.log.checkpoints import CheckpointEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.marks import StopEntry
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.reviews import ReviewEntry
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Text, ToolCall

SUPERSEDED = "superseded"
"""The status of a review whose question was asked again."""
_ASKED_AGAIN = ("write", "shell", "tool", "question", "plan")
_FILE = "<NORTH_FILE"
_BROKEN = ("aborted", "error", "refusal")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A turn that can continue. `prompt_id` is its prompt's entry; `answer` is the last answer, None if the model must
    be asked; `calls` are its calls that have not begun, `decided` the ids of its calls and files that have a result.
    `reason`: a question waits, or the process left the turn to the next one. `reviews` are the questions that wait."""

    prompt_id: str
    answer: Logged | None
    calls: tuple[ToolCall, ...]
    decided: frozenset[str]
    reason: Literal["review", "left"]
    reviews: tuple[Logged, ...] = ()

    @property
    def text(self) -> str:
        """The text of the answer."""
        match self.answer:
            case Logged(entry=AnswerEntry() as entry):
                return "".join(block.text for block in entry.blocks if isinstance(block, Text))
            case _:
                return ""

    @property
    def open_ids(self) -> frozenset[str]:
        """The calls and files that still wait for a result."""
        asked = (one.entry.call_id for one in self.reviews if isinstance(one.entry, ReviewEntry))
        return frozenset((*(call.id for call in self.calls), *asked))


def find_unfinished(path: Sequence[Logged], *, was_left: bool) -> Unfinished | None:
    """Find the turn at the end of a path that can continue: one whose question waits, or one that its process left to
    the next (`was_left`). A turn of which something was under way is not such a turn: nobody knows how far that
    came."""
    begin = next((index for index in range(len(path) - 1, -1, -1) if _begins_step(path[index])), None)
    if begin is None:
        return None
    prompt = next((one.id for one in reversed(path[: begin + 1]) if _is_prompt(one)), None)
    if prompt is None:
        return None
    last, after = path[begin], path[begin + 1 :]
    if not isinstance(last.entry, AnswerEntry):
        return Unfinished(prompt, None, (), frozenset(), "left") if was_left else None
    if last.entry.stop_reason in _BROKEN:
        return None
    decided = frozenset(one.entry.call_id for one in after if isinstance(one.entry, ResultEntry))
    reviews = [one for one in _asked(after) if one[1].call_id not in decided]
    if any(entry.status != "pending" or entry.kind not in _ASKED_AGAIN for _, entry in reviews):
        return None
    if any(is_of_agent(entry.call_id) for _, entry in reviews):
        return None  # its agent is gone
    if any(isinstance(one.entry, CheckpointEntry) and one.entry.call_id not in (None, *decided) for one in after):
        return None  # it was being written
    calls = tuple(call for call in last.entry.calls if call.id not in decided)
    if reviews:
        return Unfinished(prompt, last, calls, decided, "review", tuple(logged for logged, _ in reviews))
    said = any(isinstance(block, Text) and _FILE in block.text for block in last.entry.blocks)
    if not was_left or not (last.entry.calls or said):
        return None
    return Unfinished(prompt, last, calls, decided, "left")


def ended_early(path: Sequence[Logged]) -> bool:
    """Tell whether the turn at the end of a path was cut off, by the end of its process or its session, rather than
    having come to its end or having been stopped by the user."""
    begin = next((index for index in range(len(path) - 1, -1, -1) if _begins_step(path[index])), None)
    if begin is None or any(isinstance(one.entry, StopEntry) for one in path[begin:]):
        return False
    last = path[begin].entry
    if not isinstance(last, AnswerEntry):
        return True
    return last.stop_reason == "aborted" or bool(last.calls)


def waiting_about(path: Sequence[Logged], call_id: str) -> list[str]:
    """Return the entries of the questions about a call of the last answer that wait for a decision."""
    found: list[str] = []
    for one in reversed(path):
        match one.entry:
            case AnswerEntry():
                break
            case ReviewEntry(call_id=asked, status="pending") if asked == call_id:
                found.append(one.id)
            case _:
                pass
    return found


def _asked(path: Iterable[Logged]) -> list[tuple[Logged, ReviewEntry]]:
    rows = [(one, one.entry) for one in path if isinstance(one.entry, ReviewEntry)]
    return [(logged, entry) for logged, entry in rows if entry.status != SUPERSEDED]


def _begins_step(logged: Logged) -> bool:
    entry = logged.entry
    return isinstance(entry, PromptEntry) or (isinstance(entry, AnswerEntry) and not entry.excluded)


def _is_prompt(logged: Logged) -> bool:
    return isinstance(logged.entry, PromptEntry) and not logged.entry.by_north
