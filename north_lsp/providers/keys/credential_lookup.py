"""Finds a provider's key: the places in their order, and what to do if there is none."""

from __future__ import annotations

from collections.abc import Mapping

from north_lsp.providers.credentials import Credential, KeySource, MissingCredential
from north_lsp.providers.keys.routes import SOURCE
from north_lsp.providers.keys.sources import NO_KEYS, Keys
from north_lsp.providers.model import Model, ProviderInfo
from north_lsp.storage.credentials import StoredKey


def credential(provider: ProviderInfo, environ: Mapping[str, str]) -> str | None:
    """Return the name of the variable that holds the provider's credential, None if none is set."""
    return next((name for name in provider.credentials if environ.get(name, "").strip()), None)


def has_credential(provider: ProviderInfo, environ: Mapping[str, str], keys: Keys = NO_KEYS) -> bool:
    return credential_source(provider, environ, keys) is not None


def credential_source(provider: ProviderInfo, environ: Mapping[str, str], keys: Keys = NO_KEYS) -> str | None:
    """Return where the provider's key is, None if there is none. Places are checked in this order: given to this
    process, stored, a variable, models.yml (with a broker, models.yml comes before it). Runs no command."""
    if keys.routes.is_disabled(provider.id):
        return None
    if keys.routes.find(provider.id) is not None:
        return SOURCE
    if several := rotating_keys(provider, environ, keys):
        return f"North's own store ({keys.resting.shown(several)})"
    found = _place(provider, environ, keys)
    return found.where if isinstance(found, KeySource) else found.source if found is not None else None


def rotating_keys(provider: ProviderInfo, environ: Mapping[str, str], keys: Keys) -> tuple[StoredKey, ...]:
    """Return the stored keys of a provider that take turns; none if there are not several, or if the key that is used
    comes from elsewhere."""
    several = keys.stored_of(provider.id)
    if len(several) < 2 or keys.routes.is_disabled(provider.id) or keys.routes.find(provider.id) is not None:
        return ()
    return several if _place(provider, environ, keys) == keys.find(provider.id) else ()


def _place(provider: ProviderInfo, environ: Mapping[str, str], keys: Keys) -> Credential | KeySource | None:
    """Return the key, or the value in models.yml that says where it is."""
    written = provider.key if provider.key is not None and provider.key.is_there(environ) else None
    name = credential(provider, environ)
    variable = Credential(environ[name].strip(), name, name.endswith("_TOKEN")) if name is not None else None
    given, held = keys.given(provider.id), keys.find(provider.id)
    return given or (written if keys.has_broker else None) or held or variable or written


def require_credential(model: Model, environ: Mapping[str, str], keys: Keys = NO_KEYS) -> str | None:
    """Return where the model's key is: North's store, the variable, or the key path in models.yml; None for a model
    that needs none. Runs no command. Raises MissingCredential."""
    provider = model.provider
    if keys.routes.is_disabled(provider.id):
        raise MissingCredential(
            f"{model.title} cannot be used: this editor has switched {provider.title} off; choose another model"
        )
    source = credential_source(provider, environ, keys)
    if source is not None or provider.keyless:
        return source
    if provider.sign_in is not None:
        how = f"sign in with `/login {provider.id}`, or `north-lsp login {provider.id}`"
        raise MissingCredential(f"{model.title} needs you to sign in: {how}, or choose another model")
    wanted = (provider.key.variable if provider.key is not None else None) or next(reversed(provider.credentials), None)
    if wanted is None:
        raise MissingCredential(f"{model.title} needs a key: give {provider.id} an apiKeyEnv in models.yml")
    raise MissingCredential(
        f"{model.title} needs a key: set {wanted} in the environment that starts North, store one with "
        f"`north-lsp login {provider.id}`, or choose another model"
    )


def find_credential(model: Model, environ: Mapping[str, str], keys: Keys = NO_KEYS) -> Credential | None:
    """Return the model's key, None for a model that needs none. May run a command. Raises MissingCredential."""
    require_credential(model, environ, keys)
    return find_key(model.provider, environ, keys)


def find_key(provider: ProviderInfo, environ: Mapping[str, str], keys: Keys = NO_KEYS) -> Credential | None:
    """Return the provider's key, None if there is none or an editor has a route for the provider. May run a command.
    Raises MissingCredential."""
    if keys.routes.is_disabled(provider.id) or keys.routes.find(provider.id) is not None:
        return None
    found = _place(provider, environ, keys)
    return found.resolve(environ) if isinstance(found, KeySource) else found
