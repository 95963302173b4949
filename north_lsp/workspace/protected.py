"""Which paths a tool may write: never, after asking every time, or freely. The names are data in `protected.toml`."""

import os
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

WriteRule = Literal["never", "ask", "free"]

_REPOSITORY = ("HEAD", "objects", "refs")
_BELOW = "/**"


@dataclass(frozen=True, slots=True)
class _Name:
    """A pattern of the list: its components, and whether what lies below it is meant, too."""

    rule: WriteRule
    reason: str
    components: tuple[re.Pattern[str], ...]
    below: bool

    def covers(self, path: Sequence[str]) -> bool:
        size = len(self.components)
        starts = range(len(path) - size + 1) if self.below else [len(path) - size]
        return any(
            start >= 0 and all(one.fullmatch(name) for one, name in zip(self.components, path[start:], strict=False))
            for start in starts
        )


def write_rule(resolved_relative: str, spelled: str) -> WriteRule:
    """The rule for a path, judged by what it resolved to and by how it was spelled; the stricter holds."""
    return _judge(resolved_relative, spelled)[0]


def write_reason(resolved_relative: str, spelled: str) -> str | None:
    """Why a path is protected, for the question or the refusal; None if it is free."""
    return _judge(resolved_relative, spelled)[1]


def write_rule_on_disk(
    path: Path, root: Path, never_roots: Sequence[Path] = (), spelled: str | None = None
) -> WriteRule:
    """The rule for a resolved path below `root`, with a look at the disk.

    Nothing in `never_roots` (North's own folders), inside a bare repository or outside the root is ever written.
    """
    if not path.is_relative_to(root):
        return "never"
    folded = _components(str(path))
    if any(folded[: len(own)] == own for own in map(_components, map(os.path.realpath, never_roots))):
        return "never"
    if _in_bare_repository(path, root):
        return "never"
    relative = path.relative_to(root).as_posix()
    return write_rule(relative, _below(root, spelled) if spelled is not None else relative)


def _judge(resolved_relative: str, spelled: str) -> tuple[WriteRule, str | None]:
    if spelled[:5].lower() == "file:":
        spelled = unquote(spelled[5:])
    paths = {_components(resolved_relative), _components(spelled)}
    if not any(map(_first_of_any().fullmatch, chain.from_iterable(paths))):
        return "free", None
    for name in _names():  # the strict ones come first
        if any(name.covers(path) for path in paths):
            return name.rule, name.reason
    return "free", None


def _below(root: Path, spelled: str) -> str:
    """What is above the root is the user's choice and protects nothing in it."""
    return spelled.removeprefix(f"{root}/")


def _in_bare_repository(path: Path, root: Path) -> bool:
    """Whether a folder between the root and the path is a repository, or would become one by writing the path."""
    names = path.relative_to(root).parts
    for depth, name in enumerate(names):
        folder = root.joinpath(*names[:depth])
        if all(part.casefold() == name.casefold() or os.path.lexists(folder / part) for part in _REPOSITORY):
            return True
    return False


@cache
def _names() -> tuple[_Name, ...]:
    table = tomllib.loads(files(__package__).joinpath("protected.toml").read_text("utf-8"))
    rules: tuple[WriteRule, ...] = ("never", "ask")
    return tuple(
        _Name(rule, row["reason"], _compiled(pattern), pattern.endswith(_BELOW))
        for rule in rules
        for row in table[rule]
        for pattern in row["patterns"]
    )


@cache
def _first_of_any() -> re.Pattern[str]:
    """Whatever begins a name of the list: most paths have nothing of that kind, and are told apart at little cost."""
    return re.compile("|".join(dict.fromkeys(name.components[0].pattern for name in _names())))


def _compiled(pattern: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(translate(part)) for part in _components(pattern.removesuffix(_BELOW)))


def _components(path: str) -> tuple[str, ...]:
    """The names in a path as the least discerning file system would compare them: without case, composition, characters
    that do not show, trailing dots and blanks, and stream names."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
    shown = "".join(character for character in folded if unicodedata.category(character) != "Cf")
    names = (name.partition(":")[0].rstrip(". ") for name in shown.replace("\\", "/").split("/"))
    return tuple(name for name in names if name)
