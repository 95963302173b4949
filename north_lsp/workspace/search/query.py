"""What a search looks for: the query and the glob, compiled."""

from __future__ import annotations

import re
from collections.abc import Callable

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.files.wildmatch import translate
from north_lsp.workspace.search.effort import longest_text, needed_text

_TOKEN = lazy_pattern(r"\\N\{[^}]*\}|\\.|(?<=.)\{\d+(?:,\d*)?\}|\[\^?\]?", re.DOTALL)
_TOKEN_IN_SET = lazy_pattern(r"\\N\{[^}]*\}|\\.", re.DOTALL)
# As the end of a line, a dollar could never come before a literal brace.
_DOLLAR_BRACE = lazy_pattern(r"(?<!\\)((?:\\\\)*)\$(?=\\\{)")
_ESCAPED = lazy_pattern(r"\\.", re.DOTALL)
_MAX_ALTERNATIVES = 200
_MAX_GLOB = 1000
_MAX_BRACES = 50
_SUFFIXES = lazy_pattern(r"(?:\*\*/)?\*\.(?:([A-Za-z0-9]+)|\{([A-Za-z0-9]+(?:,[A-Za-z0-9]+)*)\})")


@dataclass(frozen=True, slots=True)
class Query:
    """`pattern` finds matches within a line, or, if `multiline`, within a whole text that has line feeds only.
    `literal` are byte strings of which a file without a BOM must contain one (all lower-case if `folded`), or None if
    only the text can tell. `longest` is the number of characters up to which matching definitely ends soon, None for
    any; `needed` is in every match, in lower case if case is ignored (in ASCII texts)."""

    pattern: re.Pattern[str]
    literal: tuple[bytes, ...] | None
    folded: bool
    notices: tuple[str, ...] = ()
    multiline: bool = False
    longest: int | None = None
    needed: str = ""

    @property
    def shortest(self) -> int:
        """A number of bytes that no match is shorter than."""
        return len(self.needed) if self.literal is None else min(map(len, self.literal))

    def may_be_in(self, data: bytes) -> bool:
        if self.literal is None or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return True
        haystack = data.lower() if self.folded else data
        return any(spelling in haystack for spelling in self.literal)


def compile_query(query: str, *, regex: bool, case_sensitive: bool, multiline: bool = False) -> Query:
    """Compile a query. A capital letter in it makes it case-sensitive. A regular expression that does not compile is
    searched as plain text, with a notice. Raises ToolError INVALID_INPUT for an empty query."""
    if not query:
        raise ToolError("INVALID_INPUT", "the query is empty", "say what to search for")
    significant = _ESCAPED.sub("", query) if regex else query
    sensitive = case_sensitive or significant != significant.lower()
    if multiline and not regex:
        query, regex = re.escape(query.replace("\r\n", "\n")), True
    if not regex:
        return _plain(query, sensitive, ())
    flags = (0 if sensitive else re.IGNORECASE) | (re.MULTILINE if multiline else 0)
    try:
        pattern = re.compile(_rescued(query), flags)
        longest = longest_text(pattern.pattern, pattern.flags)
        return Query(
            pattern, None, False, multiline=multiline, longest=longest, needed=needed_text(pattern.pattern, flags)
        )
    except (re.error, OverflowError, RecursionError) as error:
        sensitive = case_sensitive or query != query.lower()
        return _plain(query, sensitive, (f"searched as plain text: {error}",))


def compile_glob(glob: str) -> Callable[[str], bool]:
    """Compile a glob to a function that tells whether it matches a relative path: ignoring case, at any depth unless it
    has a slash; `{a,b}` are alternatives. Raises ToolError INVALID_INPUT for one that can match nothing."""
    if len(glob) > _MAX_GLOB or glob.count("{") > _MAX_BRACES:
        raise ToolError(
            "INVALID_INPUT",
            f"the glob has more than {_MAX_GLOB} characters or {_MAX_BRACES} braces",
            "use a simpler one, for example `src/**/*.{ts,tsx}`",
        )
    slashed = glob.replace("\\", "/")
    plain = slashed.removeprefix("./").removeprefix("/")
    anchored = "/" in plain.rstrip("/") or plain != slashed
    suffixes = _SUFFIXES.fullmatch(slashed)
    if suffixes is not None:
        endings = tuple(f".{ending.lower()}" for ending in (suffixes[1] or suffixes[2]).split(","))
        return lambda relative: relative.lower().endswith(endings)
    sources: list[bytes] = []
    for alternative in _alternatives(plain):
        body = alternative + "**" if alternative.endswith("/") else alternative
        source = translate((body if anchored else f"**/{body}").encode("utf-8", "replace"))
        if source is None or not alternative:
            at = _broken_at(plain) + len(glob) - len(plain) + 1
            raise ToolError(
                "INVALID_INPUT",
                f"the glob {glob!r} is broken at character {at}",
                "for example `*.py` or `src/**/*.{ts,tsx}`",
                {"position": at},
            )
        sources.append(b"(?:" + source + b")")
    pattern = re.compile(b"|".join(sources), re.DOTALL | re.IGNORECASE)
    return lambda relative: pattern.fullmatch(relative.encode("utf-8", "surrogateescape")) is not None


def _broken_at(glob: str) -> int:
    """Return where the last unclosed or invalid set begins, from 0."""
    starts = [at for at, character in enumerate(glob) if character == "["]
    broken = (at for at in reversed(starts) if translate(glob[at:].encode("utf-8", "replace")) is None)
    return next(broken, 0)


def _plain(query: str, sensitive: bool, notices: tuple[str, ...]) -> Query:
    if "\n" in query:
        notices = (*notices, "lines are searched one by one, so a query with a line break finds nothing: set multiline")
    if query.isascii():
        # Only ASCII letters are case-folded here, so that bytes and text agree on what matches.
        flags = re.ASCII | (0 if sensitive else re.IGNORECASE)
        literal = (query.encode() if sensitive else query.lower().encode(),)
        return Query(re.compile(re.escape(query), flags), literal, not sensitive, notices)
    pattern = re.compile(re.escape(query), 0 if sensitive else re.IGNORECASE)
    if not sensitive:
        return Query(pattern, None, False, notices)
    spellings = [query.encode("utf-8", "replace")]
    if max(query) <= "\xff":
        spellings.append(query.encode("latin-1"))
    return Query(pattern, tuple(spellings), False, notices)


def _rescued(expression: str) -> str:
    """Escape braces that cannot be a repetition, as in `${name}`, and what Python would warn about in a set."""
    out: list[str] = []
    at, in_set = 0, False
    while at < len(expression):
        character = expression[at]
        token = _TOKEN_IN_SET.match(expression, at) if in_set else _TOKEN.match(expression, at)
        if token:
            in_set = in_set or character == "["
            out.append(token[0])
            at = token.end()
            continue
        in_set = in_set and character != "]"
        special = "[&~|" if in_set else "{}"
        doubled = in_set and expression[at : at + 2] == "--"
        out.append("\\" + character if character in special or doubled else character)
        at += 1
    return _DOLLAR_BRACE.sub(r"\1\\$", "".join(out))


def _alternatives(glob: str) -> list[str]:
    """Expand a glob to one without braces for each of its alternatives; an unbalanced brace is closed at the end."""
    start = glob.find("{")
    if start < 0:
        return [glob]
    depth, parts, begin, at = 0, list[str](), start + 1, start
    while at < len(glob):
        match glob[at]:
            case "{":
                depth += 1
            case "}":
                depth -= 1
            case "," if depth == 1:
                parts.append(glob[begin:at])
                begin = at + 1
        if not depth:
            break
        at += 1
    parts.append(glob[begin:at])
    rest = glob[at + 1 :]
    found = [whole for part in parts for whole in _alternatives(glob[:start] + part + rest)]
    if len(found) > _MAX_ALTERNATIVES:
        raise ToolError(
            "INVALID_INPUT", f"the glob has more than {_MAX_ALTERNATIVES} alternatives", "use a simpler one"
        )
    return found
