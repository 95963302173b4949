"""The chat for clients that have none: a Markdown document in which the user writes and North answers, and commands for
all that a person needs around it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from north_lsp.agent.log.modes import MODES, find_mode
from north_lsp.agent.log.prompt import Part, TextPart
from north_lsp.agent.ports.events import Event
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.session import Session
from north_lsp.display import one_line, sentence, visible
from north_lsp.lsp import chat_text
from north_lsp.lsp.chat_document import ChatDocument
from north_lsp.lsp.chat_edits import ChatEdits, Refused
from north_lsp.lsp.conversation import Asked, CurrentConversation, Turned
from north_lsp.lsp.file_actions import Task, file_part, read_task
from north_lsp.lsp.initialize import LspClient
from north_lsp.lsp.own_chat import OwnChat
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.rpc.messages import INVALID_PARAMS, INVALID_REQUEST, RESOURCE_NOT_FOUND, RpcError, invalid_params
from north_lsp.rpc.peer import Peer
from north_lsp.storage.conversation import ConversationBusy, ConversationClosed
from north_lsp.uris import local_path
from north_lsp.workspace.edit.positions import position_of

_ERROR, _WARNING, _INFO = 1, 2, 3
_SHOW_SECONDS = 5.0
_REFRESH_SECONDS = 0.1
_MOST_LISTED = 12
_LONGEST_MESSAGE = 1500

Command = Callable[[dict[str, Any]], Awaitable[object]]


class Chat:
    """The chat of one connection. `commands` are its LSP commands by name, each with its first argument. `own_chat` is
    that of a client that has one itself: prompts of code actions go there."""

    def __init__(
        self,
        peer: Peer,
        client: LspClient,
        edits: ChatEdits,
        conversation: CurrentConversation,
        environment: Environment,
    ) -> None:
        self._peer = peer
        self._client = client
        self._edits = edits
        self._conversation = conversation
        self._environment = environment
        self.own_chat: OwnChat | None = None
        conversation.on_change = self.refresh_lenses
        conversation.on_switch = self._show_current
        conversation.on_missed = self._catch_up
        conversation.editor.questions.on_change = self.refresh_lenses
        self.commands: dict[str, Command] = {
            "north.action": partial(self._apart, self._do_task),
            "north.answer": self._answer,
            "north.models": self._models,
            "north.openChat": self._open,
            "north.openConversation": self._open_conversation,
            "north.redo": partial(self._run_fixed, "/redo"),
            "north.renewChat": partial(self._apart, self._renew),
            "north.run": self._run,
            "north.send": partial(self._apart, self._send),
            "north.setMode": self._set_mode,
            "north.setModel": self._set_model,
            "north.steer": self._steer,
            "north.undo": partial(self._run_fixed, "/undo"),
        }

    async def _apart(self, command: Command, given: dict[str, Any]) -> object:
        """Carry a command out beside its answer, which comes at once: many editors do nothing else until it is there,
        and so could neither take an edit nor ask a question. What goes wrong is told by a message."""
        self._environment.background.start_soon(self._told, command, given)
        return None

    async def _told(self, command: Command, given: dict[str, Any]) -> None:
        try:
            await command(given)
        except (RpcError, ConversationBusy, ConversationClosed) as error:
            await self.tell(str(error), _ERROR)

    # -- the document --------------------------------------------------------------------------------------------------

    def id_of(self, path: Path | None) -> str | None:
        """Return the id of the conversation whose document this is; None if it is none."""
        if path is None or path.name != chat_text.NAME:
            return None
        known = self._conversation.document
        if known is not None and os.path.realpath(path) == os.path.realpath(known.path):
            return known.id  # also of one that is not saved
        folder = os.path.realpath(path.parent.parent)
        return path.parent.name if folder == os.path.realpath(self._environment.locations.conversations) else None

    async def attach(self, session: Session) -> ChatDocument:
        """Return the document of the current conversation, made from it if there is none yet. Raises RpcError."""
        known = self._conversation.document
        if known is not None and known.id == session.id:
            if await known.is_stale():
                with suppress(Refused, OSError):
                    await known.renew(await _events(session))
            return known
        path = Path(os.path.realpath(session.file.with_suffix(""))) / chat_text.NAME
        document = ChatDocument(session.id, path, session.roots[0], self._edits, self._environment.background)
        await session.keep()
        try:
            await document.write(await _events(session))
        except OSError as error:
            raise RpcError(INVALID_REQUEST, f"{path} cannot be written: {error.strerror or error}") from None
        document.is_outdated = self._conversation.is_running  # what streams now is not in it
        self._conversation.document = document
        return document

    async def _of(self, given: dict[str, Any]) -> ChatDocument:
        """Return the document that a command is about: the one that it names, else the current one. Raises RpcError."""
        uri = given.get("uri")
        id = self.id_of(local_path(uri)) if uri is not None else None
        if uri is not None and id is None:
            raise invalid_params("arguments[0].uri", "must name a chat document of North's")
        current = self._conversation.session
        if id is not None and (current is None or current.id != id):
            if self._conversation.is_running:
                told = "another conversation is being answered: wait until that is done, or stop it"
                raise RpcError(INVALID_REQUEST, told)
            await self._conversation.load(id)
        return await self.attach(await self._conversation.current())

    async def show(self, document: ChatDocument, *, take_focus: bool = True) -> bool:
        """Have the client show a document with the cursor where the user writes. Returns whether it did; otherwise the
        user is told where it is."""
        if self._client.shows_documents:
            params: dict[str, Any] = {"uri": document.path.as_uri(), "external": False, "takeFocus": take_focus}
            if take_focus or self._edits.opened(document.path) is None:
                text = await document.text()
                at = position_of(text, chat_text.cursor(text), self._client.encoding)
                place = {"line": at.line, "character": at.character}
                params["selection"] = {"start": place, "end": place}
            with suppress(RpcError), anyio.move_on_after(_SHOW_SECONDS):
                answer = await self._peer.request("window/showDocument", params, cancellable=True)
                if isinstance(answer, dict) and answer.get("success") is True:
                    return True
        if self._edits.opened(document.path) is None:
            await self.tell(f"The conversation is in {document.path}. Open that file to write and to read.")
        return False

    async def _show_current(self) -> None:
        await self.show(await self.attach(await self._conversation.current()))

    async def _catch_up(self) -> None:
        """Write into the document what it does not show yet."""
        await self._told(self._renew, {})

    async def tell(self, text: str, level: int = _INFO) -> None:
        """Show a message."""
        await self._peer.notify("window/showMessage", {"type": level, "message": sentence(visible(text))})

    async def tell_error(self, text: str) -> None:
        """Show an error."""
        await self.tell(text, _ERROR)

    async def refresh_lenses(self) -> None:
        """Make the client request the lenses again."""
        if self._client.refreshes_lenses and self._conversation.document is not None:
            with suppress(RpcError), anyio.move_on_after(_REFRESH_SECONDS):
                await self._peer.request("workspace/codeLens/refresh", None, cancellable=True)

    # -- prompts -------------------------------------------------------------------------------------------------------

    async def _open(self, given: dict[str, Any]) -> object:
        """Show the chat document: `{uri?}` → `{conversationId, uri}`."""
        document = await self._of(given)
        if await self.show(document):
            self._environment.background.start_soon(self._check_open, document)
        return {"conversationId": document.id, "uri": document.path.as_uri()}

    async def _check_open(self, document: ChatDocument) -> None:
        """Tell the user if the editor shows a document without telling North of it."""
        if not await self._edits.wait_until_open(document.path):
            await self.tell(
                "This editor does not connect North with its chat document. Start North for Markdown files too, with "
                f"one server for the project and {document.path.parent.parent}: `north-lsp docs editors` says how.",
                _WARNING,
            )

    async def _send(self, given: dict[str, Any], *, steers: bool = False) -> None:
        """Send what is unsent in a document: `{uri?}`; the answer comes into the document. During a turn it waits for
        the end, or steers it."""
        document = await self._of(given)
        if document.is_behind():
            told = f"North has written the answer into {document.path}: reload that file before you send more"
            raise RpcError(INVALID_REQUEST, told)
        waits = self._conversation.is_running
        try:
            sent = await document.send(waits=waits)
        except (Refused, OSError) as error:
            raise RpcError(INVALID_REQUEST, _not_written(document, error)) from None
        if sent is None:
            await self.tell(f"There is nothing to send: write below the last “{chat_text.YOU}” first.", _WARNING)
            return
        prompt, number = sent
        asked = Asked((TextPart(prompt),), prompt, document=document, number=number)
        if waits:
            self._environment.background.start_soon(self._queue, asked, steers)
        else:
            self._environment.background.start_soon(self._turn, asked)
        if self._edits.opened(document.path) is not None and self._edits.edits:
            await self.show(document)

    async def _queue(self, asked: Asked, steers: bool) -> None:
        """Have a prompt wait for the running turn, or become a part of it."""
        session, document = self._conversation.session, asked.document
        if session is not None and document is not None:
            with suppress(ValueError):
                if not steers:
                    await session.intake.follow_up(asked.parts)
                    return
                if (await session.intake.steer(asked.parts)).delivered:
                    return
            if asked.number is not None:
                document.forget(asked.number)
        await self._turn(asked)

    async def _steer(self, given: dict[str, Any]) -> object:
        """Steer the running turn with a prompt: → `{delivered}`; without one, with what is unsent in a document."""
        text = given.get("prompt", given.get("value"))
        if text is None:
            return await self._apart(partial(self._send, steers=True), given)
        session = self._conversation.session
        if not isinstance(text, str) or not text.strip():
            raise invalid_params("arguments[0].prompt", "must be a prompt")
        try:
            if session is None:
                raise ValueError("no turn is running: send a prompt instead")
            return {"delivered": (await session.intake.steer((TextPart(text),))).delivered}
        except ValueError as error:
            raise RpcError(INVALID_REQUEST, str(error)) from None

    async def _turn(self, asked: Asked) -> None:
        """Run a turn whose answer comes into the document, and say what went wrong with it."""
        try:
            turned = await self._conversation.ask(asked)
        except RpcError as error:
            await self.tell(str(error), _ERROR)
            return
        document = self._conversation.document
        await self.tell_unanswered(turned)
        if document is None or document.id != turned.conversation_id:
            return
        if document.is_lost:
            await self.tell(
                "The answer is incomplete in the document, which was changed around it: North: show it all again "
                "(the command north.renewChat) writes what is missing.",
                _WARNING,
            )
        if self._edits.opened(document.path) is None or not self._edits.edits:
            cut = turned.text if len(turned.text) <= _LONGEST_MESSAGE else turned.text[:_LONGEST_MESSAGE] + " …"
            await self.tell(f"{cut}\n\nThe conversation is in {document.path}.")

    async def tell_unanswered(self, turned: Turned) -> None:
        """Tell the user which prompts waited for a turn in vain."""
        for text in turned.unanswered:
            await self.tell(f"Not sent, since the turn was stopped: {one_line(text, 200)}. Send it again if you like.")

    async def _run(self, given: dict[str, Any]) -> object:
        """Send a prompt that was not written in the document: `{text}` or the bare text → `{conversationId}`. During a
        turn a slash command is run at once, and anything else waits for the end."""
        text = given.get("text", given.get("value"))
        if not isinstance(text, str) or not text.strip():
            raise invalid_params("arguments[0].text", "must be a prompt, such as /costs")
        if self._conversation.is_running:
            document = await self._of({})
            asked = Asked((TextPart(text),), text, document=document)
            self._environment.background.start_soon(self._queue, asked, False)
            return {"conversationId": document.id, "uri": document.path.as_uri()}
        return await self.start((TextPart(text),), text)

    async def _run_fixed(self, text: str, given: dict[str, Any]) -> object:
        return await self.start((TextPart(text),), text)

    async def start(self, parts: tuple[Part, ...], title: str) -> object:
        """Begin a turn whose answer comes into the document, which is shown: → `{conversationId, uri}`."""
        document = await self._of({})
        self._environment.background.start_soon(self._shown_turn, document, Asked(parts, title))
        return {"conversationId": document.id, "uri": document.path.as_uri()}

    async def _shown_turn(self, document: ChatDocument, asked: Asked) -> None:
        if await self.show(document, take_focus=False):  # also if it is open: it may be hidden
            await self._edits.wait_until_open(document.path)
        await self._turn(asked)

    async def _renew(self, given: dict[str, Any]) -> object:
        """Write the whole conversation into its document again; what is unsent stays: `{uri?}` → `{uri}`."""
        document = await self._of(given)
        if self._conversation.is_running:
            raise RpcError(INVALID_REQUEST, "an answer is being written: wait until it is done, or stop it")
        session = await self._conversation.current()
        try:
            await document.renew(await _events(session))
        except (Refused, OSError) as error:
            raise RpcError(INVALID_REQUEST, _not_written(document, error)) from None
        return {"uri": document.path.as_uri()}

    async def _do_task(self, given: dict[str, Any]) -> object:
        """Do what a code action in a file says."""
        task: Task = read_task(given, self._conversation.roots().main)
        if self.own_chat is not None:
            prompt = task.prompt or task.mention
            return self.own_chat.send((TextPart(prompt), *file_part(given)), prompt)
        if task.prompt is not None:
            return await self.start((TextPart(task.prompt), *file_part(given)), task.prompt)
        document = await self._of({})
        try:
            await document.add_to_unsent(task.mention)
        except (Refused, OSError) as error:
            raise RpcError(INVALID_REQUEST, _not_written(document, error)) from None
        await self.show(document)
        return {"conversationId": document.id, "uri": document.path.as_uri()}

    # -- around it -----------------------------------------------------------------------------------------------------

    async def _answer(self, given: dict[str, Any]) -> object:
        """Answer the question that waits: `{question, answer}` → `{answered}`."""
        waiting = self._conversation.editor.questions.waiting
        if waiting is None or waiting.id != given.get("question"):
            raise RpcError(RESOURCE_NOT_FOUND, "this question is no longer open")
        document = self._conversation.document
        text = await document.text() if document is not None else ""
        if waiting.noted and chat_text.quoted(waiting.noted) not in text.replace("\r\n", "\n"):
            told = "the question is incomplete in the document, so it cannot be answered there: stop the turn"
            raise RpcError(INVALID_REQUEST, told)
        return {"answered": waiting.answer(str(given.get("answer")))}

    async def _set_mode(self, given: dict[str, Any]) -> object:
        """Set the mode: `{mode}` or the bare mode → `{mode}`; without one, the user is asked."""
        wanted = given.get("mode", given.get("value"))
        if wanted is None:
            return await self._apart(self._ask_mode, {})
        try:
            mode = find_mode(str(wanted))
        except ValueError as error:
            raise RpcError(INVALID_PARAMS, f"invalid params: {error}", {"field": "arguments[0].mode"}) from None
        self._conversation.mode = mode
        if self._conversation.session is not None:
            await self._conversation.session.set_mode(mode)
        await self.refresh_lenses()
        return {"mode": mode}

    async def _ask_mode(self, given: dict[str, Any]) -> object:
        now = (await self._conversation.current()).mode
        options = {f"{mode.name}{' (now)' if mode.id == now else ''}: {mode.description}": mode.id for mode in MODES}
        chosen = await self._choose("Which mode?", options)
        return await self._set_mode({"mode": chosen}) if chosen is not None else None

    async def _models(self, given: dict[str, Any]) -> object:
        """Return the models that can be used: → `[{model, name, current}]`."""
        choice = (await self._conversation.current()).choice
        await choice.models.catalog_refresh.refresh()
        return [
            {"model": model.selector, "name": model.title, "current": model.selector == choice.model.selector}
            for model in choice.offered
        ]

    async def _set_model(self, given: dict[str, Any]) -> object:
        """Choose a model: `{model}` or the bare selector → `{model}`; without one, the user is asked."""
        wanted = given.get("model", given.get("value"))
        if wanted is None:
            return await self._apart(self._ask_model, {})
        choice = (await self._conversation.current()).choice
        try:
            await choice.choose(await choice.find(str(wanted)))
        except (UnknownModel, ValueError) as error:
            raise invalid_params("arguments[0].model", str(error)) from None
        await self.refresh_lenses()
        return {"model": choice.model.selector}

    async def _ask_model(self, given: dict[str, Any]) -> object:
        choice = (await self._conversation.current()).choice
        await choice.models.catalog_refresh.refresh()
        offered = [model for model in choice.offered if model.selector != choice.model.selector]
        if not offered:
            await self.tell(f"There is no other model than {choice.model.selector} yet: `north-lsp login` adds a key.")
            return None
        text = f"The model is {choice.model.selector}. Which one instead?"
        if len(offered) > _MOST_LISTED:
            text += f" {len(offered) - _MOST_LISTED} more are completed after “/model ” in the chat document."
        chosen = await self._choose(text, {model.selector: model.selector for model in offered[:_MOST_LISTED]})
        return await self._set_model({"model": chosen}) if chosen is not None else None

    async def _open_conversation(self, given: dict[str, Any]) -> object:
        """Show the document of a conversation: `{conversationId}` or the bare id → `{conversationId, uri}`; without
        one, the user is asked."""
        id = given.get("conversationId", given.get("value"))
        if id is None:
            return await self._apart(self._ask_conversation, {})
        if not isinstance(id, str):
            raise invalid_params("arguments[0].conversationId", "must be a conversation's id")
        await self._conversation.load(id)
        document = await self.attach(await self._conversation.current())
        await self.show(document)
        return {"conversationId": document.id, "uri": document.path.as_uri()}

    async def _ask_conversation(self, given: dict[str, Any]) -> object:
        rows = await Conversations(self._environment.locations).of_project(self._conversation.roots().main)
        names = {f"{one_line(row.name)} ({row.id[:8]})": row.id for row in rows[:_MOST_LISTED] if row.name}
        if not names:
            await self.tell("There is no other conversation here yet.")
            return None
        chosen = await self._choose("Which conversation?", names)
        return await self._open_conversation({"conversationId": chosen}) if chosen is not None else None

    async def _choose(self, question: str, options: Mapping[str, str]) -> str | None:
        with suppress(RpcError):
            return await self._conversation.editor.questions.ask(question, options, _INFO)
        return None


async def _events(session: Session) -> list[Event]:
    """Return what a conversation shows when it is opened."""
    found: list[Event] = []

    async def take(event: Event) -> None:
        found.append(event)

    await session.replay(take)
    return found


def _not_written(document: ChatDocument, error: Exception) -> str:
    why = error.strerror or str(error) if isinstance(error, OSError) else "the editor did not take the text"
    return f"nothing was sent: {why} ({document.path})"
