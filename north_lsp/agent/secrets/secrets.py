"""Exchanges secrets for placeholders and back, for one conversation. A value keeps its placeholder, also when the
conversation is opened again: the log has a keyed hash of the value beside the number."""

import hashlib
import hmac
import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from north_lsp.agent.secrets.names import LEAST, is_secret
from north_lsp.agent.secrets.secrets_file import Entry
from north_lsp.agent.secrets.sources import Found
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
_PLAIN = lazy_pattern(r"[^\"\\\x00-\x1f]+")
_CUT = "…"
_LEAST_OF_CUT = 6
_WORD_LENGTH = 16
_MOST_FOUND = 1000


class Source(Protocol):
    """Says what is secret now."""

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
        self._literals: tuple[str, ...] = ()
        self._number: dict[str, int] = {}
        self._value: dict[int, str] = {}
        self._hashes: dict[str, int] = {}  # of numbers whose value is not known now
        self._lost: set[int] = set()  # were shown as they are, since their value was not known
        self._unrecorded: list[dict[str, object]] = []
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

    def adopt(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Adopt the numbers that a log has."""
        with self._mutex:
            for row in rows:
                number, digest, text = row.get("index"), row.get("hash"), row.get("text")
                if not isinstance(number, int) or number in self._value or number < 0:
                    continue
                if isinstance(text, str):
                    self._bind(text, number)
                    self._texts += 1
                elif isinstance(digest, str):
                    self._hashes[digest] = number
                self._next = max(self._next, number + 1)
            self._is_told = self._is_told or self.count > 0
            if self._hashes:
                self._load()
                for value in self._literals:
                    if self._find(value) is not None:
                        self._keep(value)

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

    def take_unrecorded(self) -> list[dict[str, object]]:
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
        if not self._is_loaded:
            self.refresh()

    def _mask(self, text: str) -> str:
        if len(text) < self._least:
            return text
        text = self._replace(text)
        if "PRIVATE KEY-----" in text:
            text = self._private_keys(text)
        if _CUT in text:
            text = self._cut_values(text)
        for entry in self._given.entries:
            text = entry.replaced(text, partial(self._match, entry))
        for form in FORMS:
            if any(hint in text for hint in form.hints):
                text = form.pattern.sub(self._form, text)
        return text

    def _replace(self, text: str) -> str:
        """Replace known values, and texts that look like placeholders."""
        found: dict[str, str] = {}
        in_json = self._is_json(text)
        for value in self._literals:
            shown = _escaped(value) if in_json else value
            if shown in text:
                found[shown] = value
        if not found and _MARK not in text:
            return text
        parts = [
            _expression(shown, exactly=found[shown] in self._entries or found[shown] in self._exact)
            for shown in sorted(found, key=len, reverse=True)
        ]

        def placeholder(match: re.Match[str]) -> str:
            if (number := match["mark"]) is None:
                return self._instead(found[match[0]], in_json=in_json)
            is_lost = int(number) in self._lost or (int(number) < self._next and int(number) not in self._value)
            return match[0] if is_lost else self._placeholder(match[0], is_text=True)

        return re.sub("|".join([r"<<\$env:S(?P<mark>\d{1,6})>>", *parts]), placeholder, text)

    def _cut_values(self, text: str) -> str:
        """Mask what is left of values that were cut off at a mark."""
        begun = [one for one in self._literals if one[:_LEAST_OF_CUT] in text]
        ended = [one for one in self._literals if one[-_LEAST_OF_CUT:] in text]
        if not begun and not ended:
            return text
        first, *rest = text.split(_CUT)
        masked = [self._end_of(first, begun) if rest else first]
        for at, part in enumerate(rest, start=1):
            after = self._end_of(part[::-1], [one[::-1] for one in ended], is_reversed=True)
            masked.append(self._end_of(after, begun) if at < len(rest) else after)
        return _CUT.join(masked)

    def _end_of(self, text: str, values: Iterable[str], *, is_reversed: bool = False) -> str:
        """Mask a value's beginning at the end of a text."""
        for value in values:
            least = max(_LEAST_OF_CUT, len(value) // 4)
            if found := _end(text, value, least):
                shown = self._placeholder(found[::-1] if is_reversed else found)
                self._keep(value[::-1] if is_reversed else value)
                text = text[: -len(found)] + (shown[::-1] if is_reversed else shown)
        return text[::-1] if is_reversed else text

    def _instead(self, value: str, *, in_json: bool) -> str:
        entry = self._entries.get(value)
        instead = entry.instead_of(value) if entry is not None and self._replaces else None
        self._keep(value)
        if entry is not None:
            self._exact.add(value)
        if instead is None:
            return self._placeholder(value)
        return _escaped(instead) if in_json else instead

    def _match(self, entry: Entry, match: re.Match[str]) -> str:
        """Return what stands for a match of a user's expression."""
        value = match[0]
        if not value or _MARK in value or PLACEHOLDER.search(value) is not None:
            return value
        self._keep(value, entry.content)
        instead = entry.instead_of(value) if self._replaces else None
        if instead is None and _escaped(value) == value:
            return self._placeholder(value)
        return instead if instead is not None else self._parts(value)

    def _parts(self, value: str) -> str:
        """Mask a value with quotes or line ends part by part, so that it can be restored wherever it stands."""
        return _PLAIN.sub(lambda part: self._placeholder(part[0]), value)

    def _is_json(self, text: str) -> bool:
        """Tell whether values in a text are written as in JSON, as far as that makes a difference."""
        if text[:1] not in ("{", "[") or not any(_escaped(value) != value for value in self._literals):
            return False
        return _is_json(text)

    def _private_keys(self, text: str) -> str:
        """Mask the lines between the marks of private keys."""
        parts, at = list[str](), 0
        for begin in _PRIVATE_KEY.finditer(text):
            if begin.start() < at:
                continue
            end = text.find(_END_OF_KEY, begin.end(), begin.end() + _LONGEST_KEY)
            end = min(begin.end() + _LONGEST_KEY, len(text)) if end < 0 else end + len(_END_OF_KEY)
            parts += [text[at : begin.end()], _KEY_LINE.sub(self._form, text[begin.end() : end])]
            at = end
        return "".join([*parts, text[at:]])

    def _form(self, match: re.Match[str]) -> str:
        value = match[0]
        if _MARK in value or not _is_kept_apart(value) or (self._recalls and self._find(value) is None):
            return value
        if value not in self._seen and len(self._seen) < _MOST_FOUND:
            self._seen[value] = None
            if is_secret(value):
                self._list()
        return self._placeholder(value)

    def _placeholder(self, value: str, *, is_text: bool = False) -> str:
        number = self._find(value)
        if number is None and self._recalls:
            return value
        if number is None:
            number, self._next = self._next, self._next + 1
            self._bind(value, number)
            self._texts += is_text
            row: dict[str, object] = {"text": value} if is_text else {"hash": self._hash(value)}
            self._unrecorded.append({"index": number, **row})
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
            return _escaped(found) if in_json else found

        return PLACEHOLDER.sub(value, text)

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
        values = {*self._given.values, *self._entries, *kept, *(one for one in self._seen if is_secret(one))}
        values |= {_escaped(value) for value in values}
        self._least = min(
            [LEAST, *map(len, self._entries), *map(len, kept), *(1 for one in self._given.entries if one.pattern)]
        )
        self._literals = tuple(sorted(values, key=lambda value: (-len(value), value)))
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


def _end(text: str, value: str, least: int) -> str:
    """Return the longest beginning of a value, of `least` characters or more, with which a text ends."""
    for length in range(min(len(value) - 1, len(text)), least - 1, -1):
        if text.endswith(value[:length]):
            return value[:length]
    return ""


def _expression(shown: str, *, exactly: bool) -> str:
    """Return what finds a value. A short one of letters or of digits alone is not found within a longer word."""
    escaped = re.escape(shown)
    if not exactly and len(shown) < _WORD_LENGTH and (shown.isalpha() or shown.isdecimal()):
        return rf"(?<![^\W_]){escaped}(?![^\W_])"
    return escaped


def _is_kept_apart(value: str) -> bool:
    """Tell whether what has the form of a key is one: in an address, the password must not be one that everybody
    knows."""
    user, colon, password = value.partition(":")
    return not colon or user.isdecimal() or len(password) < LEAST or is_secret(password)
