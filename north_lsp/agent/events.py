"""What happens in a session, in the core's own words. An adapter projects each event onto its wire.

The same events come live and from a stored conversation (`replay.py`), so that what is replayed is what was shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from north_lsp.tools.base import Kind, Location, Mode
from north_lsp.workspace.proposal import FileChange


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A prompt that the client does not show by itself: on replay, or one that came from a queue."""

    message_id: str
    text: str


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
    """What runs or is applied unasked in this project is another than before."""


@dataclass(frozen=True, slots=True)
class TitleChanged:
    title: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """After each model request: tokens in the context, the model's window, the conversation's cost in US dollars."""

    used: int
    window: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know that is no part of the conversation."""

    level: Literal["info", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The model failed and is asked again: once a second while North waits (`state` waiting), and when that is over.
    `remaining_s` is in seconds, `message` says what failed, and `is_first` marks the first event of a wait."""

    retry_id: str
    attempt: int
    of: int
    remaining_s: int
    message: str
    state: Literal["waiting", "over", "stopped"]
    is_first: bool = False


Event = (
    UserSaid
    | AnswerDelta
    | ThoughtDelta
    | CallNamed
    | CallReady
    | CallProposes
    | CallRunning
    | CallEnded
    | ModeChanged
    | ModelChanged
    | ApprovalsChanged
    | TitleChanged
    | UsageChanged
    | Notice
    | Retrying
)
