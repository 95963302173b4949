"""The keys that are no variables: those given for this process alone, and those that the user has stored. A snapshot,
so that asking costs nothing; `refresh` reads the store again when it has changed. Imports nothing heavy."""

from north_lsp.providers.credentials import Credential
from north_lsp.storage.credentials import CredentialStore, StoredKey


class Keys:
    """`problem` is one line for the user about a store that cannot be read."""

    def __init__(self, store: CredentialStore | None = None) -> None:
        self._store = store
        self._stamp: tuple[int, int] | None = None
        self._stored: tuple[StoredKey, ...] = ()
        self._given: dict[str, str] = {}
        self.problem: str | None = None

    def find(self, provider: str) -> Credential | None:
        """The key of a provider: the one given to this process, else the newest stored one."""
        given = self._given.get(provider)
        if given is not None:
            return Credential(given, "the key given to this process")
        stored = next((key for key in self._stored if key.provider == provider), None)
        return None if stored is None else Credential(stored.secret, f"North's own store ({stored.ending})")

    @property
    def stored(self) -> tuple[StoredKey, ...]:
        return self._stored

    def give(self, provider: str, secret: str | None) -> None:
        """A key for this process alone, which stands above all others; None takes it back."""
        if secret is None:
            self._given.pop(provider, None)
        else:
            self._given[provider] = secret

    def take_all_back(self) -> None:
        self._given.clear()

    @property
    def is_stale(self) -> bool:
        """Whether the store has changed since it was read."""
        return self._store is not None and self._store.stamp() != self._stamp

    def refresh(self) -> bool:
        """Read the store again if its file has changed; says whether the keys have. Blocks for a moment."""
        if self._store is None:
            return False
        stamp = self._store.stamp()
        if stamp == self._stamp:
            return False
        before = self._stored
        try:
            self._stored = tuple(self._store.all_keys())
            self.problem = None
        except OSError as error:
            self._stored = ()
            self.problem = str(error)
        self._stamp = self._store.stamp()
        return self._stored != before


NO_KEYS = Keys()
