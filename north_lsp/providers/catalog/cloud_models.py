"""The models that Azure, Amazon Bedrock and Google Vertex AI serve under the user's own account, once the environment
names one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.clouds import (
    AZURE,
    BEDROCK,
    CLAUDE_ON_VERTEX,
    VERTEX,
    aws_region,
    azure_deployments,
    claude_on_vertex,
    on_bedrock,
)
from north_lsp.providers.model import DEFAULT_OUTPUT, DEFAULT_WINDOW, UNPRICED, Model, Prices, ProviderInfo

_PARTS = ("input", "output", "cache_write", "cache_read")


def with_clouds(known: Catalog, environ: Mapping[str, str]) -> Catalog:
    """Return the shipped catalog, with the models of the clouds that have an address."""
    clouds = {info.api: info for info in known.providers if info.address_in(environ) is not None}
    *models, offline = known.models
    problems: list[str] = []
    if (azure := clouds.get(AZURE)) is not None:
        deployments, wrong = azure_deployments(environ)
        problems = [f"AZURE_OPENAI_DEPLOYMENT_NAME_MAP: expected model=deployment, found {one!r}" for one in wrong]
        models += _on_azure(azure, known, deployments)
    if (amazon := clouds.get(BEDROCK)) is not None:
        models += _on_bedrock(amazon, known, aws_region(environ))
    if (google := clouds.get(VERTEX)) is not None:
        models += _on_vertex(google, known, google.address_in(environ) or "")
    return Catalog(known.providers, (*models, offline), problems=problems)


def _of_anthropic(known: Catalog) -> list[Model]:
    """Return Anthropic's models, its default first."""
    found = [model for model in known.models if model.provider.id == "anthropic"]
    return sorted(found, key=lambda model: model.alias != model.provider.default)


def _on_bedrock(info: ProviderInfo, known: Catalog, region: str) -> Iterator[Model]:
    for model in _of_anthropic(known):
        profile = on_bedrock(model.id, region)
        if profile is not None:
            prices = model.prices if profile.startswith("global.") else _regional(model)
            yield replace(model, provider=info, api=info.api, wire_id=profile, prices=prices)


def _on_vertex(info: ProviderInfo, known: Catalog, address: str) -> Iterator[Model]:
    for model in _of_anthropic(known):
        there, wire_id = claude_on_vertex(address, model.id)
        prices = model.prices if "/locations/global/" in address else _regional(model)
        yield replace(model, provider=info, api=CLAUDE_ON_VERTEX, address=there, wire_id=wire_id, prices=prices)


def _regional(model: Model) -> Prices:
    """Return the prices for requests that stay in a region: a tenth more, from the models of 4.5 on."""
    if "-4-5-" not in model.id:
        return model.prices
    return replace(model.prices, **{name: round(getattr(model.prices, name) * 1.1, 4) for name in _PARTS})


def _on_azure(info: ProviderInfo, known: Catalog, deployments: Mapping[str, str]) -> Iterator[Model]:
    """Yield the models that are deployed; without a list of them, OpenAI's, each deployed under its own name."""
    shipped = {model.id: model for model in known.models if model.provider.id == "openai"}
    for id, deployment in (deployments or {id: id for id in shipped}).items():
        wire_id = None if deployment == id else deployment
        if (same := shipped.get(id)) is not None:
            yield replace(same, provider=info, api=info.api, wire_id=wire_id)
        else:
            usual = (DEFAULT_WINDOW, DEFAULT_OUTPUT, UNPRICED)
            yield Model(info, id, id, id, *usual, api=info.api, wire_id=wire_id, window_known=False, images=True)
