"""The settings about models: which may be used where, how much they think, what they may write."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

if TYPE_CHECKING:
    from north_lsp.storage.settings import SettingsReader

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
    """`problems` are lines for the user about items that were passed over. `broker_url` is where keys come from, and
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
    problems: tuple[str, ...] = ()
    kimi_format: KimiFormat = "openai"
    key_storage: KeyStorage = "file"
    broker_url: str | None = None
    broker_token: str | None = None


def read_model_settings(reader: "SettingsReader") -> ModelSettings:
    """Raises SettingsError; a bad item of a list is only passed over."""
    default = ModelSettings()
    problems: list[str] = []
    output = reader.count("provider.maxOutputTokens", default.max_output_tokens)
    return ModelSettings(
        _scoped(reader, "enabledModels", "models", problems),
        _scoped(reader, "disabledProviders", "providers", problems),
        reader.texts("modelProviderOrder"),
        reader.named_texts("modelRoles"),
        cast("ThinkingLevel | None", reader.choice("thinking.level", get_args(ThinkingLevel))),
        reader.flag("thinking.show", default.show_thinking),
        cast("ServiceTier | None", reader.choice("serviceTier", get_args(ServiceTier))),
        reader.flag("discovery.local", default.discover_local),
        max(output, _LEAST_OUTPUT),
        cast(CacheRetention, reader.choice("providers.cacheRetention", get_args(CacheRetention)) or "short"),
        tuple(problems),
        cast(KimiFormat, reader.choice("providers.kimiApiFormat", get_args(KimiFormat)) or "openai"),
        cast(KeyStorage, reader.choice("auth.storage", get_args(KeyStorage)) or "file"),
        reader.text("auth.broker.url"),
        reader.text("auth.broker.token"),
    )


def _scoped(reader: "SettingsReader", key: str, name: str, problems: list[str]) -> tuple[Scoped, ...]:
    """Items are texts, or `{path: …, models: […]}`; those of neither form are passed over."""
    found = reader.value(key)
    if found is None:
        return ()
    items = found if isinstance(found, list) else [found]
    scoped = []
    for index, item in enumerate(items):
        one = _item(item, name)
        if one is None:
            problems.append(f"{reader.path}: {key}[{index}] is neither a text nor an object of a path and {name}")
        else:
            scoped.append(one)
    return tuple(scoped)


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
