"""Which key is used, and what is said of it."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.providers.base import Done, Failed, ModelRequest, UserMessage
from north_lsp.providers.catalog.catalog import Catalog, catalog
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.factory import make_provider
from north_lsp.providers.keys import sources
from north_lsp.providers.keys.credential_lookup import credential_source, find_key, has_credential
from north_lsp.providers.keys.env_file import read_env_file, with_env_file
from north_lsp.providers.keys.sources import Keys
from north_lsp.providers.pool import ProviderPool
from north_lsp.storage.credentials import CredentialStore, StoredKey
from north_lsp.storage.locations import Locations
from tests.support.model_server import ModelServer
from tests.support.script import answer, fail, say

STORED, GIVEN = "stored-key-0123456789", "given-key-0123456789"


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    return CredentialStore(Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state"))


def test_the_order_in_which_places_are_looked_at(tmp_path: Path, store: CredentialStore) -> None:
    (tmp_path / "models.yml").write_text("providers: {anthropic: {apiKey: from-the-file, headers: {X-A: b}}}")
    environ = {"ANTHROPIC_API_KEY": "from-the-environment"}
    keys = Keys(store)
    info = load_catalog(tmp_path, environ).find("sonnet-4-5").provider

    def found(environ: dict[str, str]) -> str | None:
        key = find_key(info, environ, keys)
        return key.secret if key is not None else None

    assert found({}) == "from-the-file"
    assert credential_source(info, {}, keys) == "models.yml: providers.anthropic.apiKey"
    assert found(environ) == "from-the-environment"
    store.add("anthropic", STORED)
    assert found(environ) == "from-the-environment"  # not read yet
    assert keys.refresh()
    assert found(environ) == STORED
    assert credential_source(info, environ, keys) == "North's own store (…6789)"
    keys.give("anthropic", GIVEN)
    assert found(environ) == GIVEN
    keys.give("anthropic", None)
    assert found(environ) == STORED
    store.remove()
    assert keys.is_stale
    assert keys.refresh()
    assert not keys.refresh()
    assert found(environ) == "from-the-environment"


def test_a_stored_key_makes_a_model_available(store: CredentialStore) -> None:
    shipped = catalog()
    known = Catalog(shipped.providers, shipped.models)
    known.keys = Keys(store)
    assert known.default({}).alias == "offline"
    store.add("openai", STORED)
    known.keys.refresh()
    assert known.default({}).alias == "gpt-5.1"
    assert not has_credential(known.find("sonnet-4-5").provider, {}, known.keys)


def test_a_store_that_cannot_be_read_is_a_problem_for_the_user(store: CredentialStore) -> None:
    store.path.parent.mkdir(parents=True)
    store.path.write_text("no database, but a text that is long enough to be one")
    keys = Keys(store)
    assert not keys.refresh()
    assert "agent.db" in (keys.problem or "")
    assert keys.find("anthropic") is None


async def test_a_key_that_is_refused_is_named_and_no_other_is_tried(
    server: ModelServer, store: CredentialStore
) -> None:
    environ = {"ANTHROPIC_API_KEY": "of the environment", "ANTHROPIC_BASE_URL": server.url}
    store.add("anthropic", STORED)
    keys = Keys(store)
    keys.refresh()
    pool = ProviderPool(environ, keys=keys)
    server.script(answer(fail(401, "authentication_error", "invalid x-api-key")), answer(say("Hi")))
    request = ModelRequest("m", "", [UserMessage("q")], [], 100)

    async def last() -> object:
        provider = await pool.get(catalog().find("sonnet-4-5"))
        return [event async for event in provider.stream(request)][-1]

    failed = await last()
    assert isinstance(failed, Failed)
    assert "check the key in North's own store (…6789)" in failed.message
    assert STORED not in failed.message
    assert len(server.requests) == 1
    # Another key is used as soon as there is one.
    keys.give("anthropic", GIVEN)
    pool.forget()
    await last()
    sent = [{name.lower(): value for name, value in request.headers.items()} for request in server.requests]
    assert [headers["authorization"] for headers in sent] == [f"Bearer {STORED}", f"Bearer {GIVEN}"]
    await pool.aclose()


def test_the_users_own_file_of_variables(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    assert read_env_file(path) == {}
    path.write_text(
        "# a comment\n"
        "export OPENAI_API_KEY = 'quoted # not a comment' # a comment\n"
        'ANTHROPIC_API_KEY="double"\n'
        "GROQ_API_KEY=plain # a comment\n"
        "NORTH_MODEL=opus\n"
        "ANTHROPIC_BASE_URL=https://elsewhere.example\n"
        "PATH=/evil\n"
        "MISTRAL_API_KEY=\n"
        "not a line\n"
    )
    names = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY"}
    environ = with_env_file({"ANTHROPIC_API_KEY": "set already", "HOME": "/h"}, path, names)
    assert environ == {
        "ANTHROPIC_API_KEY": "set already",
        "HOME": "/h",
        "OPENAI_API_KEY": "quoted # not a comment",
        "GROQ_API_KEY": "plain",
        "NORTH_MODEL": "opus",
    }
    path.write_bytes(b"\xff\xfe")
    assert read_env_file(path) == {}


@given(st.text("ab#'\"= \n\\", max_size=20))
def test_any_text_is_a_file_of_variables(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, ".env")
        path.write_text(text)
        assert all(name.isidentifier() and "\n" not in value for name, value in read_env_file(path).items())
        plain = text.replace("'", "").replace("\n", "")
        path.write_text(f"NAME='{plain}'\n")
        assert read_env_file(path) == {"NAME": plain}


async def test_it_is_noted_when_a_stored_key_was_used_last_at_most_once_an_hour(
    tmp_path: Path, store: CredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask() -> StoredKey:
        events = [event async for event in provider.stream(ModelRequest("m", "", [UserMessage("q")], [], 100, "a"))]
        assert isinstance(events[-1], Done)
        (key,) = store.all_keys()
        return key

    now = 1_800_000_000.0
    monkeypatch.setattr(sources, "time", SimpleNamespace(time=lambda: now, monotonic=time.monotonic))
    store.add("anthropic", STORED)
    keys = Keys(store)
    keys.refresh()
    (unused,) = keys.stored
    assert (unused.last_used_at, unused.use) == (None, "not used yet")
    with ModelServer() as server:
        model = load_catalog(tmp_path, {}).find("sonnet-4-5")
        environ = {"ANTHROPIC_BASE_URL": server.url}
        provider = make_provider(model, environ, keys=keys)
        server.script(*(answer(say("Hi")) for _ in range(3)))
        used = await ask()
        assert used.last_used_at == now * 1000
        assert used.use.startswith("last used 2027-01-1")
        assert not keys.refresh()  # it is no other key: no provider is made anew
        now += 3599
        assert (await ask()).last_used_at == used.last_used_at
        now += 1
        assert (await ask()).last_used_at == now * 1000
        await provider.aclose()
