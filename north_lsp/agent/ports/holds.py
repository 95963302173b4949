"""What keeps models from changing anything for a while, whatever mode is set: a workflow whose phase is for reading, or
the part of the project that was given to an agent. Enforced where tools get what they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left to use in a workflow's phase: read `calls`, `rounds` of questions, and `web` searches and fetches; a
    round has at most so many `questions`. None for any number."""

    calls: int | None = None
    rounds: int | None = None
    questions: int | None = None
    web: int | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """`why` and `way_out` are for the model. Only files that `may_write` lets through are written; `closes` also
    commands that do more than look, and tools of servers that do not say that they only read. The commands that are
    `spent` have failed too often to be run again."""

    why: str
    way_out: str
    may_write: Callable[[Path], bool]
    closes: bool = True
    allowance: Allowance = Allowance()
    spent: frozenset[str] = frozenset()

    @property
    def counts(self) -> bool:
        """Whether calls that read are counted, so that none may begin before those before it are over."""
        return self.allowance.calls is not None or self.allowance.web is not None

    def error(self, what: str) -> ToolError:
        return ToolError("BLOCKED", f"BLOCKED: {self.why}: {what}", self.way_out)

    def refuse_writing(self, paths: Iterable[Path]) -> None:
        """Raise ToolError for files that are not to be written now."""
        closed = [path for path in paths if not self.may_write(path)]
        if closed:
            raise self.error(f"{one_line(closed[0].name, 80)} cannot be written now")

    def refuse_reading(self) -> None:
        """Raise ToolError if no calls that read are left."""
        if self.allowance.calls is not None and self.allowance.calls <= 0:
            raise self.error("the read calls of this phase are used up")

    def refuse_web(self) -> None:
        """Raise ToolError if nothing is left to be looked up on the web."""
        if self.allowance.web is not None and self.allowance.web <= 0:
            raise self.error("no web searches or fetches are left in this phase")

    def refuse_command(self, command: str) -> None:
        """Raise ToolError for a command that has failed too often."""
        if command.strip() in self.spent:
            raise self.error(f"{one_line(command, 80)} has failed too often")

    def refuse_questions(self, count: int) -> None:
        """Raise ToolError for too many questions, in a call or in all."""
        most, rounds = self.allowance.questions, self.allowance.rounds
        if most is not None and count > most:
            raise self.error(f"at most {most} questions are asked at once")
        if rounds is not None and rounds <= 0:
            raise self.error("no rounds of questions are left in this phase")


NO_HOLD: Callable[[], Hold | None] = lambda: None  # noqa: E731 - it has a type
