"""The shipped catalog, what models cost and may think, and how a text picks one."""

import pytest

from north_lsp.providers.base import Reasoning, Usage
from north_lsp.providers.catalog.catalog import Catalog, catalog, secret_names
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.keys.credential_lookup import require_credential
from north_lsp.providers.pool import ProviderPool

ANTHROPIC = {"ANTHROPIC_API_KEY": "k"}
OPENAI = {"OPENAI_API_KEY": "k"}


def known(environ: dict[str, str] | None = None, **roles: str) -> Catalog:
    shipped = catalog()
    return Catalog(shipped.providers, shipped.models, environ=environ or {}, roles=roles)


def test_shipped_models() -> None:
    rows = {model.alias: (model.id, model.window, model.max_output) for model in catalog().models}
    assert rows["sonnet-4"] == ("claude-sonnet-4-20250514", 200_000, 64_000)
    assert rows["opus-4-1"] == ("claude-opus-4-1-20250805", 200_000, 32_000)
    assert rows["gpt-5.1-codex-max"] == ("gpt-5.1-codex-max", 400_000, 128_000)
    assert len(rows) == 18
    unpriced = {model.alias for model in catalog().models if not model.prices.known}
    moving = {"gemini-pro", "gemini-flash"}  # names that the vendor moves from model to model
    by_length = {"gemini-2.5-pro", "gemini-2.5-flash"}  # on Vertex AI: a long prompt has another price
    assert unpriced == moving | by_length
    for provider in catalog().providers:
        assert provider.address or provider.id in ("offline", "cloudflare-ai-gateway", *CLOUDS)
        assert provider.keyless or provider.credentials


CLOUDS = ("azure-openai", "google-vertex", "amazon-bedrock")
"""Whose address is the user's own."""


@pytest.mark.parametrize(
    ("alias", "usage", "dollars"),
    [
        ("sonnet-4", Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000), 3 + 15 + 0.3 + 3.75),
        ("opus-4-5", Usage(100_000, 1000, 50_000, 20_000), 0.5 + 0.025 + 0.025 + 0.125),
        ("gpt-5.1", Usage(70_000, 1000, 30_000), 0.0875 + 0.01 + 0.00375),
        ("gpt-5-nano", Usage(1_000_000, 0, 1_000_000), 0.05 + 0.005),
        ("sonnet-4", Usage(-5, -5, -5, -5), 0),
        ("offline", Usage(10**6, 10**6), 0),
    ],
)
def test_costs(alias: str, usage: Usage, dollars: float) -> None:
    assert catalog().find(alias).prices.cost(usage) == pytest.approx(dollars)


@pytest.mark.parametrize(
    ("selector", "reasoning"),
    [
        ("sonnet-4", Reasoning(budget=8000)),
        ("sonnet-4:off", Reasoning()),
        ("sonnet-4:minimal", Reasoning(budget=1024)),
        ("sonnet-4:low", Reasoning(budget=4000)),
        ("sonnet-4:high", Reasoning(budget=16_000)),
        ("sonnet-4:xhigh", Reasoning(budget=32_000)),
        ("opus-4:xhigh", Reasoning(budget=32_000 - 4096)),
        ("gpt-5", Reasoning(effort="medium")),
        ("gpt-5:off", Reasoning(effort="minimal")),
        ("gpt-5.1:off", Reasoning(effort="none")),
        ("gpt-5.1:minimal", Reasoning(effort="low")),
        ("gpt-5.1-codex:off", Reasoning(effort="low")),
        ("gpt-5.1:xhigh", Reasoning(effort="high")),
        ("gpt-5.1-codex-max:xhigh", Reasoning(effort="xhigh")),
        ("offline:high", Reasoning()),
    ],
)
def test_what_a_level_sends(selector: str, reasoning: Reasoning) -> None:
    assert catalog().find(selector).reasoning == reasoning


def test_the_output_limit_has_room_for_thinking() -> None:
    assert catalog().find("sonnet-4").output_limit == 40_000
    assert catalog().find("sonnet-4:off").output_limit == 32_000
    assert catalog().find("opus-4:xhigh").output_limit == 32_000
    assert catalog().find("gpt-5").output_limit == 32_000


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("anthropic/claude-sonnet-4-20250514", "sonnet-4"),
        ("anthropic/sonnet-4", "sonnet-4"),
        ("claude-haiku-4-5-20251001", "haiku-4-5"),
        (" HAIKU ", "haiku-4-5"),
        ("codex-max", "gpt-5.1-codex-max"),
        ("Opus 4.5", "opus-4-5"),
        ("gpt-5", "gpt-5"),
        ("openai/gpt-5:low", "gpt-5"),
        ("north/fast", "haiku-4-5"),
        ("smol", "haiku-4-5"),
        ("slow", "sonnet-4-5"),
    ],
)
def test_selectors(selector: str, found: str) -> None:
    assert known(ANTHROPIC).find(selector).alias == found


def test_a_selector_that_fits_several_or_none() -> None:
    with pytest.raises(UnknownModel, match="ambiguous: choose one of opus-4, opus-4-1, opus-4-5"):
        known().find("opus")
    with pytest.raises(UnknownModel, match=r"the closest are .*sonnet-4"):
        known().find("sonet-4")
    with pytest.raises(UnknownModel, match=r"there is no model 'nope'; there are \S+, \S+, \S+, and others"):
        known().find("nope")  # nothing is like it, so nothing is suggested
    with pytest.raises(UnknownModel):
        known().find("")


def test_roles() -> None:
    chosen = known(OPENAI)
    assert chosen.find("fast").alias == "gpt-5-mini"
    assert chosen.find("default").alias == "gpt-5.1"
    roles = known(ANTHROPIC, slow="opus-4-5:high", plan="slow", review="x")
    assert (roles.find("slow").alias, roles.find("slow").level) == ("opus-4-5", "high")
    assert roles.find("plan:low").level == "low"
    assert known({"NORTH_SLOW_MODEL": "opus-4"} | ANTHROPIC).find("slow").alias == "opus-4"
    with pytest.raises(UnknownModel, match="refer to each other"):
        known(ANTHROPIC, slow="plan", plan="slow").find("slow")


def test_the_default_is_what_can_be_used() -> None:
    assert known().default({}).alias == "offline"
    assert known().default(OPENAI).alias == "gpt-5.1"
    assert known().default(OPENAI | ANTHROPIC).alias == "sonnet-4-5"
    assert known().default({"GOOGLE_API_KEY": "k"}).alias == "gemini-pro"
    assert known(default="gpt-5-mini").default(OPENAI | ANTHROPIC).alias == "gpt-5-mini"
    assert known(default="gpt-5-mini").default(ANTHROPIC).alias == "sonnet-4-5"


def test_what_is_available_and_what_is_missing() -> None:
    assert [model.alias for model in known().available()] == ["offline"]
    assert {model.provider.id for model in known(OPENAI).available()} == {"openai", "offline"}
    with pytest.raises(MissingCredential, match="set OPENAI_API_KEY"):
        require_credential(catalog().find("gpt-5"), ANTHROPIC)
    assert require_credential(catalog().find("gpt-5"), OPENAI) == "OPENAI_API_KEY"
    assert {"OPENAI_API_KEY", "GROQ_API_KEY", "NORTH_TCP_TOKEN"} <= secret_names()


async def test_a_provider_serves_all_levels_of_a_model() -> None:
    pool = ProviderPool(ANTHROPIC)
    plain = await pool.get(catalog().find("sonnet-4"))
    assert await pool.get(catalog().find("sonnet-4:high")) is plain
    await pool.aclose()
