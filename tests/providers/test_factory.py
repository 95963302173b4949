"""What the settings ask of every request, and what a vendor's SDK costs."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from north_lsp.providers.adapter_factory import make_remote
from north_lsp.providers.adapters.failures import unreachable
from north_lsp.providers.base import DEFAULT_TIMEOUTS, AssistantMessage, ModelRequest, UserMessage
from north_lsp.providers.catalog.catalog import catalog
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.catalog.model_selection import prepared
from north_lsp.providers.factory import make_provider
from north_lsp.providers.model import Extras
from north_lsp.storage.model_settings import ModelSettings
from tests.providers.adapters.vendors import ask
from tests.support.model_server import ModelServer
from tests.support.script import answer, say

REQUEST = ModelRequest("m", "Be good.", [UserMessage("q")], [], 4000)


async def test_prompts_that_are_kept_for_an_hour(server: ModelServer) -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
    server.script(answer(say("Hi")), answer(say("Hi")))
    for extras in (Extras(), Extras(long_cache=True)):
        await ask(make_provider(catalog().find("sonnet-4-5"), environ, extras=extras), REQUEST)
    short, long = (request.body for request in server.requests)
    assert short["cache_control"] == short["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert long["cache_control"] == long["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(("host", "tier"), [("api.openai.com", "flex"), ("127.0.0.1", None)])
def test_a_tier_of_service_is_asked_for_where_there_are_tiers(host: str, tier: str | None) -> None:
    model = catalog().find("gpt-5.1")
    moved = replace(model, provider=replace(model.provider, address=f"https://{host}/v1", base_url=None))
    made = make_remote(moved, {"OPENAI_API_KEY": "k"}, DEFAULT_TIMEOUTS, extras=Extras("flex"))
    assert vars(made)["_connection"].extra_body.get("service_tier") == tier


@pytest.mark.parametrize("own", ["", "http://127.0.0.1:8"])
def test_only_an_address_of_ones_own_is_to_be_checked(own: str) -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": own}
    made = make_remote(catalog().find("sonnet-4-5"), environ, DEFAULT_TIMEOUTS, extras=Extras())
    told = unreachable(vars(made)["_connection"].endpoint, "no route", AssistantMessage(())).message
    step = f"and that {own} is right and running" if own else "and the proxy, then send the prompt again"
    assert told == f"Anthropic could not be reached (no route); check the network{',' if own else ''} {step}"


async def test_kimi_is_asked_in_the_format_that_the_settings_say(server: ModelServer, tmp_path: Path) -> None:
    environ = {"MOONSHOT_API_KEY": "k"}
    path = tmp_path / "models.yml"
    for settings, moved, api, address in (
        (ModelSettings(), False, "openai-completions", "https://api.moonshot.ai/v1"),
        (ModelSettings(kimi_format="anthropic"), False, "anthropic-messages", "https://api.moonshot.ai/anthropic"),
        (ModelSettings(kimi_format="anthropic"), True, "openai-completions", "http://127.0.0.1:8/v1"),
    ):
        path.write_text("providers: {moonshot: {baseUrl: 'http://127.0.0.1:8/v1'}}" if moved else "providers: {}")
        model = prepared(load_catalog(tmp_path, environ), settings).find("moonshot/kimi-k2")
        assert (model.api, model.address or model.provider.address_in(environ)) == (api, address)
    kimi = prepared(load_catalog(tmp_path, environ), ModelSettings(kimi_format="anthropic")).find("moonshot/kimi-k2")
    server.script(answer(say("Hi")))
    there = replace(kimi, api="anthropic-messages", address=f"{server.url}/anthropic")
    await ask(make_provider(there, environ), REQUEST)
    assert server.requests[0].path == "/anthropic/v1/messages"


def test_certificates_are_only_loaded_where_there_may_be_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    model = catalog().find("sonnet-4-5")
    environ = {"ANTHROPIC_API_KEY": "key", "NORTH_CA_BUNDLE": str(tmp_path / "missing.pem")}
    make_remote(model, environ | {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, DEFAULT_TIMEOUTS)
    with pytest.raises(OSError, match="NORTH_CA_BUNDLE cannot be used"):
        make_remote(model, environ | {"ANTHROPIC_BASE_URL": "https://127.0.0.1:9"}, DEFAULT_TIMEOUTS)
    monkeypatch.setenv("HTTP_PROXY", "https://127.0.0.1:9")  # which may show a certificate
    with pytest.raises(OSError, match="NORTH_CA_BUNDLE cannot be used"):
        make_remote(model, environ | {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, DEFAULT_TIMEOUTS)
