"""Which stored keys rest, because their vendor has limited or refused them, and which key a conversation is asked with.
Shared by all models of a process; a limit is stored, so that other processes know of it. Imports nothing heavy."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.credentials import StoredKey

Why = Literal["limited", "refused"]
_LIMITED_SECONDS = 300.0
_REFUSED_SECONDS = 3600.0
_MOST_CONVERSATIONS = 1000


@dataclass(frozen=True, slots=True)
class Rest:
    """Until when a key is left alone, in seconds since 1970, and why."""

    until: float
    why: Why

    def __str__(self) -> str:
        return f"{self.why}, rests until {datetime.fromtimestamp(self.until):%H:%M}"


class RestingKeys:
    """The resting keys of a process. `keep` stores until when a key is limited, in milliseconds since 1970 (None: it is
    not any more); it blocks for a moment, and never raises."""

    def __init__(self, keep: Callable[[int, int | None], None], now: Callable[[], float] = time.time) -> None:
        self._keep = keep
        self.now = now
        self._rests: dict[int, Rest] = {}
        self._ended: dict[int, tuple[int | None, ...]] = {}  # what was stored before a key answered all the same
        self._used: dict[tuple[str, str], int] = {}
        self._last: dict[str, int] = {}

    def rest_of(self, key: StoredKey) -> Rest | None:
        """Return the rest of a key, None if it can be used."""
        until = key.limited_until if key.limited_until not in self._ended.get(key.id, ()) else None
        stored = Rest((until or 0) / 1000, "limited")
        rest = max(self._rests.get(key.id, stored), stored, key=lambda one: one.until)
        return rest if rest.until > self.now() else None

    def pick(self, keys: Sequence[StoredKey], conversation: str, without: Collection[int] = ()) -> StoredKey | None:
        """Return the key that a conversation is asked with: the one that it has been asked with before; a new one gets
        the next in turn. None if all of them rest or are in `without`."""
        free = [key for key in keys if key.id not in without and self.rest_of(key) is None]
        if not free:
            return None
        place = (keys[0].provider, conversation)
        before = self._used.pop(place, None)
        found = next((key for key in free if key.id == before), None)
        if found is None:
            found = self._next(keys, free) if conversation else free[0]
        if conversation:
            self._used[place] = found.id  # the last place: the conversation that was used last is forgotten last
            while len(self._used) > _MOST_CONVERSATIONS:
                del self._used[next(iter(self._used))]
        return found

    def _next(self, keys: Sequence[StoredKey], free: Sequence[StoredKey]) -> StoredKey:
        """Return the first free key after the one that was given out last."""
        ids = [key.id for key in keys]
        last = self._last.get(keys[0].provider)
        begin = ids.index(last) + 1 if last in ids else 0
        found = next(key for key in (*keys[begin:], *keys[:begin]) if key in free)
        self._last[found.provider] = found.id
        return found

    def soonest(self, keys: Sequence[StoredKey]) -> StoredKey:
        """Return the key whose rest ends first, for when all of them rest."""
        return min(keys, key=lambda key: rest.until if (rest := self.rest_of(key)) is not None else 0.0)

    def limit(self, key: StoredKey, seconds: float | None) -> None:
        """Let a key rest that its vendor has limited, for as long as the vendor says. Blocks."""
        self._rests[key.id] = rest = Rest(self.now() + (seconds or _LIMITED_SECONDS), "limited")
        self._keep(key.id, round(rest.until * 1000))

    def refuse(self, key: StoredKey) -> None:
        """Let a key rest that its vendor does not accept: in this process only, for it may be accepted elsewhere."""
        self._rests[key.id] = Rest(self.now() + _REFUSED_SECONDS, "refused")

    def answered(self, key: StoredKey) -> None:
        """End the rest of a key that works. Blocks if it had one."""
        if self.rest_of(key) is not None:
            own = self._rests.pop(key.id, None)
            self._ended[key.id] = (key.limited_until, None if own is None else round(own.until * 1000))
            self._keep(key.id, None)

    def shown(self, keys: Sequence[StoredKey]) -> str:
        """Say which keys there are, by their last characters, and which of them rest."""
        return ", ".join(self._shown(keys))

    def _shown(self, keys: Sequence[StoredKey]) -> Iterator[str]:
        for key in keys:
            rest = self.rest_of(key)
            yield key.ending if rest is None else f"{key.ending} {rest}"
