"""What an agent is, and how its file says so. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from north_lsp.agent.context.frontmatter import Front, split_front
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.thinking import Level, as_level

Family = Literal["north", "claude", "codex", "gemini", "github", "opencode", "claude-plugin", "builtin"]
Whose = Literal["project", "user", "builtin"]
Isolation = Literal["none", "worktree"]
ANY = "*"
_NAMED_AFTER_FILE = ("github", "opencode")
_GROUPS = {
    "read": (),
    "edit": ("write", "edit", "patch"),
    "shell": ("bash",),
    "web": ("webfetch",),
    "mcp": (),
    "task": (),
}
"""Groups of North's tools, and what opencode calls those in it that can be switched off."""
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 500


class NotAnAgent(ValueError):
    """A file is no definition; the text says what it lacks."""


@dataclass(frozen=True, slots=True)
class Source:
    """The file that a definition comes from, and the tool whose file it is; `shown` is its path for people."""

    family: Family
    whose: Whose
    path: Path
    shown: str


@dataclass(frozen=True, slots=True)
class Definition:
    """An agent. `tools` are the words of its file, None for all; `spawns` the agents that it may use itself, `*` for
    any; `model` is a selector or role, empty for that of whoever asks. `output` is the schema of its result. `why` says
    why it is not used: another one of its name comes first."""

    name: str
    description: str
    source: Source
    body: str
    tools: tuple[str, ...] | None = None
    spawns: tuple[str, ...] | None = None
    model: str = ""
    level: Level | None = None
    output: Mapping[str, object] | None = None
    isolation: Isolation = "none"
    max_requests: int | None = None
    why: str = ""
    problems: tuple[str, ...] = field(default=())

    @property
    def may_spawn(self) -> tuple[str, ...]:
        """The agents that it may use: what its file says, and any where that says nothing but names `task`."""
        if self.spawns is not None:
            return self.spawns
        names = {word.casefold() for word in self.tools or ()}
        return (ANY,) if self.tools is None or names & {"task", "agent", ANY} else ()


def parse_definition(text: str, source: Source) -> Definition:
    """Read a file. Raises NotAnAgent."""
    return definition_of(split_front(text), source)


def definition_of(front: Front, source: Source) -> Definition:
    """Read what a file says. Raises NotAnAgent."""
    fields = front.fields
    if source.family in _NAMED_AFTER_FILE:
        fields = {"name": source.path.stem.removesuffix(".agent"), **fields}
    name, description = _text(fields.get("name")), _text(fields.get("description"))
    lacking = [field for field, value in (("name", name), ("description", description)) if not value]
    if lacking:
        raise NotAnAgent(f"{source.shown}: it lacks {' and '.join(lacking)}, so it is not an agent")
    problems = [front.problem] if front.problem else []
    level = _text(_spelled(fields, "thinkinglevel"))
    if level and as_level(level) is None:
        problems.append(f"there is no thinking level {one_line(level, 40)}")
    isolation = _text(fields.get("isolation")) or "none"
    if isolation not in ("none", "worktree"):
        problems.append(f"isolation is none or worktree, not {one_line(isolation, 40)}")
    most = _spelled(fields, "maxrequests")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        problems.append("maxRequests must be a whole number above 0")
        most = None
    output = fields.get("output")
    if output is not None and not isinstance(output, Mapping):
        problems.append("output must be a schema")
    return Definition(
        one_line(name, _LONGEST_NAME),
        one_line(description, _LONGEST_DESCRIPTION),
        source,
        front.body,
        _words(fields.get("tools")) if "tools" in fields else None,
        _words(fields.get("spawns")) if "spawns" in fields else None,
        _model(fields.get("model")),
        as_level(level) if level else None,
        output if isinstance(output, Mapping) else None,
        "worktree" if isolation == "worktree" else "none",
        most if isinstance(most, int) else None,
        problems=tuple(f"{source.shown}: {problem}" for problem in problems),
    )


def _spelled(fields: Mapping[str, object], name: str) -> object:
    """Return a field in whatever way its words are put together."""
    return next((value for key, value in fields.items() if key.replace("-", "").casefold() == name), None)


def _model(value: object) -> str:
    named = _text(value)
    return "" if named == "inherit" else named


def _text(value: object) -> str:
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _words(value: object) -> tuple[str, ...]:
    """Read a list, or words between commas; or what is switched off, by name, as opencode has it."""
    if isinstance(value, Mapping):
        off = {name for name, on in value.items() if on is False}
        return tuple(group for group, names in _GROUPS.items() if group not in off and not off & {*names})
    if isinstance(value, str):
        value = value.split(",")
    return tuple(word for one in value if (word := _text(one))) if isinstance(value, list) else ()
