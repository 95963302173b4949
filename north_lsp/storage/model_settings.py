"""The settings of models: which may be used where, how much they think, how much they may write."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.item_names import named_items
from north_lsp.storage.setting import PartlyWrong, setting

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
ServiceTier = Literal["flex", "priority"]
CacheRetention = Literal["short", "long"]
KimiFormat = Literal["openai", "anthropic"]
KeyStorage = Literal["file", "keyring"]
_PATHS = ("path", "paths", "pathPrefix", "pathPrefixes")
_LEAST_OUTPUT = 1024


@dataclass(frozen=True, slots=True)
class Scoped:
    """Strings that apply to workspaces at or below one of the folders; everywhere, if none is named."""

    values: tuple[str, ...]
    folders: tuple[Path, ...] = ()

    def holds_in(self, folder: Path | None) -> bool:
        if not self.folders:
            return True
        return folder is not None and any(folder.is_relative_to(one) for one in self.folders)


NO_MODELS = (Scoped(("*",)),)
"""For `disabledProviders`: every provider but the offline model's."""

_NONE = (Scoped(("(none)",)),)  # for `enabledModels`: no model has this name


def _enabled(written: object) -> tuple[Scoped, ...]:
    """Read the models to choose from. Without a good item, only the offline model is left. Raises PartlyWrong."""
    found, problems = _items(written, "models")
    good = tuple(one for _, one in found if one is not None)
    chosen = good or (_NONE if found else ())
    if problems:
        raise PartlyWrong(problems, chosen)
    return chosen


def _disabled(written: object) -> tuple[Scoped, ...]:
    """Read the providers that are not used. An item that names some for folders that make no sense holds everywhere;
    one that names none leaves only the offline model. Raises PartlyWrong."""
    found, problems = _items(written, "providers")
    scoped: list[Scoped] = []
    for item, one in found:
        rows = [item.get("providers"), item.get("values")] if isinstance(item, dict) else []
        names = tuple(name for row in rows for name in _texts(row))
        scoped += [one] if one is not None else [Scoped(names)] if names else NO_MODELS
    if problems:
        raise PartlyWrong(problems, tuple(scoped))
    return tuple(scoped)


def _items(written: object, name: str) -> tuple[list[tuple[object, Scoped | None]], list[str]]:
    """Read items: strings, or `{path: …, models: […]}`; None for those of neither form, with what is wrong."""
    items = written if isinstance(written, list) else [written]
    found = [(item, _item(item, name)) for item in items]
    problem = f"is neither a string nor an object with {name} and a path, absolute or with ~"
    wrong = [f"has item {number}, which {problem}" for number, (_, one) in enumerate(found, 1) if one is None]
    return found, wrong


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


def _schema(name: str) -> Mapping[str, object]:
    text = {"type": "string", "pattern": r"\S"}
    texts = {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]}
    known = (*_PATHS, name, "values")
    a_path = {"anyOf": [{"required": [key]} for key in _PATHS]}
    some = {"anyOf": [{"required": [key]} for key in (name, "values")]}
    scoped = {
        "type": "object",
        "properties": dict.fromkeys(known, texts),
        "additionalProperties": False,
        "allOf": [a_path, some],
    }
    item = {"anyOf": [text, scoped]}
    return {"anyOf": [{"type": "array", "items": item}, *item["anyOf"]]}


@dataclass(frozen=True)
class ModelSettings:
    """Which models are used for what, and how requests to them are made."""

    enabled: tuple[Scoped, ...] = setting(
        "enabledModels",
        (),
        "Selectors (`*` is a wildcard) of the only models that can be chosen, the first of them the default; an item "
        '`{"path": "~/work", "models": ["company/*"]}` applies to some folders only.',
        parse=_enabled,  # decides by itself what replaces wrong items
        schema=_schema("models"),
    )
    disabled_providers: tuple[Scoped, ...] = setting(
        "disabledProviders",
        (),
        'Ids of providers that are not used; an item `{"path": "~/work", "providers": ["openai"]}` applies to some '
        "folders only.",
        strict=NO_MODELS,
        parse=_disabled,
        schema=_schema("providers"),
    )
    extensions: tuple[str, ...] = setting(
        "extensions",
        (),
        "Further extensions in Python: files, and folders of them (absolute, or with `~`). Those in North's own folder "
        "come first.",
        restart=True,
    )
    disabled_extensions: tuple[str, ...] = setting(
        "disabledExtensions",
        (),
        "Extensions in Python that are not loaded, as `extension-module:<name>`; `/extensions` lists all of them.",
        restart=True,
        parse=partial(named_items, kinds=("extension-module",)),
        schema={"type": "array", "items": {"type": "string", "pattern": "^extension-module:."}},
    )
    provider_order: tuple[str, ...] = setting(
        "modelProviderOrder", (), "Ids of providers, the preferred first.", restart=True
    )
    roles: Mapping[str, str] = setting(
        "modelRoles", {}, "A selector for each role; wins over `modelBindings` of `models.yml`.", restart=True
    )
    agents: Mapping[str, str] = setting(
        "agentModelOverrides",
        {},
        "A selector for each agent, by its name, in place of what its definition says; wins over `modelBindings` of "
        "`models.yml`.",
        restart=True,
    )
    thinking_level: ThinkingLevel | None = setting(
        "thinking.level",
        None,
        "How much models think, where they can; without it, the model's own level.",
        restart=True,
    )
    show_thinking: bool = setting(
        "thinking.show", True, "Show the model's thinking in the editor; it is stored in any case.", restart=True
    )
    service_tier: ServiceTier | None = setting(
        "serviceTier", None, "The service tier of requests to OpenAI's own API.", restart=True
    )
    discover_local: bool = setting(
        "discovery.local", True, "Look for model servers on this machine.", strict=False, restart=True
    )
    complete_inline: bool = setting(
        "completion.inline",
        False,
        "Complete code while you type, in VS Code and editors with LSP's inline completion; a small model is asked in "
        "each pause.",
        strict=False,
    )
    predict_edits: bool = setting(
        "completion.nextEdits",
        False,
        "Propose the edit that follows from your last ones, in VS Code, Neovim and editors with LSP's inline "
        "completion; a small model is asked in each pause.",
        strict=False,
    )
    max_output_tokens: int = setting(
        "provider.maxOutputTokens",
        32_000,
        "The longest answer in tokens, without thinking.",
        strict=_LEAST_OUTPUT,
        low=_LEAST_OUTPUT,
        restart=True,
    )
    cache_retention: CacheRetention = setting(
        "providers.cacheRetention",
        "short",
        "How long vendors cache prompts: with `long`, Anthropic keeps them for an hour, and writing them costs twice "
        "the input price.",
        restart=True,
    )
    kimi_format: KimiFormat = setting(
        "providers.kimiApiFormat", "openai", "The API format of requests to Moonshot's models.", restart=True
    )
    key_storage: KeyStorage | None = setting(
        "auth.storage",
        "file",
        "Where new API keys are stored: in a file that only you can read, or in the system's keyring.",
        strict=None,  # no key is stored then
    )
    broker_url: str | None = setting(
        "auth.broker.url",
        None,
        "The address of the key broker that gives keys (or `NORTH_AUTH_BROKER_URL`).",
        restart=True,
    )
    broker_token: str | None = setting(
        "auth.broker.token",
        None,
        "The token of the key broker: a variable's name, `!command`, or the token (or `NORTH_AUTH_BROKER_TOKEN`).",
        restart=True,
        secret=True,
    )
