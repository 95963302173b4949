"""Decides where a summary ends and what is kept begins: never between a call and its result. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.agent.compaction.limits import Limits
from north_lsp.agent.log.branch_summaries import BranchSummaryEntry
from north_lsp.agent.log.choices import ModeEntry, ModelEntry, ServiceTierEntry, ThinkingEntry, ToolSelectionEntry
from north_lsp.agent.log.compactions import CompactionEntry
from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry
from north_lsp.agent.log.results import OwnCommandEntry, ResultEntry
from north_lsp.agent.log.transcript import FILE_BLOCK
from north_lsp.lazy_dataclass import dataclass

_RECENT_MESSAGES = 10
_CHOICES = (ModeEntry, ModelEntry, ThinkingEntry, ServiceTierEntry, ToolSelectionEntry)


@dataclass(frozen=True, slots=True)
class Cut:
    """What is replaced: `history`, and `turn`, the beginning of a turn of which the rest is kept (empty if the cut is
    at a turn's start). `first_kept` is the first entry that stays, None if none does."""

    history: Sequence[Logged]
    turn: Sequence[Logged]
    first_kept: str | None


def find_cut(context: Sequence[Logged], tokens: Sequence[int], limits: Limits) -> Cut | None:
    """Find the cut in what models get now; `tokens` are the sizes of the entries. None if there is nothing to replace.

    As much as fits into the tail is kept, and the last ten messages where they are not too long. If even the last step
    is too long for that, it is kept alone, and nothing is if it is longer than a tail may be."""
    begin = 1 if context and isinstance(context[0].entry, CompactionEntry) else 0
    places = [at for at in range(begin, len(context)) if _may_begin(context, at)]
    best = _best(context, tokens, places, limits)
    if best is None:
        return None
    while best > begin and isinstance(context[best - 1].entry, _CHOICES):
        best -= 1
    replaced = context[begin:best]
    if not any(tokens[begin:best]):
        return None
    start = _turn_start(context, begin, best)
    split = start - begin
    kept = context[best].id if best < len(context) else None
    return Cut(replaced[:split], replaced[split:], kept)


def cut_before_last(context: Sequence[Logged], count: int) -> Cut | None:
    """Find the cut that keeps the last `count` prompts and answers. None if there is nothing to replace."""
    begin = 1 if context and isinstance(context[0].entry, CompactionEntry) else 0
    places = [at for at in range(begin, len(context)) if _may_begin(context, at)]
    at = len(context) if count == 0 else places[-count] if len(places) >= count else begin
    if at == begin or not any(_may_begin(context, place) for place in range(begin, at)):
        return None
    start = _turn_start(context, begin, at)
    return Cut(context[begin:start], context[start:at], context[at].id if at < len(context) else None)


def _best(context: Sequence[Logged], tokens: Sequence[int], places: Sequence[int], limits: Limits) -> int | None:
    """Return the earliest place whose tail is short enough, else the last one, else the end."""
    if not places:
        return None
    total, tails = 0, dict[int, int]()
    for at in range(len(context) - 1, places[0] - 1, -1):
        total += tokens[at]
        tails[at] = total
    fits = [at for at in places if tails[at] <= limits.tail]
    recent = [at for at in places[-_RECENT_MESSAGES:] if tails[at] <= limits.longest_tail]
    found = [*fits[:1], *recent[:1]]
    if found:
        return min(found)
    last = places[-1]
    is_too_long = tails[last] > limits.longest_step and isinstance(context[last].entry, AnswerEntry)
    return len(context) if is_too_long else last


def _may_begin(context: Sequence[Logged], at: int) -> bool:
    """Tell whether what is kept may begin at an entry: something that was said, with no result of an earlier call
    behind it."""
    match context[at].entry:
        case AnswerEntry(excluded=False) | BranchSummaryEntry():
            return True
        case PromptEntry(excluded=False) | OwnCommandEntry(excluded=False) | CustomMessageEntry(excluded=False):
            for later in context[at + 1 :]:
                if isinstance(later.entry, AnswerEntry):
                    return True
                if isinstance(later.entry, ResultEntry) and later.entry.tool != FILE_BLOCK:
                    return False
            return True
        case _:
            return False


def _turn_start(context: Sequence[Logged], begin: int, at: int) -> int:
    """Return where the turn begins that a cut falls into; the cut itself if that is a turn's start or the end of the
    last turn, or no turn's start is left before it."""
    if _starts_turn(context[at]) if at < len(context) else _is_at_rest(context):
        return at
    return next((index for index in range(at - 1, begin - 1, -1) if _starts_turn(context[index])), at)


def _is_at_rest(context: Sequence[Logged]) -> bool:
    """Tell whether the last turn has come to its end."""
    last = next((one.entry for one in reversed(context) if one.is_message), None)
    return isinstance(last, AnswerEntry) and not last.calls


def _starts_turn(one: Logged) -> bool:
    match one.entry:
        case PromptEntry(by_north=by_north):
            return not by_north
        case OwnCommandEntry(called_by=called_by):
            return not called_by
        case BranchSummaryEntry():
            return True
        case _:
            return False
