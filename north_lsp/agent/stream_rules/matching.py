"""Looks for what breaks a rule in the text of one source: prose, a call's arguments, or what is written into a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase

from north_lsp.agent.ports.stream_rules import StreamRule
from north_lsp.agent.stream_rules.builtin import BuiltIn
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.languages import language_of
from north_lsp.workspace.structure.ast_pattern import AstPattern, compile_pattern

TAIL = 64 * 1024
"""How many of the last characters are searched."""
_SECONDS = 0.05
_MAX_SLOW = 3
_MAX_WHOLE = 256 * 1024  # characters that are parsed
_STEP = 2 * 1024  # more that must have arrived before it is parsed again
_MAX_BODY = 8 * 1024
_SHARE = 32


@dataclass(frozen=True, slots=True)
class Source:
    """Where a text streams from: `kind` is `text`, `thinking` or `tool`. `tool` is the name of the call's tool and
    `call_id` its id; `writes`: the text is what is written into files."""

    kind: str
    tool: str = ""
    call_id: str = ""
    writes: bool = False


@dataclass
class WholeText:
    """All of a text that is written, for looking at its structure."""

    parts: list[str] = field(default_factory=list)
    size: int = 0
    parsed: int = 0

    def add(self, more: str) -> None:
        """Take more of the text, until it is too long to be parsed."""
        if self.size < _MAX_WHOLE:
            self.parts.append(more)
            self.size += len(more)


@dataclass
class ArrivingText:
    """What has arrived of a text; `path` is the file that is written, once it is known."""

    source: Source
    path: str = ""
    tail: str = ""
    fresh: int = 0  # characters that were not searched yet
    has_line: bool = False  # there is the end of a line among them
    whole: WholeText = field(default_factory=WholeText)
    ended: list[ArrivingText] = field(default_factory=list)
    """Texts before this one that nobody has taken yet."""

    def add(self, more: str) -> None:
        """Take more of the text."""
        self.tail = (self.tail + more)[-TAIL:]
        self.fresh += len(more)
        self.has_line = self.has_line or "\n" in more
        if self.source.writes:
            self.whole.add(more)

    def is_due(self, *, at_end: bool) -> bool:
        """Tell whether enough has arrived for a search, and begin it. A longer text waits for more of it: each search
        looks through all that is kept."""
        is_enough = (self.has_line or self.fresh >= 100) and self.fresh >= len(self.tail) // _SHARE
        due = self.fresh > 0 and (is_enough or at_end)
        if due:
            self.fresh, self.has_line = 0, False
        return due

    def begin_parse(self, *, at_end: bool) -> bool:
        """Tell whether enough has been written since the last time for looking at its structure, and begin that."""
        least = 1 if at_end else _STEP
        due = self.source.writes and bool(self.path) and self.whole.size - self.whole.parsed >= least
        if due:
            self.whole.parsed = self.whole.size
        return due

    def restart(self) -> None:
        """Begin another text: another file, or another place of it."""
        if self.fresh > 0 or self.whole.parsed < self.whole.size:
            self.ended.append(replace(self, ended=[]))
        self.path, self.tail, self.fresh, self.has_line = "", "", 0, False
        self.whole = WholeText()

    def take_ended(self) -> list[ArrivingText]:
        """Return, once, the texts that ended before they were searched to their end."""
        ended, self.ended = self.ended, []
        return ended


@dataclass
class Watched:
    """A rule that is watched. `searches` look for it in text, `is_own`: they are North's own and take linear time."""

    rule: StreamRule
    searches: Sequence[Callable[[str], bool]]
    is_own: bool = False
    at_end: bool = False
    slow: int = 0
    _structures: dict[str, tuple[AstPattern, ...]] = field(default_factory=dict)

    @property
    def body(self) -> str:
        return self.rule.body[:_MAX_BODY]

    @property
    def is_off(self) -> bool:
        """Whether it was too slow too often."""
        return self.slow >= _MAX_SLOW

    def concerns(self, source: Source) -> bool:
        """Tell whether the rule's scope has the source."""
        for scope in self.rule.condition.scope:
            if scope == source.kind:
                return True
            if scope.startswith("tool:") and source.kind == "tool" and fnmatchcase(source.tool, scope[5:].strip()):
                return True
        return False

    def is_in(self, text: str) -> bool:
        """Tell whether one of the patterns matches. One that takes too long does not."""
        try:
            return any(search(text) for search in self.searches)
        except TimeoutError:
            self.slow += 1
            return False

    def is_in_code(self, arrived: ArrivingText) -> bool:
        """Tell whether one of the structures is in what was written so far."""
        if not self.rule.condition.structures:
            return False
        text = "".join(arrived.whole.parts)
        return any(next(pattern.find(text), None) is not None for pattern in self._for(arrived.path))

    def _for(self, path: str) -> tuple[AstPattern, ...]:
        known = language_of(path)
        language = known.id if known is not None else ""
        if language not in self._structures:
            found: list[AstPattern] = []
            for structure in self.rule.condition.structures:
                try:
                    found.append(compile_pattern(language, structure))
                except ToolError:  # no pattern of this language
                    continue
            self._structures[language] = tuple(found)
        return self._structures[language]


def watched(rule: StreamRule) -> Watched:
    """Make a rule of somebody's ready; its patterns were checked before."""
    return Watched(rule, [_search(pattern) for pattern in rule.condition.patterns])


def watched_own(own: BuiltIn) -> Watched:
    """Make a rule of North's own ready."""
    pattern: re.Pattern[str] = own.pattern
    return Watched(own.rule, [lambda text: pattern.search(text) is not None], is_own=True, at_end=own.at_end)


def _search(pattern: str) -> Callable[[str], bool]:
    """Make a search that raises TimeoutError after 50 ms."""
    import regex  # only where a rule needs it

    compiled: regex.Pattern[str] = regex.compile(pattern)
    return lambda text: compiled.search(text, timeout=_SECONDS, concurrent=True) is not None
