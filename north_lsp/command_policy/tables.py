"""Looks up programs in `programs.toml`, `projects.toml` and `git.toml`. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import field, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from north_lsp.command_policy.parsing import Simple
from north_lsp.lazy_dataclass import dataclass

Kind = Literal["reads", "writes", "project"]

_TABLES = ("programs.toml", "projects.toml", "git.toml")
_WORD_LISTS = (
    "flags", "text", "path", "script", "two", "joined", "never", "below", "follows", "given", "alone", "marks", "needs",
    "tells",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One program or sub-command of the tables; see the head of `programs.toml`."""

    kind: Kind
    flags: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    path: frozenset[str] = frozenset()
    script: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    below: frozenset[str] = frozenset()
    follows: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    tells: frozenset[str] = frozenset()
    commands: Mapping[str, str] = field(default_factory=dict[str, str])
    operands: tuple[str, ...] = ()
    two: frozenset[str] = frozenset()
    open: bool = False
    single: bool = False
    plain: bool = False
    apart: bool = False
    cluster: bool = False
    module: bool = False
    wraps: bool = False
    digits: bool = False
    here: str = ""
    check: str = ""
    least: int = 0


def reason_against(name: str) -> str | None:
    """Return why a program can never be allowed by a rule, if the tables say more of it than that it is unknown."""
    folded = name.casefold()
    for row in _table()["never"]:
        if any(fnmatchcase(folded, pattern.casefold()) for pattern in row["programs"]):
            return str(row["reason"])
    return None


def changes_shell(program: str) -> bool:
    """Return whether a program is a builtin that changes the shell itself (its directory included: that is carried
    over)."""
    return any(
        program.casefold() in row["programs"]
        for row in _table()["never"]
        if row["reason"].startswith("is a part of the")
    )


def takes_commands(name: str) -> bool:
    """Return whether a program may read what it does from its input."""
    return any(fnmatchcase(name, pattern) for pattern in _table()["input"]["programs"])


def is_git_command(simple: Simple) -> bool:
    """Return whether a command is git directly followed by one of its own sub-commands."""
    words = [word.text for word in simple.words[:2]]
    table = _table()
    return words[0] == "git" and len(words) > 1 and (words[1] in table["git"] or words[1] in git_writes())


def git_writes() -> frozenset[str]:
    return frozenset(_table()["git-writes"]["commands"].split())


def is_builtin(name: str) -> bool:
    return name in _table()["builtins"]["programs"]


@cache
def _table() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _TABLES:
        for key, rows in tomllib.loads(Path(__file__).with_name(name).read_text("utf-8")).items():
            found[key] = {**found[key], **rows} if key in found else rows
    return found


@lru_cache(maxsize=1024)
def row_of(name: str) -> Row | None:
    programs = {**_table()["reads"], **_table()["writes"], **_table()["project"]}
    kinds: tuple[Kind, ...] = ("reads", "writes", "project")
    if name == "git":
        commands = dict.fromkeys(_table()["git"], "git")
        return Row("reads", flags=frozenset(_table()["git-itself"]["flags"].split()), commands=commands)
    for key, raw in programs.items():
        if any(fnmatchcase(name, pattern) for pattern in (key, *raw.get("names", ()))):
            kind = next(kind for kind in kinds if key in _table()[kind])
            return _made(kind, raw)
    return None


def sub_row(name: str, command: str, row: Row, kind: str) -> Row:
    if name == "git":
        return _git_row(command)
    return replace(row, commands={}, operands=(f"{kind}*",) if kind != "none" else ())


@cache
def _git_row(command: str) -> Row:
    return _made("reads", _table()["git"][command])


def _made(kind: Kind, raw: Mapping[str, Any]) -> Row:
    merged: dict[str, Any] = {}
    for shared in (*(_table()["shared"][one] for one in raw.get("like", ())), raw):
        for key, value in shared.items():
            merged[key] = f"{merged[key]} {value}" if key in merged and key in _WORD_LISTS else value
    words = {key: frozenset(str(merged.get(key, "")).split()) for key in _WORD_LISTS}
    operands = tuple(str(merged.get("operands", "")).split())
    commands = {command: role for role, names in merged.get("commands", {}).items() for command in str(names).split()}
    return Row(
        kind,
        **words,
        commands=commands,
        operands=operands,
        open=bool(merged.get("open", kind == "project")),
        single=bool(merged.get("single")),
        digits=bool(merged.get("digits")),
        plain=bool(merged.get("plain")),
        apart=bool(merged.get("apart")),
        cluster=bool(merged.get("cluster")),
        module=bool(merged.get("module")),
        wraps=bool(merged.get("wraps")),
        here=str(merged.get("here", "")),
        check=str(merged.get("check", "")),
        least=int(merged.get("least", 0)),
    )
