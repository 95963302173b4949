"""The memory of a session's project: what its user decides about it, and the work on it between turns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.session.learning.memory_notes import is_memory_on
from north_lsp.agent.session.learning.memory_run import MemoryRun, Quiet
from north_lsp.agent.session.process.asking import Questions
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.agent.turn.queue import Stopped
from north_lsp.display import visible
from north_lsp.storage.entries import new_entry_id
from north_lsp.storage.memory_files import NOTES, SUMMARY, MemoryFiles
from north_lsp.storage.memory_jobs import MemoryJobs
from north_lsp.storage.memory_settings import MemorySettings
from north_lsp.workspace.project_root import project_hash

_OFF = "memory is off: the setting `memories.enabled` switches it on"
_UNTRUSTED = "this workspace is not trusted, so nothing about it is remembered (`/trust` trusts it)"
_ELSEWHERE = (
    "another North process works on this project's memory, or this one does, which `/cancel` ends: try again afterwards"
)


class _Elsewhere(ValueError):
    """Somebody else works on the memory."""


def _new_owner() -> str:
    """Name who works on a memory now: nobody else, also of this process, is that."""
    return f"{os.getpid()}-{new_entry_id(())}"


async def _at_once() -> None:
    """Wait for nothing: the caller holds the gate."""


class RememberingSession(Protocol):
    """The part of a session that this needs."""

    choice: ModelChoice
    questions: Questions

    @property
    def id(self) -> str: ...

    @property
    def roots(self) -> tuple[Path, ...]: ...

    async def quiet(self) -> None: ...

    def cancellable(self) -> AbstractAsyncContextManager[None]: ...


class Memory:
    """Shows, rebuilds and clears the memory of one session's project, and adds notes to it."""

    def __init__(self, session: RememberingSession, means: TurnMeans) -> None:
        self._session = session
        self._means = means
        self._project = project_hash(session.roots[0])

    @property
    def files(self) -> MemoryFiles:
        """The files of the project's memory."""
        return MemoryFiles(self._means.environment.locations, self._project)

    @property
    def is_on(self) -> bool:
        """Whether anything is remembered here."""
        return is_memory_on(self._means.stored, self._means.environment)

    @property
    def _settings(self) -> MemorySettings:
        return self._means.environment.settings.memory

    @property
    def _jobs(self) -> MemoryJobs:
        return MemoryJobs(self._means.environment.locations, self._project)

    # -- the work ----------------------------------------------------------------------------------------------------

    def begin_after(self, stopped: Stopped) -> None:
        """Work on the memory in the background once a turn has ended, once for each process and project."""
        environment = self._means.environment
        if stopped != "end_turn" or not self.is_on or self._project in environment.process.remembered:
            return
        if self._session.choice.model.api != "offline":
            environment.process.remembered.add(self._project)
            environment.background.start_soon(self._in_background)

    async def _in_background(self) -> None:
        ports = self._means.ports
        with ports.diagnostics.guarded("working on the memory"), self._session.questions.waiting():
            try:
                if told := await self._work(self._session.quiet, is_wanted=False):
                    await ports.show(Notice("info", told))
            except _Elsewhere:
                pass
            except (ValueError, OSError) as error:
                await ports.show(Notice("warning", f"the memory is unchanged: {visible(str(error))}"))

    async def _work(self, quiet: Quiet, *, is_wanted: bool) -> str:
        """Do the work that there is; return in words what came of it, empty if there was nothing. Raises ValueError,
        OSError."""
        jobs, finished, owner = self._jobs, False, _new_owner()
        if not await anyio.to_thread.run_sync(jobs.lease, owner):
            raise _Elsewhere(_ELSEWHERE)
        try:
            run = MemoryRun(self._session, self._means, self.files, jobs, partial(jobs.renew, owner), quiet)
            told = await run.work(is_wanted=is_wanted)
            finished = True
            return told
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(jobs.release, owner, finished=finished))

    # -- what the user says ------------------------------------------------------------------------------------------

    async def view(self) -> str:
        """Say in Markdown what is remembered. Raises ValueError."""
        try:
            texts = await anyio.to_thread.run_sync(self.files.texts)
        except OSError as error:
            raise ValueError(f"the memory cannot be read: {visible(str(error))}") from None
        why = "" if self._settings.enabled else f"{_OFF[0].upper()}{_OFF[1:]}."
        if not texts:
            return why or "Nothing is remembered about this project yet."
        files = [f"- `{visible(str(self.files.folder / name))}`" for name in texts]
        rows = [visible(texts.get(SUMMARY, "").strip()), "**Files**, yours to change:", "\n".join(files), why]
        return "\n\n".join(row for row in rows if row)

    async def clear(self) -> str:
        """Remove all that is remembered of the project, after asking. Raises ValueError."""
        question = "Remove everything that is remembered about this project, including your notes and changes?"
        if await self._session.questions.choose(question, (("remove", "Remove it"), ("keep", "Keep it"))) != "remove":
            return "The memory is unchanged."
        try:
            await anyio.to_thread.run_sync(self._remove)
        except OSError as error:
            raise ValueError(f"the memory could not be removed: {visible(str(error))}") from None
        return "Nothing is remembered about this project any more."

    def _remove(self) -> None:
        jobs, owner = self._jobs, _new_owner()
        if not jobs.lease(owner):
            raise ValueError(_ELSEWHERE)
        try:
            self.files.remove()
            jobs.forget()
        finally:
            jobs.release(owner, finished=False)

    async def enqueue(self) -> str:
        """Have the work done as soon as nothing runs, whatever has changed. Raises ValueError."""
        self._ensure_on()
        try:
            await anyio.to_thread.run_sync(self._jobs.force)
        except OSError as error:
            raise ValueError(f"the memory cannot be written: {visible(str(error))}") from None
        self._means.environment.process.remembered.add(self._project)
        self._means.environment.background.start_soon(self._in_background)
        return "Work on the memory begins as soon as nothing runs here; `/cancel` stops it."

    async def rebuild(self) -> str:
        """Read all conversations again and write the memory again, now. Raises ValueError."""
        self._ensure_on()
        told = "The memory is unchanged: the work on it was cancelled. What was read is kept."
        try:
            async with self._session.cancellable():
                await anyio.to_thread.run_sync(partial(self._jobs.forget, ("threads",)))
                await anyio.to_thread.run_sync(self._jobs.force)
                told = await self._work(_at_once, is_wanted=True)
        except OSError as error:
            raise ValueError(f"the memory cannot be read or written: {visible(str(error))}") from None
        return told

    def _ensure_on(self) -> None:
        if not self._settings.enabled:
            raise ValueError(_OFF)
        if not self.is_on:
            raise ValueError(_UNTRUSTED)

    async def listed(self) -> Sequence[tuple[str, str, Path]]:
        """List the files: the kind, the title and the path of each."""
        kinds = {SUMMARY: ("summary", "Memory: summary"), NOTES: ("notes", "Memory: notes")}
        rows = []
        for name in await anyio.to_thread.run_sync(self.files.names):
            skill = name.split("/")[1] if name.startswith("skills/") else ""
            kind, title = ("skill", skill) if skill else kinds.get(name, ("memory", "Memory"))
            rows.append((kind, title, self.files.folder / name))
        return rows
