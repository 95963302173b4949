"""Finds commands that a tool does better: the model is told which tool, and the command does not run."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from north_lsp.command_policy.parsing import NotSimple, Simple, parse
from north_lsp.command_policy.patterns import matches
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_QUOTED = lazy_pattern(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_BODY = lazy_pattern(r"(?<=<<)-?[ \t]*(['\"]?)(\w+)\1(?P<rest>[^\n]*)\n.*?^\t*\2[ \t]*$", re.DOTALL | re.MULTILINE)
_TEE = lazy_pattern(
    r"\A\s*(?:echo|printf)\s[^;&|\n`$()<>]*\|\s*tee\s+(?:-a\s+)?(?!/dev/)[^\s;&|<>()`$-][^\s;&|<>()`$]*\s*\Z"
)
_WRITES = lazy_pattern(r"\A\s*(?:echo|printf)\s[^;&|\n`$()]*?[^>&\d]>{1,2}\s*([^\s;&|<>()`$]+)\s*\Z")
_HEREDOC = lazy_pattern(
    r"\A\s*cat\s+(?:<<-?\s*['\"]?\w+['\"]?\s*>{1,2}\s*\S+|>{1,2}\s*\S+\s*<<-?\s*['\"]?\w+['\"]?)\s*\n"
)


@dataclass(frozen=True, slots=True)
class Better:
    """The tool to use instead of a command, and why."""

    tool: str
    reason: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The user's own rule: a regular expression on the command without its quoted texts and here-documents."""

    pattern: str
    better: Better


def better_tool(
    command: str, tools: Collection[str], own: Sequence[Pattern] = (), off: Collection[str] = ()
) -> Better | None:
    """Return the active tool that does the same as a single plain command; None for pipes, lists and redirects, except
    for those that only write a text to a file. The user's `own` patterns come first; `off` are the names of North's
    patterns that are switched off.

    Loads the parser: call it on a thread.
    """
    bare = without_quoted(command)
    for row in own:
        if row.better.tool in tools and matches(row.pattern, bare):
            return row.better
    found = _written(command) or _read(command)
    return found if found is not None and found.tool in tools and found.name not in off else None


def without_quoted(command: str) -> str:
    """Return the part of a command that patterns look at: quoted texts and here-documents do not tell what it does."""
    return _QUOTED.sub("''", _BODY.sub("", command))


def _written(command: str) -> Better | None:
    if (
        _TEE.match(command)
        or _HEREDOC.match(command)
        or ((match := _WRITES.match(command)) and not match[1].startswith("/dev/"))
    ):
        return Better("edit_create_file", "it shows the user what is written, and can be undone", "write")
    return None


def _read(command: str) -> Better | None:
    if ">" in command or "<" in command:
        return None
    try:
        commands = parse(command)
    except NotSimple:
        return None
    if len(commands) != 1 or commands[0].link:
        return None
    simple = commands[0]
    words = [word.text for word in simple.words[1:]]
    operands = [word for word in words if not word.startswith("-")]
    match simple.program:
        case "cat" | "head" | "tail" | "less" | "more" | "bat" if operands and not _follows(simple):
            if len(operands) == 1 or not operands[0].isdecimal():
                return Better("read_file", "it numbers the lines and keeps to the ignore rules", "read")
        case "grep" | "rg" | "ag" | "ack" if len(operands) > 1 or (simple.program != "grep" and operands):
            return Better("search_text", "it keeps to the ignore rules and limits what comes back", "search")
        case "find" | "fd" | "locate" if not {"-exec", "-execdir", "-delete", "-ok", "-x", "-X"} & set(words):
            return Better("find_files", "it keeps to the ignore rules", "find")
        case "awk" | "gawk" if "inplace" in words and ("-i" in words or "--include" in words):
            return Better("edit_replace_exact", "it shows the user what changes, and can be undone", "edit")
        case "sed" | "perl" if any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in words):
            return Better("edit_replace_exact", "it shows the user what changes, and can be undone", "edit")
        case "ls" if not operands or operands == ["."]:
            return Better("list_root", "it keeps to the ignore rules", "list")
    return None


def _follows(simple: Simple) -> bool:
    """Return whether the command waits for more input (`tail -f`)."""
    return any(word.text in ("-f", "-F", "--follow") or word.text.startswith("--follow=") for word in simple.words)
