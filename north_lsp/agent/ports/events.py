"""What happens in a session, in the core's own words. An adapter projects each event onto its wire.

The same events come live and from a stored conversation (`log/projection.py`), so that what is replayed is what was
shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from north_lsp.providers.base import Image
from north_lsp.vocabulary import Kind, Location, Mode
from north_lsp.workspace.edit.preview import Preview
from north_lsp.workspace.proposal import FileChange


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A prompt that the client does not show by itself: on replay, or one that came from a queue. The data of `images`
    is base64, or `blob:sha256:…` until it has been fetched."""

    message_id: str
    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallNamed:
    """The model has named a tool; its arguments are still coming."""

    call_id: str
    tool: str
    kind: Kind
    title: str


@dataclass(frozen=True, slots=True)
class CallTitled:
    """What the call is about is known better now."""

    call_id: str
    title: str


@dataclass(frozen=True, slots=True)
class CallPreviewed:
    """What an edit is going to change, as far as it has arrived; nothing is decided and nothing is kept of it."""

    call_id: str
    places: tuple[Preview, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class CallReady:
    """The arguments are complete."""

    call_id: str
    title: str
    arguments: Mapping[str, object]
    locations: tuple[Location, ...] = ()


@dataclass(frozen=True, slots=True)
class CallProposes:
    """A write tool has prepared its changes; nothing is written yet."""

    call_id: str
    title: str
    files: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class CallRunning:
    """Allowed and under way. `output` is the text so far, for people; `terminal` is the editor's that shows it."""

    call_id: str
    output: str | None = None
    terminal: str | None = None


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The call has its result; `text` is a short form for people, empty where the changes already say it. `truncation`
    tells what the model did not get of it."""

    call_id: str
    title: str
    ok: bool
    text: str
    files: tuple[FileChange, ...] = ()
    locations: tuple[Location, ...] = ()
    truncation: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ModeChanged:
    mode: Mode


@dataclass(frozen=True, slots=True)
class ModelChanged:
    selector: str


@dataclass(frozen=True, slots=True)
class ApprovalsChanged:
    """What runs or is applied without asking in this project has changed."""


@dataclass(frozen=True, slots=True)
class TitleChanged:
    title: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens by what they were: new input, output, read from a provider's cache, written to it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """After each model request: tokens in the context, the model's window, the conversation's cost in US dollars.

    `estimated`: the vendor told no numbers; `priced` is False when a model has been used whose price nobody knows;
    `tokens` is what the conversation has used, `counts` what of, and `all_time_usd` what all of them have cost (None:
    not known)."""

    used: int
    window: int
    cost_usd: float
    estimated: bool = False
    priced: bool = True
    tokens: int = 0
    all_time_usd: float | None = None
    counts: TokenCounts = TokenCounts()


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know that is no part of the conversation."""

    level: Literal["info", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True)
class RetryWaiting:
    """The model failed and is asked again: once a second while North waits (`state` waiting), and when that is over.
    `remaining_s` is in seconds, `message` says what failed, and `is_first` marks the first event of a wait."""

    retry_id: str
    attempt: int
    of: int
    remaining_s: int
    message: str
    state: Literal["waiting", "over", "stopped"]
    is_first: bool = False


Activity = Literal[
    "idle", "preparing", "streaming", "running_tools", "awaiting_review", "retrying", "compacting", "cancelling"
]


@dataclass(frozen=True, slots=True)
class StateChanged:
    """What the conversation is doing now."""

    state: Activity


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn for the prompt that is stored under this id."""

    message_id: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """`reason` is the stop reason, or "error"."""

    message_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class QueuedPromptText:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """All that waits: words for the turn that runs, and prompts for its end."""

    steer: tuple[QueuedPromptText, ...]
    follow_up: tuple[QueuedPromptText, ...]


@dataclass(frozen=True, slots=True)
class CommandInfo:
    """A slash command that a prompt may have; `hint` is what can stand behind its name, empty for nothing."""

    name: str
    description: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class CommandsChanged:
    """The slash commands that there are now."""

    commands: tuple[CommandInfo, ...]


@dataclass(frozen=True, slots=True)
class RetryEnded:
    """The attempts are over: an answer came, or `error` says why none did."""

    success: bool
    attempt: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class FallbackUsed:
    """Another model answers (`applied`), and later: it did (`succeeded`)."""

    state: Literal["applied", "succeeded"]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ContextPromoted:
    """A model with a larger window answers, since the conversation is too long for the other."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ReviewShown:
    """The user is asked; `kind` is write, shell or choice."""

    review_id: str
    call_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class ReviewResolved:
    review_id: str
    call_id: str
    decision: str


Event = (
    UserSaid
    | AnswerDelta
    | ThoughtDelta
    | CallNamed
    | CallTitled
    | CallReady
    | CallProposes
    | CallPreviewed
    | CallRunning
    | CallEnded
    | ModeChanged
    | ModelChanged
    | ApprovalsChanged
    | TitleChanged
    | UsageChanged
    | Notice
    | RetryWaiting
    | StateChanged
    | TurnStarted
    | TurnEnded
    | QueueChanged
    | CommandsChanged
    | RetryEnded
    | FallbackUsed
    | ContextPromoted
    | ReviewShown
    | ReviewResolved
)
