"""Runs commands that are written in Python, in this process and with the user's rights: the user's own and, as the user
has seen them, those of a project that is trusted."""

from __future__ import annotations

import asyncio
import inspect
import threading
import types
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread

from north_lsp.agent.log.log import Log
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.templates.template import Template
from north_lsp.display import fenced, one_line, visible
from north_lsp.slash.base import CommandError
from north_lsp.storage.accepted_code import AcceptedCode
from north_lsp.storage.locations import Locations
from north_lsp.workspace.project_root import project_hash

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession

_T = TypeVar("_T")
_ONCE, _ALWAYS, _NO = "once", "always", "no"


class CommandContext:
    """What a command's `run` gets: the conversation, to be looked at, and its user, to be told and asked."""

    def __init__(self, session: LiveSession, log: Log, editor: Editor) -> None:
        self.cwd: Path = session.roots[0]
        self.roots: Sequence[Path] = session.roots
        self.session_id: str = log.conversation.id
        self.mode: str = session.mode
        self.model: str = session.choice.model.selector
        self._session = session
        self._log = log
        self._editor = editor
        self._loop = asyncio.get_running_loop()

    async def entries(self) -> list[dict[str, Any]]:
        """Return the conversation as its log has it, from the beginning to where it is."""

        async def copied() -> list[dict[str, Any]]:
            return [deepcopy(dict(one.to_json())) for one in self._log.path()]

        return await self._there(copied())

    async def notify(self, text: str) -> None:
        """Show the user a text."""
        await self._there(self._editor.show(Notice("info", visible(str(text)))))

    async def choose(self, question: str, options: Sequence[tuple[str, str]]) -> str | None:
        """Ask the user; return the id of the option that they chose, None for none. The last option refuses."""
        rows = [(str(id), visible(str(label))) for id, label in options]
        return await self._there(self._session.questions.choose(visible(str(question)), rows))

    async def _there(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do something on North's own event loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


class PythonCommands:
    """Runs the commands in Python that one session knows."""

    def __init__(self, session: LiveSession, log: Log, editor: Editor, locations: Locations) -> None:
        self._session = session
        self._log = log
        self._editor = editor
        self._accepted = AcceptedCode(locations, project_hash(session.roots[0]))

    async def run(self, template: Template, words: str) -> str:
        """Run a command; return the text that takes its place for the model, empty for none. Raises CommandError."""
        if template.level == "project":
            await self._agree(template)
        context = CommandContext(self._session, self._log, self._editor)
        with self._session.questions.waiting():
            return await _on_thread(partial(_run, template, context, words))
        raise CommandError(f"/{template.name} was cancelled")

    async def _agree(self, template: Template) -> None:
        """Have the user look at what a project's command would run, once for each state of it. Raises CommandError."""
        path, text = template.path, template.body
        if await anyio.to_thread.run_sync(self._accepted.has, path, text):
            return
        question = f"Run {template.shown} of this project, with all of your rights?"
        options = ((_ONCE, "Run it once"), (_ALWAYS, "Run it whenever it is called, as it is now"), (_NO, "Do not"))
        chosen = await self._session.questions.choose(question, options, fenced(visible(text), "python"))
        if chosen not in (_ONCE, _ALWAYS):
            raise CommandError(f"/{template.name} was not run")
        if chosen == _ALWAYS:
            try:
                await anyio.to_thread.run_sync(self._accepted.add, path, text)
            except OSError as error:
                told = f"this could not be stored, so it counts once: {error.strerror or error}"
                await self._editor.show(Notice("warning", told))


async def _on_thread(work: Callable[[], str]) -> str:
    """Do work on a thread that North does not wait for when it ends. Raises CommandError."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str] = loop.create_future()

    def settle(text: str, error: CommandError | None) -> None:
        if not done.done():
            done.set_exception(error) if error is not None else done.set_result(text)

    def run() -> None:
        text, failed = "", None
        try:
            text = work()
        except CommandError as error:
            failed = error
        with suppress(RuntimeError):  # North has ended
            loop.call_soon_threadsafe(settle, text, failed)

    threading.Thread(target=run, name="north-command", daemon=True).start()
    return await done


def _run(template: Template, context: CommandContext, words: str) -> str:
    """Run the very text that was looked at, on a thread with an event loop of its own. Raises CommandError."""
    module = types.ModuleType(f"north_command_{template.path.stem}")
    module.__file__ = str(template.path)
    try:
        # Without this module's own `from __future__`: annotations would be strings that nothing could resolve.
        exec(compile(template.body, str(template.path), "exec", dont_inherit=True), module.__dict__)
        answer = _answer(module.run, context, words)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a command may raise anything
        said = one_line(f"{type(error).__name__}: {error}", 300)
        raise CommandError(f"{template.shown} has failed ({said})") from None
    if answer is not None and not isinstance(answer, str):
        raise CommandError(f"{template.shown} returned {type(answer).__name__}: `run` must return a string, or None")
    return answer or ""


def _answer(run: Callable[..., object], context: CommandContext, words: str) -> object:
    answer = run(context, words)
    return asyncio.run(answer) if inspect.iscoroutine(answer) else answer
