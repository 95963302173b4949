"""What users can allow: exact commands, and rules for similar ones. Pure data; `rules.py` tells what a rule covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, get_args

from north_lsp.lazy_dataclass import dataclass

Args = Literal["any", "paths", "none"]


class CommandApprovals(Protocol):
    """What the user has allowed in this project."""

    def distrusted(self) -> bool:
        """Return whether everything asks here, whatever was allowed."""
        ...

    def command_allowed(self, command: str) -> bool: ...

    def command_rules(self) -> Sequence[Mapping[str, object]]: ...

    def shell_auto_approved(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Rule:
    """A permission for similar commands. `words` come first, literally; `flags` are patterns for the other words with a
    dash; `args` is for the rest."""

    words: tuple[str, ...]
    flags: tuple[str, ...] = ()
    args: Args = "any"

    def to_json(self) -> dict[str, Any]:
        return {"words": list(self.words), "flags": list(self.flags), "args": self.args}

    @classmethod
    def from_json(cls, value: object) -> Rule | None:
        """Read a rule; None for an invalid entry, which then allows nothing."""
        if not isinstance(value, dict) or not value.keys() <= {"words", "flags", "args"}:
            return None
        words, flags, args = value.get("words"), value.get("flags", []), value.get("args", "any")
        if not _texts(words) or not words or not _texts(flags) or args not in get_args(Args):
            return None
        return cls(tuple(words), tuple(flags), args)

    def described(self) -> str:
        """Describe the rule to the user."""
        options = f"with {' '.join(self.flags)}" if self.flags else "without options"
        rest = {"any": ", any words", "paths": ", on paths in the workspace", "none": ", no other words"}[self.args]
        return f"`{' '.join(self.words)}` {options}{rest}"


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and one for one in value)
