"""What a search looks for: the query and the glob, compiled."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from north_lsp.errors import ToolError
from north_lsp.workspace.wildmatch import translate

_REPETITION = re.compile(r"\{(?:\d+(?:,\d*)?|,\d+)\}")
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_MAX_ALTERNATIVES = 200


@dataclass(frozen=True, slots=True)
class Query:
    """`pattern` finds matches within a line. `literal` holds spellings in bytes of which a file without a BOM must contain
    one (all lower-case if `folded`), or is None if only looking at the text can tell."""

    pattern: re.Pattern[str]
    literal: tuple[bytes, ...] | None
    folded: bool
    notices: tuple[str, ...] = ()

    def may_be_in(self, data: bytes) -> bool:
        if self.literal is None or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return True
        haystack = data.lower() if self.folded else data
        return any(spelling in haystack for spelling in self.literal)


def compile_query(query: str, *, regex: bool, case_sensitive: bool) -> Query:
    """A query ready to search with. A capital in it makes case count. A regular expression that does not compile is
    searched as plain text, with a notice. Raises ToolError INVALID_INPUT for an empty one."""
    if not query:
        raise ToolError("INVALID_INPUT", "the query is empty", "say what to search for")
    significant = _ESCAPED.sub("", query) if regex else query
    sensitive = case_sensitive or significant != significant.lower()
    if not regex:
        return _plain(query, sensitive, ())
    try:
        return Query(re.compile(_rescued(query), 0 if sensitive else re.IGNORECASE), None, False)
    except (re.error, OverflowError, RecursionError) as error:
        sensitive = case_sensitive or query != query.lower()
        return _plain(query, sensitive, (f"searched as plain text: {error}",))


def compile_glob(glob: str) -> Callable[[str], bool]:
    """Whether a relative path is meant by a glob: without regard to case, at any depth unless it has a slash; `{a,b}` are
    alternatives. Raises ToolError INVALID_INPUT for one that can match nothing."""
    plain = glob.replace("\\", "/").removeprefix("./").removeprefix("/")
    anchored = "/" in plain.rstrip("/")
    sources: list[bytes] = []
    for alternative in _alternatives(plain):
        body = alternative + "**" if alternative.endswith("/") else alternative
        source = translate((body if anchored else f"**/{body}").encode("utf-8", "replace"))
        if source is None or not alternative:
            raise ToolError(
                "INVALID_INPUT", f"the glob {glob!r} is broken", "for example `*.py` or `src/**/*.{ts,tsx}`"
            )
        sources.append(b"(?:" + source + b")")
    pattern = re.compile(b"|".join(sources), re.DOTALL | re.IGNORECASE)
    return lambda relative: pattern.fullmatch(relative.encode("utf-8", "surrogateescape")) is not None


def _plain(query: str, sensitive: bool, notices: tuple[str, ...]) -> Query:
    if "\n" in query:
        notices = (*notices, "lines are searched one by one, so a query with a line break finds nothing")
    if query.isascii():
        # Only ASCII letters fold into each other here, so that bytes and text agree on what a match is.
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
    """Braces that cannot be a repetition stand for themselves, as in `${name}`."""
    out: list[str] = []
    at, in_set = 0, False
    while at < len(expression):
        character = expression[at]
        if character == "\\":
            named = re.compile(r"\\N\{[^}]*\}").match(expression, at)
            end = named.end() if named else at + 2
            out.append(expression[at:end])
            at = end
            continue
        if character == "[" and not in_set:
            in_set = True
            start = re.compile(r"\[\^?\]?").match(expression, at)
            assert start is not None
            out.append(start[0])
            at = start.end()
            continue
        if character == "]":
            in_set = False
        repetition = _REPETITION.match(expression, at) if character == "{" and not in_set and at else None
        if repetition:
            out.append(repetition[0])
            at = repetition.end()
            continue
        out.append("\\" + character if character in "{}" and not in_set else character)
        at += 1
    return _dollars("".join(out))


def _dollars(expression: str) -> str:
    """A dollar before a literal brace is meant literally, too: as the end of a line it could never match there."""
    return re.sub(r"(?<!\\)((?:\\\\)*)\$(?=\\\{)", r"\1\\$", expression)


def _alternatives(glob: str) -> list[str]:
    """A glob without braces for each way through its alternatives; an unbalanced brace is closed at the end."""
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
