"""The cost limits that a user has set: warned about when they are near, asked about when they are reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field

import anyio

from north_lsp.agent.ports.editor import Choice, Editor
from north_lsp.agent.ports.events import Notice
from north_lsp.display import money
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import new_entry_id

_NEAR = 0.8
_RAISED = 2


class LimitReached(Exception):
    """The user does not want to spend more, or could not be asked. The text is shown to the user."""


@dataclass
class _Limit:
    """A limit in US dollars; 0 means none. `passed`: the user lets this turn go beyond it."""

    setting: str
    what: str
    amount: float
    warned: bool = False
    passed: bool = False


@dataclass
class Spending:
    """Checks one session against its limits. `today` returns what all conversations have cost today."""

    editor: Editor
    session_limit: float
    day_limit: float
    today: Callable[[], Awaitable[float]]
    _limits: list[_Limit] = field(default_factory=list)
    _one_at_a_time: anyio.Lock = field(default_factory=anyio.Lock)
    _ended: str = ""

    def __post_init__(self) -> None:
        self._limits = [
            _Limit("cost.sessionLimitUsd", "this conversation", self.session_limit),
            _Limit("cost.dayLimitUsd", "today", self.day_limit),
        ]

    def set_limits(self, session_limit: float, day_limit: float) -> None:
        """Adopt the limits of the settings. A limit that has not changed there keeps the amount to which the user
        raised it."""
        for limit, before, now in zip(
            self._limits, (self.session_limit, self.day_limit), (session_limit, day_limit), strict=True
        ):
            if before != now:
                limit.amount, limit.warned, limit.passed = now, False, False
                self._ended = ""
        self.session_limit, self.day_limit = session_limit, day_limit

    def begin_turn(self) -> None:
        self._ended = ""
        for limit in self._limits:
            limit.passed = False

    async def check(self, session_usd: Callable[[], float], editor: Editor | None = None) -> None:
        """Check the limits before a request; `session_usd` is only called where there is a limit. Of several requests
        at once, one asks (through `editor`, if there is one), and its answer counts for all of them. Raises
        LimitReached."""
        async with self._one_at_a_time:
            if self._ended:
                raise LimitReached(self._ended)
            await self._check(session_usd, editor or self.editor)

    async def _check(self, session_usd: Callable[[], float], editor: Editor) -> None:
        for limit in self._limits:
            if limit.amount <= 0 or limit.passed:
                continue
            spent = session_usd() if limit.setting == "cost.sessionLimitUsd" else await self.today()
            if spent >= limit.amount:
                await self._ask(limit, spent, editor)
            elif spent >= _NEAR * limit.amount and not limit.warned:
                limit.warned = True
                text = f"{money(spent)} of {money(limit.amount)} is spent for {limit.what} ({limit.setting})"
                await self.editor.show(Notice("warning", text))

    async def _ask(self, limit: _Limit, spent: float, editor: Editor) -> None:
        raised = max(limit.amount, spent) * _RAISED
        said = f"{money(spent)} is spent for {limit.what}; the limit is {money(limit.amount)} ({limit.setting})"
        options = (
            ("continue", "Continue this turn"),
            ("raise", f"Raise the limit to {money(raised)} for this conversation"),
            ("end", "Stop here"),
        )
        match await editor.choose(Choice(f"limit-{new_entry_id(())}", f"{said}. Continue?", options)):
            case "continue":
                limit.passed = True
            case "raise":
                limit.amount, limit.warned = raised, False
            case _:
                self._ended = f"{said}: the turn was stopped. Raise the limit, or set it to 0 to turn it off."
                raise LimitReached(self._ended)
