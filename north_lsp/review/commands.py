"""Which commands may run without asking: only the exact texts that the user allowed, and never the dangerous ones."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, Protocol

_SEGMENT_END = re.compile(r"[\n;|&]")


class CommandApprovals(Protocol):
    """What the user has allowed in this project."""

    def command_allowed(self, command: str) -> bool: ...

    def shell_auto_approved(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """`status` is what the review's record says of a command that the user's own earlier word allows, else None.
    `warnings` are shown with the question; `may_remember` is false for commands that ask every time."""

    status: Literal["always", "auto"] | None
    warnings: tuple[str, ...]
    may_remember: bool


@dataclass(frozen=True, slots=True)
class _Rule:
    patterns: tuple[re.Pattern[str], ...]
    whole: bool
    reason: str

    def holds(self, command: str, segments: list[str]) -> bool:
        texts = [command] if self.whole else segments
        return any(all(pattern.search(text) for pattern in self.patterns) for text in texts)


@cache
def _always_ask() -> tuple[_Rule, ...]:
    rows = tomllib.loads(files(__package__).joinpath("always_ask.toml").read_text("utf-8"))["rules"]
    return tuple(
        _Rule(
            tuple(re.compile(pattern, re.IGNORECASE) for pattern in row["all"]),
            row.get("scope") == "command",
            row["reason"],
        )
        for row in rows
    )


def judge(command: str, *, in_root: bool, approvals: CommandApprovals) -> Verdict:
    """Decide on a command. A remembered command counts only where it was meant: in the workspace root."""
    segments = _SEGMENT_END.split(command)
    warnings = tuple(rule.reason for rule in _always_ask() if rule.holds(command, segments))
    if warnings:
        return Verdict(None, warnings, may_remember=False)
    if approvals.shell_auto_approved():
        return Verdict("auto", (), may_remember=True)
    known = in_root and approvals.command_allowed(command)
    return Verdict("always" if known else None, (), may_remember=in_root)
