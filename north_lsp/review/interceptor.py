"""Commands that a tool does better: the model is told which, and nothing runs."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from north_lsp.review.parsing import NotSimple, Simple, parse

_WRITES = re.compile(r"\A\s*(?:echo|printf)\s[^;&|\n`$()]*?[^>&\d]>{1,2}\s*([^\s;&|<>()`$]+)\s*\Z")
_HEREDOC = re.compile(
    r"\A\s*cat\s+(?:<<-?\s*['\"]?\w+['\"]?\s*>{1,2}\s*\S+|>{1,2}\s*\S+\s*<<-?\s*['\"]?\w+['\"]?)\s*\n"
)


@dataclass(frozen=True, slots=True)
class Better:
    """The tool to use instead of a command, and why."""

    tool: str
    reason: str


def better_tool(command: str, tools: Collection[str]) -> Better | None:
    """A tool among the active ones that does what a single plain command does. Pipes, lists and redirects go through.

    Loads the parser: call it on a thread.
    """
    found = _written(command) or _read(command)
    return found if found is not None and found.tool in tools else None


def _written(command: str) -> Better | None:
    if _HEREDOC.match(command) or ((match := _WRITES.match(command)) and not match[1].startswith("/dev/")):
        return Better("edit_create_file", "it shows the user what is written, and can be undone")
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
                return Better("read_file", "it numbers the lines and keeps to the ignore rules")
        case "grep" | "rg" | "ag" | "ack" if len(operands) > 1 or (simple.program != "grep" and operands):
            return Better("search_text", "it keeps to the ignore rules and limits what comes back")
        case "find" | "fd" | "locate" if not {"-exec", "-execdir", "-delete", "-ok", "-x", "-X"} & set(words):
            return Better("find_files", "it keeps to the ignore rules")
        case "sed" | "perl" if any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in words):
            return Better("edit_replace_exact", "it shows the user what changes, and can be undone")
        case "ls" if not operands or operands == ["."]:
            return Better("list_root", "it keeps to the ignore rules")
    return None


def _follows(simple: Simple) -> bool:
    """Whether it waits for more (`tail -f`)."""
    return any(word.text in ("-f", "-F", "--follow") or word.text.startswith("--follow=") for word in simple.words)
