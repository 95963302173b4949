"""JSON as people write it: a byte order mark, comments and trailing commas are ignored."""

from __future__ import annotations

import json
import re

from north_lsp.lazy_pattern import lazy_pattern

_COMMENT = lazy_pattern(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
# A comma that follows no value is a mistake, and is reported at its own place.
_TRAILING_COMMA = lazy_pattern(r'"(?:[^"\\]|\\.)*"|[:,{\[]\s*,|,(?=\s*[}\]])', re.DOTALL)
_NOT_A_LINE_FEED = lazy_pattern(r"[^\n]")


class JsonError(ValueError):
    """The text is not JSON; `line` and `column` count from 1."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.problem = problem
        self.line = line
        self.column = column


def parse(data: bytes) -> object:
    """Parse the content of a JSON file. Raises JsonError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JsonError("not UTF-8", *_place(data[: error.start].decode("utf-8", "replace"))) from None
    try:
        return json.loads(plain(text))
    except json.JSONDecodeError as error:
        raise JsonError(error.msg, error.lineno, error.colno) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, brackets of thousands of levels
        raise JsonError("a number is too large, or the nesting too deep", 1, 1) from None


def plain(text: str) -> str:
    """Blank out comments and trailing commas, so that every place keeps its line and column."""
    return _TRAILING_COMMA.sub(lambda match: " " if match[0] == "," else match[0], without_comments(text))


def without_comments(text: str) -> str:
    """Blank out comments, so that every place keeps its line and column."""
    return _COMMENT.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else _NOT_A_LINE_FEED.sub(" ", match[0])


def _place(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
