"""The keys that are not in variables: those given to this process alone, those of a key broker, and those that the user
has stored. A snapshot, so that reading it costs nothing; `refresh` reads keys again if they have changed. Imports
nothing heavy."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from north_lsp.providers.credentials import Credential, is_bearer_token
from north_lsp.providers.keys.resting import RestingKeys
from north_lsp.providers.keys.routes import Routes
from north_lsp.storage.credentials import CredentialStore, CredentialsUnreadable, StoredKey
from north_lsp.storage.locks import FileLock, LockHeld

if TYPE_CHECKING:
    from north_lsp.providers.keys.broker import Broker
    from north_lsp.providers.keys.sign_in import Grant

SIGN_IN = "your sign-in"
"""Where a token comes from that the user has signed in for."""

_AGAIN_SECONDS = 60.0
_AN_HOUR_MS = 3_600_000


class Keys:
    """A snapshot of the keys. `problem` is one line for the user about keys that cannot be read; `routes` say where an
    editor wants requests to go, for which no key is used; `resting` are the stored keys that are left alone for now."""

    def __init__(self, store: CredentialStore | None = None, broker: Broker | None = None) -> None:
        self.routes = Routes()
        self.resting = RestingKeys(self._keep_limit)
        self._store = store
        self._broker = broker
        self._stamp: tuple[int, int] | None = None
        self._again = 0.0  # when to retry a store that could not be read
        self._stored: tuple[StoredKey, ...] = ()
        self._tokens: tuple[str, ...] = ()
        self._grants: Mapping[str, Grant] = {}
        self._unstored: dict[str, tuple[Grant, Grant]] = {}
        self._given: dict[str, str] = {}
        self._store_problem: str | None = None
        self._used: dict[int, int] = {}

    @property
    def problem(self) -> str | None:
        return self._store_problem or (self._broker.problem if self._broker is not None else None)

    def given(self, provider: str) -> Credential | None:
        """Return the key that this process was given, which wins over all others, None if there is none."""
        secret = self._given.get(provider)
        source = "the key given to this process"
        return None if secret is None else Credential(secret, source, is_bearer_token(secret))

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that hold the broker's token."""
        variable = self._broker.variable if self._broker is not None else None
        return () if variable is None else (variable,)

    @property
    def has_broker(self) -> bool:
        """Whether keys come from a broker. What models.yml says then wins over those."""
        return self._broker is not None

    def find(self, provider: str) -> Credential | None:
        """Return the key of a provider: the broker's, else the newest stored one, else None."""
        lent = self._broker.find(provider) if self._broker is not None else None
        if lent is not None:
            return lent
        stored = next((key for key in self._stored if key.provider == provider), None)
        if stored is not None:
            return as_credential(stored)
        grant = self._grants.get(provider)
        return None if grant is None else Credential(grant.access, SIGN_IN, is_token=True)

    def sign_in(self, provider: str) -> Grant | None:
        """Return what the user's sign-in to a provider gave; None if there is none."""
        return self._grants.get(provider)

    def renew_sign_in(self, provider: str, before: Grant, renewed: Grant) -> Grant | None:
        """Keep what takes the place of a sign-in; returns what is kept then: nothing, or another one, if the user has
        signed out or in again meanwhile. Where it cannot be stored, this process keeps it: what was before may be
        spent. Blocks."""
        self._tokens = (*self._tokens, renewed.access, *([renewed.refresh] if renewed.refresh else []))
        try:
            is_kept = self._store is not None and self._store.renew_sign_in(provider, *_texts(before, renewed))
        except OSError:
            self._unstored[provider] = (before, renewed)
            is_kept = True
        if not is_kept:
            self._read_store()
            return self._grants.get(provider)
        self._grants = {**self._grants, provider: renewed}
        return renewed

    def lock_sign_in(self, provider: str) -> FileLock | LockHeld:
        """Take the lock of a sign-in, or say who has it. Blocks; raises OSError."""
        if self._store is None:
            raise OSError("stored keys are not available here")
        return self._store.lock(f"sign-in-{provider}")

    def stored_of(self, provider: str) -> tuple[StoredKey, ...]:
        """Return the stored keys of a provider, the newest first; none while the broker has one for it."""
        if self._broker is not None and self._broker.find(provider) is not None:
            return ()
        return tuple(key for key in self._stored if key.provider == provider)

    @property
    def stored(self) -> tuple[StoredKey, ...]:
        return self._stored

    @property
    def secrets(self) -> tuple[str, ...]:
        """All keys that are known here, whoever they are for, and the tokens of sign-ins to MCP servers."""
        lent = self._broker.secrets if self._broker is not None else ()
        stored = (key.secret for key in self._stored)
        return (*self._given.values(), *lent, *stored, *self._tokens, *self.routes.secrets)

    def has_old_use(self, key: StoredKey) -> bool:
        """Whether it is an hour or more ago that a stored key was noted to be used."""
        return round(time.time() * 1000) - self._used.get(key.id, key.last_used_at or 0) >= _AN_HOUR_MS

    def note_use(self, key: StoredKey) -> None:
        """Store that a key is used now. Blocks for a moment; not noting it harms nothing."""
        self._used[key.id] = now = round(time.time() * 1000)
        if self._store is not None:
            with suppress(OSError):
                self._store.note_use(key.id, now)

    def give(self, provider: str, secret: str | None) -> None:
        """Use a key in this process only, where it wins over all others. None removes it."""
        if secret is None:
            self._given.pop(provider, None)
        else:
            self._given[provider] = secret

    def clear_given(self) -> None:
        self._given.clear()

    @property
    def is_stale(self) -> bool:
        """Whether the store has changed since it was read, or the broker is to be asked again."""
        if self._broker is not None and self._broker.is_stale:
            return True
        if self._store_problem is not None and time.monotonic() >= self._again:
            return True
        return self._store is not None and self._store.stamp() != self._stamp

    def refresh(self) -> bool:
        """Read the store again if its file has changed, and ask the broker if its keys are not fresh. Returns whether
        the keys have changed. Blocks, for some seconds if the broker does not answer."""
        lent = self._broker is not None and self._broker.is_stale and self._broker.refresh()
        return self._read_store() or lent

    def _keep_limit(self, id: int, until: int | None) -> None:
        if self._store is not None:
            with suppress(OSError):  # then other processes find out by themselves
                self._store.limit(id, until)

    def _read_store(self) -> bool:
        if self._store is None:
            return False
        stamp = self._store.stamp()
        if stamp == self._stamp and self._store_problem is None:
            return False
        before = (self._stored, self._grants)
        self._store_problem = None
        try:
            self._grants = self._with_unstored(self._store, _grants(self._store.sign_ins()))
            unstored = (token for _, one in self._unstored.values() for token in (one.access, one.refresh) if token)
            self._tokens = (*self._store.sign_in_tokens(), *unstored)
        except OSError as error:
            self._store_problem = str(error)
        try:
            self._stored = tuple(self._store.all_keys())
        except OSError as error:
            self._stored = error.readable if isinstance(error, CredentialsUnreadable) else ()
            self._store_problem = str(error)
        if self._store_problem is not None:
            self._again = time.monotonic() + _AGAIN_SECONDS
        self._stamp = self._store.stamp()
        return (self._stored, self._grants) != before

    def _with_unstored(self, store: CredentialStore, grants: Mapping[str, Grant]) -> Mapping[str, Grant]:
        """Return sign-ins with what took their place and could not be stored yet; that is stored now if it can be."""
        found = dict(grants)
        for provider, (before, renewed) in list(self._unstored.items()):
            if provider not in found or found[provider].to_json() != before.to_json():
                del self._unstored[provider]  # the user has signed out or in again
                continue
            found[provider] = renewed
            with suppress(OSError):
                if store.renew_sign_in(provider, *_texts(before, renewed)):
                    del self._unstored[provider]
        return found


def _texts(before: Grant, renewed: Grant) -> tuple[str, str]:
    return before.to_json(), renewed.to_json()


def _grants(rows: Mapping[str, str]) -> Mapping[str, Grant]:
    if not rows:
        return {}
    from north_lsp.providers.keys.sign_in import Grant  # loads what a listener needs

    found = {provider: Grant.from_json(kept) for provider, kept in rows.items()}
    return {provider: grant for provider, grant in found.items() if grant is not None}


def as_credential(key: StoredKey) -> Credential:
    """Return a stored key as a request needs it."""
    return Credential(key.secret, f"North's own store ({key.ending})", is_bearer_token(key.secret))


NO_KEYS = Keys()
