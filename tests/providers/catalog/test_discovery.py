"""Servers that are asked for their models: on this machine, and far away."""

import asyncio
import os
import socket
import subprocess
import sys
from dataclasses import replace
from typing import Any

import anyio
import pytest

from north_lsp.providers.catalog.catalog import Catalog, catalog
from north_lsp.providers.catalog.discovery import Discoverer
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE

GIBBERISH = b"<html>no</html>"


def everything(server: ModelServer, **more: str) -> dict[str, str]:
    """No real server is asked, whatever runs on this machine."""
    return {
        "OLLAMA_BASE_URL": f"{server.url}/ollama",
        "LLAMA_CPP_BASE_URL": f"{server.url}/llama",
        "LM_STUDIO_BASE_URL": f"{server.url}/studio/v1",
    } | more


def known(environ: dict[str, str]) -> Catalog:
    shipped = catalog()
    return Catalog(shipped.providers, shipped.models, environ=environ)


async def found(environ: dict[str, str], seconds: float = 5) -> dict[str, Any]:
    chosen = known(environ)
    changed = await Discoverer(chosen, environ, local_seconds=seconds).refresh()
    models = {model.selector: model for model in chosen.models if model.source == "discovered"}
    assert changed == bool(models)
    assert chosen.models[-1].alias == "offline"
    return models


async def test_a_server_on_this_machine_has_two_seconds(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that stands still, but for the second that one needs that loads a model."""
    loop = asyncio.get_running_loop()
    now = [loop.time()]

    def page(_: bytes) -> dict[str, Any]:
        now[0] += 1.0
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()  # who waits has seen the clock
        return {"data": [{"id": "late"}]}

    server.pages = {"/studio/v1/models": page}
    monkeypatch.setattr(loop, "time", lambda: now[0])
    environ = everything(server)
    chosen = known(environ)
    await Discoverer(chosen, environ).refresh()
    assert [model.selector for model in chosen.models if model.source == "discovered"] == ["lm-studio/late"]


async def test_servers_on_this_machine(server: ModelServer) -> None:
    server.pages = {
        "/ollama/api/tags": {"models": [{"name": "qwen3:8b"}, {"name": "tiny"}, {"size": 3}]},
        "/ollama/api/show": {"model_info": {"qwen3.context_length": 40960}, "parameters": "num_ctx 8192\nstop x"},
        "/llama/v1/models": {"data": [{"id": "ggml", "meta": {"n_ctx_train": 131072}}]},
        "/studio/v1/models": {"data": [{"id": "lm"}]},
    }
    models = await found(everything(server))
    assert set(models) == {"ollama/qwen3:8b", "ollama/tiny", "llama.cpp/ggml", "lm-studio/lm"}
    assert models["ollama/qwen3:8b"].window == 8192
    assert models["llama.cpp/ggml"].window == 131072
    assert models["lm-studio/lm"].window == 128_000
    assert all(model.prices.known and model.prices.input == 0 for model in models.values())
    assert all(model.provider.address_in(everything(server)).endswith("/v1") for model in models.values())


@pytest.mark.parametrize(
    "page",
    [
        *(GIBBERISH, {"data": 3}, {"models": None}, [], {"data": [{"id": 7}, 3]}),
        {"data": [{"id": "x", "architecture": {"input_modalities": 5}}], "models": 5},
        b'{"data": ' + b"[" * 100_000,
    ],
)
async def test_what_is_no_list_of_models_is_passed_over(server: ModelServer, page: object) -> None:
    server.pages = dict.fromkeys(("/ollama/api/tags", "/llama/v1/models", "/studio/v1/models"), page)
    assert await found(everything(server)) == {}


async def test_servers_that_are_not_there_or_say_nothing_cost_no_time(server: ModelServer) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # takes the connection, and never answers
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environ = {"OLLAMA_BASE_URL": address, "LLAMA_CPP_BASE_URL": address, "LM_STUDIO_BASE_URL": f"{address}/v1"}
        with anyio.fail_after(PATIENCE):
            assert await found(environ, 0.1) == {}


async def test_a_provider_with_a_key_is_asked_with_it(server: ModelServer) -> None:
    rows = [
        {
            "id": "maker/model",
            "name": "Maker: Model\u202e",
            "context_length": 200000,
            "top_provider": {"max_completion_tokens": 9000},
            "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"},
            "supported_parameters": ["tools", "reasoning"],
            "architecture": {"input_modalities": ["text", "image"]},
        },
        {"id": "plain", "pricing": {"prompt": "-1", "completion": "-1"}},
    ]
    server.pages = {"/v1/models": {"data": rows}}
    shipped = catalog()
    moved = [
        replace(info, address=f"{server.url}/v1", keyless=False) if info.id == "openrouter" else info
        for info in shipped.providers
    ]
    environ = everything(server, OPENROUTER_API_KEY="k")
    chosen = Catalog(moved, shipped.models, environ=environ)
    discoverer = Discoverer(chosen, environ)
    assert await discoverer.refresh()
    model = chosen.find("maker/model")
    assert (model.selector, model.window, model.max_output) == ("openrouter/maker/model", 200_000, 9000)
    assert "\u202e" not in model.title
    assert model.thinking is not None
    assert model.images
    assert not await discoverer.refresh()  # still fresh


async def test_google_is_asked_in_its_own_way(server: ModelServer) -> None:
    methods = ["generateContent", "countTokens"]
    row = {"inputTokenLimit": 1048576, "outputTokenLimit": 65536, "supportedGenerationMethods": methods}
    server.pages = {
        "/v1beta/models?pageSize=1000": {
            "models": [
                {"name": "models/gemini-9-pro", "displayName": "Gemini 9 Pro", "thinking": True, **row},
                {"name": "models/gemini-9-pro-image", **row},
                {"name": "models/gemini-pro-latest", **row},
                {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
            ]
        }
    }
    environ = everything(server, GEMINI_API_KEY="k", GEMINI_BASE_URL=f"{server.url}/v1beta")
    models = await found(environ)
    assert set(models) == {"google/gemini-9-pro"}  # the one that is shipped stays
    model = models["google/gemini-9-pro"]
    assert (model.window, model.max_output, model.title) == (1_048_576, 65_536, "Gemini 9 Pro")
    assert model.reasoning.budget == 8192
    assert model.api == "google-generative-ai"


async def test_every_gemini_model_sees_pictures(server: ModelServer) -> None:
    """Those that are shipped, and those that are found, whose list does not say; of the others only those that do."""
    names = ("gemini-2.5-flash-lite", "gemini-3-pro-preview", "gemini-9", "gemma-3-27b-it", "gemma-3-1b-it", "text-1")
    rows = [{"name": f"models/{name}", "supportedGenerationMethods": ["generateContent"]} for name in names]
    server.pages = {"/v1beta/models?pageSize=1000": {"models": rows}}
    models = await found(everything(server, GEMINI_API_KEY="k", GEMINI_BASE_URL=f"{server.url}/v1beta"))
    assert {id.removeprefix("google/") for id, model in models.items() if not model.images} == {
        "gemma-3-1b-it",
        "text-1",
    }
    assert len(models) == len(names)
    shipped = [model for model in catalog().models if model.provider.id == "google"]
    assert shipped
    assert all(model.images for model in shipped)


async def test_shipped_and_configured_models_stay(server: ModelServer) -> None:
    environ = everything(server)
    chosen = known(environ)
    sonnet = chosen.find("sonnet-4")
    assert not chosen.add([replace(sonnet, window=1, source="discovered")])
    assert chosen.find("sonnet-4") is sonnet


async def test_it_can_be_switched_off(server: ModelServer) -> None:
    server.pages = {"/llama/v1/models": {"data": [{"id": "ggml"}]}}
    assert await found(everything(server, NORTH_DISCOVERY="off")) == {}


def test_where_no_server_listens_the_http_client_is_not_loaded() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        environ = {"OLLAMA_BASE_URL": address, "LLAMA_CPP_BASE_URL": address, "LM_STUDIO_BASE_URL": f"{address}/v1"}
        assert loaded_by_asking(environ) == "False"
        assert loaded_by_asking(environ, HTTP_PROXY="http://127.0.0.1:9") == "True"  # only the client can tell


def test_a_server_that_listens_is_asked_with_the_http_client(server: ModelServer) -> None:
    server.pages = {path: {} for path in ("/ollama/api/tags", "/llama/v1/models", "/studio/v1/models")}
    assert loaded_by_asking(everything(server)) == "True"


def loaded_by_asking(environ: dict[str, str], **more: str) -> str:
    """Ask servers in a process of its own; returns whether that has loaded the HTTP client."""
    program = f"""
import asyncio, sys
from north_lsp.providers.catalog.catalog import Catalog, catalog
from north_lsp.providers.catalog.discovery import Discoverer
known = Catalog(catalog().providers, catalog().models, environ={environ})
asyncio.run(Discoverer(known, {environ}, local_seconds=5).refresh())
print("httpx2" in sys.modules)
"""
    ours = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    ran = subprocess.run([sys.executable, "-c", program], env=ours | more, check=True, capture_output=True, text=True)
    return ran.stdout.strip()
