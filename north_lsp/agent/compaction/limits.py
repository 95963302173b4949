"""How full a window may be before something is done, and how much of a conversation is kept as it is. Pure."""

from __future__ import annotations

from dataclasses import replace

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.model import Model
from north_lsp.storage.compaction_settings import CompactionSettings

_FULLEST = 0.92
_LARGEST_RESERVE = 0.25
_LARGEST_TAIL = 0.30
_LARGEST_STEP = 0.75
_PROTECTED_OUTPUT = 40_000
_PROTECTED_SHARE = 0.20
_LEAST_SAVING = 20_000
_LEAST_SAVING_SHARE = 0.10


@dataclass(frozen=True, slots=True)
class Limits:
    """Gives the thresholds of compaction for one context window, in tokens. A conversation of `threshold` tokens is
    shortened; `tail` is how much a summary leaves unchanged, `longest_tail` how long that may be with the last
    messages, `longest_step` how long the last answer with its results may be to be kept; the newest `protected_output`
    of results are never pruned, and nothing is if that saves less than `least_saving`."""

    threshold: int
    tail: int
    longest_tail: int
    longest_step: int
    protected_output: int
    least_saving: int


def limits_of(model: Model, settings: CompactionSettings) -> Limits:
    """Return the limits for a model."""
    window = model.window
    longest = int(window * _LARGEST_TAIL)
    threshold = min(int(window * _FULLEST), window - min(settings.reserve_tokens, int(window * _LARGEST_RESERVE)))
    return Limits(
        threshold,
        min(settings.keep_recent_tokens, longest),
        longest,
        int(threshold * _LARGEST_STEP),
        min(_PROTECTED_OUTPUT, int(window * _PROTECTED_SHARE)),
        min(_LEAST_SAVING, int(window * _LEAST_SAVING_SHARE)),
    )


def tighter(limits: Limits) -> Limits:
    """Return the limits for a conversation that was refused for its length: estimates cannot be trusted any more."""
    tail = limits.tail // 2
    return replace(limits, tail=tail, longest_tail=tail, longest_step=limits.tail)


def has_limit(model: Model) -> bool:
    """Tell whether the size of a model's window is known, so that requests can be kept below it."""
    return model.window_known and model.provider.api != "offline"
