"""Stored keys: for this user alone, never shown, never lost to a file that cannot be read."""

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from north_lsp.storage.credentials import CredentialStore, CredentialsUnreadable
from north_lsp.storage.locations import Locations

SECRET = "sk-test-0123456789abcdef"


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    return CredentialStore(Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state"))


def test_asking_makes_no_file(store: CredentialStore) -> None:
    assert store.all_keys() == []
    assert store.remove() == 0
    assert store.stamp() is None
    assert not store.path.exists()


def test_what_is_stored_is_there_the_newest_first(store: CredentialStore) -> None:
    first = store.add("anthropic", SECRET, "work")
    stamp = store.stamp()
    second = store.add("openai", "another-key-of-some-length")
    assert store.stamp() != stamp
    assert [(key.id, key.provider, key.label) for key in store.all_keys()] == [
        (second.id, "openai", "openai"),
        (first.id, "anthropic", "work"),
    ]
    assert store.all_keys()[1].secret == SECRET
    store.add("anthropic", SECRET, "home")  # the same key again
    assert [key.label for key in store.all_keys()] == ["home", "openai"]


def test_forgetting(store: CredentialStore) -> None:
    ids = [store.add(provider, f"{provider}-key-{number}").id for number, provider in enumerate(["a", "a", "b", "c"])]
    assert store.remove(ids[0]) == 1
    assert store.remove(provider="a") == 1
    assert [key.provider for key in store.all_keys()] == ["c", "b"]
    assert store.remove() == 2
    assert b"a-key-0" not in store.path.read_bytes()  # gone from the file, not only from the table


def test_the_tokens_of_sign_ins_are_known_so_that_they_can_be_masked(store: CredentialStore) -> None:
    assert store.sign_in_tokens() == []
    store.add("openai", "a key", "label")
    for name, kept in (("a", '{"access": "x", "refresh": "y"}'), ("b", '{"access": "z", "refresh": ""}'), ("c", "no")):
        store.keep_sign_in(name, "label", kept)
    assert store.sign_in_tokens() == ["x", "y", "z"]


def test_a_sign_in_and_keys_do_not_end_each_other(store: CredentialStore) -> None:
    key = store.add("a", "sk-1")
    for text in ("first", "second"):
        store.keep_sign_in("a", "A", text)
    assert (store.sign_ins(), store.all_keys()) == ({"a": "second"}, [key])
    assert store.forget_sign_in("a") == 1
    assert (store.sign_ins(), store.all_keys()) == ({}, [key])


def test_it_is_readable_by_its_user_alone(store: CredentialStore) -> None:
    before = os.umask(0)
    try:
        store.add("anthropic", SECRET)
    finally:
        os.umask(before)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    store.path.chmod(0o644)
    store.all_keys()
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_no_key_is_shown(store: CredentialStore) -> None:
    key = store.add("anthropic", SECRET)
    assert SECRET not in repr(key)
    assert key.ending == "…cdef"
    assert store.add("anthropic", "short").ending == "…"


@pytest.mark.parametrize("content", [b"this is no database, but a text of some length", b"{}" * 600])
def test_a_file_that_cannot_be_read_stays_as_it_is(store: CredentialStore, content: bytes) -> None:
    store.path.parent.mkdir(parents=True)
    store.path.write_bytes(content)
    for work in (store.all_keys, store.remove, lambda: store.add("a", "b")):
        with pytest.raises(CredentialsUnreadable, match=r"agent\.db"):
            work()
    assert store.path.read_bytes() == content


def test_a_newer_store_is_left_alone(store: CredentialStore) -> None:
    store.add("a", "b")
    with sqlite3.connect(store.path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(CredentialsUnreadable, match="newer version"):
        store.add("a", "c")
