"""Which commands may run without asking: what the user allowed, as an exact text or by a rule, and never the dangerous
ones."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Literal, Protocol

from north_lsp.review.parsing import NotSimple, Simple, parse
from north_lsp.review.programs import changes_shell, keeps_to_itself, program_name, standing
from north_lsp.review.rules import Place, Rule, bounded, covered, matches, propose
from north_lsp.workspace.protected import write_reason

_SEGMENT_END = re.compile(r"[\n;|&]")
_WRITES_TO = re.compile(r"(?:\d?>{1,2}[|&]?|\btee\s+(?:-a\s+)?)\s{0,9}[\"']?([^\s;|&<>\"'()]{1,300})")

NO_SANDBOX = "no sandbox here: only plain reading runs without a question"
NOT_TRUSTED = "this workspace is not trusted, so that everything is asked about (`/trust on` changes it)"

Shell = Literal["session", "clean"]


class CommandApprovals(Protocol):
    """What the user has allowed in this project."""

    def distrusted(self) -> bool:
        """Whether nothing is to run unasked here, whatever was allowed."""
        ...

    def command_allowed(self, command: str) -> bool: ...

    def command_rules(self) -> Sequence[Mapping[str, object]]: ...

    def shell_auto_approved(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """`status` is what the review's record says of a command that the user's own earlier word allows, else None.
    `warnings` are shown with the question, as ends of "This command …"; `reasons` say why an earlier word does not
    cover it; `may_remember` is false for commands that ask every time; `rule` is the narrowest rule that could be
    remembered; `shell` is where it runs if it is not asked about; `used` are the entries of the allowlist that allow
    it; `contained` says that it may run without a question inside the sandbox only."""

    status: Literal["always", "auto"] | None
    warnings: tuple[str, ...] = ()
    may_remember: bool = True
    reasons: tuple[str, ...] = ()
    rule: Rule | None = None
    shell: Shell = "session"
    used: tuple[str | Mapping[str, object], ...] = ()
    contained: bool = True


@dataclass(frozen=True, slots=True)
class _AlwaysAsk:
    patterns: tuple[re.Pattern[str], ...]
    programs: tuple[str, ...]
    whole: bool
    reason: str

    def holds(self, command: str, commands: Sequence[tuple[Simple, bool]] | None) -> bool:
        """`commands` are the parts of a line that could be read, and whether they are known to keep to themselves;
        without them its text is all that there is."""
        if commands is None:
            texts = [command] if self.whole else _SEGMENT_END.split(command)
        else:
            concerned = [one.source for one, is_kept in commands if not is_kept or self._names(one)]
            texts = [command] if self.whole and concerned else concerned
        return any(all(pattern.search(text) for pattern in self.patterns) for text in texts)

    def _names(self, simple: Simple) -> bool:
        """Whether it is about this program, or about all that write."""
        name = program_name(simple.program)
        if name == "git":
            name = " ".join(word.text for word in simple.words[:2])
        elif standing(simple.program).standing != "writer":
            return False
        return not self.programs or any(fnmatchcase(name, pattern) for pattern in self.programs)


@cache
def _always_ask() -> tuple[_AlwaysAsk, ...]:
    rows = tomllib.loads(files(__package__).joinpath("always_ask.toml").read_text("utf-8"))["rules"]
    return tuple(
        _AlwaysAsk(
            tuple(re.compile(pattern, re.IGNORECASE) for pattern in row["all"]),
            tuple(row.get("programs", ())),
            row.get("scope") == "command",
            row["reason"],
        )
        for row in rows
    )


def dangers(command: str, patterns: Sequence[str] = ()) -> tuple[str, ...]:
    """Why a command asks every time; `patterns` are the user's own (regular expressions on the whole text). Loads the
    parser: call it on a thread."""
    commands = _parts(command)
    found = [rule.reason for rule in _always_ask() if rule.holds(command, commands)]
    # What could be read redirects to no file.
    written = command if commands is None else "\n".join(one.source for one, is_kept in commands if not is_kept)
    for match in _WRITES_TO.finditer(written):
        if (reason := write_reason(match[1], match[1])) is not None and "/dev/" not in match[1]:
            found.append(f"writes to {match[1]}, which {reason}")
            break
    found += [f"fits the pattern {pattern!r} of your settings" for pattern in patterns if re.search(pattern, command)]
    return tuple(dict.fromkeys(found))


def _parts(command: str) -> Sequence[tuple[Simple, bool]] | None:
    """The parts of a line, each with whether what it says stays with it: a program that does not hand its words on, and
    into no pipe that ends in one that may."""
    try:
        commands = parse(command)
    except NotSimple:
        return None
    found: list[tuple[Simple, bool]] = []
    is_kept = True
    for simple in reversed(commands):
        is_kept = keeps_to_itself(simple) and (is_kept or simple.link not in ("|", "|&"))
        found.insert(0, (simple, is_kept))
    return found


def judge(
    command: str,
    *,
    place: Place,
    approvals: CommandApprovals,
    changes: Sequence[str] = (),
    always_ask: Sequence[str] = (),
) -> Verdict:
    """Decide on a command. `changes` are what earlier commands did to the shell that may give a word another meaning.

    A remembered text counts only where it was meant: in the workspace root. May take a while: call it on a thread.
    """
    if warnings := dangers(command, always_ask):
        return Verdict(None, warnings, may_remember=False)
    if approvals.distrusted():
        return Verdict(None, (), may_remember=False, reasons=(NOT_TRUSTED,))
    if approvals.shell_auto_approved() and place.contained:
        return Verdict("auto")
    in_root = place.cwd == place.roots.main
    rules = bounded([rule for entry in approvals.command_rules() if (rule := Rule.from_json(entry)) is not None])
    reasons: list[str] = [NO_SANDBOX] if approvals.shell_auto_approved() else []
    allowed = whole = in_root and approvals.command_allowed(command)
    if not allowed:
        if place.roots.root_of(place.cwd) is None:
            reasons.append("the shell is outside the workspace")
        else:
            asks = covered(command, rules, approvals.command_allowed, place)
            allowed = asks is None
            if asks is not None and rules:
                reasons.append(asks.described())
    if allowed and not whole and _changes_state(command) and any(one.program == "cd" for one in parse(command)):
        allowed = False  # rules follow links as the clean shell does
        reasons.append("it goes to another folder in a shell that was used before")
    if allowed and changes:
        reasons += [f"an earlier command {change}, which may give it another meaning" for change in changes]
    if allowed and not changes:
        used = (
            [command.strip()] if approvals.command_allowed(command) else entries_used(command, rules, approvals, place)
        )
        return Verdict(
            "always",
            shell="session" if _changes_state(command) else "clean",
            used=tuple(used),
            contained=place.contained,
        )
    return Verdict(None, (), in_root, tuple(reasons), propose(command, place) if not allowed else None)


def entries_used(
    command: str, rules: Sequence[Rule], approvals: CommandApprovals, place: Place
) -> list[str | Mapping[str, object]]:
    """The first entry that covers each part of a command that is covered."""
    used: list[str | Mapping[str, object]] = []
    for simple in parse(command):
        entry: str | Mapping[str, object] | None = simple.source if approvals.command_allowed(simple.source) else None
        if entry is None:
            entry = next((rule.to_json() for rule in rules if matches(rule, simple, place.roots, place.cwd)), None)
        if entry is not None and entry not in used:
            used.append(entry)
    return used


def _changes_state(command: str) -> bool:
    """Whether it may leave something behind in the shell that runs it. What cannot be read may."""
    try:
        return any(changes_shell(simple.program) for simple in parse(command))
    except NotSimple:
        return True
