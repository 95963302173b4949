"""Full text search over all conversations: every word of the query, as the beginning of a word, somewhere in one.

The words are kept beside the index of conversations, filled as far as logs have changed. Without SQLite's FTS5, the
logs themselves are looked through, for a limited time.
"""

import re
import time
from bisect import bisect_left as bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from unicodedata import combining, normalize

from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.conversation_index import UNREAD, ConversationIndex, Wanted, condition, rows_of
from north_lsp.storage.locations import Locations
from north_lsp.storage.passages import Passage, passages_of
from north_lsp.storage.query import is_indexed, like, prefix, words_of
from north_lsp.storage.sqlite import has_no_module, written
from north_lsp.storage.summaries import Lines, Summary, grown_from

if TYPE_CHECKING:
    import sqlite3

Place = Literal["title", "prompt", "text"]
LIMIT = 50
SNIPPET_LENGTH = 160
SCAN_SECONDS = 5.0
FILL_SECONDS = 2.0

_SHIFT = 24  # a passage's row is numbered by its conversation's number and its own
_IN_ONE = (1 << _SHIFT) - 1
_PLACE, _FIRST_TEXT = 2, 16
# Titles and first prompts have numbers far above all others: without its own, a row's says whose it is and where.
_FIRST_PROMPTS, _TITLES = 1 << 60, 1 << 61
_PLACES: tuple[Place, ...] = ("title", "prompt", "text")
_MOST_READ = 2000  # passages of a conversation in which the words are looked for, to be shown
_BEFORE = 40  # characters of a snippet before the word

_CREATE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS words USING"
    " fts5(text, entry UNINDEXED, tokenize = \"unicode61 remove_diacritics 2\", prefix = '2 3')"
)


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
        """Read the words of what has changed, the newest first; return whether nothing is left to be read."""
        if not self._store.conversations.is_dir():
            return True
        return self._index.use(lambda connection: not _has_words(connection) or self._filled(connection, seconds))

    def _searched(self, connection: "sqlite3.Connection", tokens: Sequence[str], wanted: Wanted) -> Results:
        if not _has_words(connection):
            return self._scanned(connection, tokens, wanted)
        is_whole = self._filled(connection, FILL_SECONDS)
        return Results(_ranked(connection, tokens, wanted), truncated=not is_whole)

    # -- filling -----------------------------------------------------------------------------------------------------

    def _filled(self, connection: "sqlite3.Connection", seconds: float) -> bool:
        deadline = self._clock() + seconds
        if connection.execute("SELECT 1 FROM forgotten LIMIT 1").fetchone() is not None:
            _clear_forgotten(connection)
        unread = f"SELECT id FROM conversations WHERE {UNREAD} ORDER BY updated_at DESC, id DESC"
        stale = connection.execute(unread).fetchall()
        for count, (id,) in enumerate(stale, start=1):
            _take_words(connection, self._store.conversations / f"{id}.jsonl")
            if count < len(stale) and self._clock() > deadline:
                return False
        return True

    # -- without an index of words -----------------------------------------------------------------------------------

    def _scanned(self, connection: "sqlite3.Connection", tokens: Sequence[str], wanted: Wanted) -> Results:
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


def _has_words(connection: "sqlite3.Connection") -> bool:
    import sqlite3

    try:
        connection.execute(_CREATE)
    except sqlite3.OperationalError as error:
        if has_no_module(error):
            return False
        raise
    return True


# -- the words of one conversation -------------------------------------------------------------------------------------


def _take_words(connection: "sqlite3.Connection", path: Path) -> None:
    """Read what has been added to a log since its words were read; all of it, if it is another file by now."""
    columns = "number, title, first_prompt, cwd, size, mtime_ns, words_size, words_mtime_ns, words_tail, words_next"
    with written(connection):
        row = connection.execute(f"SELECT {columns} FROM conversations WHERE id = ?", [path.stem]).fetchone()
        if row is None or row[4:6] == row[6:8]:  # another process was quicker
            return
        number, title, first_prompt, cwd, size, time, known_size, _, known_tail, next = row
        base = number << _SHIFT
        try:
            with path.open("rb") as file:
                start = grown_from(file, known_size or 0, known_tail, size)
                if not start:
                    _clear(connection, number)
                    next = _FIRST_TEXT
                lines = Lines(file, start)
                rows = [passage for record in lines if record is not None for passage in passages_of(record)]
                tail = lines.tail(file.tell())
                size = file.tell() if tail is None else max(file.tell(), size)
        except OSError:
            return
        heads = {_TITLES: title, _FIRST_PROMPTS: first_prompt, _PLACE: f"{path.stem} {cwd}"}
        for place, text in heads.items():
            connection.execute("DELETE FROM words WHERE rowid = ?", [base + place])
            if text:
                connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", [base + place, text])
        numbered = ((base + next + index, passage.text, passage.entry_id) for index, passage in enumerate(rows))
        connection.executemany("INSERT INTO words (rowid, text, entry) VALUES (?, ?, ?)", numbered)
        changes = "words_size = ?, words_mtime_ns = ?, words_tail = ?, words_next = ?"
        done = [size, time, tail, next + len(rows), number]
        connection.execute(f"UPDATE conversations SET {changes} WHERE number = ?", done)


def _clear_forgotten(connection: "sqlite3.Connection") -> None:
    """Remove the words of conversations that are gone, or whose words are to be read again."""
    with written(connection):
        if connection.execute("SELECT 1 FROM conversations WHERE words_size IS NOT NULL LIMIT 1").fetchone() is None:
            connection.execute("DROP TABLE words")  # all at once, in less time
            connection.execute(_CREATE)
        for (number,) in connection.execute("SELECT number FROM forgotten").fetchall():
            _clear(connection, number)
        connection.execute("DELETE FROM forgotten")


def _clear(connection: "sqlite3.Connection", number: int) -> None:
    base = number << _SHIFT
    connection.execute("DELETE FROM words WHERE rowid BETWEEN ? AND ?", [base, base + _IN_ONE])
    connection.execute("DELETE FROM words WHERE rowid IN (?, ?)", [base + _FIRST_PROMPTS, base + _TITLES])


# -- finding -----------------------------------------------------------------------------------------------------------


def _ranked(connection: "sqlite3.Connection", tokens: Sequence[str], wanted: Wanted) -> list[Found]:
    in_title, in_head, anywhere = _having(connection, tokens)
    where, values = condition(connection, wanted)
    order = f"SELECT number FROM conversations WHERE {where} ORDER BY updated_at DESC, id DESC"
    newest = [number for (number,) in connection.execute(order, values) if number in anywhere]
    by_title = [number for number in newest if number in in_title] if in_title else []
    by_prompt = [number for number in newest if number in in_head and number not in in_title] if in_head else []
    by_text = [number for number in newest if number not in in_head] if in_head else newest
    hits = [(place, number) for place, rows in enumerate((by_title, by_prompt, by_text)) for number in rows]
    return [_found(connection, tokens, *hit) for hit in hits[wanted.start :][: wanted.limit]]


def _having(connection: "sqlite3.Connection", tokens: Sequence[str]) -> tuple[set[int], set[int], set[int]]:
    """Return the conversations that have every token in the title, in title or first prompt, and anywhere."""
    found = [_where(connection, token) for token in tokens]
    titles, heads, everywhere = zip(*found, strict=True)
    return set.intersection(*titles), set.intersection(*heads), set.intersection(*everywhere)


def _where(connection: "sqlite3.Connection", token: str) -> tuple[set[int], set[int], set[int]]:
    """Return the conversations that have a token in the title, in title or first prompt, and anywhere."""
    condition, value = _matching(token)
    rows = sorted(
        one for (one,) in connection.execute(f"SELECT DISTINCT rowid >> {_SHIFT} FROM words WHERE {condition}", [value])
    )
    prompts, titles = _FIRST_PROMPTS >> _SHIFT, _TITLES >> _SHIFT
    above, highest = bisect(rows, prompts), bisect(rows, titles)
    in_title = {one - titles for one in rows[highest:]}
    in_head = in_title.union(one - prompts for one in rows[above:highest])
    return in_title, in_head, in_head.union(rows[:above])


def _matching(token: str) -> tuple[str, str]:
    """Return the condition on passages with a token. What the index knows no words of is looked for in the texts."""
    if is_indexed(token):
        return "words MATCH ?", prefix(token)
    return "text LIKE ? ESCAPE '\\'", like(token)


def _found(connection: "sqlite3.Connection", tokens: Sequence[str], place: int, number: int) -> Found:
    """Show the first passage that has all the words, or the most of those that title and first prompt do not have."""
    base, is_in_text = number << _SHIFT, place == _PLACES.index("text")
    # To ask the index for each conversation would take it longer than to read what was said there.
    query = f"SELECT text, entry FROM words WHERE rowid BETWEEN ? AND ? ORDER BY rowid LIMIT {_MOST_READ}"
    passages: Iterable[tuple[str, str | None]]
    passages = connection.execute(query, [base + (_FIRST_TEXT if is_in_text else 0), base + _IN_ONE])
    if not is_in_text:
        heads = "SELECT text, entry FROM words WHERE rowid IN (?, ?) ORDER BY rowid DESC"
        passages = chain(connection.execute(heads, [base + _TITLES, base + _FIRST_PROMPTS]), passages)
    wanted = [folded(token) for token in tokens]
    (summary,) = rows_of(connection, "number = ?", [number], "")
    head = folded(f"{summary.title or ''} {summary.first_prompt or ''}")
    others = {token for token in wanted if token not in head}
    best, text, entry = (0, 0), "", None
    for passage, its_entry in passages:
        plain = folded(passage)
        has = [token for token in wanted if token in plain]
        if (score := (len(others.intersection(has)), len(has))) > best or len(has) == len(wanted):
            best, text, entry = score, passage, its_entry
        if len(has) == len(wanted):
            break
    return Found(summary, _PLACES[place], snippet(text or summary.name, tokens), entry)


def _looked_through(store: Locations, summary: Summary, tokens: Sequence[str]) -> Found | None:
    """Look for the tokens in one conversation, as the index would."""
    heads = [summary.title or "", summary.first_prompt or "", f"{summary.id} {summary.cwd}"]
    passages: Iterable[Passage] = _texts(store.conversations / f"{summary.id}.jsonl")
    every = [*(Passage(None, text) for text in heads), *passages]
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
