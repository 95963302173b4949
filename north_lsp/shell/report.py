"""Reads what a shell reports about its state after each command, and compares it with its first state. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.shell.environment import changes_meaning

SECTIONS = ("functions", "aliases", "exports", "traps", "options", "builtins", "places", "directory")
# Each prints one section. The shell is in POSIX mode then, so that no function can replace `unset` and other builtins.
COMMANDS = (
    r"\builtin declare -F",
    r"\builtin alias -p",
    r"\builtin export -p",
    r"\builtin trap -p",
    r"\builtin shopt -p",
    r"\builtin enable -a",
    r"""\builtin printf '%s:%s:%s' "${CDPATH-}" "${GLOBIGNORE-}" "${EXECIGNORE-}" """,
    r"\builtin pwd -P",
)
_OWN = frozenset(
    {"POSIXLY_CORRECT", "NORTH_COMMAND_ID", "PWD", "OLDPWD", "SHLVL", "_", "PS1", "PS2", "COLUMNS", "LINES"}
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_EXPORT = lazy_pattern(
    r"""(?:export|declare\ -\w+)\ (?P<name>\w+)
    (?:=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|\$'(?P<ansi>(?:[^'\\]|\\.)*)'))?\n""",
    re.DOTALL | re.VERBOSE,
)
_ANSI = lazy_pattern(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ShellReport:
    """The sections as bash prints them."""

    functions: str
    aliases: str
    exports: str
    traps: str
    options: str
    builtins: str
    places: str
    directory: str


def read_report(parts: list[str]) -> ShellReport:
    """Build a report from its sections. Raises ValueError if their number is wrong."""
    if len(parts) != len(SECTIONS):
        raise ValueError("not a report")
    return ShellReport(*parts)


def read_exports(text: str) -> dict[str, str]:
    """Read the exported variables from the output of `export -p`."""
    found: dict[str, str] = {}
    for match in _EXPORT.finditer(text):
        if match["name"] in _OWN:
            continue
        if match["quoted"] is not None:
            found[match["name"]] = re.sub(r"\\([\\\"$`])", r"\1", match["quoted"])
        elif match["ansi"] is not None:
            found[match["name"]] = _ANSI.sub(_unescaped, match["ansi"])
    return found


def _unescaped(match: re.Match[str]) -> str:
    octal, short, long, longest, letter = match.groups()
    if octal is not None:
        return chr(int(octal, 8))
    if letter is not None:
        return _ESCAPES.get(letter, letter)
    return chr(min(int(short or long or longest, 16), 0x10FFFF))


def changed_exports(first: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str | None]:
    """Return the new values by name; None for variables that are no longer exported."""
    changed: dict[str, str | None] = {name: value for name, value in now.items() if first.get(name) != value}
    return changed | dict.fromkeys(first.keys() - now.keys())


def meaning_changed(first: ShellReport, now: ShellReport) -> tuple[str, ...]:
    """Return why a word may mean something else than when the shell started, as ends of the sentence "an earlier
    command …"."""
    reasons = []
    for text, before, pattern, words in (
        (now.functions, first.functions, r"^declare -\w+ (\S+)", "defined the function {}"),
        (now.aliases, first.aliases, r"^alias (?:-- )?([^=]+)=", "defined the alias {}"),
    ):
        if text != before:
            names = sorted(
                set(re.findall(pattern, text, re.MULTILINE)) - set(re.findall(pattern, before, re.MULTILINE))
            )
            reasons.append(words.format(", ".join(names[:5]) or "(another one)"))
    if now.exports != first.exports:
        changed = changed_exports(read_exports(first.exports), read_exports(now.exports))
        names = sorted(name for name in changed if changes_meaning(name))
        if names:
            reasons.append(f"changed {', '.join(names[:5])}")
    if now.traps != first.traps:
        reasons.append("set a trap")
    if now.options != first.options:
        names = sorted(
            line.split()[-1] for line in set(now.options.split("\n")) - set(first.options.split("\n")) if line
        )
        reasons.append(f"changed the shell's options ({', '.join(names[:5])})")
    if now.builtins != first.builtins:
        reasons.append("switched a builtin command on or off")
    if now.places != first.places:
        reasons.append("changed where names are looked up (CDPATH, GLOBIGNORE)")
    return tuple(reasons)


def exporting(wanted: Mapping[str, str | None], has: Mapping[str, str | None]) -> list[str]:
    """Return lines that set variables to the `wanted` values; None unsets one. Those that it already `has` are
    skipped."""
    return [
        f"\\builtin unset {name}" if value is None else f"\\builtin export {name}={shlex.quote(value)}"
        for name, value in wanted.items()
        if name not in has or has[name] != value
    ]
