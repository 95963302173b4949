"""The conversation of a client without the chat: one is current at a time, and its turns follow each other."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path

import anyio

from north_lsp.agent.log.prompt import Part
from north_lsp.agent.ports.events import ConversationCopied, ConversationWanted, Event, Notice
from north_lsp.agent.session.factory import SessionFactory
from north_lsp.agent.session.opening.other_folders import OtherProject, UnlikeFolder, is_agreed
from north_lsp.agent.session.process.asking import Questions
from north_lsp.agent.session.process.switching import Reason, Switch, SwitchKept
from north_lsp.agent.session.session import Session
from north_lsp.agent.turn.failure import ModelFailed
from north_lsp.display import visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lsp.chat_document import ChatDocument
from north_lsp.lsp.chat_edits import Refused
from north_lsp.lsp.editor import PlainEditor
from north_lsp.lsp.progress import Progress
from north_lsp.providers.credentials import MissingCredential
from north_lsp.rpc.messages import AUTH_REQUIRED, INVALID_REQUEST, RESOURCE_NOT_FOUND, RpcError
from north_lsp.rpc.peer import Call
from north_lsp.storage.conversation import UnknownConversation
from north_lsp.vocabulary import Mode
from north_lsp.workspace.paths import Roots


@dataclass
class Asked:
    """A prompt on its way. `title` is what is shown of it; `call` is the request that waits for the answer, and `token`
    the one on which it wants to hear of progress. `document` and `number` say where the answer belongs, if the prompt
    stands in a document already."""

    parts: tuple[Part, ...]
    title: str
    call: Call | None = None
    token: str | int | None = None
    document: ChatDocument | None = None
    number: int | None = None
    waiting: anyio.CancelScope = field(default_factory=anyio.CancelScope)


@dataclass(frozen=True, slots=True)
class Turned:
    """How a turn ended. `unanswered` are prompts that waited for it in vain."""

    conversation_id: str | None
    stopped: str
    text: str
    unanswered: tuple[str, ...] = ()


class CurrentConversation:
    """`document` is that of the current conversation, once somebody has asked for it. `on_change` is awaited when what
    can be done now has changed, `on_switch` when a turn that was shown in a document has led to another conversation,
    and `on_missed` when a turn has ended that was not written into the document, which was asked for meanwhile."""

    def __init__(
        self, factory: SessionFactory, editor: PlainEditor, progress: Progress, folders: list[Path], mode: Mode
    ) -> None:
        self.folders = folders
        self.mode = mode
        self.session: Session | None = None
        self.document: ChatDocument | None = None
        self.on_change: Callable[[], Awaitable[None]] = _nothing
        self.on_switch: Callable[[], Awaitable[None]] = _nothing
        self.on_missed: Callable[[], Awaitable[None]] = _nothing
        self.is_running = self._has_begun = False
        self._factory = factory
        self._editor = editor
        self._progress = progress
        self._asking, self._opening = anyio.Lock(), anyio.Lock()
        self._waiting: list[anyio.CancelScope] = []  # the scopes of prompts whose turn has not begun

    @property
    def editor(self) -> PlainEditor:
        return self._editor

    @property
    def token(self) -> str | int | None:
        """The progress token of what runs."""
        return self._progress.token

    def roots(self) -> Roots:
        """Return the open folders. Raises RpcError if there is none."""
        existing = [folder for folder in self.folders if os.path.isdir(folder)]
        if not existing:
            raise RpcError(INVALID_REQUEST, "no folder is open: open the project's folder in the editor first")
        return Roots.of(*existing)

    async def current(self) -> Session:
        """Return the conversation to continue. If folders were opened or closed since, it is opened again with the
        current ones, after the turn that runs; another main folder is another project and starts a new conversation."""
        async with self._opening:
            session = self.session
            if session is not None and (session.is_running or self._has_begun):
                return session
            roots = self.roots()
            if session is None:
                return self._start()
            if session.roots == roots.roots:
                return session
            await session.close("exit")
            try:
                self.session = await self._factory.open(session.id, roots)
            except (UnknownConversation, OtherProject, UnlikeFolder):
                return self._start()
            return self.session

    def _start(self) -> Session:
        self.session = self._factory.new(self.roots(), self.mode)
        self.document = None
        return self.session

    async def close(self, reason: str) -> None:
        if self.session is not None:
            await self.session.close(reason)

    def stop(self) -> None:
        """Stop the running turn and give up prompts that wait."""
        for scope in self._waiting:
            scope.cancel()
        if self.session is not None:
            self.session.cancel()

    async def begin_anew(self) -> Session:
        """Begin a new conversation; the shell of the one before continues. Raises RpcError."""
        switch = await self._leave("new", None)
        self.stop()
        async with self._asking:
            before = self.session
            session = self._start()
            if before is not None:
                session.take_over_shell(before)
                await before.close("exit")
            await self._arrived(switch, session)
            return session

    async def load(self, id: str) -> tuple[Session, str]:
        """Make a stored conversation the current one; returns it with its text. Raises RpcError."""
        switch = await self._leave(None, id)
        self.stop()
        async with self._asking:
            session = await self.switch_to(id)
            self._editor.take_answer()
            await session.replay(self._editor.show)
            for warning in session.load_warnings:
                await self._editor.show(Notice("warning", warning))
            for text in _given_back(session):
                await self._editor.show(Notice("warning", f"Not sent when this was open before: {visible(text)}"))
            await session.recover()
            await self._arrived(switch, session)
            return session, self._editor.take_answer()

    async def _leave(self, reason: Reason | None, id: str | None) -> Switch:
        """Ask the user's extensions whether to go to a conversation (None: a new one). Raises RpcError."""
        try:
            return await self._factory.switches.before(reason, id)
        except SwitchKept as kept:
            raise RpcError(INVALID_REQUEST, visible(str(kept))) from None

    async def _arrived(self, switch: Switch, session: Session) -> None:
        self._factory.switches.is_in(session.id)
        for problem in await self._factory.switches.after(switch, session.id):
            await self._editor.show(Notice("warning", visible(problem)))

    async def switch_to(self, id: str) -> Session:
        """Make a stored conversation the current one. Raises RpcError."""
        roots = self.roots()
        if self.session is not None and self.session.id == id:
            return self.session
        try:
            session = await self._open_agreed(id, roots)
        except UnknownConversation:
            raise RpcError(RESOURCE_NOT_FOUND, f"there is no conversation {id!r}") from None
        except (OtherProject, UnlikeFolder) as other:
            raise RpcError(INVALID_REQUEST, visible(str(other))) from None
        except OSError as error:
            problem = f"the conversation {id} cannot be read: {error.strerror or error}"
            raise RpcError(INVALID_REQUEST, problem) from None
        await self.close("exit")
        self.session, self.document = session, None
        return session

    async def _open_agreed(self, id: str, roots: Roots) -> Session:
        """Open a conversation, after asking if its folder is gone and this one is not like it."""
        try:
            return await self._factory.open(id, roots)
        except UnlikeFolder as unlike:
            if not await is_agreed(unlike, Questions(self._editor)):
                raise
            return await self._factory.open(id, roots, agreed=True)

    # -- turns ---------------------------------------------------------------------------------------------------------

    async def ask(self, asked: Asked) -> Turned:
        """Run a turn, after those that were asked for before. Raises RpcError."""
        self.roots()  # fail at once if no folder is open
        id, stopped, answer, unanswered = None, "cancelled", "", list[str]()
        running, wanted = anyio.CancelScope(), list[Event]()
        if asked.call is not None:
            asked.call.on_cancel = asked.waiting.cancel
        self._waiting.append(asked.waiting)
        try:
            with asked.waiting:
                async with self._asking:
                    session = await self.current()
                    id, self._has_begun = session.id, True
                    self._editor.take_answer()
                    try:
                        stopped, unanswered = await self._shown_turn(session, asked, running)
                    finally:
                        self._has_begun = False
                    answer, wanted = self._editor.take_answer(), self._editor.take_wanted()
                    if session.moved_to is not None:  # the next prompt begins a new conversation, in the open folder
                        await self.close("exit")
                        self.session = self.document = None
        finally:
            if asked.waiting in self._waiting:
                self._waiting.remove(asked.waiting)
        for event in wanted:
            await self._follow(event)
        id = id or (self.session.id if self.session is not None else None)
        return Turned(id, stopped, answer, tuple(unanswered))

    async def _shown_turn(self, session: Session, asked: Asked, running: anyio.CancelScope) -> tuple[str, list[str]]:
        """Run a turn whose progress is shown; returns how it ended, and the prompts that waited for it in vain."""
        async with self._progress.shown(asked.token, asked.title):
            if asked.call is not None:
                asked.call.on_cancel = lambda: _give_up(session, running)
            self._waiting.remove(asked.waiting)
            stopped, unanswered = await self._turn(session, asked, running)
            unanswered += [text for text in _given_back(session) if text not in unanswered]
            if session.moved_to is None:
                await self._catch_up()  # before the user is told that the turn has ended, and may write on
        return stopped, unanswered

    async def _turn(self, session: Session, asked: Asked, running: anyio.CancelScope) -> tuple[str, list[str]]:
        document, number = self.document, asked.number
        if document is not None and document is not asked.document:
            number = None
            with suppress(Refused, OSError):
                number = await document.ask(asked.title)
        if document is None or number is None:
            document = None
        else:
            document.begin(number)
        self._editor.document, self.is_running = document, True
        unanswered: list[str] = []
        try:
            await self.on_change()
            return await _run(session, asked.parts, running), unanswered
        except RpcError as error:
            if document is not None:
                document.note(f"**North:** {error}")
            raise
        finally:
            self.is_running, self._editor.document = False, None
            with anyio.CancelScope(shield=True):
                if document is not None:
                    unanswered += await document.end()
                await self.on_change()

    async def _catch_up(self) -> None:
        """Have the document written that does not show all of the turn."""
        document, session = self.document, self.session
        if document is None or session is None or document.id != session.id:
            return
        if document.is_outdated or await document.is_stale():
            await self.on_missed()

    async def _follow(self, event: Event) -> None:
        """Go to the conversation that a slash command has asked for."""
        had_document = self.document is not None
        match event:
            case ConversationWanted(None):
                await self.begin_anew()
            case ConversationWanted(str(id)) | ConversationCopied(id):
                await self.load(id)
            case _:
                return
        if had_document:
            await self.on_switch()


async def _nothing() -> None:
    pass


def _given_back(session: Session) -> list[str]:
    """Return the texts of prompts that waited and will not be sent. The caller tells the user."""
    back = session.unsent.pop()
    session.unsent.confirm(back)
    return [one.text for one in back]


def _give_up(session: Session, running: anyio.CancelScope) -> None:
    running.cancel()
    session.questions.give_up()


async def _run(session: Session, parts: tuple[Part, ...], scope: anyio.CancelScope) -> str:
    try:
        return (await session.intake.prompt(parts, scope)).stopped
    except MissingCredential as error:
        raise RpcError(AUTH_REQUIRED, str(error)) from None
    except ModelFailed:
        return "end_turn"
    except ValueError as error:
        raise RpcError(INVALID_REQUEST, str(error)) from None
