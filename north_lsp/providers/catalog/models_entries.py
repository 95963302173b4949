"""The content of the user's `models.yml` as values. What the file does not say is None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.credentials import KeySource
from north_lsp.providers.model import NO_TRANSFORM, Discovery, Prices, SignIn, Transform
from north_lsp.providers.thinking import ThinkingInfo


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """What a file says about a model; None for what it does not say."""

    id: str
    name: str | None = None
    api: str | None = None
    reasoning: bool | None = None
    images: bool | None = None
    cost: Prices | None = None
    window: int | None = None
    max_output: int | None = None
    headers: Mapping[str, KeySource] = field(default_factory=dict)
    thinking: ThinkingInfo | None = None
    compat: Mapping[str, Any] = field(default_factory=dict)
    wire_id: str | None = None
    promotion_target: str | None = None
    transform: Transform = NO_TRANSFORM


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """What a file says about a provider; None for what it does not say."""

    id: str
    base_url: str | None = None
    key: KeySource | None = None
    variable: str | None = None
    api: str | None = None
    keyless: bool | None = None
    auth_header: bool | None = None
    headers: Mapping[str, KeySource] = field(default_factory=dict)
    compat: Mapping[str, Any] = field(default_factory=dict)
    transform: Transform = NO_TRANSFORM
    discovery: Discovery | None = None
    sign_in: SignIn | None = None
    overrides: tuple[ModelEntry, ...] = ()
    models: tuple[ModelEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelsFile:
    """A whole file. `names` are canonical names by `provider/id`: equivalent models share one, an excluded model has
    its own."""

    path: Path
    providers: tuple[ProviderEntry, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    agents: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
