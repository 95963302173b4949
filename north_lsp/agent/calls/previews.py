"""Previews of edits whose arguments still arrive; they are never written and never stored."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import anyio
import anyio.to_thread

from north_lsp.agent.calls.preflight import StreamingCall
from north_lsp.agent.log.partial_json import read_partial
from north_lsp.agent.ports.events import CallPreviewed, Event
from north_lsp.errors import ToolError
from north_lsp.tools.base import WriteTool
from north_lsp.workspace.edit.preview import Preview, preview
from north_lsp.workspace.guards.edit_guard import refusal
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import dominant_newline, to_newlines
from north_lsp.workspace.workspace import UnsavedTexts, Workspace

SECONDS = 0.25
_SHARE = 10  # at most about 1/10 of the time is spent on previews
_MAX_ARGUMENTS = 256 * 1024  # characters of JSON
_MAX_FILES = 5
_NEWLINE = "\n"


class Previewable(Protocol):
    """An edit that is arriving. `id` is its call's."""

    @property
    def id(self) -> str: ...

    async def preview(self) -> tuple[Sequence[Preview], str] | None:
        """Return what it changes so far, and a short note on it; None if that cannot be told, now or ever."""
        ...


class Previews:
    """Shows the newest edit that was noted, at most every 250 ms; `run` must be running meanwhile. An edit that is
    complete by then is not shown at all, and nothing is shown after `stop`."""

    def __init__(
        self,
        show: Callable[[Event], Awaitable[None]],
        on_failure: Callable[[str, BaseException], None],
        seconds: float = SECONDS,
    ) -> None:
        self._seconds = seconds
        self._show = show
        self._on_failure = on_failure
        self._current: Previewable | None = None
        self._due = math.inf
        self._more = anyio.Event()
        self._lock = anyio.Lock()

    def note(self, edit: Previewable) -> None:
        """Register that more of an edit has arrived."""
        if edit is not self._current:
            self._current = edit
            self._due = max(time.monotonic() + self._seconds, self._due if self._due < math.inf else 0.0)
        if not self._more.is_set():
            self._more.set()

    async def stop(self) -> None:
        """Stop previewing the current edit, since what follows replaces its preview."""
        self._current = None
        async with self._lock:  # a preview that is being sent goes out first
            pass

    async def run(self) -> None:
        while True:
            await self._more.wait()
            while (left := self._due - time.monotonic()) > 0:
                await anyio.sleep(left)
            self._more = anyio.Event()
            edit = self._current
            if edit is None:
                continue
            started = time.monotonic()
            made = None
            try:
                made = await edit.preview()
            except Exception as error:  # noqa: BLE001 - a mere preview must not end the answer
                self._on_failure("preview", error)
            now = time.monotonic()
            self._due = now + max(self._seconds, (now - started) * _SHARE)
            async with self._lock:
                if made is not None and edit is self._current:
                    await self._show(CallPreviewed(edit.id, tuple(made[0]), made[1]))


class _ReadOnce:
    """Reads each file's unsaved text once, so that the editor is not asked for it four times a second."""

    def __init__(self, editor: UnsavedTexts) -> None:
        self._editor = editor
        self._texts: dict[Path, str | None] = {}

    async def unsaved_texts(self) -> Mapping[Path, str]:
        return await self._editor.unsaved_texts()

    async def read_unsaved(self, path: Path) -> str | None:
        if path not in self._texts:
            self._texts[path] = await self._editor.read_unsaved(path)
        return self._texts[path]


class CallPreviewSource:
    """The call of an edit tool: the tool itself prepares what has arrived of it."""

    def __init__(self, call: StreamingCall, tool: WriteTool, workspace: Workspace) -> None:
        self._call = call
        self._tool = tool
        self._workspace = replace(workspace, editor=_ReadOnce(workspace.editor))
        self._hopeless = False

    @property
    def id(self) -> str:
        return self._call.id

    async def preview(self) -> tuple[Sequence[Preview], str] | None:
        if self._hopeless or self._call.size > _MAX_ARGUMENTS:
            return None
        values = await anyio.to_thread.run_sync(lambda: read_partial(self._call.text).given)
        for arguments in self._tool.possible(values):
            changes = await self._prepared(arguments)
            if changes:
                return await anyio.to_thread.run_sync(_previews, changes, self._tool.writes_whole), ""
        return None

    async def _prepared(self, arguments: Mapping[str, Any]) -> Sequence[FileChange] | None:
        try:
            args = self._tool.args.model_validate(arguments)
        except ValueError:  # not enough has arrived
            return None
        try:
            changes = await self._tool.prepare(args, self._workspace)
            if not await anyio.to_thread.run_sync(_is_forbidden, changes, self._workspace):
                return [one for one in changes if not one.binary]
            raise ToolError("DENIED", "never written by tools")
        except ToolError:
            self._hopeless = not self._tool.in_parts
            return None


class FilePreviewSource:
    """A file in the text of an answer. `so_far` returns its content, `read_old` the text that it replaces (or
    continues, if `appends`), or None."""

    def __init__(
        self,
        id: str,
        path: Path,
        so_far: Callable[[], str],
        read_old: Callable[[], Awaitable[str | None]],
        *,
        appends: bool,
    ) -> None:
        self.id = id
        self._path = path
        self._so_far = so_far
        self._read_old = read_old
        self._appends = appends
        self._old: str | None = None
        self._is_read = False

    async def preview(self) -> tuple[Sequence[Preview], str] | None:
        if not self._is_read:
            self._old, self._is_read = await self._read_old(), True
        return await anyio.to_thread.run_sync(self._made)

    def _made(self) -> tuple[Sequence[Preview], str]:
        old, text = self._old, self._so_far()
        new = to_newlines(text, dominant_newline(old)) if old is not None else text
        whole = (old or "") + new if self._appends else new
        note = f"{text.count(_NEWLINE)} lines"
        return [preview(self._path, old, whole, is_growing=True)], note


def _is_forbidden(changes: Sequence[FileChange], workspace: Workspace) -> bool:
    """Tell whether the review would refuse the changes."""
    return refusal(changes, workspace.roots, workspace.private) is not None


def _previews(changes: Sequence[FileChange], is_growing: bool) -> list[Preview]:
    """Preview the last files, the ones that are being written now."""
    return [
        preview(change.target, change.old_text, change.new_text, is_growing=is_growing)
        for change in changes[-_MAX_FILES:]
    ]
