"""Keys in the system's keyring: North's file has references only, and says what is wrong where there is none."""

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from north_lsp.providers.keys.sources import Keys
from north_lsp.storage.credentials import CredentialStore, CredentialsUnreadable
from north_lsp.storage.locations import Locations

SECRET = "sk-test-0123456789abcdef"


class Memory(KeyringBackend):
    """A keyring of this process; `locked` refuses everything."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.secrets: dict[tuple[str, str], str] = {}
        self.locked = False

    def _open(self) -> dict[tuple[str, str], str]:
        if self.locked:
            raise KeyringLocked("the user has not opened it\nmore lines")
        return self.secrets

    def get_password(self, service: str, username: str) -> str | None:
        return self._open().get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._open()[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self._open().pop((service, username), None) is None:
            raise PasswordDeleteError("it is not there")


@pytest.fixture
def system() -> Iterator[Memory]:
    before, memory = keyring.get_keyring(), Memory()
    keyring.set_keyring(memory)
    yield memory
    keyring.set_keyring(before)


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    locations.config.mkdir()
    (locations.config / "config.json").write_text('{"auth.storage": "keyring"}')
    return CredentialStore(locations)


def test_a_key_goes_to_the_keyring_and_comes_from_it(store: CredentialStore, system: Memory) -> None:
    store.add("anthropic", SECRET, "work")
    store.add("openai", f"{SECRET}-2")
    store.add("anthropic", SECRET, "home")  # the same key again
    assert [(key.provider, key.label, key.secret) for key in store.all_keys()] == [
        ("anthropic", "home", SECRET),
        ("openai", "openai", f"{SECRET}-2"),
    ]
    assert sorted(system.secrets.values()) == [SECRET, f"{SECRET}-2"]
    assert SECRET.encode() not in store.path.read_bytes()
    assert {service for service, _ in system.secrets} == {"north-lsp"}
    assert store.remove(provider="anthropic") == 1
    assert list(system.secrets.values()) == [f"{SECRET}-2"]
    system.secrets.clear()  # the user has taken it out himself
    assert store.all_keys() == []
    assert store.remove() == 1


def test_keys_of_both_kinds_stand_side_by_side(store: CredentialStore, system: Memory, tmp_path: Path) -> None:
    config = tmp_path / "config" / "config.json"
    store.add("openai", SECRET)
    config.write_text("{}")
    store.add("groq", f"{SECRET}-3")
    assert [key.secret for key in store.all_keys()] == [f"{SECRET}-3", SECRET]
    assert store.remove() == 2
    assert not system.secrets


def test_what_is_wrong_is_said_and_nothing_is_stored_elsewhere(
    store: CredentialStore, system: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add("openai", SECRET)
    (tmp_path / "config" / "config.json").write_text("{}")
    store.add("groq", f"{SECRET}-3")
    keys = Keys(store)
    system.locked = True
    with pytest.raises(CredentialsUnreadable, match=r"cannot be used: the user has not opened it$"):
        store.all_keys()
    assert keys.refresh()
    assert [key.provider for key in keys.stored] == ["groq"]  # the file's own can be used all the same
    system.locked = False
    assert not keys.is_stale
    monkeypatch.setattr("north_lsp.providers.keys.sources._AGAIN_SECONDS", 0.0)
    system.locked = True
    keys = Keys(store)
    keys.refresh()
    system.locked = False
    assert keys.is_stale  # it is asked again after a while
    keys.refresh()
    assert [key.provider for key in keys.stored] == ["groq", "openai"]
    assert store.remove(provider="groq") == 1
    (tmp_path / "config" / "config.json").write_text('{"auth.storage": "ring"}')
    with pytest.raises(CredentialsUnreadable, match="no key was stored, because the settings cannot be read"):
        store.add("groq", SECRET)
    (tmp_path / "config" / "config.json").write_text('{"auth.storage": "keyring"}')
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(OSError, match=r"pip install 'north-lsp\[keyring\]'"):
        store.add("groq", SECRET)
    monkeypatch.undo()
    assert [key.provider for key in store.all_keys()] == ["openai"]


def test_what_a_locked_keyring_holds_can_be_removed_and_replaced(
    store: CredentialStore, system: Memory, tmp_path: Path
) -> None:
    store.add("openai", SECRET)
    store.keep_sign_in("company", "Company", "old")
    (tmp_path / "config" / "config.json").write_text("{}")
    system.locked = True
    store.add("openai", f"{SECRET}-2")
    store.keep_sign_in("company", "Company", "new")
    assert store.sign_in("company") == "new"
    assert store.remove(provider="openai") == 2
    assert store.all_keys() == []


def test_a_sign_in_that_cannot_be_kept_leaves_the_one_before(
    store: CredentialStore, system: Memory, tmp_path: Path
) -> None:
    (tmp_path / "config" / "config.json").write_text("{}")
    store.keep_sign_in("company", "Company", "old")
    with sqlite3.connect(store.path) as database:
        database.execute("CREATE TRIGGER full BEFORE INSERT ON credentials BEGIN SELECT RAISE(ABORT, 'full'); END")
    database.close()
    with pytest.raises(CredentialsUnreadable):
        store.keep_sign_in("company", "Company", "new")
    assert store.sign_in("company") == "old"
