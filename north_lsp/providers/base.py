"""The one stream contract: what is sent to a model, and the events that come back. Data only; imports nothing heavy."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from north_lsp.lazy_dataclass import dataclass

StopReason = Literal["stop", "length", "toolUse", "refusal"]
ErrorKind = Literal[
    "network", "rate_limit", "overloaded", "context_overflow", "auth", "bad_request", "quota_exhausted", "aborted"
]


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning text. `signature` goes back unchanged; `redacted` holds the vendor's opaque form instead of text.

    The signature's format is up to its adapter: Anthropic's is opaque, that of OpenAI's Responses is the reasoning
    item as a JSON object. No adapter sends another one's.
    """

    thinking: str
    signature: str | None = None
    redacted: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. `arguments` is the parsed object; `problem` says why it could not be parsed, in
    which case the tool is not run."""

    id: str
    name: str
    arguments: Mapping[str, object]
    problem: str | None = None


Block = Text | Thinking | ToolCall


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one or more requests. `input` counts only the tokens charged at the full input rate; `reasoning`
    are those of the `output` that the model thought with, as far as its vendor says. `raw` is what the vendor said
    itself, of the last request; it makes no difference between counts."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    raw: Mapping[str, object] = field(default_factory=dict, compare=False)
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            other.raw or self.raw,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """What one or more requests cost, in US dollars, by what was charged for."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0

    @property
    def total(self) -> float:
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for a model that accepts images. `data` is base64, or `blob:sha256:…` until it has been fetched;
    `sides` are width and height in pixels, if they are known."""

    mime_type: str
    data: str
    sides: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a user says; `text` may be empty if there are `images`."""

    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """An answer of a model. `model` is the id of the model that wrote it, as in ModelRequest, or empty; content that
    only that model can read (signed thinking) is not sent to another."""

    blocks: tuple[Block, ...]
    stop_reason: StopReason | Literal["error", "aborted"] = "stop"
    usage: Usage = Usage()
    model: str = ""

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))


@dataclass(frozen=True, slots=True)
class ToolResult:
    call_id: str
    tool: str
    text: str
    is_error: bool
    images: tuple[Image, ...] = ()


Message = UserMessage | AssistantMessage | ToolResult


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about a tool; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How much a model may think: `budget` in tokens (0 is off) where the vendor counts them, `effort` in the vendor's
    own word (None sends none) where it does not."""

    budget: int = 0
    effort: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model. `model` is its id in the catalog; `conversation_id` groups requests for caches.
    `max_output` includes the model's thinking."""

    model: str
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    max_output: int
    conversation_id: str = ""
    reasoning: Reasoning = Reasoning()


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds: to connect, without receiving a byte, and without receiving anything of the answer. None: no
    limit."""

    connect: float = 15
    idle: float | None = 120
    request: float | None = 600


DEFAULT_TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True)
class TextDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallStart:
    """The model has named a tool; its arguments follow."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of the arguments' JSON text."""

    index: int
    json: str


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """Block `index` is complete."""

    index: int
    block: Block


@dataclass(frozen=True, slots=True)
class Counted:
    """What the vendor has counted so far; the message of the last event includes it."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Told:
    """Something about the request that the user should know; it is no part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The last event of a successful stream."""

    reason: StopReason
    message: AssistantMessage


@dataclass(frozen=True, slots=True)
class Failed:
    """The last event of a stream that broke; `partial` is what had arrived. `message` is one sentence for the user,
    including the next step. `retry_after_ms` is how long the server asked to wait, None if it did not say. No adapter
    repeats a failed request on its own."""

    kind: ErrorKind
    message: str
    partial: AssistantMessage
    status: int | None = None
    retryable: bool = False
    details: Mapping[str, object] = field(default_factory=dict)
    retry_after_ms: int | None = None


StreamEvent = TextDelta | ThinkingDelta | CallStart | CallDelta | BlockEnd | Counted | Told | Done | Failed


class Provider(Protocol):
    """A way to reach models. Its stream ends with exactly one Done or Failed and raises only on cancellation."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]: ...

    async def aclose(self) -> None:
        """Close its connections."""
        ...
