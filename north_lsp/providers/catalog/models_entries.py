"""What the user's `models.yml` says, as values. What it does not say is None."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from north_lsp.providers.credentials import KeySource
from north_lsp.providers.model import NO_TRANSFORM, Discovery, Prices, Transform
from north_lsp.providers.thinking import ThinkingInfo


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """What a file says of a model; None where it says nothing."""

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
    """What a file says of a provider; None where it says nothing."""

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
    overrides: tuple[ModelEntry, ...] = ()
    models: tuple[ModelEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelsFile:
    """`names` are canonical names by `provider/id`: models that are the same share one, an excluded one has its own."""

    path: Path
    providers: tuple[ProviderEntry, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
