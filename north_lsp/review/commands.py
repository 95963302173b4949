"""Which commands may run without asking: only the exact texts that the user allowed, and never the dangerous ones."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, Protocol


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


@cache
def _always_ask() -> tuple[tuple[re.Pattern[str], str], ...]:
    rows = tomllib.loads(files(__package__).joinpath("always_ask.toml").read_text("utf-8"))["patterns"]
    return tuple((re.compile(row["pattern"], re.IGNORECASE), row["reason"]) for row in rows)


def judge(command: str, *, in_root: bool, approvals: CommandApprovals) -> Verdict:
    """Decide on a command. A remembered command counts only where it was meant: in the workspace root."""
    warnings = tuple(reason for pattern, reason in _always_ask() if pattern.search(command))
    if warnings:
        return Verdict(None, warnings, may_remember=False)
    if approvals.shell_auto_approved():
        return Verdict("auto", (), may_remember=True)
    known = in_root and approvals.command_allowed(command)
    return Verdict("always" if known else None, (), may_remember=in_root)
