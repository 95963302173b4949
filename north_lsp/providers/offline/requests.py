"""Turns a user's words into a list of tasks. Pure text processing: knows no tools and no results.

Quoted texts are first replaced with marks, so that nothing inside quotes is split or read as a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.offline.attached import Attachment, without_attachments


@dataclass(frozen=True, slots=True)
class Find:
    """Find where a text occurs."""

    query: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Explain:
    """Explain what a name stands for."""

    name: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class ExplainThis:
    """Explain what is attached to the message."""


@dataclass(frozen=True, slots=True)
class Read:
    """Read a file, or a range of its lines (inclusive, from 1)."""

    path: str
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ListFiles:
    """List the project's root; `folder` is what was asked for instead, if anything."""

    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace one text with another. Without a path, in the file that is attached or was named before."""

    old: str
    new: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Create:
    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Run:
    command: str
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class Help:
    """Help was asked for, or nothing was understood."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part that was not understood, next to others that were."""

    text: str


Task = Find | Explain | ExplainThis | Read | ListFiles | Replace | Create | Run | Help | Unknown


@dataclass(frozen=True, slots=True)
class Order:
    """A user message, as far as it was understood."""

    tasks: tuple[Task, ...]
    attachments: tuple[Attachment, ...] = ()


def parse(message: str) -> Order:
    """Return the tasks in a user message, in their order; `Help` alone if none was understood."""
    words, attachments = without_attachments(message)
    words, pasted = _without_pasted(words)
    if pasted is not None:
        attachments = (Attachment(pasted.path, ""), *attachments)
    tasks = _tasks(words) if words.strip() or not attachments else [ExplainThis()]
    return Order(tuple(pasted if pasted and isinstance(task, ExplainThis) else task for task in tasks), attachments)


# What an editor pastes below the words (agent-shell does): a paragraph that is a place, and the lines that are there.
_PLACE = lazy_pattern(r"(?:\A|\n\s*\n)(?P<path>[^\s:\0]+):(?P<from>\d{1,9})-(?P<to>\d{1,9})[ \t]*(?:\n\s*\n|\Z)")


def _without_pasted(words: str) -> tuple[str, Read | None]:
    """Return the words above a pasted place, and what reads it."""
    if _PLACE.search(words) is None:
        return words, None
    quotes = _Quotes(words)
    found = _PLACE.search(quotes.masked)
    if found is None:  # it is quoted
        return words, None
    return quotes.raw(quotes.masked[: found.start()]), Read(found["path"], (int(found["from"]), int(found["to"])))


# -- quoted texts ------------------------------------------------------------------------------------------------------

_LONGEST_CLAUSE = 1000
_QUOTED = lazy_pattern(
    r"""
      (?P<fence>`{3,}) [^\n`]* \n (?P<fenced>(?s:.*?)) (?<=\n)[ \t]* (?P=fence) (?!`)
    | (?<!`) (?P<ticks>`+) (?!`) (?P<ticked>.{1,2000}?) (?<!`) (?P=ticks) (?!`)
    | (?<=\() " (?P<inner>[^"\n]*) " (?=\))
    | (?<![\w"]) " (?P<double>(?s:.{0,4000}?)) " (?=[\s,;.:!?]|$)
    | (?<![\w"]) " (?P<loose>[^"\n]*) "
    | (?<![\w']) ' (?P<single>.{0,400}?) ' (?=[\s,;.:!?)]|$)
    | “ (?P<curly>[^“”]*) ”
    | (?<!\w) ‘ (?P<single_curly>.{0,400}?) ’ (?=[\s,;.:!?)]|$)
    """,
    re.VERBOSE,
)
_MARK = "\0[FTQ][0-9]+\0"
_PAIRS = frozenset({'""', "''", "``", "“”", "‘’"})


class _Quotes:
    """The texts that were replaced with marks. A mark says what kind its text is: Fenced, in backTicks, or Quoted."""

    def __init__(self, text: str) -> None:
        self._raw: list[str] = []
        self._inner: list[str] = []
        masked = _QUOTED.sub(self._take, text.replace("\0", "").replace("\r\n", "\n"))
        masked = re.sub(r"\n[ \t]*(?=\0F)", " ", masked)
        self.masked = re.sub(r"(?<=\0)[ \t]*\n[ \t]*(?=(?:by|with|to|in)\b)", " ", masked)

    def _take(self, found: re.Match[str]) -> str:
        if found["fence"] is not None:
            sort, inner = "F", found["fenced"].removesuffix("\n")
        elif found["ticks"] is not None:
            inner = found["ticked"]
            sort, inner = "T", inner.strip(" ") if "`" in inner else inner
        else:
            names = ("inner", "double", "loose", "single", "curly", "single_curly")
            sort, inner = "Q", next(found[name] for name in names if found[name] is not None)
        self._raw.append(found[0])
        self._inner.append(inner)
        return f"\0{sort}{len(self._raw) - 1}\0"

    def raw(self, masked: str) -> str:
        """Return the text as it was written."""
        return re.sub(_MARK, lambda found: self._raw[int(found[0][2:-1])], masked)

    def value(self, masked: str) -> str:
        """Return the intended text: without the quotes if it is quoted, otherwise as it was written."""
        masked = masked.strip()
        if re.fullmatch(_MARK, masked):
            return self._inner[int(masked[2:-1])]
        raw = self.raw(masked)
        return raw[1:-1] if len(raw) > 2 and raw[0] + raw[-1] in _PAIRS else raw


# -- a message as clauses ----------------------------------------------------------------------------------------------

_SEPARATOR = lazy_pattern(
    r"(?<=[\s,;.])(?:and\s{1,3})?then\b[,:]?(?=\s)|;|\n"
    r"|(?<=\s)and\s{1,3}(?=(?:find|explain|read|replace|change|rename|create|run|execute)\s{1,3}\0)",
    re.IGNORECASE,
)
_LEAD_IN = lazy_pattern(
    r"[-*]\s+|\d{1,2}[.)]\s+|/(?=\w)"
    r"|(?:please|kindly|now|first|finally|also|next|and|then|ok|okay|so|hey|hi)\b[,:]?\s+"
    r"|(?:can|could|would|will)\s+you\s+|i\s+(?:want|need|would\s+like)\s+(?:you\s+)?to\s+|let['’]?s\s+"
    r"|(?:tell|show)\s+me\s+(?=how|what|where)|explain\s+(?:to\s+me\s+)?(?=(?:how|what)\s)",
    re.IGNORECASE,
)
_PLEASE = lazy_pattern(r"[,\s][ ]?(?:please|thanks|thank\s+you)[.!]?$", re.IGNORECASE)


class _Clause(NamedTuple):
    """A task and its position. `open` means that its text was unquoted, so it may continue after a separator."""

    start: int
    end: int
    task: Task
    open: bool


def _tasks(words: str) -> list[Task]:
    quotes = _Quotes(words)
    masked = quotes.masked
    clauses: list[_Clause] = []
    for start, end in _pieces(masked):
        rest = _CREATE_REST.match(_bare(masked[start:end], quotes))
        understood = _understand(masked[start:end], quotes)
        if rest is not None and isinstance(understood[0], Create) and masked[end : end + 1] == "\n":
            content = quotes.raw(masked[end:]).strip("\n").rstrip()
            clauses.append(_Clause(start, end, replace(understood[0], content=content), False))
            break
        if clauses and isinstance(understood[0], Unknown) and _goes_on(clauses[-1], masked[clauses[-1].end : end]):
            clauses[-1] = clauses[-1]._replace(end=end)
        else:
            clauses.append(_Clause(start, end, *understood))
    tasks = [_understand(masked[each.start : each.end], quotes)[0] if each.open else each.task for each in clauses]
    return tasks if any(not isinstance(task, Unknown) for task in tasks) else [Help()]


def _goes_on(last: _Clause, piece: str) -> bool:
    """Return whether a piece that is not a request belongs to the one before: unquoted texts may contain separators."""
    return last.open and (isinstance(last.task, Create) or "\n" not in piece)


def _pieces(masked: str) -> Iterator[tuple[int, int]]:
    start = 0
    for separator in _SEPARATOR.finditer(masked):
        if masked[start : separator.start()].strip(" \t,."):
            yield start, separator.start()
        start = separator.end()
    if masked[start:].strip(" \t,."):
        yield start, len(masked)


def _bare(piece: str, quotes: _Quotes) -> str:
    """Return a piece without the polite words around it."""
    piece = piece.strip(" \t\n").rstrip(",").rstrip()
    while (found := _LEAD_IN.match(piece)) is not None:
        piece = piece[found.end() :].lstrip()
    return _PLEASE.sub("", piece)


# -- a clause as a task ------------------------------------------------------------------------------------------------


def _pattern(text: str) -> re.Pattern[str]:
    return lazy_pattern(text, re.IGNORECASE | re.DOTALL)


_IN = r"(?:in|inside|within|under)"
_CREATE = _pattern(
    r"(?:create|write|make|add)\s+(?:an?\s+|the\s+)?(?:new\s+|empty\s+)*(?P<file>(?:text\s+)?file\s+)?"
    r"(?:named\s+|called\s+)?(?P<path>\S+?)"
    r"(?::?\s+(?:with|containing|that\s+(?:contains|says))\b"
    r"(?:\s+(?:the\s+|this\s+)?(?:text|contents?|line|lines)\b)?:?(?:\s+(?P<content>.+))?)?"
)
_CREATE_REST = _pattern(r"(?:create|write|make|add)\s.*\s(?:with|containing|text|contents?|lines?|contains|says):?$")
_RUN = _pattern(r"(?:run|execute)\s+(?P<the>the\s+)?(?P<noun>(?:shell\s+)?command:?\s+)?(?P<command>.+)")
_RUN_IN = _pattern(rf"(?P<command>{_MARK})\s+{_IN}\s+(?P<cwd>.+)")
_RUN_WITH_REASON = _pattern(r"(?P<command>\0[FT]\d+\0)\.?(?:\s+(?:to|so|and|for|again|now|once)\b.*)?")
_NO_COMMAND = _pattern(r"(?:it|this|that|them|(?:all\s+|my\s+)?tests?)[.!]?")
_TARGET = r"(?:all\s+|every\s+|each\s+)?(?:occurrences?\s+of\s+|the\s+(?:text|word|string|line|name)\s+)?(?P<old>.+?)"
_REPLACE = tuple(
    _pattern(start + ending)
    for ending in (rf"(?:\s+everywhere)?\s+{_IN}\s+(?P<path>.+)", "(?P<path>)")
    for start in (
        rf"(?:find\s+and\s+)?(?:replace|substitute)\s+{_TARGET}\s+(?:by|with)\s+(?P<new>.+)",
        rf"(?:change|rename)\s+{_TARGET}\s+(?:to|into)\s+(?P<new>.+)",
        rf"(?:change|rename)\s+{_TARGET}\s+(?:by|with)\s+(?P<new>.+)",
    )
)
_REPLACE_FIRST_PATH = _pattern(r"in\s+(?P<path>.+?)[,:]?\s+(?P<rest>(?:replace|substitute|change|rename)\s.+)")
_LIST = _pattern(
    r"(?:list|show)(?:\s+me)?(?:\s+all)?(?:\s+(?:the|my))?(?:\s+(?:project|root|workspace))?"
    rf"\s+(?:files|entries|folders?|director(?:y|ies)|project|contents)(?:\s+(?:{_IN}|of)\s+(?P<path>.+))?"
    rf"|(?:what|which)\s+files\s+are\s+(?:there|here|{_IN}\s+.+)|ls"
)
_WHAT_IS_IN = _pattern(r"what(?:\s+is|['’]s)\s+in(?:side)?\s+(?P<path>.+)")
_READ = (
    _pattern(
        r"(?:read|show|open|view|cat|display)(?:\s+me)?\s+lines?\s+(?P<from>\d{1,9})(?:\s*(?:-|–|to)\s*(?P<to>\d{1,9}))?"
        r"\s+(?:of|in|from)\s+(?P<path>.+)"
    ),
    _pattern(
        r"(?:read|show|open|view|cat|display)(?:\s+me)?\s+(?P<path>.+?)"
        r"(?:[,:]?\s+lines?\s+(?P<from>\d{1,9})(?:\s*(?:-|–|to)\s*(?P<to>\d{1,9}))?)?"
    ),
)
_SEARCH_PATH_FIRST = _pattern(rf"search\s+(?:{_IN}\s+)?(?P<path>\S+)\s+for\s+(?P<query>.+)")
_FIND_START = (
    r"(?:find|search(?:\s+for)?|look\s+for|grep(?:\s+for)?|locate|who\s+(?:uses|calls)|where\s+(?:is|are|do(?:es)?))\s+"
)
_FIND_WORDS = (
    r"(?:(?:all\s+|every\s+|the\s+)*(?:uses?|usages?|references?|occurrences?|places?|definitions?)\s+(?:of|to|for)\s+)?"
    r"(?:the\s+(?:text|word|string)\s+)?"
)
_FIND_END = r"(?:\s+(?:defined|used|called|declared|implemented|mentioned))?"
_FIND = tuple(
    _pattern(_FIND_START + _FIND_WORDS + r"(?P<query>.+?)" + _FIND_END + path)
    for path in (rf"\s+{_IN}\s+(?P<path>(?:(?!\s{_IN}\s).)+)", "(?P<path>)")
)
_EXPLAIN = tuple(
    _pattern(start + path)
    for path in (rf"\s+{_IN}\s+(?P<path>(?:(?!\s{_IN}\s).)+)", "(?P<path>)")
    for start in (
        r"(?:explain|describe)(?:\s+to\s+me)?\s+(?P<name>.+)",
        r"what\s+(?:does|do)\s+(?P<name>.+?)\s+(?:do|mean)",
        r"how\s+(?:does|do)\s+(?P<name>.+?)\s+work",
        r"how\s+(?P<name>.+?)\s+works?",
        r"what\s+(?!is\s|are\s)(?P<name>.+?)\s+does",
        r"what(?:\s+(?:is|are)|['’]s)\s+(?P<name>.+)",
    )
)
_ARTICLE = _pattern(r"(?:(?:the|an?|our|my)\s+)?(?:(?:function|class|method|module|type|constant|variable)\s+)?(?=\S)")
_KIND_BEHIND = _pattern(r"\s+(?:function|class|method|module|type|constant|variable)$")
_THIS = _pattern(
    r"this|it|that|(?:the\s+|this\s+|that\s+|my\s+)"
    r"(?:selection|selected\s+(?:code|text|lines?)|code|file|function|class|method|snippet|text|part)"
)
_PROJECT = _pattern(r"(?:the|this|that|my|our)\s+(?:whole\s+)?(?:project|repo|repository|code\s?base|workspace)")
_PATH_WORDS = _pattern(r"@|(?:the\s+)?(?:file|folder|directory)\s+(?=\S)")
_NO_PATH = _pattern(
    r"it|here|there|this|everywhere|all\s+files|(?:the\s+|this\s+|that\s+|my\s+)(?:same\s+)?"
    r"(?:file|selection|project|repo|repository|code|codebase|code\s+base|workspace|folder|directory|root)"
)
_FILE_NAME = _pattern(
    r".*\.(?:py|pyi|md|rst|txt|toml|json|jsonc|ya?ml|cfg|ini|lock|html?|css|scss|[cm]?[jt]sx?|vue|go|rs|java|kt|c|h"
    r"|cc|cpp|hpp|cs|rb|php|lua|sh|bash|zsh|fish|sql|xml|csv|swift|scala|vim|el|ex|exs|hs|ml|gitignore|env)"
    r"|\.\w[\w.-]*|makefile|dockerfile|justfile|license|readme|changelog"
)
_HELP = _pattern(r"help(?:\s+me)?|\?+|.*\byou(?:r|rself)?\b.*")


def _understand(piece: str, quotes: _Quotes) -> tuple[Task, bool]:
    """Return the task of a piece, and whether its text may continue after it."""
    bare = _bare(piece, quotes)
    if (written := _create(bare, quotes)) is not None or (written := _run(bare, quotes)) is not None:
        return written
    unknown = Unknown(quotes.raw(bare)), False
    bare = bare.rstrip(" \t.!?,:")
    if len(bare) > _LONGEST_CLAUSE:
        return unknown
    asked = (
        _replace(bare, quotes)
        or _list(bare, quotes)
        or _help(bare)
        or _read(bare, quotes)
        or _explain(bare, quotes)
        or _find(bare, quotes)
    )
    return (asked, False) if asked is not None else unknown


def _create(bare: str, quotes: _Quotes) -> tuple[Task, bool] | None:
    found = _CREATE.fullmatch(bare)
    if found is None:
        return None
    path = quotes.value(found["path"]).rstrip(",:")
    if not path or path.lower() in ("file", "with") or not (found["file"] or _names_a_file(path)):
        return None
    content = found["content"] or ""
    is_quoted = re.fullmatch(_MARK + r"[.!?]?", content) is not None
    return Create(path, quotes.value(content.rstrip(".!?") if is_quoted else content)), bool(content) and not is_quoted


def _run(bare: str, quotes: _Quotes) -> tuple[Task, bool] | None:
    found = _RUN.fullmatch(bare)
    if found is None:
        return None
    masked = found["command"].strip()
    if (inside := _RUN_IN.fullmatch(masked)) is not None:
        path = _path(inside["cwd"], quotes)
        return _command(quotes.value(inside["command"]), path), False
    if (quoted := _RUN_WITH_REASON.fullmatch(masked)) is not None:
        return _command(quotes.value(quoted["command"]), None), False
    if re.fullmatch(_MARK + r"[.!?]?", masked):
        return _command(quotes.value(masked.rstrip(".!?")), None), False
    if (found["the"] and not found["noun"] and "\0" not in masked) or _NO_COMMAND.fullmatch(masked):
        return None
    return _command(quotes.raw(re.sub(r"(?<=[\w\0])\.$", "", masked)), None), True


def _command(command: str, cwd: str | None) -> Task:
    return Run(command, cwd) if command.strip() else Unknown("run")


def _replace(bare: str, quotes: _Quotes) -> Task | None:
    path = None
    if (first := _REPLACE_FIRST_PATH.fullmatch(bare)) is not None:
        path, bare = _path(first["path"], quotes), first["rest"]
    for pattern in _REPLACE:
        found = pattern.fullmatch(bare)
        if found is not None:
            old, new = quotes.value(found["old"]), quotes.value(found["new"])
            return Replace(old, new, _path(found["path"], quotes) or path) if old else None
    return None


def _list(bare: str, quotes: _Quotes) -> Task | None:
    if (found := _LIST.fullmatch(bare)) is not None:
        return ListFiles(_path(found["path"] or "", quotes))
    found = _WHAT_IS_IN.fullmatch(bare)
    if found is None:
        return None
    path = _path(found["path"], quotes)
    return ListFiles() if path is None else Read(path)


def _help(bare: str) -> Task | None:
    return Help() if _HELP.fullmatch(bare) else None


def _read(bare: str, quotes: _Quotes) -> Task | None:
    for pattern in _READ:
        found = pattern.fullmatch(bare)
        if found is not None:
            path = _path(found["path"], quotes)
            start = int(found["from"] or 0)
            end = int(found["to"] or start)
            lines = (start, end) if 1 <= start <= end else None
            return ExplainThis() if path is None else Read(path, lines)
    return None


def _find(bare: str, quotes: _Quotes) -> Task | None:
    if (found := _SEARCH_PATH_FIRST.fullmatch(bare)) is not None:
        query = quotes.value(found["query"])
        return Find(query, _path(found["path"], quotes)) if query else None
    for pattern in _FIND:
        found = pattern.fullmatch(bare)
        if found is not None:
            query = quotes.value(found["query"])
            return Find(query, _path(found["path"], quotes)) if query else None
    return None


def _explain(bare: str, quotes: _Quotes) -> Task | None:
    if bare.lower() in ("explain", "describe"):
        return ExplainThis()
    for pattern in _EXPLAIN:
        found = pattern.fullmatch(bare)
        if found is not None:
            return _explained(found["name"], _path(found["path"], quotes), quotes)
    return None


def _explained(masked: str, path: str | None, quotes: _Quotes) -> Task | None:
    if _THIS.fullmatch(masked):
        return ExplainThis() if path is None else Read(path)
    if path is None and _PROJECT.fullmatch(masked):
        return Read("README.md")
    spelled = _path(masked, quotes)
    if spelled and path is None and (_names_a_file(spelled) or _PATH_WORDS.match(masked)):
        return Read(spelled)
    article = _ARTICLE.match(masked)
    name = quotes.value(_KIND_BEHIND.sub("", masked[article.end() :] if article else masked)).strip()
    return Explain(name.removesuffix("()"), path) if name.removesuffix("()") else None


def _path(masked: str, quotes: _Quotes) -> str | None:
    """Return the intended path; None for words that name no file of their own (`here`, `this file`, `the project`)."""
    masked = masked.strip()
    if not masked or _NO_PATH.fullmatch(masked):
        return None
    words = _PATH_WORDS.match(masked)
    return quotes.value(masked[words.end() :] if words else masked).strip() or None


def _names_a_file(text: str) -> bool:
    return "\n" not in text and ("/" in text or _FILE_NAME.fullmatch(text) is not None) and "://" not in text
