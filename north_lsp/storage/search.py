"""Full text search over all conversations: every word of the query, as the beginning of a word, somewhere in one.

The words are kept beside the index of conversations, filled as far as logs have changed. Without SQLite's FTS5, the
logs themselves are looked through, for a limited time.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left as bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from unicodedata import combining, normalize

from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.conversation_index import UNREAD, ConversationIndex, Wanted, condition, rows_of
from north_lsp.storage.locations import Locations
from north_lsp.storage.pages import page_of, pages_of, passages_on, phrase
from north_lsp.storage.passages import Passage, passages_of
from north_lsp.storage.query import words_of
from north_lsp.storage.room import has_room, leave_room
from north_lsp.storage.sqlite import has_no_module, written
from north_lsp.storage.summaries import Lines, Summary, grown_from

if TYPE_CHECKING:
    import sqlite3

Place = Literal["title", "prompt", "text"]
LIMIT = 50
SNIPPET_LENGTH = 160
SCAN_SECONDS = 5.0
FILL_SECONDS = 2.0

_SHIFT = 24  # a page's row is numbered by its conversation's number and its own
_IN_ONE = (1 << _SHIFT) - 1
_FIRST_TEXT, _PLACE = 16, _IN_ONE  # its folder comes last: what was said is shown before it
# Titles and first prompts have numbers far above all others: without its own, a row's says whose it is and where.
_FIRST_PROMPTS, _TITLES = 1 << 60, 1 << 61
_PLACES: tuple[Place, ...] = ("title", "prompt", "text")
_IN_TEXT = 2
_AT_ONCE = 16  # logs read in one transaction: others can write in between
_BEFORE = 40  # characters of a snippet before the word

_CREATE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS words USING"
    " fts5(text, signs, entries UNINDEXED, tokenize = \"unicode61 remove_diacritics 2\", prefix = '2 3')"
)
_INSERT = "INSERT INTO words (rowid, text, signs, entries) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Found:
    """A conversation that has every word; `snippet` shows the best place, in an entry if it is one."""

    summary: Summary
    place: Place
    snippet: str
    entry_id: str | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """The best first. `truncated`: not everything could be looked through in time, and there may be more."""

    found: Sequence[Found]
    truncated: bool = False


class Search:
    """Searches a store. Methods block: call them on a thread."""

    def __init__(self, store: Locations, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._index = ConversationIndex(store)
        self._clock = clock

    def search(self, query: str, wanted: Wanted) -> Results:
        """Find the conversations that have every word of the query in title, folder, files or in what was said: title
        before first prompt before the rest, the newest first. An empty query lists all."""
        tokens = words_of(query)
        wanted = replace(wanted, limit=LIMIT if wanted.limit < 0 else wanted.limit)
        if not tokens:
            return Results([Found(one, "title", one.first_prompt or "") for one in self._index.listed(wanted)])
        if not self._store.conversations.is_dir():
            return Results([])
        return self._index.use(partial(self._searched, tokens=tokens, wanted=wanted))

    def fill(self, seconds: float = float("inf")) -> bool:
        """Read the words of what has changed, the newest first; return whether nothing is left to be read. Raises
        OSError if there is no room for more of them."""
        if not self._store.conversations.is_dir():
            return True
        leave_room(self._store.data)
        return self._index.use(lambda connection: not _has_words(connection) or self._filled(connection, seconds))

    def _searched(self, connection: sqlite3.Connection, tokens: Sequence[str], wanted: Wanted) -> Results:
        if not _has_words(connection):
            return self._scanned(connection, tokens, wanted)
        is_whole = self._filled(connection, FILL_SECONDS)
        return Results(_ranked(connection, tokens, wanted), truncated=not is_whole)

    # -- filling -----------------------------------------------------------------------------------------------------

    def _filled(self, connection: sqlite3.Connection, seconds: float) -> bool:
        deadline = self._clock() + seconds
        if connection.execute("SELECT 1 FROM forgotten LIMIT 1").fetchone() is not None:
            _clear_forgotten(connection)
        unread = f"SELECT id FROM conversations WHERE {UNREAD} ORDER BY updated_at DESC, id DESC"
        stale = [id for (id,) in connection.execute(unread)]
        for start in range(0, len(stale), _AT_ONCE):
            if not has_room(self._store.data):
                return False
            with written(connection):
                for count, id in enumerate(stale[start : start + _AT_ONCE], start=start + 1):
                    _take_words(connection, self._store.conversations / f"{id}.jsonl")
                    if count < len(stale) and self._clock() > deadline:
                        return False
        return True

    # -- without an index of words -----------------------------------------------------------------------------------

    def _scanned(self, connection: sqlite3.Connection, tokens: Sequence[str], wanted: Wanted) -> Results:
        """Look through the logs, the newest first, for a limited time."""
        deadline = self._clock() + SCAN_SECONDS
        where, values = condition(connection, wanted)
        found: list[tuple[int, Found]] = []
        is_whole = True
        for summary in rows_of(connection, where, values):
            if self._clock() > deadline:
                is_whole = False
                break
            if (hit := _looked_through(self._store, summary, tokens)) is not None:
                found.append((_PLACES.index(hit.place), hit))
        best = sorted(found, key=lambda row: row[0])  # stable: the newest first in each place
        return Results([hit for _, hit in best[wanted.start :][: wanted.limit]], truncated=not is_whole)


def _has_words(connection: sqlite3.Connection) -> bool:
    import sqlite3

    try:
        connection.execute(_CREATE)
    except sqlite3.OperationalError as error:
        if has_no_module(error):
            return False
        raise
    return True


# -- the words of one conversation -------------------------------------------------------------------------------------


def _take_words(connection: sqlite3.Connection, path: Path) -> None:
    """Read what has been added to a log since its words were read; all of it, if it is another file by now."""
    columns = "number, title, first_prompt, cwd, size, mtime_ns, words_size, words_mtime_ns, words_tail, words_next"
    row = connection.execute(f"SELECT {columns} FROM conversations WHERE id = ?", [path.stem]).fetchone()
    if row is None or row[4:6] == row[6:8]:  # another process was quicker
        return
    number, title, first_prompt, cwd, size, time, known_size, _, known_tail, first = row
    base = number << _SHIFT
    try:
        with path.open("rb") as file:
            start = grown_from(file, known_size or 0, known_tail, size)
            if not start:
                _clear(connection, number)
                first = _FIRST_TEXT
            lines = Lines(file, start)
            read = [passage for record in lines if record is not None for passage in passages_of(record)]
            tail = lines.tail(file.tell())
            size = file.tell() if tail is None else max(file.tell(), size)
    except OSError:
        return
    _put_head(connection, base + _TITLES, title)
    _put_head(connection, base + _FIRST_PROMPTS, first_prompt, _first_prompt(read))
    _put_head(connection, base + _PLACE, f"{path.stem} {cwd}")
    pages = [*pages_of(read)]
    rows = ((base + first + index, page.text, page.signs, page.entries) for index, page in enumerate(pages))
    connection.executemany(_INSERT, rows)
    changes = "words_size = ?, words_mtime_ns = ?, words_tail = ?, words_next = ?"
    done = [size, time, tail, first + len(pages), number]
    connection.execute(f"UPDATE conversations SET {changes} WHERE number = ?", done)


def _put_head(connection: sqlite3.Connection, row: int, text: str | None, entry: str | None = None) -> None:
    """Keep what the summary says, of an entry if it is one, in a row of its own."""
    if not text:
        return
    page = page_of([Passage(entry, text)])
    known = connection.execute("SELECT text FROM words WHERE rowid = ?", [row]).fetchone()
    if known is None or known[0] != page.text:
        connection.execute("DELETE FROM words WHERE rowid = ?", [row])
        connection.execute(_INSERT, [row, page.text, page.signs, page.entries])


def _clear_forgotten(connection: sqlite3.Connection) -> None:
    """Remove the words of conversations that are gone, or whose words are to be read again."""
    with written(connection):
        if connection.execute("SELECT 1 FROM conversations WHERE words_size IS NOT NULL LIMIT 1").fetchone() is None:
            connection.execute("DROP TABLE words")  # all at once, in less time
            connection.execute(_CREATE)
        for (number,) in connection.execute("SELECT number FROM forgotten").fetchall():
            _clear(connection, number)
        connection.execute("DELETE FROM forgotten")


def _clear(connection: sqlite3.Connection, number: int) -> None:
    base = number << _SHIFT
    connection.execute("DELETE FROM words WHERE rowid BETWEEN ? AND ?", [base, base + _IN_ONE])
    connection.execute("DELETE FROM words WHERE rowid IN (?, ?)", [base + _FIRST_PROMPTS, base + _TITLES])


# -- finding -----------------------------------------------------------------------------------------------------------


def _ranked(connection: sqlite3.Connection, tokens: Sequence[str], wanted: Wanted) -> list[Found]:
    end = wanted.start + wanted.limit
    where, values = condition(connection, wanted)
    order = f"SELECT number FROM conversations WHERE {where} ORDER BY updated_at DESC, id DESC"
    newest = [number for (number,) in connection.execute(order, values)]
    titles, heads = zip(*(_heads_with(connection, token) for token in tokens), strict=True)
    in_title, in_head = set.intersection(*titles), set.intersection(*heads)
    hits = [(0, number) for number in newest if number in in_title] if in_title else []
    hits += [(1, number) for number in newest if number in in_head and number not in in_title] if in_head else []
    if len(hits) >= end:
        return [_found(connection, tokens, *hit, []) for hit in hits[wanted.start : end]]
    pages = [_pages_with(connection, token) for token in tokens]
    everywhere = set.intersection(*(head.union(found) for head, found in zip(heads, pages, strict=True)))
    hits += [(_IN_TEXT, number) for number in newest if number in everywhere and number not in in_head]
    together = _pages_with(connection, *tokens) if len(tokens) > 1 else pages[0]
    return [
        _found(connection, tokens, *hit, _pages_of(hit[1], together, pages) if hit[0] == _IN_TEXT else [])
        for hit in hits[wanted.start : end]
    ]


def _heads_with(connection: sqlite3.Connection, token: str) -> tuple[set[int], set[int]]:
    """Return the conversations that have a word in the title, and in title or first prompt."""
    rows = _rows_with(connection, [token], ">=")
    first = bisect(rows, _TITLES)
    in_title = {row - _TITLES >> _SHIFT for row in rows[first:]}
    return in_title, in_title.union([row - _FIRST_PROMPTS >> _SHIFT for row in rows[:first]])


def _pages_with(connection: sqlite3.Connection, *tokens: str) -> dict[int, int]:
    """Return the conversations that have words on one page, each with its first such page."""
    return {row >> _SHIFT: row for row in reversed(_rows_with(connection, tokens, "<"))}


def _rows_with(connection: sqlite3.Connection, tokens: Iterable[str], compare: str) -> list[int]:
    """Return the rows that have all these words, in their order: pages, or what is above them."""
    query = f"SELECT rowid FROM words WHERE words MATCH ? AND rowid {compare} {_FIRST_PROMPTS} ORDER BY rowid"
    return [row for (row,) in connection.execute(query, [" AND ".join(map(phrase, tokens))])]


def _pages_of(number: int, together: dict[int, int], pages: Sequence[dict[int, int]]) -> list[int]:
    """Return the pages of a conversation that have the words: one, if they are together on one."""
    if number in together:
        return [together[number]]
    return sorted({one[number] for one in pages if number in one})


def _found(
    connection: sqlite3.Connection, tokens: Sequence[str], place: int, number: int, pages: Sequence[int]
) -> Found:
    """Show the first passage that has all the words, or the most of those that title and first prompt do not have; of
    these `pages`, else of title and first prompt."""
    (summary,) = rows_of(connection, "number = ?", [number], "")
    heads = [row + (number << _SHIFT) for row in (_TITLES, _FIRST_PROMPTS)]
    wanted = [folded(token) for token in tokens]
    head = folded(f"{summary.title or ''} {summary.first_prompt or ''}")
    others = {token for token in wanted if token not in head}
    best, text, entry = (0, 0), "", None
    for passage in _passages(connection, pages or heads):
        plain = folded(passage.text)
        has = [token for token in wanted if token in plain]
        if (score := (len(others.intersection(has)), len(has))) > best or len(has) == len(wanted):
            best, text, entry = score, passage.text, passage.entry_id
        if len(has) == len(wanted):
            break
    return Found(summary, _PLACES[place], snippet(text or summary.name, tokens), entry)


def _passages(connection: sqlite3.Connection, rows: Sequence[int]) -> Iterator[Passage]:
    for row in rows:
        for text, entries in connection.execute("SELECT text, entries FROM words WHERE rowid = ?", [row]):
            yield from passages_on(text, entries)


def _looked_through(store: Locations, summary: Summary, tokens: Sequence[str]) -> Found | None:
    """Look for the tokens in one conversation, as the index would."""
    said = [*_texts(store.conversations / f"{summary.id}.jsonl")]
    title, prompt = Passage(None, summary.title or ""), Passage(_first_prompt(said), summary.first_prompt or "")
    every = [title, prompt, Passage(None, f"{summary.id} {summary.cwd}"), *said]
    texts, words = [folded(one.text) for one in every], [folded(token) for token in tokens]
    firsts = []
    for word in words:
        first = next((index for index, text in enumerate(texts) if word in text), None)
        if first is None:
            return None
        firsts.append(first)
    worst = max(firsts)
    after = range(worst, len(texts))
    whole = next((index for index in after if all(word in texts[index] for word in words)), worst)
    best = whole if worst > 1 else worst
    return Found(summary, _PLACES[min(worst, 2)], snippet(every[best].text, tokens), every[best].entry_id)


def _first_prompt(passages: Iterable[Passage]) -> str | None:
    return next((one.entry_id for one in passages if one.is_prompt), None)


def _texts(path: Path) -> Iterator[Passage]:
    try:
        with path.open("rb") as file:
            for record in Lines(file, 0):
                yield from passages_of(record) if record is not None else ()
    except OSError:
        return


def snippet(text: str, tokens: Sequence[str]) -> str:
    """Return the part of a text around the first of the tokens, on one line."""
    plain = folded(text)
    places = [place for token in tokens if (place := _begin(plain, folded(token))) >= 0]
    start = max(0, min(places, default=0) - _BEFORE)
    if start:
        start = text.find(" ", start, start + _BEFORE // 2) + 1 or start
    cut = "…" if start else ""
    return cut + one_line(text[start : start + 4 * SNIPPET_LENGTH], SNIPPET_LENGTH - len(cut))


def folded(text: str) -> str:
    """Return a text in lower case and without accents, as the index compares it."""
    if text.isascii():
        return text.lower()
    return "".join(letter for letter in normalize("NFKD", text) if not combining(letter)).casefold()


def _begin(text: str, token: str) -> int:
    """Return where a word begins with the token, else where the token is, else -1."""
    place = text.find(token)
    at_word = re.search(rf"\b{re.escape(token)}", text)
    return at_word.start() if at_word is not None else place
