"""Applies the allowlist's rules to a parsed command line: every simple command must be known and covered, and the line
must mean the same when it runs as it does now."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from north_lsp.command_policy.allowed import Rule
from north_lsp.command_policy.grammar import Part, Reading, read
from north_lsp.command_policy.parsing import NotSimple, Simple, Word, parse
from north_lsp.command_policy.places import Place as Place  # noqa: PLC0414
from north_lsp.command_policy.places import (
    find_unknown_program,
    is_inside,
    leads_outside,
    real_place,
    value_is_inside,
    why_closed,
    why_protected,
)
from north_lsp.command_policy.tables import changes_shell, takes_commands
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.paths import Roots

NO_SANDBOX = "no sandbox here: only plain reading runs without asking"
_MAX_RULES = 1000
_PIPES = ("|", "|&")
_NUMBER = lazy_pattern(r"-[0-9]{1,9}")
_UNICODE = lazy_pattern(r"(?i)utf-?8|^(?:c|posix)(?:$|[.@])|^$")


@dataclass(frozen=True, slots=True)
class ApprovalReason:
    """Why a command asks, and which part of it; `part` is empty for the whole command."""

    reason: str
    part: str = ""

    def described(self) -> str:
        return f"`{self.part}`: {self.reason}" if self.part else self.reason


@dataclass(frozen=True, slots=True)
class _Step:
    """One command of a line: where it may run, and how its program reads it; None for an unknown program that an exact
    entry allows."""

    simple: Simple
    places: tuple[Path, ...]
    is_piped: bool
    exact: bool
    reading: Reading | None

    @property
    def changes(self) -> bool:
        return self.reading is None or self.reading.kind != "reads"

    @property
    def is_filter(self) -> bool:
        return self.reading is not None and self.reading.is_filter

    @property
    def is_accompanying(self) -> bool:
        """Whether it may run along with an allowed command: it sets the directory of that command, passes on or
        shortens its output, or prints something itself. It reads no file."""
        return self.simple.program == "cd" or (self.is_filter and (self.is_piped or self.simple.program in _TELLING))


def find_uncovered(
    command: str, rules: Sequence[Rule], exact: Callable[[str], bool], place: Place
) -> ApprovalReason | None:
    """Return the first reason to ask; None if each simple command is covered by a rule or an exact entry, and none can
    change what another one means.

    Parses, looks at the disk and may run git: call it on a thread.
    """
    try:
        commands = parse(command)
    except NotSimple as problem:
        return ApprovalReason(f"rules do not apply to it: {problem.reason}", problem.part)
    if not command.isascii() and (name := _strange_locale(place)) is not None:
        return ApprovalReason(f"{name} names an encoding in which bash may read it in another way")
    steps: list[_Step] = []
    for step in _steps(commands, exact, place):
        if isinstance(step, ApprovalReason):
            return step
        steps.append(step)
    if (asks := _find_dependency(steps)) is not None:
        return asks
    along = _accompanying(steps)
    for step in steps:
        if step.simple.program == "cd":
            if step not in along and not step.exact and not any(_names(rule, step.simple) for rule in rules):
                return ApprovalReason("no rule covers it", step.simple.source)
            continue
        for cwd in step.places:
            if (asks := _find_uncovered_in(step, rules, place, cwd, needs_rule=step not in along)) is not None:
                return asks
    return None


def _accompanying(steps: Sequence[_Step]) -> Sequence[_Step]:
    """Return the commands of a line that need no rule of their own, because another command of it has one."""
    along = [step for step in steps if step.is_accompanying]
    return along if len(along) < len(steps) else ()


def _steps(commands: Sequence[Simple], exact: Callable[[str], bool], place: Place) -> Iterator[_Step | ApprovalReason]:
    here: tuple[Path, ...] = (place.cwd,)
    before = ""
    for at, simple in enumerate(commands):
        is_exact = exact(simple.source) and place.cwd == place.roots.main and here == (place.cwd,)
        if simple.program == "cd":
            there = _after_cd(simple, place) if at == 0 else None
            if at or simple.negated or simple.link in (*_PIPES, "&", "||") or there is None:
                why = "it goes outside the workspace" if at == 0 and there is None else "only a first `cd` is followed"
                yield ApprovalReason(why, simple.source)
                return
            yield _Step(simple, here, False, is_exact, None)
            # After `&&` the `cd` has succeeded, as long as no other operators are mixed in.
            only_if = all(one.link in ("&&", "", *_PIPES) for one in commands)
            here = (there,) if only_if else tuple(dict.fromkeys((place.cwd, there)))
            before = simple.link
            continue
        is_piped = before in _PIPES
        reading = read(simple, piped=is_piped)
        if isinstance(reading, str) and not is_exact:
            yield ApprovalReason(f"no rule covers it: {reading}", simple.source)
            return
        if is_exact and isinstance(reading, str):
            if changes_shell(simple.program) and len(commands) > 1:
                yield ApprovalReason("it changes the shell for what follows it", simple.source)
                return
            if is_piped and takes_commands(simple.program):
                yield ApprovalReason("what it reads may be a program", simple.source)
                return
        yield _Step(simple, here, is_piped, is_exact, None if isinstance(reading, str) else reading)
        before = simple.link


def _find_dependency(steps: Sequence[_Step]) -> ApprovalReason | None:
    """Return why one command of a line may change what another one was judged by; None if none can. A line is judged
    before any of it runs."""
    changing = [at for at, step in enumerate(steps) if step.changes and step.simple.program != "cd"]
    if not changing:
        return None
    first = changing[0]
    if len(changing) > 1:
        return ApprovalReason("more than one command of the line changes something", steps[changing[1]].simple.source)
    for at, step in enumerate(steps):
        if at == first or step.simple.program == "cd" or step.is_filter:
            continue
        if at > first:
            return ApprovalReason("a command before it may change what it reads", step.simple.source)
        links = {one.simple.link for one in steps[at:first]}
        if links <= set(_PIPES) or any(one.simple.link == "&" for one in steps[at:first]):
            return ApprovalReason("it runs at the same time as a command that changes something", step.simple.source)
    return None


def _find_uncovered_in(
    step: _Step, rules: Sequence[Rule], place: Place, cwd: Path, *, needs_rule: bool
) -> ApprovalReason | None:
    simple, reading = step.simple, step.reading
    if reading is None:
        return None if place.contained else ApprovalReason(NO_SANDBOX, simple.source)
    matching = [rule for rule in rules if _matches(rule, reading, place.roots, cwd)]
    if not step.exact and needs_rule:
        if not matching:
            return ApprovalReason("no rule covers it", simple.source)
        if reading.kind == "writes" and not any(rule.args == "paths" for rule in matching):
            return ApprovalReason(
                f"{reading.name} writes to the files named in its arguments; only rules for paths cover it",
                simple.source,
            )
        follows = reading.follows_links and all(rule.args == "paths" for rule in matching)
        if follows and (why := leads_outside(reading, place.roots, cwd)) is not None:
            return ApprovalReason(why, simple.source)
    for why in _objections(simple, reading, place, cwd):
        return ApprovalReason(why, simple.source)
    return None


def _objections(simple: Simple, reading: Reading, place: Place, cwd: Path) -> Iterator[str]:
    """Yield the reasons why a command asks whatever rule covers it."""
    if not place.contained and (reading.kind != "reads" or any(_is_open(word) for word in simple.words)):
        yield NO_SANDBOX
    if reading.kind != "reads" and (why := why_protected(simple, reading, place.roots, cwd)) is not None:
        yield why
    if (why := find_unknown_program(simple, reading, place, cwd)) is not None:
        yield why
    if not place.contained and not _stays_inside(reading, place.roots, cwd):
        yield f"it may read outside the workspace; {NO_SANDBOX}"
    if (why := why_closed(reading, place, cwd)) is not None:
        yield why
    if reading.is_git and not place.contained and (runs := place.git_check(cwd, False)) is not None:
        yield f"git would run what the repository names: {runs}"


def _is_open(word: Word) -> bool:
    return word.starts_open or (word.is_glob and word.raw != "[")


def _stays_inside(reading: Reading, roots: Roots, cwd: Path) -> bool:
    return all(part.path is None or is_inside(part.path, roots, cwd) for part in reading.parts)


def _names(rule: Rule, simple: Simple) -> bool:
    return rule.words == ("cd",) and rule.args != "none" and len(simple.words) == 2


def matches(rule: Rule, simple: Simple, roots: Roots, cwd: Path) -> bool:
    """Return whether a rule's words, flags and operands match a command; there may be other reasons to ask."""
    if simple.program == "cd":
        return _names(rule, simple)
    reading = read(simple)
    return not isinstance(reading, str) and _matches(rule, reading, roots, cwd)


def _matches(rule: Rule, reading: Reading, roots: Roots, cwd: Path) -> bool:
    words, size = reading.parts, len(rule.words)
    if len(words) < size or any(
        part.word.text != wanted or (part.word.is_glob and part.word.raw != "[")
        for part, wanted in zip(words[:size], rule.words, strict=True)
    ):
        return False
    # If a program runs another one, the rule must name that one, too.
    if any(part.role == "program" for part in words[size:]):
        return False
    reads = reading.kind == "reads"
    inner = roots if reads else replace(roots, extra=())
    return all(_part_fits(rule, part, inner, cwd, globs=reads) for part in words[size:])


def _part_fits(rule: Rule, part: Part, roots: Roots, cwd: Path, *, globs: bool) -> bool:
    match part.role:
        case "end":
            return True
        case "flag":
            if not any(_flag_matches(pattern, part.word.text) for pattern in rule.flags):
                return False
            if rule.args != "paths" or part.path is None:
                return True
            return (value_is_inside(part.path.text, roots, cwd)) if part.is_loose else is_inside(part.path, roots, cwd)
        case "value":
            return rule.args != "paths" or part.path is None or is_inside(part.path, roots, cwd, globs=globs)
        case "command" | "program":
            return rule.args == "any"
        case "text" | "script":
            return rule.args != "none"
        case "path":
            if rule.args == "paths":
                return part.path is None or is_inside(part.path, roots, cwd, globs=globs)
            return rule.args == "any"
        case "word":
            return rule.args == "any" or (rule.args == "paths" and is_inside(part.word, roots, cwd))


def _flag_matches(pattern: str, flag: str) -> bool:
    """Return whether a flag matches a pattern: `*` stands for anything inside the one word, and a number (`-5`) for any
    number; nothing else is special."""
    if "*" not in pattern:
        return pattern == flag or bool(_NUMBER.fullmatch(pattern) and _NUMBER.fullmatch(flag))
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), flag, re.DOTALL) is not None


def _after_cd(simple: Simple, place: Place) -> Path | None:
    """Return where the commands after a `cd` run; None if it is outside the workspace or is not literal."""
    if len(simple.words) != 2:
        return None
    word = simple.words[1]
    if word.text.startswith("-") or not word.text or word.is_glob or word.starts_open:
        return None
    if place.environ.get("CDPATH") and not word.text.startswith(("/", "./", "../")):
        return None
    return real_place(word.text, place.cwd, replace(place.roots, extra=()))


def _strange_locale(place: Place) -> str | None:
    """Return the variable that names an encoding in which a byte of a letter can be a backslash; None if there is
    none."""
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        if value := place.environ.get(name):
            return None if _UNICODE.search(value) else name
    return None


def only_plain_reading(command: str, place: Place) -> ApprovalReason | None:
    """Return why a line is more than plain reading, which may run without a sandbox; None if it is not."""
    try:
        programs = {simple.program for simple in parse(command)}
    except NotSimple:
        return ApprovalReason(NO_SANDBOX)
    return find_uncovered(command, [Rule((program,), ("*",)) for program in programs], lambda text: False, place)


def propose(command: str, place: Place) -> Rule | None:
    """Return the narrowest rule that covers a line in which one command needs a rule; None if only its exact text can
    be remembered."""
    try:
        steps = [*_steps(parse(command), lambda _: False, place)]
    except NotSimple:
        return None
    found = [step for step in steps if isinstance(step, _Step)]
    along = _accompanying(found)
    needing = [step for step in found if step not in along]
    if len(found) < len(steps) or len(needing) != 1 or any(step.simple.link == "&" for step in found):
        return None
    reading = needing[0].reading
    if reading is None or needing[0].simple.program in _TELLING:
        return None
    parts = reading.parts
    size = len(parts) if reading.names_words else reading.commands
    rest = parts[size:]
    flags = tuple(dict.fromkeys(_flag_pattern(part, reading) for part in rest if part.role == "flag"))
    others = any(part.role in ("path", "word", "text", "script") for part in rest)
    words = tuple(part.word.text for part in parts[:size])
    rule = Rule(words, flags, "paths" if others else "none")
    return rule if find_uncovered(command, [rule], lambda _: False, place) is None else None


def _flag_pattern(part: Part, reading: Reading) -> str:
    """Return a flag's pattern; it allows any value if the value is only looked at, as it would be as a separate
    word."""
    name, is_joined, _ = part.word.text.partition("=")
    return f"{name}=*" if is_joined and part.path is None and reading.kind == "reads" else part.word.text


# What these print is no secret, and a rule for them gains nothing.
_TELLING = ("echo", "printf", "true", "false", "pwd", "test", "[", ":", "type", "sleep", "command", "env")


def bounded(rules: Sequence[Rule]) -> Sequence[Rule]:
    """Return at most `_MAX_RULES` rules, so that no allowlist makes a decision slow."""
    return rules[:_MAX_RULES]
