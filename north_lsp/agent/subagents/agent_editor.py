"""What an agent shows and asks: its edits and commands appear in the client of the conversation, under its name, one
question after the other; everything else only says how far it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import anyio

from north_lsp.agent.log.agent_calls import agent_call_id
from north_lsp.agent.log.command_details import details_of_agents_call
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.results import AgentCallEntry, ResultDetails
from north_lsp.agent.ports.editor import (
    Choice,
    CommandDecision,
    CommandReview,
    Decided,
    EditDecision,
    Editor,
    EditReview,
    PassingEditor,
)
from north_lsp.agent.ports.events import (
    Activity,
    ApprovalsChanged,
    CallEnded,
    CallNamed,
    CallProposes,
    CallReady,
    CallRunning,
    CallTitled,
    Event,
    Notice,
    RetryWaiting,
    UsageChanged,
)
from north_lsp.agent.ports.forms import Form, FormAnswer, Page
from north_lsp.agent.ports.status import Status
from north_lsp.agent.subagents.contract import SUBMIT
from north_lsp.agent.subagents.progress import Progress
from north_lsp.agent.subagents.tool_words import TASK
from north_lsp.agent.subagents.working_time import WorkingTime
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.errors import ConversationBusy, ConversationClosed
from north_lsp.vocabulary import Kind

_HIDDEN = (SUBMIT, TASK)
_LONGEST_ARGUMENT = 2000


@dataclass(frozen=True, slots=True)
class Names:
    """How an agent is called where its calls are shown among those of the conversation."""

    id: str
    agent: str

    def call(self, call_id: str) -> str:
        return agent_call_id(self.id, call_id)

    def title(self, title: str) -> str:
        before = f"{self.agent}: "
        return title if title.startswith(before) else one_line(f"{before}{title}")

    @property
    def asker(self) -> str:
        return f"{self.agent} ({self.id})"


class AgentEditor(PassingEditor):
    """The editor of one agent: `editor` is the conversation's, `asking` lets one question be asked at a time, and
    `changed` is called when `progress` is; `time` stands still during questions. `was_stopped`: the user ended
    everything from one of its questions. Calls of the `shown_kinds` are shown among those of the conversation, and kept
    in its `log`."""

    shown_kinds: frozenset[Kind] = frozenset({"edit", "delete", "move", "execute", "other"})

    def __init__(
        self,
        editor: Editor,
        names: Names,
        progress: Progress,
        changed: Callable[[], Awaitable[None]],
        asking: anyio.Lock,
        time: WorkingTime,
        log: Log,
    ) -> None:
        super().__init__(editor)
        self._names = names
        self._progress = progress
        self._changed = changed
        self._asking = asking
        self.time = time
        self._log = log
        self._shown: dict[str, AgentCallEntry] = {}
        self.was_stopped = False
        self.problem = ""

    async def act(self, action: str) -> None:
        """Say what the agent does now."""
        self._progress.action = action
        await self._changed()

    async def show(self, event: Event) -> None:
        match event:
            case CallNamed(id, tool, kind, title):
                await self.act(title)
                if kind in self.shown_kinds and tool not in _HIDDEN:
                    call = AgentCallEntry(self._names.call(id), tool, kind, self._names.title(title))
                    self._shown[call.call_id] = call
                    await super().show(replace(event, call_id=call.call_id, title=call.title))
            case CallReady(id, title, arguments, locations):
                await self.act(title)
                if (begun := self._shown.get(self._names.call(id))) is not None:
                    shown = {name: value for name, value in arguments.items() if not _is_long(value)}
                    call = replace(begun, title=self._names.title(title), arguments=shown)
                    self._shown[call.call_id] = replace(call, details=replace(call.details, locations=locations))
                    await super().show(CallReady(call.call_id, call.title, shown, locations))
            case CallTitled() | CallProposes():
                await self.act(event.title)
                if (id := self._names.call(event.call_id)) in self._shown:
                    await super().show(replace(event, call_id=id, title=self._names.title(event.title)))
            case CallEnded():
                if (begun := self._shown.pop(self._names.call(event.call_id), None)) is not None:
                    ended = replace(event, call_id=begun.call_id, title=self._names.title(event.title))
                    self._keep(begun, ended)
                    await super().show(ended)
            case CallRunning():
                if (id := self._names.call(event.call_id)) in self._shown:
                    await super().show(replace(event, call_id=id))
            case RetryWaiting(state="waiting"):
                await self.act(f"waiting to ask the model again: {event.message}")
            case Notice(level, text) if level != "info":
                self.problem = text
                if level == "error":
                    await super().show(replace(event, text=f"{self._names.asker}: {text}"))
                else:  # it is about a turn of the user's, in words for that
                    await self.act(text)
            case UsageChanged() | ApprovalsChanged():
                await super().show(event)
            case _:
                pass

    def _keep(self, begun: AgentCallEntry, ended: CallEnded) -> None:
        """Write a call that has ended to the conversation's log, so that it is shown again when that is loaded."""
        details = ResultDetails(
            ended.title,
            ended.text,
            ended.ok,
            bool(ended.files),
            locations=ended.locations or begun.details.locations,
            truncation=ended.truncation,
            of_tool=details_of_agents_call(ended.details),
        )
        with suppress(ConversationBusy, ConversationClosed):
            self._log.append(replace(begun, details=details))

    # -- questions ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _question(self) -> AsyncIterator[None]:
        """Wait in line for a question, and for its answer."""
        with self.time.stopped():
            async with self._asking:
                yield

    async def review_edit(self, review: EditReview) -> EditDecision:
        async with self._question():
            await self.act(f"waiting for you: {review.title}")
            decision = await self._editor.review_edit(replace(review, asker=self._names.asker))
        self.was_stopped = self.was_stopped or decision.kind == "stop"
        return decision

    async def review_command(self, review: CommandReview) -> CommandDecision:
        async with self._question():
            await self.act(f"waiting for you: {review.title}")
            decision = await self._editor.review_command(replace(review, asker=self._names.asker))
        self.was_stopped = self.was_stopped or decision.kind == "stop"
        return decision

    async def decide(self, choice: Choice) -> Decided:
        async with self._question():
            return await self._editor.decide(self._named(choice))

    async def choose(self, choice: Choice) -> str | None:
        async with self._question():
            return await self._editor.choose(self._named(choice))

    def _named(self, choice: Choice) -> Choice:
        """Return a question as the conversation's client gets it: under the agent's name, and of the call as that was
        shown. A call's own id says nothing there, and may be that of another call."""
        call_id = self._names.call(choice.call_id)
        return replace(
            choice,
            id=self._names.call(choice.id) if choice.id == choice.call_id else choice.id,
            question=f"{self._names.asker}: {choice.question}",
            call_id=call_id if call_id in self._shown else "",
        )

    async def fill(self, form: Form) -> FormAnswer | None:
        async with self._question():
            return await self._editor.fill(replace(form, message=f"{self._names.asker}: {form.message}"))

    async def open_page(self, page: Page) -> FormAnswer | None:
        async with self._question():
            return await self._editor.open_page(page)


def _is_long(value: object) -> bool:
    """Tell whether an argument is a text that its call's changes show anyway: it is not kept twice."""
    return isinstance(value, list | dict) or (isinstance(value, str) and len(value) > _LONGEST_ARGUMENT)


class AgentStatus(Status):
    """An agent's state: it stands still where its conversation does, which says nothing of it."""

    def __init__(self, editor: AgentEditor, of_conversation: Status) -> None:
        super().__init__(editor)
        self._agents_editor = editor
        self._of_conversation = of_conversation

    async def before_step(self) -> None:
        await self._of_conversation.before_step()

    async def set(self, state: Activity) -> None:
        if state == "streaming":
            await self._agents_editor.act("thinking")
