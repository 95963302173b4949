"""How much a model may think: from the levels that people choose to what is sent to a vendor. Pure."""

from __future__ import annotations

from typing import Literal, get_args

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Reasoning

Level = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
LEVELS: tuple[Level, ...] = get_args(Level)

_LEAST_BUDGET = 1024
_LEFT_FOR_THE_ANSWER = 4096
_SHARES: dict[Level, float] = {"low": 0.5, "medium": 1, "high": 2, "xhigh": 4}


@dataclass(frozen=True, slots=True)
class ThinkingInfo:
    """How a model's thinking is set. `budget` is the number of tokens at level medium, for mode budget; `efforts` are
    the vendor's words that the model knows, for mode effort. `levels` can be chosen, least first; others are moved to
    the nearest one."""

    mode: Literal["budget", "effort"]
    budget: int = 0
    efforts: tuple[str, ...] = ("low", "medium", "high")
    levels: tuple[Level, ...] = LEVELS
    default: Level = "medium"

    def clamp(self, level: Level) -> Level:
        """Return the level, or the nearest one that can be chosen."""
        if level in self.levels:
            return level
        rank = LEVELS.index(level)
        return min(self.levels, key=lambda one: (abs(LEVELS.index(one) - rank), LEVELS.index(one)))

    def reasoning(self, level: Level, max_output: int) -> Reasoning:
        """Return what to send for a level; `max_output` is the model's limit in tokens."""
        chosen = self.clamp(level)
        if self.mode == "effort":
            return Reasoning(effort=self._effort(chosen))
        if chosen == "off":
            return Reasoning()
        wanted = _LEAST_BUDGET if chosen == "minimal" else round(self.budget * _SHARES[chosen])
        limit = max_output - _LEFT_FOR_THE_ANSWER
        return Reasoning(budget=max(min(wanted, limit), _LEAST_BUDGET) if limit >= _LEAST_BUDGET else 0)

    def _effort(self, level: Level) -> str:
        wishes: dict[Level, tuple[str, ...]] = {
            "off": ("none", "minimal"),
            "minimal": ("minimal",),
            "xhigh": ("xhigh", "high"),
        }
        wanted = wishes.get(level, (level,))
        return next((effort for effort in wanted if effort in self.efforts), self._nearest(level))

    def _nearest(self, level: Level) -> str:
        if level in ("high", "xhigh"):
            return self.efforts[-1]
        return next((effort for effort in self.efforts if effort != "none"), self.efforts[0])


def as_level(text: str) -> Level | None:
    return next((level for level in LEVELS if level == text), None)
