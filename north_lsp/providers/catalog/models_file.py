"""Reads and checks the user's `models.yml`. An error names the file, the line, the key path and what is expected. The
file is never read from a project: a repository must not decide where credentials go.

pydantic was tried instead of `_Reader`: its models alone took 125 lines, without error messages, their positions and
the key paths, and 88 ms to load before a conversation can open, where reading the file takes 13 ms.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args
from urllib.parse import urlsplit

from north_lsp.errors import Problem
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.catalog.models_entries import ModelEntry, ModelsFile, ProviderEntry
from north_lsp.providers.clouds import AZURE, BEDROCK, CLAUDE_ON_VERTEX, CONVERSE, VERTEX
from north_lsp.providers.compat import ThinkingFormat, is_local
from north_lsp.providers.credentials import KeySource
from north_lsp.providers.model import Discovery, Prices, SignIn, Transform
from north_lsp.providers.thinking import LEVELS, Level, ThinkingInfo
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_regular
from north_lsp.storage.yaml_tree import Node, TreeError, parse

_KNOWN_APIS = (
    *("anthropic-messages", "openai-responses", "openai-completions", "google-generative-ai"),
    *(AZURE, VERTEX, BEDROCK, CONVERSE, CLAUDE_ON_VERTEX),
)
_ALIASES = {"ollama-chat": "openai-completions"}
_LATER = ("openai-codex-responses", "google-gemini-cli", "cursor-agent")
_Read = Callable[[Node], Any]
_PROVIDER_ID = lazy_pattern(r"[a-z0-9][a-z0-9._-]*")
_HEADER = lazy_pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FIXED_BODY = ("model", "messages", "input", "stream", "tools", "tool_choice")
_LAST_PORT = 65_535
_SDK_HEADERS = ("x-stainless-*", "openai-organization", "openai-project")


class ModelsFileError(ValueError):
    """The file cannot be used; the text is one line for the user."""

    def __init__(self, path: Path, line: int, key: str, problem: str) -> None:
        where = f"{key}: " if key else ""
        super().__init__(f"{path}, line {line}: {where}{problem}; until it is fixed, only the shipped models are used")
        self.path = path
        self.line = line
        self.key = key
        self.problem = problem

    @property
    def told(self) -> Problem:
        """The line for the user."""
        return Problem(str(self), self.path, self.key or None)


def read_models_file(path: Path) -> ModelsFile:
    """Read and check models.yml. Raises ModelsFileError."""
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
    """Check a text that is about to be written as models.yml. Raises ModelsFileError."""
    try:
        return _Reader(path).file(parse(text))
    except TreeError as error:
        raise ModelsFileError(path, error.line, "", error.problem) from None


class _Reader:
    """Turns nodes into entries; every error is made by `fail`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fail(self, node: Node, problem: str) -> ModelsFileError:
        return ModelsFileError(self._path, node.line, node.path, problem)

    def _expected(self, node: Node, what: str) -> ModelsFileError:
        shown = node.plain()
        text = "nothing" if shown is None else repr(shown)
        return self.fail(node, f"expected {what}, found {text if len(text) <= 60 else text[:59] + '…'}")

    # -- plain values --------------------------------------------------------------------------------------------------

    def fields(self, node: Node, known: Collection[str]) -> dict[str, Node]:
        """Return the keys of an object that may have no others; those without a value are left out."""
        for key, value in self.entries(node).items():
            if key not in known:
                close = difflib.get_close_matches(key, known, 1, 0.6)
                meant = f"the closest is {close[0]}" if close else f"known keys are {', '.join(known)}"
                raise self.fail(value, f"this key is unknown; {meant}")
        return {key: value for key, value in node.value.items() if value.value is not None}

    def record(self, node: Node, known: Mapping[str, tuple[str, _Read]]) -> dict[str, Any]:
        """Read an object that has no keys but these; each has a name for its value in the result, and a reader."""
        return {known[key][0]: known[key][1](value) for key, value in self.fields(node, known).items()}

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
            raise self._expected(node, "a string")
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

    def list_of_texts(self, node: Node) -> tuple[str, ...]:
        return tuple(self.text(item) for item in self.items(node))

    def texts(self, node: Node) -> dict[str, str]:
        return {key: self.text(value) for key, value in self.entries(node).items()}

    # -- the file ------------------------------------------------------------------------------------------------------

    def file(self, root: Node) -> ModelsFile:
        known: dict[str, tuple[str, _Read]] = {
            "providers": ("providers", self.providers),
            "equivalence": ("names", self.names),
            "modelBindings": ("bindings", self.bindings),
        }
        found = self.record(root, known)
        return ModelsFile(self._path, **{**found.pop("bindings", {}), **found})

    def names(self, node: Node) -> dict[str, str]:
        found = self.record(node, {"overrides": ("names", self.texts), "exclude": ("own", self.list_of_texts)})
        return {**found.get("names", {}), **{selector: selector for selector in found.get("own", ())}}

    def bindings(self, node: Node) -> dict[str, Any]:
        return dict(
            self.record(node, {"modelRoles": ("roles", self.texts), "agentModelOverrides": ("agents", self.texts)})
        )

    def providers(self, node: Node) -> tuple[ProviderEntry, ...]:
        return tuple(self.provider(id, one) for id, one in self.entries(node).items())

    def provider(self, id: str, node: Node) -> ProviderEntry:
        if not _PROVIDER_ID.fullmatch(id):
            raise self.fail(
                node, "a provider's id may contain only lowercase letters, digits, dots, dashes and underscores"
            )
        known: dict[str, tuple[str, _Read]] = {
            "baseUrl": ("base_url", self.address),
            "apiKey": ("key", self.secret),
            "apiKeyEnv": ("variable", self.variable),
            "api": ("api", self.api),
            "auth": ("keyless", self.keyless),
            "authHeader": ("auth_header", self.boolean),
            "headers": ("headers", self.headers),
            "compat": ("compat", self.compat),
            "requestTransform": ("transform", self.transform),
            "disableStrictTools": ("", self.boolean),  # other programs' key; it has no effect here
            "discovery": ("discovery", self.discovery),
            "oauth": ("sign_in", self.sign_in),
            "modelOverrides": ("overrides", self.overrides),
            "models": ("models", lambda models: tuple(self.model(one) for one in self.items(models))),
        }
        values = self.record(node, known)
        if not values:
            raise self.fail(node, f"is empty: add one of {', '.join(known)}")
        values.pop("", None)
        entry = ProviderEntry(id, **values)
        self.check_provider(node, entry)
        return entry

    def check_provider(self, node: Node, entry: ProviderEntry) -> None:
        auth = node.value.get("auth")
        if auth is not None and auth.value == "oauth" and entry.sign_in is None:
            raise self.fail(auth, "oauth needs `oauth: {authorizeUrl, tokenUrl, clientId}` beside it")
        if entry.models:
            rows = node.value["models"].value
            if entry.base_url is None:
                raise self.fail(node, "models requires baseUrl")
            for index, model in enumerate(entry.models):
                if model.api is None and entry.api is None:
                    raise self.fail(rows[index], "expected api, here or for the provider")
            if entry.key is None and entry.variable is None and not entry.keyless and entry.sign_in is None:
                raise self.fail(node, "models requires apiKeyEnv, apiKey, oauth or auth: none")
            ids = [model.id for model in entry.models]
            for index, id in enumerate(ids):
                if id in ids[:index]:
                    raise self.fail(rows[index], f"the model {id!r} is listed twice")
        if entry.discovery is not None and entry.api is None:
            raise self.fail(node.value["discovery"], "discovery requires api")

    def overrides(self, node: Node) -> tuple[ModelEntry, ...]:
        return tuple(self.model(one, id=key) for key, one in self.entries(node).items())

    def model(self, node: Node, id: str | None = None) -> ModelEntry:
        """Read a model. `id` is given for an override, which has its id as key."""
        known: dict[str, tuple[str, _Read]] = {
            "id": ("id", self.text),
            "name": ("name", self.text),
            "api": ("api", self.api),
            "reasoning": ("reasoning", self.boolean),
            "input": ("images", self.input),
            "cost": ("cost", self.cost),
            "contextWindow": ("window", self.tokens),
            "maxTokens": ("max_output", self.tokens),
            "headers": ("headers", self.headers),
            "thinking": ("thinking", self.thinking),
            "compat": ("compat", self.compat),
            "wireModelId": ("wire_id", self.text),
            "contextPromotionTarget": ("promotion_target", self.text),
            "requestTransform": ("transform", self.transform),
        }
        if id is not None:
            del known["id"]
            return ModelEntry(id, **self.record(node, known))
        if "id" not in self.fields(node, known):
            raise self.fail(node, "expected id")
        return ModelEntry(**self.record(node, known))

    # -- values with a meaning -----------------------------------------------------------------------------------------

    def keyless(self, node: Node) -> bool:
        return self.choice(node, ("apiKey", "none", "oauth")) == "none"

    def sign_in(self, node: Node) -> SignIn:
        known: dict[str, tuple[str, _Read]] = {
            "authorizeUrl": ("authorize", self.safe_address),
            "tokenUrl": ("token", self.safe_address),
            "clientId": ("client_id", self.text),
            "scopes": ("scopes", self.list_of_texts),
            "redirectPort": ("port", self.tokens),
        }
        found = self.record(node, known)
        for key, (name, _) in list(known.items())[:3]:
            if name not in found:
                raise self.fail(node, f"expected {key}")
        if found.get("port", 0) > _LAST_PORT:
            raise self._expected(node.value["redirectPort"], "a port")
        return SignIn(**found)

    def safe_address(self, node: Node) -> str:
        self.address(node)
        text = self.text(node)  # a slash at its end counts
        if not text.startswith("https://") and not is_local(text):
            raise self._expected(node, "an https address: a token is sent there")
        if "#" in text:
            raise self._expected(node, "an address without `#`")
        return text

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
            known = ", ".join(_KNOWN_APIS)
            raise self.fail(node, f"{text} is not supported; register an extension provider, or use one of {known}")
        return _ALIASES.get(text) or self.choice(node, _KNOWN_APIS)

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
        known = {key: (key, self.price) for key in ("input", "output", "cacheRead", "cacheWrite")}
        prices = self.record(node, known)
        price = prices.get("input", 0.0)
        return Prices(price, prices.get("output", 0.0), prices.get("cacheWrite", price), prices.get("cacheRead", price))

    def discovery(self, node: Node) -> Discovery:
        found = self.fields(node, ("type",))
        if "type" not in found:
            raise self.fail(node, "expected type")
        return cast(Discovery, self.choice(found["type"], get_args(Discovery)))

    def thinking(self, node: Node) -> ThinkingInfo:
        known: dict[str, tuple[str, _Read]] = {
            **{key: (key, self.level) for key in ("minLevel", "maxLevel", "defaultLevel")},
            "mode": ("mode", lambda mode: self.choice(mode, ("budget", "effort"))),
            "levels": ("levels", lambda levels: {self.level(item) for item in self.items(levels)}),
            "budget": ("budget", self.tokens),
        }
        found = self.record(node, known)
        first, last = (
            LEVELS.index(found.get(key, level)) for key, level in (("minLevel", "off"), ("maxLevel", "high"))
        )
        chosen = found.get("levels", LEVELS[first : last + 1])
        levels = tuple(level for level in LEVELS if level in chosen)
        if not levels:
            raise self.fail(node, "allows no level at all")
        named = found.get("defaultLevel")
        if named is not None and named not in levels:
            raise self.fail(node.value["defaultLevel"], f"expected one of the levels {', '.join(levels)}")
        info = ThinkingInfo("effort", levels=levels)
        first_level = named or info.clamp("medium")
        if found.get("mode") == "budget":
            return ThinkingInfo("budget", found.get("budget", 8_000), (), levels, first_level)
        efforts = tuple(level for level in levels if level != "off") or ("low",)
        return ThinkingInfo("effort", 0, efforts, levels, first_level)

    def level(self, node: Node) -> Level:
        return cast(Level, self.choice(node, LEVELS))

    def transform(self, node: Node) -> Transform:
        known: dict[str, tuple[str, _Read]] = {
            "profile": ("profile", partial(self.choice, choices=("openai-proxy",))),
            "stripHeaders": ("strip", self.list_of_texts),
            "setHeaders": ("put", self.new_headers),
            "extraBody": ("body", self.body),
        }
        found = self.record(node, known)
        strip = found.get("strip", _SDK_HEADERS if "profile" in found else ())
        return Transform(strip, found.get("put", {}), found.get("body", {}))

    def new_headers(self, node: Node) -> dict[str, str | None]:
        return {name: None if one.value is None else self.text(one) for name, one in self.entries(node).items()}

    def body(self, node: Node) -> dict[str, Any]:
        for key, value in self.entries(node).items():
            if key in _FIXED_BODY:
                raise self.fail(value, "North sets this field itself, so it cannot be changed")
        return cast("dict[str, Any]", node.plain())

    def compat(self, node: Node) -> dict[str, Any]:
        """Read compatibility flags as fields of Compat, under their names there."""
        flags = (
            "supportsStore", "supportsDeveloperRole", "supportsUsageInStreaming", "supportsToolChoice",
            "disableReasoningOnForcedToolChoice", "supportsReasoningEffort", "requiresReasoningContentForToolCalls",
            "requiresAssistantContentForToolCalls", "requiresToolResultName", "requiresAssistantAfterToolResult",
            "requiresThinkingAsText", "requiresMistralToolIds", "supportsStrictMode", "supportsCachePoints",
            "editPatch",
        )  # fmt: skip
        choices = {
            "maxTokensField": ("max_tokens", "max_completion_tokens"),
            "thinkingFormat": get_args(ThinkingFormat),
            "reasoningContentField": ("reasoning_content", "reasoning", "reasoning_text"),
            "toolStrictMode": ("none", "all_strict"),
        }
        known: dict[str, tuple[str, _Read]] = {
            **{key: (_snake(key), self.boolean) for key in flags},
            **{key: (_snake(key), partial(self.choice, choices=known)) for key, known in choices.items()},
            "reasoningEffortMap": ("reasoning_effort_map", self.texts),
            "openRouterRouting": ("open_router_routing", lambda routing: self.entries(routing) and routing.plain()),
            "vercelGatewayRouting": (
                "vercel_gateway_routing",
                lambda routing: self.entries(routing) and routing.plain(),
            ),
            "extraBody": ("extra_body", self.body),
        }
        return self.record(node, known)


def _snake(key: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", lambda match: f"_{match[1].lower()}", key)
