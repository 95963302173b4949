"""`NORTH_CA_BUNDLE` holds for everything that North asks over https: a server whose certificate is its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from north_lsp.providers.adapter_factory import make_remote
from north_lsp.providers.base import DEFAULT_TIMEOUTS, Done, Failed, ModelRequest, UserMessage
from north_lsp.providers.catalog.catalog import Catalog, catalog
from north_lsp.providers.catalog.discovery import Discoverer
from north_lsp.providers.credentials import KeySource
from north_lsp.providers.keys.broker import Broker
from north_lsp.providers.keys.check import key_problem
from tests.providers.adapters.vendors import ask
from tests.support.certificate import make_bundle, server_context
from tests.support.model_server import ModelServer
from tests.support.script import answer, say

pytestmark = pytest.mark.parametrize("believed", [True, False], ids=["with the bundle", "without it"])


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[ModelServer]:
    with ModelServer(server_context(tmp_path)) as server:
        yield server


@pytest.fixture
def environ(secure: ModelServer, tmp_path: Path, believed: bool) -> dict[str, str]:
    """Every address is the server's."""
    addresses = {
        "ANTHROPIC_BASE_URL": secure.url,
        "OPENAI_BASE_URL": f"{secure.url}/v1",
        "GEMINI_BASE_URL": f"{secure.url}/v1beta",
        "OLLAMA_BASE_URL": f"{secure.url}/ollama",
        "LLAMA_CPP_BASE_URL": f"{secure.url}/llama",
        "LM_STUDIO_BASE_URL": f"{secure.url}/studio/v1",
    }
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "key-0123456789")
    return addresses | keys | ({"NORTH_CA_BUNDLE": str(make_bundle(tmp_path))} if believed else {})


@pytest.mark.parametrize("model", ["sonnet-4-5", "gpt-5.1", "gemini-pro"])
async def test_answers(secure: ModelServer, environ: dict[str, str], model: str, believed: bool) -> None:
    if believed:
        secure.script(answer(say("Hello.")))
    provider = make_remote(catalog().find(model), environ, DEFAULT_TIMEOUTS)
    request = ModelRequest(catalog().find(model).id, "s", [UserMessage("Hi")], [], 4000, "c")
    last = (await ask(provider, request))[-1]
    if believed:
        assert isinstance(last, Done), last
    else:
        assert isinstance(last, Failed)
        assert "CERTIFICATE_VERIFY_FAILED" in last.message
    assert bool(secure.requests) == believed


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google"])
async def test_key_checks(secure: ModelServer, environ: dict[str, str], provider: str, believed: bool) -> None:
    secure.pages = {path: {} for path in ("/v1/models?limit=1", "/v1/models", "/v1beta/models?pageSize=1")}
    info = next(one for one in catalog().providers if one.id == provider)
    problem = await key_problem(info, "key-0123456789", environ)
    assert (problem is None) == believed
    assert believed or "CERTIFICATE_VERIFY_FAILED" in str(problem)


async def test_discovery(secure: ModelServer, environ: dict[str, str], believed: bool) -> None:
    secure.pages = {"/studio/v1/models": {"data": [{"id": "lm"}]}}
    shipped = catalog()
    known = Catalog(shipped.providers, shipped.models, environ=environ)
    await Discoverer(known, environ, local_seconds=5).refresh()
    found = {model.selector for model in known.models if model.source == "discovered"}
    assert found == ({"lm-studio/lm"} if believed else set())


def test_the_broker(secure: ModelServer, environ: dict[str, str], believed: bool) -> None:
    secure.pages = {"/v1/credentials": {"credentials": [{"id": "1", "provider": "openai", "secret": "sk-lent"}]}}
    broker = Broker(secure.url, KeySource("tkn-0123456789", "auth.broker.token"), environ)
    assert broker.refresh() == believed
    lent = broker.find("openai")
    assert (lent.secret if lent is not None else None) == ("sk-lent" if believed else None)
    assert believed == (broker.problem is None)
