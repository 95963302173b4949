"""Reads source text by its form: where a name is defined, what its docstring says, how to quote it in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from north_lsp.display import fenced
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_MAX_HEADER_LINES = 8
_MAX_NOTE_LINES = 14
_INLINE_CHARACTERS = 100
_MODIFIERS = (
    r"(?:export|default|pub(?:\([^)]*\))?|public|private|protected|static|async|abstract|final|declare|unsafe|local)"
)
_KEYWORDS = r"(?:def|class|function\*?|func|fn|const|struct|interface|type|enum|trait|module|namespace|macro_rules!)"
_DEFINITION = lazy_pattern(
    rf"^(?P<indent>\s*)(?:{_MODIFIERS}\s+)*(?P<keyword>{_KEYWORDS})\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$][\w$]*)"
)
_HEADING = lazy_pattern(r"^#{1,6}\s+\S.*")
_COMMENT = lazy_pattern(r"^\s*(?://|#(?!\s*(?:include|define|if|endif)\b)|/\*|\*|--|;;)")
_DOCSTRING = lazy_pattern(r"^\s*[rRuU]?(\"\"\"|''')")
_LANGUAGES = {"py": "python", "pyi": "python", "rs": "rust", "js": "js", "ts": "ts", "tsx": "tsx", "rb": "ruby"}
_PROSE = (".md", ".rst", ".txt")


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Definition:
    line: int
    keyword: str
    name: str


def numbered(content: str) -> list[Line]:
    """Return the lines of a numbered text, in which each line is `<n>→<text>`."""
    found = (re.match(r"(\d{1,9})→(.*)", line) for line in content.split("\n"))
    return [Line(int(match[1]), match[2]) for match in found if match is not None]


def from_text(text: str, first: int = 1) -> list[Line]:
    return [Line(number, line) for number, line in enumerate(text.split("\n"), first)]


def definition_pattern(name: str) -> str:
    """Return a regular expression for lines that define a name in one of the common languages."""
    name = re.escape(name)
    return rf"\b{_KEYWORDS}\s+(?:\([^)]*\)\s*)?{name}\b|^\s*(?:{_MODIFIERS}\s+)*{name}\s*(?::[^=]+)?=[^=]"


def defines(line: str, name: str) -> bool:
    return re.search(definition_pattern(name), line) is not None


def definitions(lines: Sequence[Line]) -> list[Definition]:
    """Return what the lines define, except for indented constants."""
    found = ((line.number, _DEFINITION.match(line.text)) for line in lines)
    return [
        Definition(number, match["keyword"], match["name"])
        for number, match in found
        if match is not None and not (match["keyword"] == "const" and match["indent"])
    ]


def headings(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if _HEADING.match(line.text)]


def is_prose(path: str) -> bool:
    return path.lower().endswith(_PROSE)


def introduction(lines: Sequence[Line], path: str) -> str:
    """Return a file's first heading, docstring or comment as one line, empty if it does not begin with one."""
    texts = [line.text.strip() for line in lines if line.text.strip() and not line.text.startswith("#!")]
    if not texts:
        return ""
    if is_prose(path):
        return next((text.lstrip("# ") for text in texts if text.startswith("#")), texts[0])
    if (quote := _DOCSTRING.match(texts[0])) is not None:
        inside = texts[0][quote.end() :].split(quote[1])[0].strip()
        return inside or (texts[1] if len(texts) > 1 else "")
    return texts[0].lstrip("/#*-; ").removesuffix("*/").strip() if _COMMENT.match(texts[0]) else ""


def with_notes(lines: Sequence[Line], number: int) -> list[Line]:
    """Return the definition that begins at a line: comments and decorators above it, its header, its docstring."""
    at = next((index for index, line in enumerate(lines) if line.number == number), None)
    if at is None:
        return []
    start = at
    while start > 0 and at - start < _MAX_NOTE_LINES and _is_note(lines[start - 1].text):
        start -= 1
    end = _header_end(lines, at)
    return [*lines[start:end], *_docstring(lines[end:])]


def _is_note(text: str) -> bool:
    return _COMMENT.match(text) is not None or text.lstrip().startswith(("@", "#["))


def _header_end(lines: Sequence[Line], at: int) -> int:
    """Return the index after the line that closes the header's brackets."""
    depth = 0
    for end in range(at, min(at + _MAX_HEADER_LINES, len(lines))):
        text = lines[end].text
        depth += sum(text.count(opening) for opening in "([") - sum(text.count(closing) for closing in ")]")
        if depth <= 0:
            return end + 1
    return min(at + 1, len(lines))


def _docstring(lines: Sequence[Line]) -> Sequence[Line]:
    quote = _DOCSTRING.match(lines[0].text) if lines else None
    if quote is None:
        return []
    if quote[1] in lines[0].text[quote.end() :]:
        return lines[:1]
    end = next((at for at, line in enumerate(lines[1:], 2) if quote[1] in line.text), len(lines))
    return lines[: min(end, _MAX_NOTE_LINES)]


def inline(text: str) -> str:
    """Return a text as inline Markdown code, shortened to its first line."""
    text = text.strip("\n") or text
    first = text.split("\n")[0].replace("\r", "")
    first = first[:_INLINE_CHARACTERS]
    shown = first if first == text else f"{first}…"
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    ticks = "`" * (longest + 1)
    gap = " " if longest or not shown.strip() else ""
    return f"{ticks}{gap}{shown}{gap}{ticks}"


def code_block(text: str, path: str = "") -> str:
    """Return a text as a Markdown code block, in the language of its file."""
    return fenced(text, _LANGUAGES.get(PurePosixPath(path).suffix.lstrip("."), ""))
