"""Rules: what a rule file says about itself, when it applies, and which of two with the same name counts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from north_lsp.agent.context.conditions import BadCondition, has_condition, read_condition
from north_lsp.agent.context.frontmatter import split_front
from north_lsp.agent.context.globs import check_glob, split_globs
from north_lsp.agent.ports.stream_rules import Condition
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.kinds import Kind, Level, SourceId

_T = TypeVar("_T")

Provider = Literal["north", "claude", "cursor", "windsurf", "cline", "github"]
Bucket = Literal["always", "glob", "rulebook", "stream", "named"]

_MAX_GLOBS = 50
_GLOB_FIELDS = ("globs", "glob", "paths", "applyTo")
"""What North and Cursor, some of Windsurf's users, Claude and Cline, and GitHub call them."""
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule file. `root` is the folder that its globs are relative to, None for a rule of the user's, which is about
    all roots; `within` is the root that it holds in, which may be further in than `root`. `by_name`: it is told only if
    somebody names it. `why` says why a rule does not apply; empty for one that does. `size` is the file's in bytes."""

    name: str
    provider: Provider
    level: Level
    shown: str
    body: str
    root: Path | None = None
    within: Path | None = None
    description: str = ""
    globs: tuple[str, ...] = ()
    always: bool = False
    by_name: bool = False
    condition: Condition | None = None
    why: str = ""
    size: int = 0
    problems: tuple[str, ...] = ()

    @property
    def applies(self) -> bool:
        return not self.why

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """When it reaches a model: always; with a file that matches; listed by name, to be read; when an answer goes
        against it; if somebody names it."""
        if self.condition is not None:
            return ("stream",)
        if self.by_name:
            return ("named",)
        if self.always or not (self.description or self.globs):
            return ("always",)
        found: tuple[Bucket, ...] = ("glob",) if self.globs else ()
        return (*found, "rulebook") if self.description else found

    @property
    def is_told(self) -> bool:
        """Whether it is a text to be told, not one that watches or waits for its name."""
        return self.condition is None and not self.by_name

    @property
    def key(self) -> str:
        """What says in a conversation's log that it was told."""
        return f"rule:{self.root or ''}:{self.name}"


def parse_rule(text: str, about: Rule) -> Rule:
    """Make a rule of a file's text; `about` has what its place says. A broken head costs only the fields in it."""
    front = split_front(text)
    problems = [front.problem] if front.problem else []
    fields = HeadFields(front.fields, problems)
    globs = fields.every_glob()
    always = fields.flag("alwaysApply", default=False)
    trigger = fields.text("trigger")  # Windsurf's
    enabled = fields.flag("enabled", default=True)
    why = "" if enabled else "its front matter says `enabled: false`"
    if not front.body and enabled:
        why = "it is empty"
    condition = None
    if has_condition(front.fields):
        condition = Condition()
        try:
            condition = read_condition(front.fields)
        except BadCondition as error:
            problems.append(f"{error}, so the rule is not watched")
            why = why or str(error)
    return replace(
        about,
        body=front.body,
        description=one_line(fields.text("description"), 500),
        globs=globs,
        always=always or trigger == "always_on",
        by_name=trigger == "manual" and not always,
        condition=condition,
        why=why,
        problems=tuple(problems),
    )


@dataclass
class HeadFields:
    """Reads fields by type; one of the wrong type is dropped and told of."""

    fields: Mapping[str, object]
    problems: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        value = self._value(name)
        if isinstance(value, str):
            return value.strip()
        return self._wrong(name, "a string", "") if value is not None else ""

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._value(name)
        if isinstance(value, str) and value.strip().casefold() in _FLAGS:
            return _FLAGS[value.strip().casefold()]
        if isinstance(value, bool):
            return value
        return self._wrong(name, "true or false", default) if value is not None else default

    def _value(self, name: str) -> object:
        """Return a field's value; people write `always_apply` and `applyto`, too."""
        if name in self.fields:
            return self.fields[name]
        return next((value for key, value in self.fields.items() if _plain_name(key) == _plain_name(name)), None)

    def every_glob(self) -> tuple[str, ...]:
        """Return the wildcards of the files that the text is about, under whatever name they are there."""
        return tuple(dict.fromkeys(glob for name in _GLOB_FIELDS for glob in self._globs(name)))

    def _globs(self, name: str) -> list[str]:
        value = self._value(name)
        if isinstance(value, str):
            found = split_globs(value)
        elif isinstance(value, list) and all(isinstance(one, str) for one in value):
            found = [glob for one in value for glob in split_globs(one)]
        else:
            return self._wrong(name, "a string, or a list of strings", []) if value is not None else []
        good = []
        for glob in found[:_MAX_GLOBS]:
            if (problem := check_glob(glob)) is None:
                good.append(glob)
            else:
                self.problems.append(f"`{name}`: {one_line(glob, 60)} {problem}")
        if len(found) > _MAX_GLOBS:
            self.problems.append(f"`{name}` has {len(found)} wildcards: the first {_MAX_GLOBS} are used")
        return good

    def _wrong(self, name: str, wanted: str, instead: _T) -> _T:
        self.problems.append(f"`{name}` must be {wanted}, and was left out")
        return instead


def _plain_name(key: str) -> str:
    return key.replace("-", "").replace("_", "").casefold()


class Rules(Kind[Rule]):
    """Rules: of those with one name that hold in the same root, one counts. Models are given them in this order: those
    of a source by path. Some are `disabled` by their name alone."""

    title = "Rules"

    def name(self, item: Rule) -> str:
        return item.name

    def source(self, item: Rule) -> SourceId:
        return item.provider

    def level(self, item: Rule) -> Level:
        return item.level

    def shown(self, item: Rule) -> str:
        return item.shown

    def called(self, item: Rule) -> str:
        return f"rule:{item.name}"

    def why(self, item: Rule) -> str:
        return "the setting `disabledRules` names it" if item.name in self.disabled else super().why(item)

    def meets(self, item: Rule, other: Rule) -> bool:
        """Tell whether both hold in one root: the user's do in all of them."""
        anywhere = item.root is None or other.root is None
        return anywhere or item.root == other.root or item.within == other.within

    def rank(self, item: Rule) -> tuple[Any, ...]:
        return *super().rank(item), item.within != item.root, item.shown
