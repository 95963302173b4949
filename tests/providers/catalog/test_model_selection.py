"""Which models may be used where, and with which one a conversation begins."""

from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.models.notices import clamped, obstacles
from north_lsp.agent.ports.events import UsageChanged
from north_lsp.providers.base import Usage
from north_lsp.providers.catalog.catalog import Catalog, catalog
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.catalog.model_selection import ALL_MODELS, Allowed, choose, prepared
from north_lsp.providers.credentials import MissingCredential
from north_lsp.storage.locations import Locations
from north_lsp.storage.model_settings import ModelSettings, Scoped
from north_lsp.storage.user_settings import load_settings

BOTH = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}


def known(environ: dict[str, str] | None = None) -> Catalog:
    shipped = catalog()
    return Catalog(shipped.providers, shipped.models, environ=BOTH if environ is None else environ)


def begin(environ: dict[str, str] | None = None, **wanted: Any) -> tuple[str, tuple[str, ...]]:
    found = known(environ)
    arguments = {"asked": None, "saved": None} | wanted
    choice = choose(found, found.environ, **arguments)
    return choice.model.alias, choice.notices


def test_the_order_of_wishes() -> None:
    only = Allowed(("gpt-5*", "haiku-4-5"))
    assert begin(asked="opus-4-5", saved="gpt-5", allowed=only) == ("opus-4-5", ())
    assert begin(saved="opus-4-5", allowed=only) == ("gpt-5.1", ())
    assert begin(saved="opus-4-5") == ("opus-4-5", ())
    assert begin() == ("sonnet-4-5", ())
    assert begin({}) == ("offline", ())


def test_every_fallback_is_told_in_a_line() -> None:
    alias, notices = begin({"OPENAI_API_KEY": "k"}, saved="opus-4-5")
    assert alias == "gpt-5.1"
    assert len(notices) == 1
    assert notices[0].startswith(
        "the saved model 'opus-4-5' cannot be used: Claude Opus 4.5 needs a key: set ANTHROPIC_"
    )
    assert notices[0].endswith("GPT-5.1 answers instead")
    alias, notices = begin(saved="gone-1", allowed=Allowed(("mistral/*",), frozenset({"anthropic"})))
    assert alias == "offline"
    assert [notice.partition(":")[0].partition(" (")[0] for notice in notices] == [
        "no model in enabledModels can be used",
        "the saved model 'gone-1' cannot be used",
    ]


def test_a_model_that_was_asked_for_is_refused_plainly() -> None:
    with pytest.raises(UnknownModel):
        begin(asked="nothing-like-it-9")
    with pytest.raises(MissingCredential):
        begin({}, asked="opus-4-5")


def test_what_the_settings_allow() -> None:
    anthropic, openai = known().find("sonnet-4-5"), known().find("gpt-5")
    assert ALL_MODELS.allows(anthropic)
    some = Allowed(("anthropic/*:high", "GPT-5-mini"), frozenset({"openai"}))
    assert some.allows(anthropic)
    assert not some.allows(openai)
    assert "is disabled here" in (some.reason_against(openai) or "")
    assert "enabledModels" in (Allowed(("haiku-4-5",)).reason_against(anthropic) or "")
    assert some.allows(known().find("offline"))
    preferred = some.preferred(known(), BOTH)
    assert preferred is not None
    assert (preferred.alias, preferred.level) == ("sonnet-4", "high")


def test_lists_for_some_folders(tmp_path: Path) -> None:
    settings = ModelSettings(
        (Scoped(("haiku-4-5",), (tmp_path / "a",)), Scoped(("gpt-5",))),
        (Scoped(("openai",), (tmp_path / "a",)),),
    )
    assert Allowed.by(settings, tmp_path / "a" / "b") == Allowed(("haiku-4-5", "gpt-5"), frozenset({"openai"}))
    assert Allowed.by(settings, tmp_path / "ab") == Allowed(("gpt-5",))
    assert Allowed.by(settings, None) == Allowed(("gpt-5",))


def settings_of(folder: Path, text: str) -> ModelSettings:
    (folder / "config.json").write_text(text)
    return load_settings(Locations(folder, folder, folder)).models


def test_the_settings_about_models(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "{}") == ModelSettings()
    text = """{
      "enabledModels": ["a", {"path": "~/work", "models": "b"}, 3, {"models": ["c"]}, {"path": "x", "models": "d"}],
      "disabledProviders": [{"pathPrefixes": ["/p", "/q"], "values": ["openai"]}], "modelProviderOrder": ["openrouter"],
      "modelRoles": {"fast": "gpt-5-nano"}, "thinking": {"level": "high", "show": false}, "serviceTier": "flex",
      "discovery.local": false, "provider.maxOutputTokens": 5, "providers": {"cacheRetention": "long"}}"""
    found = settings_of(tmp_path, text)
    assert found.enabled == (Scoped(("a",)), Scoped(("b",), (Path.home().resolve() / "work",)))
    assert found.disabled_providers == (Scoped(("openai",), (Path("/p"), Path("/q"))),)
    assert (found.thinking_level, found.show_thinking, found.service_tier) == ("high", False, "flex")
    assert (found.discover_local, found.max_output_tokens, found.cache_retention) == (False, 1024, "long")
    for bad in ('{"thinking.level": "huge"}', '{"serviceTier": 3}', '{"modelRoles": ["a"]}'):
        assert settings_of(tmp_path, bad) == ModelSettings()


def test_what_the_settings_change_in_models() -> None:
    settings = ModelSettings(roles={"fast": "gpt-5-nano"}, max_output_tokens=2000, cache_retention="long")
    found = prepared(known(), settings)
    assert found.find("fast").alias == "gpt-5-nano"
    sonnet = found.find("sonnet-4-5:off")
    assert sonnet.output_limit == 2000
    # A prompt that is kept for an hour costs twice as much to write as to read anew.
    assert sonnet.prices.cost(Usage(cache_write=1_000_000)) == 6.0
    assert found.find("gpt-5.1").prices.cost(Usage(cache_write=1_000_000)) == 1.25
    found.take(known())
    assert found.find("sonnet-4-5:off").output_limit == 2000


def test_a_model_at_a_provider_that_was_not_asked_yet_is_taken_at_its_word() -> None:
    found = known({"OPENROUTER_API_KEY": "k"})
    model = found.find("openrouter/maker/model-1:high")
    assert (model.selector, model.level, model.prices.known) == ("openrouter/maker/model-1", "high", False)
    assert found.find("ollama/qwen3:8b").prices.known  # on this machine it is free
    assert found.recover("ollama/qwen3:8b") is not None
    assert found.recover("openai/gpt-9") is None
    found.found_at["openrouter"] = 1.0
    with pytest.raises(UnknownModel):
        found.find("openrouter/maker/model-1")


def test_a_name_means_the_same_model_wherever_it_can_be_used() -> None:
    found = known({"OPENROUTER_API_KEY": "k"})
    routed = found.find("openrouter/anthropic/claude-sonnet-4.5")
    found.add([routed])
    assert found.find("sonnet-4-5").selector == routed.selector
    assert found.find("anthropic/sonnet-4-5").provider.id == "anthropic"
    found.environ = BOTH | {"OPENROUTER_API_KEY": "k"}
    assert found.find("sonnet-4-5").provider.id == "anthropic"
    found.order = ["openrouter"]
    assert found.find("sonnet-4-5").provider.id == "openrouter"
    found.order = ["openai"]
    assert found.default(found.environ).alias == "gpt-5.1"


def test_what_is_said_of_a_model_that_was_chosen() -> None:
    model = known().find("gpt-5")
    assert obstacles(model, known(), UsageChanged(1000, 400_000, 0)) == []
    told = obstacles(model, known({}), UsageChanged(500_000, 400_000, 0))
    assert len(told) == 2
    assert "OPENAI_API_KEY" in told[0]
    assert "500,000" in told[1]
    assert obstacles(model, known(), None, "flex") == []
    (told_of_tier,) = obstacles(known().find("opus-4-5"), known(), None, "flex")
    assert told_of_tier.startswith("Anthropic has no service tiers; serviceTier (flex) is ignored")
    assert clamped(known().find("gpt-5:high")) == []
    assert clamped(known().find("offline:high")) == []
