"""Exchanges secrets for placeholders and back, for one conversation. A value keeps its placeholder, also when the
conversation is opened again: the log has a keyed hash of the value beside the number."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from north_lsp.agent.log.secret_rows import SecretRow
from north_lsp.agent.secrets.names import LEAST, is_secret
from north_lsp.agent.secrets.secrets_file import Entry
from north_lsp.agent.secrets.sources import Found
from north_lsp.agent.secrets.spans import Span, exchanged, occurrences
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.masking import FORMS, PLACEHOLDER

_T = TypeVar("_T")
_MARK = "<<$env:S"
_PRIVATE_KEY = lazy_pattern(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_END_OF_KEY = "-----END"
_LONGEST_KEY = 20_000
_KEY_LINE = lazy_pattern(  # as it is written, in JSON, or with line numbers; the last one may be short
    r"(?:(?<=\\n)|(?<=\\r)|(?<![A-Za-z0-9+/=\\]))[A-Za-z0-9+/=]{4,}(?:(?<=[A-Za-z0-9+/=]{16})|(?=[\s\d|:\\nrt]{0,24}-----END))"
)
_APART = r"(?:(?<![^\W_])|(?<=\\[nrtbf]))"  # no longer word begins before it; in JSON, `\n` ends in a letter
_PLAIN = lazy_pattern(r"[^\"\\\x00-\x1f]+")
_CUT = "…"
_LEAST_OF_CUT = 6
_WORD_LENGTH = 16
_LEAST_PUT = 4
_MOST_FOUND = 1000


class Source(Protocol):
    """Says what is secret now."""

    @property
    def has_news(self) -> bool:
        """Whether to read it again at once, and not only with the next request."""
        ...

    def read(self) -> Found: ...


class Walk(Protocol):
    """Changes texts in a value; returns the same object if none of them changes."""

    def __call__(self, value: Any, change: Callable[[str], str], /) -> Any: ...


class Secrets:
    """The placeholders of one conversation. Threads may share it. `key` returns what the hashes are made with, `is_on`
    whether the user wants secrets to be masked here; what was masked before is restored in any case.

    `restored(masked(text))` is the text, whatever is in it: a text that only looks like a placeholder gets one itself.
    """

    def __init__(self, source: Source, key: Callable[[], bytes], is_on: Callable[[], bool]) -> None:
        self._source = source
        self._key = key
        self._is_on = is_on
        self._mutex = threading.RLock()
        self._is_loaded = False
        self._given = Found()  # by the sources
        self._entries: dict[str, Entry] = {}  # of texts that are given, by their content
        self._least = LEAST
        self._told: set[str] = set()
        self._seen: dict[str, None] = {}  # by their form
        self._kept: dict[str, str | None] = {}  # were masked here; with the expression that found them, if one did
        self._exact: set[str] = set()  # are found within longer words, too
        self._put: set[str] = set()  # were put back
        self._literals: tuple[str, ...] = ()
        self._literal_set: frozenset[str] = frozenset()
        self._has_escaped = False  # one of them is written differently in JSON
        self._number: dict[str, int] = {}
        self._value: dict[int, str] = {}
        self._hashes: dict[str, int] = {}  # of numbers whose value is not known now
        self._lost: set[int] = set()  # were shown as they are, since their value was not known
        self._unrecorded: list[SecretRow] = []
        self._next = 0
        self._texts = 0
        self._is_told = False
        self._replaces = False
        self._recalls = False
        self.revision = 0
        self.on_news: Callable[[int, Sequence[str]], Awaitable[None]] | None = None
        """Is told, once in a conversation, how many values are masked, and each problem once."""

    # -- what is known -----------------------------------------------------------------------------------------------

    @property
    def is_on(self) -> bool:
        return self._is_on()

    @property
    def count(self) -> int:
        """How many values have a placeholder in this conversation."""
        return self._next - self._texts

    def follow(self, is_on: Callable[[], bool]) -> None:
        """Go by other settings from now on: those of the conversation's project."""
        self._is_on = is_on

    def refresh(self) -> None:
        """Read again what is secret. Takes a moment: for a thread."""
        given = self._source.read()
        with self._mutex:
            self._is_loaded = True
            if given != self._given:
                self._given = given
                self._entries = {entry.content: entry for entry in given.entries if entry.pattern is None}
                self._list()

    def adopt(self, rows: Iterable[SecretRow]) -> None:
        """Adopt the numbers that a log has."""
        with self._mutex:
            for row in rows:
                if row.number in self._value:
                    continue
                if row.text is not None:
                    self._bind(row.text, row.number)
                    self._texts += 1
                elif row.digest is not None:
                    self._hashes[row.digest] = row.number
                self._next = max(self._next, row.number + 1)
            self._is_told = self._is_told or self.count > 0
            if self._hashes:
                self._load()
                for value in self._literals:
                    if self._find(value) is not None:
                        self._keep(value)

    def is_in(self, value: object) -> bool:
        """Tell whether a value has a secret in it, also one that was put back there and is not masked any more."""
        with self._mutex:
            if self.masked(value) is not value:
                return True
            found = False

            def look(text: str) -> str:
                nonlocal found
                found = found or any(one in text for one in self._put)
                return text

            walked(value, look)
            return found

    @property
    def has_lost(self) -> bool:
        """Whether the log has numbers whose values are not known now."""
        return bool(self._hashes)

    def recall(self, texts: Iterable[str]) -> None:
        """Look in texts for values that were known by their form alone and whose numbers the log has."""
        with self._mutex:
            self._recalls = True
            try:
                for text in texts:
                    if self._hashes:
                        self._mask(text)
            finally:
                self._recalls = False
            self._lost.clear()

    async def tell(self) -> None:
        """Tell the user that secrets are masked, if that has not been told in this conversation."""
        if self.on_news is None:
            return
        problems = [one for one in self._given.problems if one not in self._told] if self._is_on() else []
        self._told.update(problems)
        is_first = self.count > 0 and not self._is_told
        self._is_told = self._is_told or is_first
        if is_first or problems:
            await self.on_news(self.count if is_first else 0, problems)

    @property
    def unknown(self) -> str | None:
        """Why it is not known what is secret, so that nothing may be sent; None if it is."""
        return self._given.unknown if self._is_on() else None

    def take_unrecorded(self) -> list[SecretRow]:
        """Return the numbers that the log does not have yet, once."""
        with self._mutex:
            rows, self._unrecorded = self._unrecorded, []
            return rows

    # -- masking -----------------------------------------------------------------------------------------------------

    def masked(self, value: _T, walk: Walk | None = None) -> _T:
        """Return a value with all secrets in its texts replaced, as far as `walk` goes through them; the same object if
        there are none."""
        if not self._is_on():
            return value
        with self._mutex:
            self._load()
            return cast(_T, (walk or walked)(value, self._mask))

    def sent(self, value: _T) -> _T:
        """Return a value as models are told it: masked, and with the replacements that the user wants."""
        if not self._is_on():
            return value
        with self._mutex:
            self._load()
            return cast(_T, walked(value, self._mask_for_models))

    def _mask_for_models(self, text: str) -> str:
        self._replaces = True
        try:
            return self._mask(text)
        finally:
            self._replaces = False

    def _load(self) -> None:
        if not self._is_loaded or self._source.has_news:
            self.refresh()

    def _mask(self, text: str) -> str:
        if len(text) < self._least:
            return text
        spans = [*self._marks(text), *self._known(text), *self._matches(text)]
        spans += [*self._lines_of_keys(text), *self._forms(text), *self._cut_off(text)]
        return exchanged(text, spans, self._together) if spans else text

    def _marks(self, text: str) -> Iterator[Span]:
        """Find what looks like a placeholder. One whose value is lost stays as it is."""
        for match in PLACEHOLDER.finditer(text) if _MARK in text else ():
            number = int(match[1])
            is_lost = number in self._lost or (number < self._next and number not in self._value)
            yield Span(*match.span(), partial(str if is_lost else self._of_text, match[0]))

    def _known(self, text: str) -> Iterator[Span]:
        """Find known values, the longest first."""
        in_json = self._has_escaped and text[:1] in ("{", "[") and _is_json(text)
        for value in self._literals:
            shown = _escaped(value) if in_json else value
            if shown not in text:
                continue
            instead = partial(self._instead, value, in_json=in_json)
            if _is_word(shown) and not (value in self._entries or value in self._exact or value in self._put):
                found = [match.start() for match in re.finditer(rf"{_APART}{re.escape(shown)}(?![^\W_])", text)]
            else:
                found = [*occurrences(shown, text)]
            yield from (Span(at, at + len(shown), instead) for at in found)

    def _matches(self, text: str) -> Iterator[Span]:
        """Find what the expressions of the user and the project match."""
        for entry in self._given.entries:
            for start, end in entry.found(text):
                yield Span(start, end, partial(self._match, entry, text[start:end]))

    def _lines_of_keys(self, text: str) -> Iterator[Span]:
        """Find the lines between the marks of private keys."""
        if "PRIVATE KEY-----" not in text:
            return
        at = 0
        for begin in _PRIVATE_KEY.finditer(text):
            if begin.start() < at:
                continue
            end = text.find(_END_OF_KEY, begin.end(), begin.end() + _LONGEST_KEY)
            at = min(begin.end() + _LONGEST_KEY, len(text)) if end < 0 else end + len(_END_OF_KEY)
            for line in _KEY_LINE.finditer(text[begin.end() : at]):
                yield Span(begin.end() + line.start(), begin.end() + line.end(), partial(self._form, line[0]))

    def _forms(self, text: str) -> Iterator[Span]:
        """Find what has the form of a key."""
        for form in FORMS:
            if any(hint in text for hint in form.hints):
                for match in form.pattern.finditer(text):
                    if self._is_kept_apart(match[0]):
                        yield Span(*match.span(), partial(self._form, match[0]))

    def _cut_off(self, text: str) -> Iterator[Span]:
        """Find what is left of values that were cut off at a mark: beginnings before it, ends after it."""
        if _CUT not in text:
            return
        begun = [one for one in self._literals if one[:_LEAST_OF_CUT] in text]
        ended = [one[::-1] for one in self._literals if one[-_LEAST_OF_CUT:] in text]
        before = 0
        for at in occurrences(_CUT, text) if begun or ended else ():
            for value in begun:
                if found := _end(text[max(before, at - len(value)) : at], value):
                    yield Span(at - len(found), at, partial(self._cut, value, found))
            before = at + 1
            after = text.find(_CUT, before)
            for reverse in ended:
                most = min(after if after >= 0 else len(text), before + len(reverse))
                if found := _end(text[before:most][::-1], reverse)[::-1]:
                    yield Span(before, before + len(found), partial(self._cut, reverse[::-1], found))

    def _of_text(self, text: str) -> str:
        return self._placeholder(text, is_text=True)

    def _instead(self, value: str, *, in_json: bool) -> str:
        entry = self._entries.get(value)
        instead = entry.instead_of(value) if entry is not None and self._replaces else None
        self._keep(value)
        if entry is not None:
            self._exact.add(value)
        if instead is None:
            return self._placeholder(value)
        return _escaped(instead) if in_json else instead

    def _match(self, entry: Entry, value: str) -> str:
        """Return what stands for a match of a user's expression."""
        self._keep(value, entry.content)
        instead = entry.instead_of(value) if self._replaces else None
        return instead if instead is not None else self._parts(value)

    def _cut(self, value: str, left: str) -> str:
        self._keep(value)
        return self._parts(left)

    def _together(self, value: str) -> str:
        """Return what stands for a text in which several values overlap."""
        if not self._recalls:
            self._keep(value)
        return self._parts(value)

    def _parts(self, value: str) -> str:
        """Mask a value; one with quotes or line ends part by part, so that it can be restored wherever it stands."""
        if _escaped(value) == value:
            return self._placeholder(value)
        return _PLAIN.sub(lambda part: self._placeholder(part[0]), value)

    def _form(self, value: str) -> str:
        if self._recalls and self._find(value) is None:
            return value
        if value not in self._seen and len(self._seen) < _MOST_FOUND:
            self._seen[value] = None
            if is_secret(value):
                self._list()
        return self._placeholder(value)

    def _is_kept_apart(self, value: str) -> bool:
        """Tell whether what has the form of a key is one: in an address, the password must not be one that everybody
        knows; one that is known here is found by itself."""
        user, colon, password = value.partition(":")
        if not colon or user.isdecimal() or len(password) < LEAST:
            return True
        return is_secret(password) and password not in self._literal_set

    def _placeholder(self, value: str, *, is_text: bool = False) -> str:
        number = self._find(value)
        if number is None and self._recalls:
            return value
        if number is None:
            number, self._next = self._next, self._next + 1
            self._bind(value, number)
            self._texts += is_text
            row = SecretRow(number, text=value) if is_text else SecretRow(number, self._hash(value))
            self._unrecorded.append(row)
        return f"{_MARK}{number}>>"

    # -- restoring ---------------------------------------------------------------------------------------------------

    def restored(self, value: _T) -> _T:
        """Return a value with the placeholders in its texts replaced by what they stand for, as far as that is known;
        the same object if there are none."""
        with self._mutex:
            return cast(_T, walked(value, self._restore))

    def restored_in_json(self, text: str) -> str:
        """Return a piece of a JSON text with what the placeholders in its strings stand for."""
        with self._mutex:
            return self._put_back(text, in_json=True) if _MARK in text else text

    def unknown_in(self, value: object) -> list[str]:
        """Return the placeholders in a value that this conversation has used and whose values are not known now."""
        found: dict[str, None] = {}

        def look(text: str) -> str:
            for match in PLACEHOLDER.finditer(text):
                if int(match[1]) < self._next and int(match[1]) not in self._value:
                    found[match[0]] = None
            return text

        with self._mutex:
            walked(value, look)
        return list(found)

    def loaded(self, value: _T, walk: Walk | None = None) -> _T:
        """Return what is restored of a value that the log has. Placeholders that stay are kept as they are from now on,
        so that requests begin as they did."""
        with self._mutex:
            self._lost.update(int(one[8:-2]) for one in self.unknown_in(value))
            return cast(_T, (walk or walked)(value, self._restore))

    def _restore(self, text: str) -> str:
        if _MARK not in text:
            return text
        in_json = text[:1] in ("{", "[") and any(_escaped(one) != one for one in self._value.values())
        return self._put_back(text, in_json=in_json and _is_json(text))

    def _put_back(self, text: str, *, in_json: bool) -> str:
        def value(match: re.Match[str]) -> str:
            found = self._value.get(int(match[1]))
            if found is None:
                return match[0]
            self._note_put(found)
            return _escaped(found) if in_json else found

        return PLACEHOLDER.sub(value, text)

    def _note_put(self, value: str) -> None:
        """Note that a value was put back: from now on it may stand within longer words, so it is looked for there, even
        if its expression would not match it."""
        if value in self._put or len(value) < _LEAST_PUT or _MARK in value:
            return
        self._put.add(value)
        if value not in self._literal_set:
            self._list()
        elif _is_word(value):
            self.revision += 1

    # -- numbers -----------------------------------------------------------------------------------------------------

    def _find(self, value: str) -> int | None:
        if (number := self._number.get(value)) is not None:
            return number
        if self._hashes and (number := self._hashes.pop(self._hash(value), None)) is not None:
            self._bind(value, number)
        return number

    def _keep(self, value: str, by: str | None = None) -> None:
        """Note that a value was masked: it stays so when its source does not have it any more."""
        if by is None or value not in self._kept:
            self._kept[value] = by

    def _bind(self, value: str, number: int) -> None:
        self._number[value], self._value[number] = number, value

    def _hash(self, value: str) -> str:
        return hmac.new(self._key(), value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]

    def _list(self) -> None:
        in_force = {entry.content for entry in self._given.entries if entry.pattern is not None}
        kept = [value for value, by in self._kept.items() if by not in in_force]
        values = {*self._given.values, *self._entries, *kept, *self._put, *filter(is_secret, self._seen)}
        escaped = {_escaped(value) for value in values}
        self._has_escaped = not escaped <= values
        self._least = min([LEAST, *map(len, values), *(1 for one in self._given.entries if one.pattern)])
        self._literals = tuple(sorted(values | escaped, key=lambda value: (-len(value), value)))
        self._literal_set = frozenset(self._literals)
        self.revision += 1


def walked(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with each text in it changed, also those that are keys; the same object if nothing changes."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        new = {change(key) if isinstance(key, str) else key: walked(one, change) for key, one in value.items()}
        pairs = zip(value.items(), new.items(), strict=False)
        same = len(new) == len(value) and all(a is c and b is d for (a, b), (c, d) in pairs)
        return value if same else new
    if isinstance(value, list | tuple):
        items = [walked(one, change) for one in value]
        if all(one is other for one, other in zip(value, items, strict=True)):
            return value
        return items if isinstance(value, list) else tuple(items)
    return value


def _escaped(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _end(text: str, value: str) -> str:
    """Return the longest beginning of a value with which a text ends, if it is long enough to be recognized."""
    least = max(_LEAST_OF_CUT, len(value) // 4)
    for length in range(min(len(value) - 1, len(text)), least - 1, -1):
        if text.endswith(value[:length]):
            return value[:length]
    return ""


def _is_word(value: str) -> bool:
    """Tell whether a value may well be a part of a longer word: a short one of letters or of digits alone."""
    return len(value) < _WORD_LENGTH and (value.isalpha() or value.isdecimal())
