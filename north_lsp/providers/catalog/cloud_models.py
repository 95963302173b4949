"""The models that Azure serves under the user's own account, once the environment names one. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.clouds import AZURE, azure_deployments
from north_lsp.providers.model import DEFAULT_OUTPUT, DEFAULT_WINDOW, UNPRICED, Model, ProviderInfo


def with_clouds(known: Catalog, environ: Mapping[str, str]) -> Catalog:
    """Return the shipped catalog, with Azure's models if it has an address."""
    info = next((one for one in known.providers if one.api == AZURE), None)
    if info is None or info.address_in(environ) is None:
        return known
    deployments, wrong = azure_deployments(environ)
    *models, offline = known.models
    return Catalog(
        known.providers,
        (*models, *_on_azure(info, known, deployments), offline),
        problems=[f"AZURE_OPENAI_DEPLOYMENT_NAME_MAP: expected model=deployment, found {one!r}" for one in wrong],
    )


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
