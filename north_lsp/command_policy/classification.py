"""Decides which commands may run without asking: those that the user allowed, as an exact text or by a rule, and never
the dangerous ones."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Literal

from north_lsp.command_policy.allowed import CommandApprovals, Rule
from north_lsp.command_policy.grammar import name_of, read
from north_lsp.command_policy.parsing import NotSimple, Simple, parse
from north_lsp.command_policy.patterns import find_matching
from north_lsp.command_policy.places import Place, why_git_prints, why_protected
from north_lsp.command_policy.rules import (
    NO_SANDBOX,
    bounded,
    find_uncovered,
    matches,
    only_plain_reading,
    propose,
)
from north_lsp.command_policy.tables import changes_shell, is_git_command, takes_commands
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.command_identity import trimmed
from north_lsp.workspace.guards.protected import write_reason

_QUOTES = str.maketrans("", "", "'\"\\")
_VARIABLE = lazy_pattern(r"\$\{?[!#]?([A-Za-z_]\w*|[@*#?0-9!_-])")
_SETS = lazy_pattern(
    r"\b(?:for|select|read|local|declare)\s+(?:-\w+\s+)*([A-Za-z_]\w*)|(?:^|[\s;&|(])([A-Za-z_]\w*)\+?="
)
_SEGMENT_END = lazy_pattern(r"[\n;|&]")
_GIT_LEAVES_FILES = ("add", "commit", "push", "fetch", "init", "gc")
_TOKEN_END = lazy_pattern(r"[\s;&|<>(){}`=]+")
_SINGLE_QUOTED = lazy_pattern(r"'[^']*'")
_WRITERS = lazy_pattern(
    r"\b(?:cp|mv|ln|link|install|dd|tee|sed|perl|rsync|tar|unzip|patch|touch|mkdir|rm|truncate|sponge|git|curl|wget|python\S*|node)\b"
)
_WRITES_TO = lazy_pattern(r"(?:\d?>{1,2}[|&]?|\btee\s+(?:-a\s+)?)\s{0,9}[\"']?([^\s;|&<>\"'()]{1,300})")

NOT_TRUSTED = "this workspace is not trusted, so every command asks (`/trust on` changes it)"

OUTSIDE = "the shell is outside the workspace"

Shell = Literal["session", "clean"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a command. `status` is what the review's record says of a command that an earlier approval
    allows, else None. `warnings` are shown with the question, as ends of "This command …"; `reasons` say why no earlier
    approval covers it; `may_remember` is false for commands that ask every time, `may_remember_text` is false where
    their exact text would not count; `rule` is the narrowest rule that could be remembered; `shell` is where it runs if
    it is not asked about; `used` are the allowlist entries that allow it; `contained` says that it may run without
    asking only inside the sandbox."""

    status: Literal["always", "auto"] | None
    warnings: tuple[str, ...] = ()
    may_remember: bool = True
    reasons: tuple[str, ...] = ()
    rule: Rule | None = None
    shell: Shell = "session"
    used: tuple[str | Mapping[str, object], ...] = ()
    contained: bool = True
    may_remember_text: bool = True


@dataclass(frozen=True, slots=True)
class _AlwaysAsk:
    patterns: tuple[re.Pattern[str], ...]
    programs: tuple[str, ...]
    whole: bool
    reason: str

    def holds(self, command: str, commands: Sequence[tuple[Simple, bool]] | None) -> bool:
        """Return whether the rule holds for a command. `commands` are the parts of a line that could be read, and
        whether they are known not to pass on their words; without them there is only the text, as it is written and
        without quotes and escapes."""
        if commands is None:
            whole = [command, command.translate(_QUOTES)]
            texts = whole if self.whole else [part for text in whole for part in _SEGMENT_END.split(text)]
        else:
            concerned = [_words(one) for one, is_kept in commands if not is_kept or self._names(one)]
            texts = [command] if self.whole and concerned else concerned
        return any(all(pattern.search(text) for pattern in self.patterns) for text in texts)

    def _names(self, simple: Simple) -> bool:
        """Return whether the rule is about this program, or about all programs that write."""
        reading = read(simple)
        if not isinstance(reading, str) and reading.kind != "writes":
            return False
        name = name_of(simple.program)
        if name == "git":
            name = " ".join(word.text for word in simple.words[:2])
        return not self.programs or any(fnmatchcase(name, pattern) for pattern in self.programs)


def _words(simple: Simple) -> str:
    """Return a command's words as its program gets them, on one line."""
    return " ".join(word.text for word in simple.words)


@cache
def _always_ask() -> tuple[_AlwaysAsk, ...]:
    rows = tomllib.loads(Path(__file__).with_name("always_ask.toml").read_text("utf-8"))["rules"]
    return tuple(
        _AlwaysAsk(
            tuple(re.compile(pattern, re.IGNORECASE) for pattern in row["all"]),
            tuple(row.get("programs", ())),
            row.get("scope") == "command",
            row["reason"],
        )
        for row in rows
    )


def find_dangers(command: str, patterns: Sequence[str] = (), place: Place | None = None) -> tuple[str, ...]:
    """Return why a command asks every time; empty if it does not. `patterns` are the user's own (regular expressions on
    the whole text). Loads the parser and looks at the disk: call it on a thread."""
    commands = _parts(command)
    found = [rule.reason for rule in _always_ask() if rule.holds(command, commands)]
    if commands is None:
        found += _written(command)
    elif place is not None:
        found += [reason for simple, _ in commands if (reason := _deletes_root(simple, place)) is not None]
    if commands is not None:
        found += [why for simple, _ in commands if (why := _writes(simple, place)) is not None]
    found += find_matching(patterns, command)
    return tuple(dict.fromkeys(found))


def _written(command: str) -> list[str]:
    """Return why a line that could not be read may write to a protected name: names are looked for after redirections
    and `tee`, and everywhere if the line names a program that writes to its operands."""
    for match in _WRITES_TO.finditer(command):
        if (reason := write_reason(match[1], match[1])) is not None and "/dev/" not in match[1]:
            return [f"writes to {match[1]}, which {reason}"]
    if _WRITERS.search(command.translate(_QUOTES)):
        for text in _TOKEN_END.split(command.translate(_QUOTES)):
            if text and (reason := write_reason(text, text)) is not None:
                return [f"writes to {text}, which {reason}"]
    return []


def _writes(simple: Simple, place: Place | None) -> str | None:
    """Return why a command may write to a protected name among its words; None if it does not, or only reads."""
    reading = read(simple)
    known = None if isinstance(reading, str) else reading
    if (known is not None and known.kind == "reads") or simple.program == "cd":
        return None
    if is_git_command(simple) and simple.words[1].text in _GIT_LEAVES_FILES:
        return None
    if place is not None:
        why = why_protected(simple, known, place.roots, place.cwd)
        return None if why is None else f"may write to {why.replace(' ', ', which ', 1)}"
    for word in simple.words[1:]:
        if (reason := write_reason(word.text, word.text)) is not None:
            return f"may write to {word.text}, which {reason}"
    return None


def _deletes_root(simple: Simple, place: Place) -> str | None:
    """Return why `rm` would delete a root or a folder above one, however its path is written; None if it would not."""
    words = [word.text for word in simple.words[1:]]
    if name_of(simple.program) != "rm" or not any(re.match(r"-\w*[rR]|--r", word) for word in words):
        return None
    for word in words:
        path = Path(os.path.realpath(os.path.join(place.cwd, os.path.expanduser(word))))
        if any(root.is_relative_to(path) for root in place.roots.roots):
            return "deletes a whole folder tree"
    return None


def _parts(command: str) -> Sequence[tuple[Simple, bool]] | None:
    """Return the parts of a line, each with whether its words stay with it: it is a program that does not pass on its
    words, and it is not in a pipe that ends in one that may. None for a line that cannot be read."""
    try:
        commands = parse(command)
    except NotSimple:
        return None
    found: list[tuple[Simple, bool]] = []
    is_kept = True
    for simple in reversed(commands):
        reading = read(simple)
        reads = simple.program == "cd" or is_git_command(simple) or not isinstance(reading, str)
        is_kept = reads and (is_kept or simple.link not in ("|", "|&"))
        found.insert(0, (simple, is_kept))
    return found


def classify(
    command: str,
    *,
    place: Place,
    approvals: CommandApprovals,
    changes: Sequence[str] = (),
    always_ask: Sequence[str] = (),
    background: bool = False,
) -> Verdict:
    """Decide on a command. `changes` are what earlier commands did to the shell that may change what a word means;
    `background` says that it can be sent input later.

    A remembered text counts only in the main root, where it was approved. May take a while: call it on a thread.
    """
    if warnings := find_dangers(command, always_ask, place):
        return Verdict(None, warnings, may_remember=False)
    if (why := _shows_closed(command, place)) is not None:
        return Verdict(None, (why,), may_remember=False)
    if approvals.distrusted():
        return Verdict(None, (), may_remember=False, reasons=(NOT_TRUSTED,))
    if approvals.shell_auto_approved() and place.contained:
        return Verdict("auto")
    in_root = place.cwd == place.roots.main
    rules = bounded([rule for entry in approvals.command_rules() if (rule := Rule.from_json(entry)) is not None])
    reasons: list[str] = []
    whole = in_root and approvals.command_allowed(command)
    if whole:
        why = _exact_does_not_hold(command, place, background=background)
    elif place.roots.root_of(place.cwd) is None:
        why = OUTSIDE
    else:
        asks = find_uncovered(command, rules, approvals.command_allowed, place)
        why = None if asks is None else asks.described() if rules else ""
        if asks is not None and not in_root and approvals.command_allowed(command):
            why = "its exact text is allowed in the workspace's root folder only"
        if asks is None and background and _takes_input(command):
            why = "what is sent to it later may be a program"
    allowed = why is None
    reasons += [why] if why else []
    if allowed and not whole and _changes_state(command):
        allowed = False
        reasons.append("it changes the shell itself")
    if allowed and changes:
        reasons += [f"an earlier command {change}, which may change what it means" for change in changes]
    if allowed and not changes:
        used = [trimmed(command)] if whole else entries_used(command, rules, approvals, place)
        shell: Shell = "session" if _changes_state(command) else "clean"
        return Verdict("always", shell=shell, used=tuple(used), contained=place.contained)
    if approvals.shell_auto_approved() and NO_SANDBOX not in " ".join(reasons):
        reasons.insert(0, NO_SANDBOX)
    rule = propose(command, place) if not allowed and why != OUTSIDE else None
    return Verdict(None, (), in_root or rule is not None, tuple(reasons), rule, may_remember_text=in_root)


def _shows_closed(command: str, place: Place) -> str | None:
    """Return why git may print closed files. Git has its own copies, which no sandbox can close one by one."""
    try:
        commands = parse(command)
    except NotSimple:
        return why_git_prints(command, None, place)
    known = [(simple, read(simple)) for simple in commands]
    return why_git_prints(command, [(one, None if isinstance(what, str) else what) for one, what in known], place)


def _exact_does_not_hold(command: str, place: Place, *, background: bool) -> str | None:
    """Return why a command asks although the user allowed its exact text; None if it need not ask."""
    if not place.contained and (asks := only_plain_reading(command, place)) is not None:
        return asks.described()
    if (name := _outer_variable(command)) is not None:
        return f"`{name}` gets its value from earlier commands, not from this text"
    if background and _takes_input(command):
        return "what is sent to it later may be a program"
    return None


def _outer_variable(command: str) -> str | None:
    """Return a variable that the text uses without setting it first; None if there is none."""
    if _is_read(command):
        return None
    bare = _SINGLE_QUOTED.sub("''", command)
    own = {first or second: match.start() for match in _SETS.finditer(bare) for first, second in [match.groups()]}
    for match in _VARIABLE.finditer(bare):
        if own.get(match[1], len(bare)) >= match.start():
            return match[0].replace("{", "")
    return None


def _is_read(command: str) -> bool:
    try:
        return bool(parse(command))
    except NotSimple:
        return False


def _takes_input(command: str) -> bool:
    """Return whether a command names a program that may read what it does from its input."""
    try:
        commands = parse(command)
    except NotSimple:
        words = _TOKEN_END.split(command.translate(_QUOTES))
        return any(takes_commands(name_of(word)) for word in words if word)
    # A program that could be read has been told what to do by its words.
    return any(takes_commands(name_of(one.program)) and isinstance(read(one), str) for one in commands)


def entries_used(
    command: str, rules: Sequence[Rule], approvals: CommandApprovals, place: Place
) -> list[str | Mapping[str, object]]:
    """Return the first allowlist entry for each part of a command that is covered."""
    used: list[str | Mapping[str, object]] = []
    for simple in parse(command):
        entry: str | Mapping[str, object] | None = simple.source if approvals.command_allowed(simple.source) else None
        if entry is None:
            entry = next((rule.to_json() for rule in rules if matches(rule, simple, place.roots, place.cwd)), None)
        if entry is not None and entry not in used:
            used.append(entry)
    return used


def _changes_state(command: str) -> bool:
    """Return whether a command may change the shell that runs it; one that cannot be read may."""
    try:
        return any(changes_shell(simple.program) and isinstance(read(simple), str) for simple in parse(command))
    except NotSimple:
        return True
