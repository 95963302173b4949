"""The settings about models: which may be used where, how much they think, what they may write."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

if TYPE_CHECKING:
    from north_lsp.storage.settings_reader import SettingsReader

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
ServiceTier = Literal["flex", "priority"]
CacheRetention = Literal["short", "long"]
KimiFormat = Literal["openai", "anthropic"]
KeyStorage = Literal["file", "keyring"]
_PATHS = ("path", "paths", "pathPrefix", "pathPrefixes")
_LEAST_OUTPUT = 1024


@dataclass(frozen=True, slots=True)
class Scoped:
    """Texts that hold in workspaces at or below one of the folders; everywhere, if none is named."""

    values: tuple[str, ...]
    folders: tuple[Path, ...] = ()

    def holds_in(self, folder: Path | None) -> bool:
        if not self.folders:
            return True
        return folder is not None and any(folder.is_relative_to(one) for one in self.folders)


@dataclass(frozen=True)
class ModelSettings:
    """`key_storage` is None where it cannot be told: no key is stored then. `broker_url` is where keys come from, and
    `broker_token` (a variable's name, `!command`, or the token) opens it."""

    enabled: tuple[Scoped, ...] = ()
    disabled_providers: tuple[Scoped, ...] = ()
    provider_order: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    thinking_level: ThinkingLevel | None = None
    show_thinking: bool = True
    service_tier: ServiceTier | None = None
    discover_local: bool = True
    max_output_tokens: int = 32_000
    cache_retention: CacheRetention = "short"
    kimi_format: KimiFormat = "openai"
    key_storage: KeyStorage | None = "file"
    broker_url: str | None = None
    broker_token: str | None = None


def read_model_settings(reader: "SettingsReader") -> ModelSettings:
    """Read what concerns models. An item that makes no sense never allows more: without a good one in `enabledModels`
    only the offline model is left, and so it is with one in `disabledProviders` that names nobody."""
    default = ModelSettings()
    output = reader.count("provider.maxOutputTokens", default.max_output_tokens)
    return ModelSettings(
        _enabled(reader),
        _disabled(reader),
        reader.texts("modelProviderOrder"),
        reader.named_texts("modelRoles"),
        cast("ThinkingLevel | None", reader.choice("thinking.level", get_args(ThinkingLevel), None)),
        reader.flag("thinking.show", default.show_thinking),
        cast("ServiceTier | None", reader.choice("serviceTier", get_args(ServiceTier), None)),
        reader.flag("discovery.local", default.discover_local, strict=False),
        max(output, _LEAST_OUTPUT),
        cast(CacheRetention, reader.choice("providers.cacheRetention", get_args(CacheRetention), "short")),
        cast(KimiFormat, reader.choice("providers.kimiApiFormat", get_args(KimiFormat), "openai")),
        cast("KeyStorage | None", _key_storage(reader)),
        reader.text("auth.broker.url"),
        reader.text("auth.broker.token"),
    )


NO_MODELS = (Scoped(("*",)),)
"""For `disabledProviders`: every provider but the offline model's."""

_NONE = (Scoped(("(none)",)),)  # for `enabledModels`: no model has this name


def _enabled(reader: "SettingsReader") -> tuple[Scoped, ...]:
    found = list(_items(reader, "enabledModels", "models"))
    good = tuple(one for _, one in found if one is not None)
    return good or (_NONE if found else ())


def _disabled(reader: "SettingsReader") -> tuple[Scoped, ...]:
    """An item that names providers for folders that make no sense holds everywhere."""
    scoped: list[Scoped] = []
    for item, one in _items(reader, "disabledProviders", "providers"):
        rows = [item.get("providers"), item.get("values")] if isinstance(item, dict) else []
        names = tuple(name for row in rows for name in _texts(row))
        scoped += [one] if one is not None else [Scoped(names)] if names else NO_MODELS
    return tuple(scoped)


def _items(reader: "SettingsReader", key: str, name: str) -> "Iterator[tuple[object, Scoped | None]]":
    """Items are texts, or `{path: …, models: […]}`; with None for those of neither form, which are told of."""
    found = reader.value(key)
    if found is None:
        return
    for index, item in enumerate(found if isinstance(found, list) else [found]):
        one = _item(item, name)
        if one is None:
            reader.refuse(key, f"{key}[{index}] is neither a text nor an object of a path and {name}")
        yield item, one


def _key_storage(reader: "SettingsReader") -> str | None:
    """Where keys are stored."""
    value = reader.choice("auth.storage", get_args(KeyStorage), "file")
    return None if reader.is_wrong("auth.storage") else value


def _item(item: object, name: str) -> Scoped | None:
    if isinstance(item, str) and item.strip():
        return Scoped((item.strip(),))
    if not isinstance(item, dict) or not item.keys() <= {*_PATHS, name, "values"}:
        return None
    folders = [text for key in _PATHS for text in _texts(item.get(key))]
    values = [text for key in (name, "values") for text in _texts(item.get(key))]
    paths = [Path(text).expanduser() for text in folders]
    if not values or not paths or not all(path.is_absolute() for path in paths):
        return None
    return Scoped(tuple(values), tuple(path.resolve() for path in paths))


def _texts(value: object) -> list[str]:
    rows = value if isinstance(value, list) else [value]
    return [row.strip() for row in rows if isinstance(row, str) and row.strip()]
