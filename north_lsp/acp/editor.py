"""The Editor port over ACP: updates and permission requests."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from north_lsp.acp import extension_events, questions, v1
from north_lsp.acp.elicitation import Elicitation, as_form, chosen
from north_lsp.acp.groups import AboutCall, ReadGroups
from north_lsp.acp.held_notices import HeldNotices
from north_lsp.acp.initialize import Client
from north_lsp.acp.plain import without_extension
from north_lsp.acp.terminals import ClientTerminal
from north_lsp.agent.ports.editor import (
    NOBODY,
    Choice,
    CommandDecision,
    CommandReview,
    Decided,
    EditDecision,
    EditReview,
    OpenTexts,
    decide_without_asking,
)
from north_lsp.agent.ports.events import (
    ApprovalsChanged,
    CallEnded,
    CallNamed,
    CallProposes,
    CallReady,
    CallTitled,
    Event,
    ModeChanged,
    ModelChanged,
    Notice,
    TasksChanged,
    TranscriptReset,
)
from north_lsp.agent.ports.forms import Form, FormAnswer, Page
from north_lsp.rpc.messages import RpcError
from north_lsp.rpc.peer import Peer
from north_lsp.workspace.proposal import FileChange

if TYPE_CHECKING:
    from north_lsp.acp.subagents import Children

_PLACEHOLDER = "…"
Titled = CallTitled | CallReady | CallProposes | CallEnded


class AcpEditor:
    """One session's editor over ACP. Texts come from `documents`, which differ by carrier."""

    def __init__(
        self,
        peer: Peer,
        session_id: str,
        client: Client,
        documents: OpenTexts,
        options: Callable[[], list[dict[str, Any]]],
        numbers: Iterator[int] | None = None,
        held: HeldNotices | None = None,
    ) -> None:
        self._peer = peer
        self._session_id = session_id
        self._client = client
        self._documents = documents
        self._options = options
        self._elicitation = Elicitation(peer, {"sessionId": session_id}, client)
        self._groups = ReadGroups()
        self._children: Children | None = None
        self._unnamed: dict[str, CallNamed] = {}
        self._numbers = numbers if numbers is not None else itertools.count(1)
        self._held = held

    async def show(self, event: Event) -> None:
        """Show an event. Clients that do not know North may keep the first title of a call, so for them a call is
        announced only once its final title is known."""
        if not self._client.knows_north:
            if isinstance(event, CallNamed) and _PLACEHOLDER in event.title:
                self._unnamed[event.call_id] = event
                return
            named = self._unnamed.pop(event.call_id, None) if isinstance(event, AboutCall) else None
            if named is not None:
                await self._show(replace(named, title=event.title if isinstance(event, Titled) else named.title))
                if isinstance(event, CallTitled):
                    return
        await self._show(event)

    async def _show(self, event: Event) -> None:
        options = self._options() if isinstance(event, ModeChanged | ModelChanged | ApprovalsChanged) else []
        updates = list(self._groups.mark(event, v1.updates(event, self._client, options)))
        if isinstance(event, TasksChanged) and self._client.shows_children:
            updates = [*self._of_children(event), *updates]
        for update in updates:
            shown = update if self._client.gets_extension else without_extension(update)
            params: dict[str, Any] = {"sessionId": self._session_id, "update": shown}
            if self._client.hears_events:
                params["_meta"] = {"north": self._stamp()}
            if self._held is not None and isinstance(event, Notice) and self._held.takes(params):
                continue
            await self._peer.notify("session/update", params)
        if self._client.hears_events:
            for name, fields in extension_events.to_extension_events(event):
                if name == "attention" and not self._client.wants_attention:
                    continue
                params = {"sessionId": self._session_id, **self._stamp(), "event": name, **fields}
                await self._peer.notify("_north/event", params)
            if isinstance(event, TranscriptReset):
                self._groups = ReadGroups()
                for one in event.events:
                    await self.show(one)

    def _of_children(self, event: TasksChanged) -> list[dict[str, Any]]:
        from north_lsp.acp.subagents import Children

        self._children = self._children or Children(self._session_id)
        return self._children.updates(event)

    def _stamp(self) -> dict[str, Any]:
        """Return the next sequence number of the session and the current time (ms since 1970)."""
        return {"seq": next(self._numbers), "timestamp": round(time.time() * 1000)}

    async def review_edit(self, review: EditReview) -> EditDecision:
        if not self._client.has_ui:
            return EditDecision("reject", NOBODY)
        params = questions.edit_permission(self._session_id, review, self._client)
        option, answer = await self._ask(params)
        return questions.edit_decision(answer, option, review)

    async def review_command(self, review: CommandReview) -> CommandDecision:
        if not self._client.has_ui:
            return decide_without_asking(review)
        option, answer = await self._ask(questions.command_permission(self._session_id, review, self._client))
        return questions.command_decision(answer, option)

    @property
    def has_user(self) -> bool:
        return self._client.has_ui

    async def choose(self, choice: Choice) -> str | None:
        return (await self.decide(choice)).option

    async def decide(self, choice: Choice) -> Decided:
        if not self._client.has_ui:
            return Decided(None)
        if not self._client.knows_north and (form := await self._elicitation.fill(as_form(choice))) is not None:
            return Decided(chosen(form, choice))
        option, said = await self._ask(questions.choice_permission(self._session_id, choice, self._client))
        if (confirm := questions.has_to_be_confirmed(choice, self._client, option)) is not None:
            answer, _ = await self._ask(questions.choice_permission(self._session_id, confirm, self._client))
            await self._end(confirm, answer)
            option = option if answer == "yes" else choice.options[-1][0]
        await self._end(choice, option)
        return Decided(None) if option == "stop" else Decided(option, questions.comment_of(said))

    async def _end(self, choice: Choice, option: str | None) -> None:
        """Tell a client which takes a question for a call of a tool that it has ended; those of calls end with them."""
        if not choice.call_id and not self._client.knows_north:
            params = {"sessionId": self._session_id, "update": questions.choice_ended(choice, option)}
            await self._peer.notify("session/update", params)

    async def fill(self, form: Form) -> FormAnswer | None:
        return await self._elicitation.fill(form) if self._client.has_ui else None

    async def open_page(self, page: Page) -> FormAnswer | None:
        return await self._elicitation.open(page) if self._client.has_ui else None

    async def page_done(self, page: Page) -> None:
        await self._elicitation.done(page)

    async def open_terminal(self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> ClientTerminal | None:
        if not self._client.has_terminals:
            return None
        return await ClientTerminal.create(self._peer, self._session_id, argv, cwd, environ)

    async def _ask(self, params: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
        """Ask for permission. Returns the chosen option ("stop" for a cancelled question, None for anything that was
        not offered) and the whole answer."""
        shown, own_ids = questions.for_client(params, self._client)
        try:
            answer = await self._peer.request("session/request_permission", shown, cancellable=True)
        except RpcError:
            if self._client.comes_back and self._peer.has_ended:
                await anyio.sleep_forever()  # it stays asked: the user decides when the client is back
            return None, {}
        if not isinstance(answer, dict):
            return None, {}
        outcome = answer.get("outcome")
        if not isinstance(outcome, dict):
            return None, answer
        if outcome.get("outcome") == "cancelled":
            return "stop", answer
        picked = outcome.get("optionId")
        if outcome.get("outcome") != "selected" or not isinstance(picked, str):
            return None, answer
        return own_ids.get(picked), answer

    async def unsaved_texts(self) -> Mapping[Path, str]:
        return await self._documents.unsaved_texts()

    async def read_unsaved(self, path: Path) -> str | None:
        return await self._documents.read_unsaved(path)

    async def changes_owned_by_editor(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return await self._documents.changes_owned_by_editor(changes)

    async def apply(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return await self._documents.apply(changes)

    async def learn_of_disk(self, changes: Sequence[FileChange]) -> None:
        await self._documents.learn_of_disk(changes)
