"""The user's `models.yml`, read and checked. An error names the file, the line, the key path and what is expected.
It is never read from a project: a repository must not say where credentials go."""

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast, get_args
from urllib.parse import urlsplit

from north_lsp.providers.catalog.yaml_tree import Node, TreeError, parse
from north_lsp.providers.compat import ThinkingFormat
from north_lsp.providers.credentials import KeySource
from north_lsp.providers.model import NO_TRANSFORM, Discovery, Prices, Transform
from north_lsp.providers.thinking import LEVELS, Level, ThinkingInfo
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_regular

NAMES = ("models.yml", "models.yaml", "models.jsonc", "models.json")
APIS = ("anthropic-messages", "openai-responses", "openai-completions", "google-generative-ai")
_ALIASES = {"ollama-chat": "openai-completions"}
_LATER = (
    "azure-openai-responses",
    "google-vertex",
    "bedrock-converse-stream",
    "openai-codex-responses",
    "google-gemini-cli",
    "cursor-agent",
)
_T = TypeVar("_T")
_PROVIDER_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FIXED_BODY = ("model", "messages", "input", "stream", "tools", "tool_choice")
_SDK_HEADERS = ("x-stainless-*", "openai-organization", "openai-project")


class ModelsFileError(ValueError):
    """A file that is not used; the text is one line for the user."""

    def __init__(self, path: Path, line: int, key: str, problem: str) -> None:
        where = f"{key}: " if key else ""
        super().__init__(f"{path}, line {line}: {where}{problem}; until it is fixed, only the shipped models are used")
        self.path = path
        self.line = line
        self.key = key
        self.problem = problem


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


def find_file(config_dir: Path) -> Path | None:
    """The first of the names that is there."""
    return next((path for name in NAMES if (path := config_dir / name).exists()), None)


def read_models_file(path: Path) -> ModelsFile:
    """Raises ModelsFileError."""
    try:
        text = read_regular(path, MAX_CONFIG_BYTES).decode("utf-8-sig")
        root = parse(text, is_json=path.suffix in (".json", ".jsonc"))
    except OSError as error:
        raise ModelsFileError(path, 1, "", error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise ModelsFileError(path, 1, "", "is not UTF-8") from None
    except TreeError as error:
        raise ModelsFileError(path, error.line, "", error.problem) from None
    return _Reader(path).file(root)


def check_models_text(path: Path, text: str) -> ModelsFile:
    """The same for a text that is about to be written. Raises ModelsFileError."""
    try:
        return _Reader(path).file(parse(text))
    except TreeError as error:
        raise ModelsFileError(path, error.line, "", error.problem) from None


class _Reader:
    """Turns nodes into entries; every complaint goes through `fail`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fail(self, node: Node, problem: str) -> ModelsFileError:
        return ModelsFileError(self._path, node.line, node.path, problem)

    def _expected(self, node: Node, what: str) -> ModelsFileError:
        shown = node.plain()
        text = "nothing" if shown is None else repr(shown)
        return self.fail(node, f"expected {what}, found {text if len(text) <= 60 else text[:59] + '…'}")

    # -- plain values --------------------------------------------------------------------------------------------------

    def fields(self, node: Node, known: tuple[str, ...]) -> dict[str, Node]:
        """An object with none but these keys; those without a value are left out."""
        if not isinstance(node.value, dict):
            raise self._expected(node, "an object")
        for key, value in node.value.items():
            if key not in known:
                close = difflib.get_close_matches(key, known, 1, 0.6)
                meant = f"the closest is {close[0]}" if close else f"known are {', '.join(known)}"
                raise self.fail(value, f"this key is unknown; {meant}")
        return {key: value for key, value in node.value.items() if value.value is not None}

    def entries(self, node: Node) -> dict[str, Node]:
        if not isinstance(node.value, dict):
            raise self._expected(node, "an object")
        return node.value

    def items(self, node: Node) -> list[Node]:
        if not isinstance(node.value, list):
            raise self._expected(node, "a list")
        return node.value

    def text(self, node: Node) -> str:
        if not isinstance(node.value, str) or not node.value.strip():
            raise self._expected(node, "a text")
        return node.value.strip()

    def boolean(self, node: Node) -> bool:
        if not isinstance(node.value, bool):
            raise self._expected(node, "true or false")
        return node.value

    def tokens(self, node: Node) -> int:
        if isinstance(node.value, bool) or not isinstance(node.value, int) or node.value <= 0:
            raise self._expected(node, "a whole number above 0")
        return node.value

    def price(self, node: Node) -> float:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            raise self._expected(node, "a price in dollars per million tokens, 0 or more")
        return float(value)

    def choice(self, node: Node, choices: tuple[str, ...]) -> str:
        # YAML reads a bare `off` as false.
        value = "off" if node.value is False and "off" in choices else node.value
        if value not in choices:
            raise self._expected(node, f"one of {', '.join(choices)}")
        return str(value)

    def texts(self, node: Node) -> dict[str, str]:
        return {key: self.text(value) for key, value in self.entries(node).items()}

    # -- the file ------------------------------------------------------------------------------------------------------

    def file(self, root: Node) -> ModelsFile:
        top = self.fields(root, ("providers", "equivalence", "modelBindings"))
        providers = (
            [self.provider(id, node) for id, node in self.entries(top["providers"]).items()]
            if ("providers" in top)
            else []
        )
        names: dict[str, str] = {}
        if "equivalence" in top:
            found = self.fields(top["equivalence"], ("overrides", "exclude"))
            names |= self.texts(found["overrides"]) if "overrides" in found else {}
            excluded = [self.text(item) for item in self.items(found["exclude"])] if "exclude" in found else []
            names |= {selector: selector for selector in excluded}
        roles: dict[str, str] = {}
        if "modelBindings" in top:
            bindings = self.fields(top["modelBindings"], ("modelRoles", "agentModelOverrides"))
            for key in bindings:
                known = self.texts(bindings[key])
                roles |= known if key == "modelRoles" else {}
        return ModelsFile(self._path, tuple(providers), roles, names)

    def provider(self, id: str, node: Node) -> ProviderEntry:
        if not _PROVIDER_ID.fullmatch(id):
            raise self.fail(node, "a provider's id has small letters, digits, dots, dashes and underscores")
        keys = (
            "baseUrl", "apiKey", "apiKeyEnv", "api", "auth", "authHeader", "headers", "compat", "requestTransform",
            "disableStrictTools", "discovery", "modelOverrides", "models",
        )  # fmt: skip
        found = self.fields(node, keys)
        if not found:
            raise self.fail(node, f"says nothing: give it one of {', '.join(keys)}")
        auth = self.choice(found["auth"], ("apiKey", "none", "oauth")) if "auth" in found else None
        if auth == "oauth":
            raise self.fail(found["auth"], "logging in is not supported in this version: use a key, or none")
        if "disableStrictTools" in found:
            self.boolean(found["disableStrictTools"])
        entry = ProviderEntry(
            id,
            self.get(found, "baseUrl", self.address),
            self.get(found, "apiKey", self.secret),
            self.get(found, "apiKeyEnv", self.variable),
            self.get(found, "api", self.api),
            None if auth is None else auth == "none",
            self.get(found, "authHeader", self.boolean),
            self.get(found, "headers", self.headers) or {},
            self.get(found, "compat", self.compat) or {},
            self.get(found, "requestTransform", self.transform) or NO_TRANSFORM,
            self.get(found, "discovery", self.discovery),
            tuple(self.model(one, id=key) for key, one in self.entries(found["modelOverrides"]).items())
            if "modelOverrides" in found
            else (),
            tuple(self.model(one) for one in self.items(found["models"])) if "models" in found else (),
        )
        self.check_provider(node, found, entry)
        return entry

    def check_provider(self, node: Node, found: Mapping[str, Node], entry: ProviderEntry) -> None:
        if entry.models:
            if entry.base_url is None:
                raise self.fail(node, "expected baseUrl beside models")
            for index, model in enumerate(entry.models):
                if model.api is None and entry.api is None:
                    raise self.fail(found["models"].value[index], "expected api, here or for the provider")
            if entry.key is None and entry.variable is None and not entry.keyless:
                raise self.fail(node, "expected apiKeyEnv or apiKey beside models, or auth: none")
            ids = [model.id for model in entry.models]
            for index, id in enumerate(ids):
                if id in ids[:index]:
                    raise self.fail(found["models"].value[index], f"the model {id!r} is there twice")
        if entry.discovery is not None and entry.api is None:
            raise self.fail(found["discovery"], "expected api beside discovery")

    def model(self, node: Node, id: str | None = None) -> ModelEntry:
        """`id` is given for an override, whose key it is."""
        keys = (
            "id", "name", "api", "reasoning", "input", "cost", "contextWindow", "maxTokens", "headers", "thinking",
            "compat", "wireModelId", "contextPromotionTarget", "requestTransform",
        )  # fmt: skip
        found = self.fields(node, keys if id is None else keys[1:])
        if id is None and "id" not in found:
            raise self.fail(node, "expected id")
        return ModelEntry(
            id if id is not None else self.text(found["id"]),
            self.get(found, "name", self.text),
            self.get(found, "api", self.api),
            self.get(found, "reasoning", self.boolean),
            self.get(found, "input", self.input),
            self.get(found, "cost", self.cost),
            self.get(found, "contextWindow", self.tokens),
            self.get(found, "maxTokens", self.tokens),
            self.get(found, "headers", self.headers) or {},
            self.get(found, "thinking", self.thinking),
            self.get(found, "compat", self.compat) or {},
            self.get(found, "wireModelId", self.text),
            self.get(found, "contextPromotionTarget", self.text),
            self.get(found, "requestTransform", self.transform) or NO_TRANSFORM,
        )

    # -- values with a meaning -----------------------------------------------------------------------------------------

    def get(self, found: Mapping[str, Node], key: str, read: Callable[[Node], _T]) -> _T | None:
        return read(found[key]) if key in found else None

    def address(self, node: Node) -> str:
        text = self.text(node)
        try:
            parts = urlsplit(text)
            is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_good = False
        if not is_good:
            raise self._expected(node, "an address like https://host/v1")
        return text.rstrip("/")

    def api(self, node: Node) -> str:
        text = self.text(node)
        if text in _LATER:
            raise self.fail(node, f"{text} is not supported in this version; supported are {', '.join(APIS)}")
        return _ALIASES.get(text) or self.choice(node, APIS)

    def secret(self, node: Node) -> KeySource:
        return KeySource(self.text(node), f"{self._path.name}: {node.path}")

    def variable(self, node: Node) -> str:
        text = self.text(node)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
            raise self._expected(node, "the name of an environment variable")
        return text

    def headers(self, node: Node) -> dict[str, KeySource]:
        for name, value in self.entries(node).items():
            if not _HEADER.fullmatch(name):
                raise self.fail(value, "this is not a header name")
        return {name: self.secret(value) for name, value in self.entries(node).items()}

    def input(self, node: Node) -> bool:
        return "image" in [self.choice(item, ("text", "image")) for item in self.items(node)]

    def cost(self, node: Node) -> Prices:
        found = self.fields(node, ("input", "output", "cacheRead", "cacheWrite"))
        prices = {key: self.price(value) for key, value in found.items()}
        price = prices.get("input", 0.0)
        return Prices(price, prices.get("output", 0.0), prices.get("cacheWrite", price), prices.get("cacheRead", price))

    def discovery(self, node: Node) -> Discovery:
        found = self.fields(node, ("type",))
        if "type" not in found:
            raise self.fail(node, "expected type")
        return cast(Discovery, self.choice(found["type"], get_args(Discovery)))

    def thinking(self, node: Node) -> ThinkingInfo:
        found = self.fields(node, ("minLevel", "maxLevel", "mode", "defaultLevel", "levels", "budget"))
        mode = self.choice(found["mode"], ("budget", "effort")) if "mode" in found else "effort"
        if "levels" in found:
            chosen = {self.level(item) for item in self.items(found["levels"])}
            levels = tuple(level for level in LEVELS if level in chosen)
        else:
            first = LEVELS.index(self.get(found, "minLevel", self.level) or "off")
            last = LEVELS.index(self.get(found, "maxLevel", self.level) or "high")
            levels = LEVELS[first : last + 1]
        if not levels:
            raise self.fail(node, "allows no level at all")
        named = self.get(found, "defaultLevel", self.level)
        if named is not None and named not in levels:
            raise self.fail(found["defaultLevel"], f"expected one of the levels {', '.join(levels)}")
        info = ThinkingInfo("effort", levels=levels)
        first_level = named or info.clamp("medium")
        if mode == "budget":
            return ThinkingInfo("budget", self.get(found, "budget", self.tokens) or 8_000, (), levels, first_level)
        efforts = tuple(level for level in levels if level != "off") or ("low",)
        return ThinkingInfo("effort", 0, efforts, levels, first_level)

    def level(self, node: Node) -> Level:
        return cast(Level, self.choice(node, LEVELS))

    def transform(self, node: Node) -> Transform:
        found = self.fields(node, ("profile", "stripHeaders", "setHeaders", "extraBody"))
        strip: tuple[str, ...] = ()
        if "profile" in found:
            self.choice(found["profile"], ("openai-proxy",))
            strip = _SDK_HEADERS
        if "stripHeaders" in found:
            strip = tuple(self.text(item) for item in self.items(found["stripHeaders"]))
        put: dict[str, str | None] = {}
        for name, value in self.entries(found["setHeaders"]).items() if "setHeaders" in found else ():
            put[name] = None if value.value is None else self.text(value)
        body = self.body(found["extraBody"]) if "extraBody" in found else {}
        return Transform(strip, put, body)

    def body(self, node: Node) -> dict[str, Any]:
        for key, value in self.entries(node).items():
            if key in _FIXED_BODY:
                raise self.fail(value, "this field is North's own and cannot be changed")
        return cast("dict[str, Any]", node.plain())

    def compat(self, node: Node) -> dict[str, Any]:
        """Fields of Compat by their names there."""
        flags = (
            "supportsStore", "supportsDeveloperRole", "supportsUsageInStreaming", "supportsToolChoice",
            "disableReasoningOnForcedToolChoice", "supportsReasoningEffort", "requiresReasoningContentForToolCalls",
            "requiresAssistantContentForToolCalls", "requiresToolResultName", "requiresAssistantAfterToolResult",
            "requiresThinkingAsText", "requiresMistralToolIds", "supportsStrictMode", "editPatch",
        )  # fmt: skip
        choices = {
            "maxTokensField": ("max_tokens", "max_completion_tokens"),
            "thinkingFormat": get_args(ThinkingFormat),
            "reasoningContentField": ("reasoning_content", "reasoning", "reasoning_text"),
            "toolStrictMode": ("none", "all_strict"),
        }
        others: dict[str, Callable[[Node], Any]] = {
            "reasoningEffortMap": self.texts,
            "openRouterRouting": lambda routing: self.entries(routing) and routing.plain(),
            "vercelGatewayRouting": lambda routing: self.entries(routing) and routing.plain(),
            "extraBody": self.body,
        }
        found = self.fields(node, (*flags, *choices, *others))
        values: dict[str, Any] = {}
        for key, value in found.items():
            if key in flags:
                read: Any = self.boolean(value)
            elif key in choices:
                read = self.choice(value, choices[key])
            else:
                read = others[key](value)
            values[re.sub(r"(?<!^)([A-Z])", lambda match: f"_{match[1].lower()}", key)] = read
        return values
