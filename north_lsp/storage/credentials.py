"""The keys that the user has given to North: in `<data>/agent.db`, readable by this user only, or in the system's
keyring, to which the file then only refers. Nothing here logs or prints a key. SQLite is imported only when the file
exists or is created."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage import keyring
from north_lsp.storage.files import private_directory
from north_lsp.storage.keyring import KeyringError
from north_lsp.storage.locations import Locations
from north_lsp.storage.locks import FileLock, LockHeld, try_lock

if TYPE_CHECKING:
    import sqlite3

_SHOWN = 4
_COLUMNS = "id, provider, label, secret, created_at, last_used_at, limited_until"
_MIGRATIONS = (
    (
        """
CREATE TABLE IF NOT EXISTS credentials (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    provider TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('api_key', 'oauth')),
    label TEXT NOT NULL,
    secret TEXT NOT NULL,
    refresh TEXT,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    limited_until INTEGER,
    disabled INTEGER NOT NULL DEFAULT 0
)
""",
    ),
)


class CredentialsUnreadable(OSError):
    """The file is not a store of keys, or the keyring does not give those in it; both are left as they are. The text is
    one line for the user; `readable` are the keys that can still be used."""

    readable: tuple[StoredKey, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredKey:
    """One API key; times are milliseconds since 1970. Until `limited_until` its vendor accepts no requests with it,
    which makes it no other key; `last_used_at` is to the hour."""

    id: int
    provider: str
    label: str
    secret: str
    created_at: int
    last_used_at: int | None = field(default=None, compare=False)
    limited_until: int | None = field(default=None, compare=False)

    @property
    def ending(self) -> str:
        """The key's last characters, for people; none of a short key."""
        return f"…{self.secret[-_SHOWN:]}" if len(self.secret) >= 4 * _SHOWN else "…"

    @property
    def use(self) -> str:
        """When the key was used last, for people."""
        if self.last_used_at is None:
            return "not used yet"
        return f"last used {time.strftime('%Y-%m-%d', time.localtime(self.last_used_at / 1000))}"

    def __repr__(self) -> str:
        return f"StoredKey({self.id}, {self.provider}, {self.ending})"


class CredentialStore:
    """The stored keys. Methods block for a moment: call them on a thread. Each raises CredentialsUnreadable, or
    OSError."""

    def __init__(self, locations: Locations) -> None:
        self._locations = locations
        self.path = locations.data / "agent.db"

    def stamp(self) -> tuple[int, int] | None:
        """Return a value that changes whenever the keys do; None without a file."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def all_keys(self) -> list[StoredKey]:
        """Return the keys that may be used, the newest first."""
        if not self.path.exists():
            return []
        with self._open() as database:
            query = f"SELECT {_COLUMNS} FROM credentials WHERE type = 'api_key' AND NOT disabled ORDER BY id DESC"
            rows = database.execute(query).fetchall()
        keys: list[StoredKey] = []
        problem: KeyringError | None = None
        for key in (StoredKey(*row) for row in rows):
            try:
                secret = keyring.resolved(key.secret)
            except KeyringError as error:
                problem = error
                continue
            keys += [replace(key, secret=secret)] if secret is not None else []
        if problem is not None:
            unreadable = CredentialsUnreadable(str(problem))
            unreadable.readable = tuple(keys)
            raise unreadable
        return keys

    def add(self, provider: str, secret: str, label: str = "") -> StoredKey:
        """Store a key where the settings say; if it is stored already, only its label changes."""
        now = round(time.time() * 1000)
        try:
            known: Sequence[StoredKey] = self.all_keys()
        except CredentialsUnreadable as error:  # of keys in a keyring that does not open
            known = error.readable
        again = [key.id for key in known if (key.provider, key.secret) == (provider, secret)]
        kept = keyring.put(provider, secret) if self._uses_keyring() else secret
        with self._open() as database:
            cursor = database.execute(
                "INSERT INTO credentials (provider, type, label, secret, created_at) VALUES (?, 'api_key', ?, ?, ?)",
                (provider, label or provider, kept, now),
            )
            stored = StoredKey(int(cursor.lastrowid or 0), provider, label or provider, secret, now)
        for id in again:
            self.remove(id)
        return stored

    def limit(self, id: int, until: int | None) -> None:
        """Note until when a key is limited; None if it is not any more."""
        if self.path.exists():
            with self._open() as database:
                database.execute("UPDATE credentials SET limited_until = ? WHERE id = ?", (until, id))

    def note_use(self, id: int, at: int) -> None:
        """Note when a key was used last."""
        if self.path.exists():
            with self._open() as database:
                database.execute("UPDATE credentials SET last_used_at = ? WHERE id = ?", (at, id))

    def keep_sign_in(self, provider: str, label: str, secret: str) -> None:
        """Keep what a sign-in gave, in place of the one before. Keys stay."""
        kept = keyring.put(provider, secret) if self._uses_keyring() else secret
        condition = "type = 'oauth' AND provider = ?"
        with self._open() as database:
            before = database.execute(f"SELECT secret FROM credentials WHERE {condition}", (provider,)).fetchall()
            database.execute(f"DELETE FROM credentials WHERE {condition}", (provider,))
            database.execute(
                "INSERT INTO credentials (provider, type, label, secret, created_at) VALUES (?, 'oauth', ?, ?, ?)",
                (provider, label, kept, round(time.time() * 1000)),
            )
        _forget(secret for (secret,) in before)

    def renew_sign_in(self, provider: str, before: str, secret: str) -> bool:
        """Keep what a sign-in gave in place of what it gave `before`; False if that is not kept any more."""
        if not self.path.exists():
            return False
        kept = keyring.put(provider, secret) if self._uses_keyring() else secret
        with self._open() as database:
            query = "SELECT id, secret FROM credentials WHERE type = 'oauth' AND provider = ? ORDER BY id DESC"
            row = database.execute(query, (provider,)).fetchone()
            is_there = row is not None and keyring.resolved(row[1]) == before
            if is_there:
                database.execute("UPDATE credentials SET secret = ? WHERE id = ?", (kept, row[0]))
        with suppress(KeyringError):  # nothing refers to it any more
            keyring.forget(row[1] if is_there else kept)
        return is_there

    def lock(self, provider: str) -> FileLock | LockHeld:
        """Take the lock of a provider's sign-in, or say who has it. Raises OSError."""
        return try_lock(private_directory(self._locations.locks) / f"{provider.replace(':', '-')}.lock")

    def sign_in(self, provider: str) -> str | None:
        """Return what a sign-in gave; None if there is none."""
        if not self.path.exists():
            return None
        with self._open() as database:
            query = "SELECT secret FROM credentials WHERE type = 'oauth' AND provider = ? ORDER BY id DESC"
            row = database.execute(query, (provider,)).fetchone()
        try:
            return None if row is None else keyring.resolved(row[0])
        except KeyringError as error:
            raise CredentialsUnreadable(str(error)) from None

    def sign_ins(self) -> dict[str, str]:
        """Return what the sign-ins to providers of models gave, by provider; those that the keyring does not give are
        left out."""
        if not self.path.exists():
            return {}
        with self._open() as database:
            query = "SELECT provider, secret FROM credentials WHERE type = 'oauth' AND provider NOT LIKE 'mcp:%'"
            rows = database.execute(f"{query} ORDER BY id").fetchall()
        found: dict[str, str] = {}
        for provider, kept in rows:
            with suppress(KeyringError):
                if (text := keyring.resolved(kept)) is not None:
                    found[provider] = text
        return found

    def sign_in_tokens(self) -> list[str]:
        """Return the tokens of all sign-ins, so that they can be masked; those that the keyring does not give are left
        out."""
        if not self.path.exists():
            return []
        with self._open() as database:
            rows = database.execute("SELECT secret FROM credentials WHERE type = 'oauth'").fetchall()
        found: list[str] = []
        for (kept,) in rows:
            with suppress(KeyringError, ValueError):
                match json.loads(keyring.resolved(kept) or "{}"):
                    case {"access": str(access), "refresh": str(refresh)}:
                        found += [access, refresh]
                    case _:
                        pass
        return [token for token in found if token]

    def _uses_keyring(self) -> bool:
        """Tell whether new keys go to the keyring. Raises CredentialsUnreadable if the settings cannot be read: a key
        must not be stored in another place than the user wanted."""
        from north_lsp.storage.user_settings import load_settings

        settings = load_settings(self._locations)
        if settings.models.key_storage is None:
            raise CredentialsUnreadable(
                f"no key was stored, because the settings cannot be read: {settings.problems[0]}"
            )
        return settings.models.key_storage == "keyring"

    def remove(self, id: int | None = None, provider: str | None = None) -> int:
        """Remove one key, or a provider's keys and sign-in, or all of them; return how many."""
        if id is not None:
            return self._removed("id = ?", id)
        return self._removed("1") if provider is None else self._removed("provider = ?", provider)

    def forget_sign_in(self, provider: str) -> int:
        """Remove what a sign-in gave, and no key; return how many there were."""
        return self._removed("type = 'oauth' AND provider = ?", provider)

    def _removed(self, condition: str, *values: object) -> int:
        if not self.path.exists():
            return 0
        with self._open() as database:
            before = database.execute(f"SELECT secret FROM credentials WHERE {condition}", values).fetchall()
            count = int(database.execute(f"DELETE FROM credentials WHERE {condition}", values).rowcount)
        _forget(secret for (secret,) in before)
        return count

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        import sqlite3

        from north_lsp.storage.sqlite import DamagedDatabase, NewerDatabase, transaction

        try:
            # A file that cannot be read is never replaced: the keys in it may still be saved.
            with transaction(self.path, _MIGRATIONS, keep_damaged=True) as database:
                # A removed key is gone from the file, not only from the table.
                database.execute("PRAGMA secure_delete = ON")
                yield database
        except NewerDatabase:
            problem = f"the stored keys in {self.path} were written by a newer version of North"
            raise CredentialsUnreadable(problem) from None
        except DamagedDatabase as error:
            raise CredentialsUnreadable(f"the stored keys in {self.path} cannot be used: {error.strerror}") from None
        except sqlite3.Error as error:
            raise CredentialsUnreadable(f"the stored keys in {self.path} cannot be used: {error}") from None


def _forget(secrets: Iterable[str]) -> None:
    """Remove from the keyring what nothing refers to any more; one that cannot be reached keeps it, unused."""
    for secret in secrets:
        with suppress(KeyringError):
            keyring.forget(secret)
