"""The catalog of a process that lives long: edited files, stored keys, servers that come and go."""

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from north_lsp.providers.catalog.catalog import Catalog, catalog
from north_lsp.providers.catalog.discovery import Discoverer
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.catalog.models_cache import ModelsCache
from north_lsp.providers.catalog_refresh import CatalogRefresh
from north_lsp.providers.keys.sources import Keys
from north_lsp.providers.pool import ProviderPool
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from tests.support.model_server import ModelServer

GOOD = "providers: {local: {baseUrl: 'http://127.0.0.1:1/v1', api: openai-completions, auth: none, models: [{id: m}]}}"


@dataclass
class Life:
    catalog_refresh: CatalogRefresh
    known: Catalog
    folder: Path
    pool: ProviderPool
    told: list[int] = field(default_factory=list)

    def write(self, text: str) -> None:
        self.folder.joinpath("models.yml").write_text(text)


@asynccontextmanager
async def life(
    folder: Path, environ: dict[str, str] | None = None, cache: ModelsCache | None = None
) -> AsyncIterator[Life]:
    environ = {"NORTH_DISCOVERY": "off"} if environ is None else environ
    known = load_catalog(folder, environ)
    known.keys = Keys(CredentialStore(Locations(folder, folder, folder)))
    pool = ProviderPool(environ, keys=known.keys)
    discoverer = Discoverer(known, environ, local_seconds=5, cache=cache)
    discoverer.recall()
    async with anyio.create_task_group() as tasks:
        upkeep = CatalogRefresh(known, lambda: load_catalog(folder, environ), folder, pool, discoverer, tasks)
        one = Life(upkeep, known, folder, pool)

        async def listener() -> None:
            one.told.append(len(known.models))

        upkeep.listen(listener)
        yield one
        await pool.aclose()
        tasks.cancel_scope.cancel()


async def test_an_edited_models_file_is_taken_in(tmp_path: Path) -> None:
    async with life(tmp_path) as one:
        chosen = one.known.find("offline").with_level("high")
        await one.catalog_refresh.refresh()
        assert one.told == []
        one.write(GOOD)
        await one.catalog_refresh.refresh()
        before = await one.pool.get(one.known.find("local/m"))
        assert one.told == [len(catalog().models) + 1]
        one.write(GOOD.replace("id: m", "id: m, contextWindow: 9000"))
        await one.catalog_refresh.refresh()
        assert one.known.find("local/m").window == 9000
        assert await one.pool.get(one.known.find("local/m")) is not before
        one.write(GOOD.replace("auth", "aut"))
        await one.catalog_refresh.refresh()
        assert one.known.get("local/m") is None
        (problem,) = one.catalog_refresh.news()
        assert "models.yml, line 1: providers.local.aut: this key is unknown" in problem
        assert one.catalog_refresh.news() == []  # once
        (tmp_path / "models.yml").unlink()
        await one.catalog_refresh.refresh()
        assert one.known.problems == ()
        assert len(one.told) == 4
        assert one.known.current(chosen) == chosen


async def test_a_file_changed_in_place_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "models.yml").write_text(GOOD)
    async with life(tmp_path) as one:
        path = tmp_path / "models.yml"
        stamp = path.stat()
        path.write_text(GOOD.replace("id: m", "id: n"))  # as long as before
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
        await one.catalog_refresh.refresh()
        assert one.known.get("local/n") is not None


async def test_a_key_stored_by_another_process_is_found(tmp_path: Path) -> None:
    async with life(tmp_path) as one:
        assert one.known.default({}).alias == "offline"
        CredentialStore(Locations(tmp_path, tmp_path, tmp_path)).add("openai", "a-key-of-some-length")
        await one.catalog_refresh.refresh()
        assert one.known.default({}).alias == "gpt-5.1"
        assert len(one.told) == 1


async def test_servers_are_asked_and_remembered(tmp_path: Path, server: ModelServer) -> None:
    server.pages = {"/v1/models": {"data": [{"id": "big", "max_model_len": 9000}]}}
    text = f"""
providers:
  mine:
    baseUrl: {server.url}/v1
    api: openai-completions
    apiKey: k
    discovery: {{type: openai-models}}
    modelOverrides: {{big: {{name: Big One}}}}
"""
    (tmp_path / "models.yml").write_text(text)
    cache = ModelsCache(tmp_path / "models-cache.db")
    async with life(tmp_path, cache=cache) as one:
        await one.catalog_refresh.discover()
        assert (one.known.find("mine/big").window, one.known.find("mine/big").title) == (9000, "Big One")
        assert len(one.told) == 1
        one.write(text + "# edited\n")
        await one.catalog_refresh.refresh()
        assert one.known.get("mine/big") is not None  # it is the same server
    server.pages = {}
    async with life(tmp_path, cache=cache) as one:
        assert one.known.find("mine/big").title == "Big One"  # at once, and though the server is gone
        await one.catalog_refresh.discover()
        assert one.known.get("mine/big") is not None
        assert one.known.found_at["mine"] > 0
    # What was said of another configuration does not count.
    (tmp_path / "models.yml").write_text(text.replace("/v1", "/v2"))
    async with life(tmp_path, cache=cache) as one:
        assert one.known.get("mine/big") is None


async def test_a_local_server_that_was_stopped_has_no_models(tmp_path: Path, server: ModelServer) -> None:
    server.pages = {"/v1/models": {"data": [{"id": "ggml"}]}}
    absent = "http://127.0.0.1:1"
    environ = {"LLAMA_CPP_BASE_URL": server.url, "OLLAMA_BASE_URL": absent, "LM_STUDIO_BASE_URL": absent}
    cache = ModelsCache(tmp_path / "models-cache.db")
    async with life(tmp_path, environ, cache) as one:
        await one.catalog_refresh.discover()
        assert one.known.get("llama.cpp/ggml") is not None
    server.pages = {}
    with_old = cache.load(catalog().providers)["llama.cpp"]
    assert [model.id for model in with_old.models] == ["ggml"]
    with closing(sqlite3.connect(tmp_path / "models-cache.db")) as database, database:
        database.execute("UPDATE models SET asked_at = asked_at - 61")  # more than a minute ago
    async with life(tmp_path, environ, cache) as one:
        assert one.known.get("llama.cpp/ggml") is not None
        await one.catalog_refresh.discover()
        assert one.known.get("llama.cpp/ggml") is None


def test_a_cache_that_is_none_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "models-cache.db"
    cache = ModelsCache(path)
    info = catalog().find("sonnet-4-5").provider
    assert cache.load([info]) == {}
    assert not path.exists()
    path.write_bytes(b"this is no database, but a text of some length")
    assert cache.load([info]) == {}
    models = [catalog().find("sonnet-4-5"), catalog().find("gemini-pro")]
    cache.keep(info, models)
    cache.keep(info, models)
    kept = cache.load([info])[info.id].models
    assert [(one.id, one.window, one.prices.known, one.source) for one in kept] == [
        ("claude-sonnet-4-5-20250929", 200_000, True, "discovered"),
        ("gemini-pro-latest", 1_048_576, False, "discovered"),
    ]
    assert kept[0].prices == models[0].prices
    assert kept[0].thinking is not None
    assert kept[0].thinking.reasoning("high", 64_000).budget == 20_000
