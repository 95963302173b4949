"""A text that is called by name: a file command, a prompt template or a skill, as its file describes it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from north_lsp.agent.context.frontmatter import split_front
from north_lsp.agent.context.rules import HeadFields
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage import kinds
from north_lsp.storage.kinds import Level, SourceId

Kind = Literal["command", "prompt", "skill", "python"]
Provider = Literal[
    "north", "claude", "claude-plugin", "agents", "codex", "gemini", "github", "opencode", "custom", "builtin"
]

_NAME = lazy_pattern(r"[a-z][a-z0-9:_-]*")
_FIRST_LINE_CHARACTERS = 60
_NARROW_MODE, _OTHER_MODES = "ask", ("agent", "edit")
_IN_BRACKETS = lazy_pattern(r"\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a template requests for the turn that it is called in: another model, that nothing is changed, only some
    tools (None: all). It can only restrict the turn."""

    model: str = ""
    only_reads: bool = False
    tools: tuple[str, ...] | None = None


NO_WISHES = Wishes()


@dataclass(frozen=True, slots=True)
class Template:
    """A file that can be called as `/name`; of a command in Python, `body` is what runs. `why` says why it cannot be
    called; empty for one that can. `shown` is its path as people read it, `hint` which words it takes, `phases` those
    that a skill goes through, from `initial_phase` on, `wishes` what holds for the turn of a call. Of a skill, `globs`
    are the files that it is about, and one that is there `always` need not be loaded."""

    name: str
    kind: Kind
    provider: Provider
    level: Level
    path: Path
    shown: str
    body: str = ""
    description: str = ""
    hint: str = ""
    why: str = ""
    problems: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    initial_phase: str = ""
    wishes: Wishes = NO_WISHES
    globs: tuple[str, ...] = ()
    always: bool = False

    @property
    def applies(self) -> bool:
        return not self.why


def parse_template(text: str, about: Template) -> Template:
    """Make a template of a file's text; `about` has what its place says. A broken head costs only the fields in it."""
    if about.path.suffix == ".toml":
        return checked(_from_toml(text, about))
    front = split_front(text)
    problems = [front.problem] if front.problem else []
    field = _reader(front.fields, problems)
    if front.fields.get("agent") is not None and about.kind != "skill":
        problems.append("`agent` in its front matter has no effect")
    wishes = NO_WISHES if about.kind == "skill" else _wishes(front.fields, field, problems)
    name = field("name")
    off = front.fields.get("disable") is True
    if name:
        called = f"skill:{name}" if about.kind == "skill" else name
        about = replace(about, name=called.lower())
    if about.kind == "skill":
        phases = _phases(front.fields.get("phases"), problems)
        initial = field("initialPhase")
        if initial and initial not in phases:
            problems.append("`initialPhase` is not one of its `phases`")
        about = replace(about, phases=phases, initial_phase=initial if initial in phases else "".join(phases[:1]))
        fields = HeadFields(front.fields, problems)
        about = replace(about, globs=fields.every_glob(), always=fields.flag("alwaysApply", default=False))
    found = replace(
        about,
        body=front.body,
        description=one_line(field("description"), 500),
        hint=one_line(field("argument-hint"), 100),
        why="its front matter says `disable: true`" if off else "",
        problems=tuple(problems),
        wishes=wishes,
    )
    return checked(found)


def _wishes(fields: Mapping[str, object], field: Callable[[str], str], problems: list[str]) -> Wishes:
    mode = field("mode").lower()
    if mode and mode != _NARROW_MODE and mode not in _OTHER_MODES:
        problems.append(f"`mode: {one_line(mode, 40)}` has no effect: only `ask` has one")
    written = fields.get("allowed-tools", fields.get("tools"))
    tools: tuple[str, ...] | None = None
    if isinstance(written, str):
        tools = tuple(word for word in _IN_BRACKETS.sub("", written).replace(",", " ").split() if word)
    elif isinstance(written, list):
        tools = tuple(_IN_BRACKETS.sub("", one).strip() for one in written if isinstance(one, str))
    elif written is not None:
        problems.append("`allowed-tools` must be a list of names, and was left out")
    return Wishes(field("model"), mode == _NARROW_MODE, tools)


def _from_toml(text: str, about: Template) -> Template:
    """Read a command of Gemini's: `prompt`, and maybe `description`."""
    import tomllib

    try:
        fields = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return replace(about, why=f"it is not TOML: {one_line(str(error), 200)}")
    problems: list[str] = []
    field = _reader(fields, problems)
    return replace(
        about, body=field("prompt").strip(), description=one_line(field("description"), 500), problems=tuple(problems)
    )


def checked(found: Template) -> Template:
    """Say why a template cannot be called, and give it a description if it has none."""
    why = found.why
    if not why and not found.body:
        why = "it is empty"
    if not why and not _NAME.fullmatch(found.name):
        why = "its name is not made of letters, digits, `-`, `_` and `:`"
    if not why and found.kind == "skill" and not found.description:
        why = "its front matter has no `description`"
    return replace(found, why=why, description=found.description or _first_line(found.body))


def _first_line(body: str) -> str:
    line = next((line.strip().lstrip("#").strip() for line in body.splitlines() if line.strip().strip("#")), "")
    line = one_line(line, 500)
    return line if len(line) <= _FIRST_LINE_CHARACTERS else f"{line[:_FIRST_LINE_CHARACTERS]}..."


def _reader(fields: Mapping[str, object], problems: list[str]) -> Callable[[str], str]:
    def read(name: str) -> str:
        value = fields.get(name)
        if isinstance(value, str):
            return value.strip()
        if isinstance(value, list) and name == "argument-hint":  # `[file]` is a list for YAML
            return " ".join(f"[{one}]" for one in value)
        if value is not None:
            problems.append(f"`{name}` must be a string, and was left out")
        return ""

    return read


def _phases(value: object, problems: list[str]) -> tuple[str, ...]:
    """Read the phases that a skill declares."""
    listed = value if isinstance(value, list) else [] if value is None else [None]
    phases = [one.strip() for one in listed if isinstance(one, str) and one.strip()]
    if len(phases) < len(listed):
        problems.append("`phases` must be a list of names")
    return tuple(dict.fromkeys(phases))


def item_of(one: Template) -> str:
    """Return what `disabledItems` calls a template."""
    kind = "command" if one.kind == "python" else one.kind
    return one.name if kind == "skill" else f"{kind}:{one.name}"


class Templates(kinds.Kind[Template]):
    """Templates: those of all kinds share their names, also with North's own commands (`taken`). `unwanted` says why
    the user does not want one; empty for one that is wanted."""

    title = "Commands and skills"

    def __init__(
        self,
        taken: Collection[str] = (),
        disabled: Collection[str] = (),
        unwanted: Callable[[Template], str] = lambda one: "",
    ) -> None:
        super().__init__(disabled)
        self._taken = taken
        self._unwanted = unwanted

    def name(self, item: Template) -> str:
        return item.name

    def source(self, item: Template) -> SourceId:
        return item.provider

    def level(self, item: Template) -> Level:
        return item.level

    def shown(self, item: Template) -> str:
        return item.shown

    def called(self, item: Template) -> str:
        return item_of(item)

    def why(self, item: Template) -> str:
        shadowed = "shadowed by a command of North's" if item.name in self._taken else ""
        return self._unwanted(item) or item.why or shadowed
