"""The events of a session, in the core's own terms. An adapter projects each event onto its wire.

The same events come live and from a stored conversation (`log/projection.py`), so that a replay is what was shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Usage

if TYPE_CHECKING:
    from north_lsp.agent.ports.work import WorkView
    from north_lsp.providers.base import Image
    from north_lsp.tools.todo_list import TodoList
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
    """`failure`: the text says that no complete answer comes; this is why, without the words around it."""

    message_id: str
    text: str
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallNamed:
    """The model has named a tool; its arguments are still arriving."""

    call_id: str
    tool: str
    kind: Kind
    title: str


@dataclass(frozen=True, slots=True)
class CallTitled:
    """The title of a call has become more precise."""

    call_id: str
    title: str


@dataclass(frozen=True, slots=True)
class CallPreviewed:
    """A preview of an edit, as far as it has arrived; nothing is decided, and nothing of it is stored."""

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
    """The call is allowed and running. `output` is the text so far, for people; `terminal` is the editor's terminal
    that shows it. `can_stop`: the user can stop this call alone."""

    call_id: str
    output: str | None = None
    terminal: str | None = None
    can_stop: bool = False


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task that an agent works on: its `id` (which `agent://` reads), its `state`, and what the agent does now."""

    id: str
    agent: str
    description: str
    state: str
    action: str = ""
    tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class TasksChanged:
    """How far the tasks of a call are. `is_over`: this is how they ended."""

    call_id: str
    tasks: tuple[TaskRow, ...]
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The call has its result; `text` is a short form for people, empty where the changes say enough. `truncation`
    describes what the model did not get of the result, `details` are the tool's own."""

    call_id: str
    title: str
    ok: bool
    text: str
    files: tuple[FileChange, ...] = ()
    locations: tuple[Location, ...] = ()
    truncation: Mapping[str, object] | None = None
    details: Mapping[str, object] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class ModeChanged:
    mode: Mode


@dataclass(frozen=True, slots=True)
class ModelChanged:
    selector: str


@dataclass(frozen=True, slots=True)
class ApprovalsChanged:
    """The approvals have changed: what runs or is written without a question in this project."""


@dataclass(frozen=True, slots=True)
class TitleChanged:
    title: str
    updated_at: str


_WARN, _HIGH = 0.60, 0.85


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """Usage after a model request: tokens in the context, the model's window, the conversation's cost in US dollars.
    `estimated`: the vendor reported no numbers; `priced` is False if a model with an unknown price was used; `tokens`
    is what the conversation has used, `counts` what they were, and `all_time_usd` what all conversations have cost
    (None: not known)."""

    used: int
    window: int
    cost_usd: float
    estimated: bool = False
    priced: bool = True
    tokens: int = 0
    all_time_usd: float | None = None
    counts: Usage = field(default_factory=Usage)

    @property
    def ratio(self) -> float:
        """How much of the window is used; 0 where its size is not known."""
        return self.used / self.window if self.window > 0 else 0.0

    @property
    def level(self) -> Literal["ok", "warn", "high"]:
        """How full the window is, in a word."""
        return "ok" if self.ratio < _WARN else "high" if self.ratio > _HIGH else "warn"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know that is not part of the conversation."""

    level: Literal["info", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True)
class RetryWaiting:
    """A failed model is going to be asked again: sent once a second while North waits (`state` waiting), and when that
    is over. `remaining_s` is in seconds, `message` says what failed, `kind` in which way (`network`, `rate_limit` …),
    and `is_first` marks the first event of a wait."""

    retry_id: str
    attempt: int
    of: int
    remaining_s: int
    message: str
    state: Literal["waiting", "over", "stopped"]
    is_first: bool = False
    kind: str = ""


Activity = Literal[
    "idle", "preparing", "streaming", "running_tools", "awaiting_review", "retrying", "compacting", "cancelling"
]


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The conversation's state has changed."""

    state: Activity


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn for the prompt that is stored under this id."""

    message_id: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn has ended; `reason` is its stop reason, or "error"."""

    message_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class TurnStopped:
    """The user has stopped the turn; `mark_id` is the entry that says so."""

    mark_id: str


@dataclass(frozen=True, slots=True)
class QueuedPromptText:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """All queued prompts: those for the running turn, and those for its end."""

    steer: tuple[QueuedPromptText, ...]
    follow_up: tuple[QueuedPromptText, ...]


@dataclass(frozen=True, slots=True)
class CommandInfo:
    """A slash command that a prompt may use; `hint` describes what can follow its name, empty for nothing."""

    name: str
    description: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class CommandsChanged:
    """The slash commands that are available now."""

    commands: tuple[CommandInfo, ...]


@dataclass(frozen=True, slots=True)
class RetryEnded:
    """The retries are over: an answer came, or `error` says why none did."""

    success: bool
    attempt: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class FallbackUsed:
    """A fallback answers (`applied`); later, it has answered (`succeeded`)."""

    state: Literal["applied", "succeeded"]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ContextPromoted:
    """A model with a larger window answers, since the conversation is too long for the other one."""

    before: str
    after: str


CompactionState = Literal["running", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class CompactionChanged:
    """The older part of the conversation is being summarized for the model, or has been: `summary` (Markdown) takes its
    place from here on. `reason` says why, `written` how many characters of the summary have arrived; tokens are
    estimates of a whole request before and after."""

    compaction_id: str
    state: CompactionState
    reason: str
    summary: str = ""
    short: str = ""
    tokens_before: int = 0
    tokens_after: int | None = None
    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    error: str = ""
    written: int = 0


@dataclass(frozen=True, slots=True)
class ConversationWanted:
    """The user wants to see another conversation, a stored one or a new one (no id): the client opens it."""

    id: str | None
    cwd: str
    title: str


@dataclass(frozen=True, slots=True)
class CloseWanted:
    """The user wants this conversation closed: the client closes it. It stays stored."""


@dataclass(frozen=True, slots=True)
class SettingsWanted:
    """The user wants to see the settings: a client that has a list of them opens it."""


@dataclass(frozen=True, slots=True)
class RulesBroken:
    """An answer was stopped while it streamed, since it goes against these rules."""

    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TodoWanted:
    """The user wants to see the todo list: a client in which it can be edited opens it."""


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The todo list has changed."""

    todo: TodoList


@dataclass(frozen=True, slots=True)
class WorkChanged:
    """The goal or the workflow has changed, or whether its evidence holds."""

    work: WorkView


@dataclass(frozen=True, slots=True)
class DocumentWanted:
    """The user wants to edit a document of North's, such as the plan: the client opens it."""

    path: Path


@dataclass(frozen=True, slots=True)
class TodoReminded:
    """The model stopped while tasks are open, and is reminded of them, for the nth time in this turn."""

    times: int
    open_count: int


@dataclass(frozen=True, slots=True)
class ReviewShown:
    """The user is being asked; `kind` is write, shell, choice, form or page."""

    review_id: str
    call_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class ReviewResolved:
    review_id: str
    call_id: str
    decision: str


@dataclass(frozen=True, slots=True)
class OpenElsewhere:
    """Another process writes the conversation: its number, the editor that it serves (empty if unknown), and what it
    does. `is_leaving`: its editor has gone, and it only ends what it had begun. `pid` is None when nobody does any
    more; then `unfinished` says why there is a turn to continue with (empty: there is none), and `queued` what had
    waited to be sent there. `notice` says the news for clients that have no other way to show it."""

    pid: int | None
    client: str = ""
    state: Activity = "idle"
    is_leaving: bool = False
    unfinished: str = ""
    queued: tuple[QueuedPromptText, ...] = ()
    notice: str = ""


@dataclass(frozen=True, slots=True)
class DraftFile:
    """An attachment of a prompt: the `path` of a file (with an inclusive range of lines), or else a text by its
    name."""

    name: str
    text: str
    path: Path | None = None
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt that belongs in the user's input again, with its attachments."""

    text: str
    files: tuple[DraftFile, ...] = ()
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class TranscriptReset:
    """The user went to another place of the conversation. `events` show what there is now, in place of everything that
    was shown before; `draft` is the prompt that the user went back to."""

    draft: Draft | None
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class ConversationCopied:
    """The user made a copy that is to be opened; `draft` is the prompt that a branch begins before."""

    conversation_id: str
    relation: Literal["fork", "branch"]
    draft: Draft | None = None


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
    | TasksChanged
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
    | TurnStopped
    | QueueChanged
    | CommandsChanged
    | RetryEnded
    | FallbackUsed
    | ContextPromoted
    | CompactionChanged
    | ConversationWanted
    | CloseWanted
    | SettingsWanted
    | TodoWanted
    | RulesBroken
    | PlanChanged
    | TodoReminded
    | WorkChanged
    | DocumentWanted
    | ReviewShown
    | ReviewResolved
    | OpenElsewhere
    | TranscriptReset
    | ConversationCopied
)
