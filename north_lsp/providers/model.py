"""Describes a model and its provider. Data only; imports nothing heavy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Cost, Reasoning, Usage
from north_lsp.providers.clouds import VERTEX, cloud_address
from north_lsp.providers.credentials import KeySource
from north_lsp.providers.thinking import Level, ThinkingInfo

Discovery = Literal["ollama", "llama.cpp", "lm-studio", "openai-models", "google-models"]
DEFAULT_WINDOW = 128_000
DEFAULT_OUTPUT = 16_384
_ANSWER_TOKENS = 32_000
# What a picture counts: Anthropic's rule, which is within a fifth of OpenAI's (1.2 tokens for 32 x 32 pixels), up to
# what either scales to; Gemini's models take about as much for every picture. One that takes none is told so in words.
_PIXELS_A_TOKEN = 750
_MOST_OF_A_PICTURE = 4_784
_UNKNOWN_PICTURE = 1_600
_GEMINI_PICTURE = 1_120
_GEMINI = ("google-generative-ai", VERTEX)
_OMITTED_PICTURE = 10


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens. `known` is False for a model whose price is unknown; it then costs 0."""

    input: float
    output: float
    cache_write: float
    cache_read: float
    known: bool = True

    def split(self, usage: Usage) -> Cost:
        """Return the price of one request by its parts; negative counts count as 0."""
        return Cost(
            max(usage.input, 0) * self.input / 1_000_000,
            max(usage.output, 0) * self.output / 1_000_000,
            max(usage.cache_read, 0) * self.cache_read / 1_000_000,
            max(usage.cache_write, 0) * self.cache_write / 1_000_000,
        )

    def cost(self, usage: Usage) -> float:
        """Return the price of one request in US dollars."""
        return self.split(usage).total


@dataclass(frozen=True, slots=True)
class Extras:
    """What the settings ask of every request: the vendor's service tier, and prompt caches that last an hour. `note`
    receives a message when a server turns out not to support a parameter."""

    service_tier: str | None = None
    long_cache: bool = False
    note: Callable[[str], None] | None = None


NO_EXTRAS = Extras()
FREE = Prices(0, 0, 0, 0)
UNPRICED = Prices(0, 0, 0, 0, known=False)


@dataclass(frozen=True, slots=True)
class Transform:
    """How a provider's requests are changed (`requestTransform`): headers to strip (`prefix*` too), headers to set
    (None removes), and fields to add to the body."""

    strip: tuple[str, ...] = ()
    put: Mapping[str, str | None] = field(default_factory=dict, hash=False)
    body: Mapping[str, object] = field(default_factory=dict, hash=False)


NO_TRANSFORM = Transform()


SUMMARIES = "summaries"
"""The API of a server of the user's that does nothing but write summaries."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """How users sign in to a provider in a browser: the pages for that and for tokens, what North is called there, what
    it asks for, and the port that the answer must come to (0: any)."""

    authorize: str
    token: str
    client_id: str
    scopes: tuple[str, ...] = ()
    port: int = 0


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """A provider of models. `credentials` and `base_url` are names of environment variables; the first credential that
    is set wins. A `keyless` provider can be used without one. `key` is what models.yml gives instead of a variable; at
    `anthropic_address` the same models are served in Anthropic's format. `stream` answers for a provider that an
    extension registered, `sign_in` says how users get a token."""

    id: str
    api: str
    title: str
    credentials: tuple[str, ...]
    base_url: str | None = None
    default: str | None = None
    address: str | None = None
    fast: str | None = None
    keyless: bool = False
    discovery: Discovery | None = None
    key: KeySource | None = None
    auth_header: bool = False
    headers: Mapping[str, KeySource] = field(default_factory=dict, hash=False)
    compat: Mapping[str, Any] = field(default_factory=dict, hash=False)
    transform: Transform = NO_TRANSFORM
    anthropic_address: str | None = None
    stream: Callable[..., Any] | None = field(default=None, hash=False)
    sign_in: SignIn | None = None

    @property
    def has_no_server(self) -> bool:
        """Whether an extension's stream answers that says nothing of a server."""
        return self.stream is not None and self.address == f"{self.api}:{self.id}"

    def address_in(self, environ: Mapping[str, str]) -> str | None:
        """Return the address it is served at. Ollama's and llama.cpp's variables name the host; `/v1` is added."""
        text = environ.get(self.base_url or "", "").strip().rstrip("/")
        if not text:
            return self.address or cloud_address(self.api, environ)
        if "://" not in text:
            text = f"http://{text}"
        needs_path = self.discovery in ("ollama", "llama.cpp") and not text.endswith("/v1")
        return f"{text}/v1" if needs_path else text


@dataclass(frozen=True, slots=True)
class Model:
    """A model of a provider. `level` is how much it should think, None for its default; `wire_id` is the id that the
    server uses, if it differs; `window_known` is False if the size of its window is unknown, and the usual size is
    assumed; `answer_tokens` is how long an answer may be, without thinking. `promotion_target` is the selector of a
    model with a larger window, if models.yml names one. `problem` is what to tell the user if this only stands for a
    name that was asked for and that no model has (`unknown.py`). `address` is where it is served, if not at its
    provider's."""

    provider: ProviderInfo
    id: str
    alias: str
    title: str
    window: int
    max_output: int
    prices: Prices
    thinking: ThinkingInfo | None = None
    level: Level | None = None
    wire_id: str | None = None
    promotion_target: str | None = None
    api: str = ""
    images: bool = False
    headers: Mapping[str, KeySource] = field(default_factory=dict, hash=False)
    compat: Mapping[str, Any] = field(default_factory=dict, hash=False)
    transform: Transform = NO_TRANSFORM
    source: Literal["shipped", "models.yml", "discovered", "extension"] = "shipped"
    answer_tokens: int = _ANSWER_TOKENS
    address: str | None = None
    problem: str = ""
    window_known: bool = True

    @property
    def selector(self) -> str:
        return f"{self.provider.id}/{self.id}"

    @property
    def wants_patches(self) -> bool:
        """Whether the model is offered patches in addition to the other ways to edit."""
        return bool({**self.provider.compat, **self.compat}.get("edit_patch", False))

    @property
    def reasoning(self) -> Reasoning:
        """How much a request may think."""
        if self.thinking is None:
            return Reasoning()
        return self.thinking.reasoning(self.level or self.thinking.default, self.max_output)

    @property
    def output_limit(self) -> int:
        """The most tokens that a request asks for: the answer's and those of the thinking before it."""
        return min(self.max_output, self.answer_tokens + self.reasoning.budget)

    def picture_tokens(self, sides: tuple[int, int] | None) -> int:
        """Estimate the tokens of a picture by its width and height in pixels."""
        if not self.images:
            return _OMITTED_PICTURE
        if (self.api or self.provider.api) in _GEMINI:
            return _GEMINI_PICTURE
        if sides is None:
            return _UNKNOWN_PICTURE
        return min(math.ceil(sides[0] * sides[1] / _PIXELS_A_TOKEN), _MOST_OF_A_PICTURE)

    def with_level(self, level: Level | None) -> Model:
        return replace(self, level=level)


def summary_endpoint(address: str, window: int) -> Model:
    """Return what stands for the user's own server for summaries, which takes requests of the size of a `window`."""
    host = urlsplit(address).hostname or address
    title = f"the summary server {host}"
    info = ProviderInfo("compaction.remoteEndpoint", SUMMARIES, title, (), address=address, keyless=True)
    return Model(info, host, host, info.title, window, _ANSWER_TOKENS, FREE)
