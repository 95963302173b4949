"""Puts the words of a call into a template. Pure, and in bounded time."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from north_lsp.lazy_pattern import lazy_pattern

MAX_BYTES = 64 * 1024
"""How long what a model gets of one call may be."""
_PLACES = lazy_pattern(r"\$(?:(ARGUMENTS|@)|([1-9])(?!\d))|\{\{\s*(args|arguments|ARGUMENTS)\s*\}\}")
_COMMAND_LINE = lazy_pattern(r"^(?P<before>[^\n`!]*)!`(?P<command>[^`\n]{1,2000})`", re.MULTILINE)
_CURLY_COMMAND = lazy_pattern(r"!\{(?P<command>[^{}\n]{1,2000})\}")
_PLAIN_WORD = lazy_pattern(r"[\w./:@%+=,-]+")
_MENTION = lazy_pattern(r"(?<![\w@/.`])@(?:\{(?P<curly>[^{}\n]{1,500})\}|(?P<path>[\w.~/-]*[\w/-]))")
_MAX_MENTIONS = 20


def expanded(body: str, words: str) -> str:
    """Put the words of a call in the template's places for them; without such a place they come behind it."""
    given = _split(words)

    def put(match: re.Match[str]) -> str:
        if match[2] is None:
            return words.strip()
        at = int(match[2]) - 1
        return given[at] if at < len(given) else ""

    text, count = _PLACES.subn(put, body)
    if not count and words.strip():
        text = f"{text}\n\n{words.strip()}"
    return text


def with_commands_named(body: str, words: str) -> tuple[str, Sequence[str]]:
    """Name the commands whose output a template wants (`` !`git diff` ``), and return them with the words of a call in
    their places. To be called before `expanded`, so that no word becomes a command. One in which a word could mean more
    to a shell than itself is left to the model."""
    commands: dict[str, None] = {}

    def named(command: str) -> str:
        filled = _filled(command.strip(), words)
        if filled is None:
            return f"(the output of `{command.strip()}`: run it)"
        commands[filled] = None
        return f"(the output of `{filled}`; if it is not below, run it)"

    text = _COMMAND_LINE.sub(lambda match: f"{match['before']}{named(match['command'])}", body)
    return _CURLY_COMMAND.sub(lambda match: named(match["command"]), text), list(commands)


def _filled(command: str, words: str) -> str | None:
    """Return a command with the words of a call; None if they are more than plain words."""
    if _PLACES.search(command) is None:
        return command
    given = _split(words)
    return expanded(command, " ".join(given)) if all(map(_PLAIN_WORD.fullmatch, given)) else None


def mentions(body: str) -> Sequence[str]:
    """Return the paths that a template mentions (`@src/a.py`), each once."""
    found = (match["curly"] or match["path"] for match in _MENTION.finditer(body))
    return list(dict.fromkeys(path.strip() for path in found))[:_MAX_MENTIONS]


def _split(words: str) -> list[str]:
    """Split the words of a call as a shell does; a quotation mark that is not closed runs to the end."""
    for closing in ("", '"', "'"):
        try:
            return shlex.split(words + closing)
        except ValueError:
            continue
    return words.split()
