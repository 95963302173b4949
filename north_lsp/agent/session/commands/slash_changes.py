"""The slash commands about changes, as far as they need a session; output in Markdown."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, cast

from north_lsp.agent.edits import restore as restoring
from north_lsp.agent.edits.taking_back import Conflicts
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.slash.base import CommandError

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from north_lsp.agent.session.live import LiveSession


class ChangesHost:
    """The half of a slash command's `Host` that is about changes. Every method may raise CommandError."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session

    async def undo(self, steps: int, path: str | None, conflicts: str) -> str:
        file = await self._path(path)
        return await _told(restoring.undo(self._session, steps, cast(Conflicts, conflicts), file))

    async def redo(self, steps: int, path: str | None, conflicts: str) -> str:
        file = await self._path(path)
        return await _told(restoring.redo(self._session, steps, cast(Conflicts, conflicts), file))

    async def checkpoint(self, name: str) -> str:
        name = name or f"{datetime.now():%H:%M:%S}"
        try:
            id = self._session.undo_history.name_point(name)
        except ToolError as error:
            raise CommandError(visible(error.message)) from None
        return f"Made the checkpoint **{visible(name)}**: `/checkpoints restore {id}` returns to it."

    def checkpoints(self) -> str:
        return visible(restoring.points(self._session))

    async def restore(self, name: str, conflicts: str) -> str:
        return await _told(restoring.restore(self._session, self._point(name), cast(Conflicts, conflicts)))

    async def differences(self, since: str | None) -> str:
        point = None if since is None else self._point(since)
        return await _told(restoring.differences(self._session, point))

    async def differences_from_git(self) -> str:
        return await _told(restoring.differences_from_git(self._session.roots[0]))

    def statistics(self) -> str:
        return restoring.statistics(self._session)

    def _point(self, name: str) -> str:
        """Return the id of a checkpoint, given its id or the name of the last point that has this name."""
        every = self._session.undo_history.all()
        if any(one.id == name for one in every):
            return name
        named = [one.id for one in every if one.is_point and one.title == name]
        if not named:
            raise CommandError(f"there is no checkpoint {visible(name)[:64]!r}: `/checkpoints` lists them")
        return named[-1]

    async def _path(self, raw_path: str | None) -> Path | None:
        if raw_path is None:
            return None
        try:
            return await self._session.undo_history.file(raw_path)
        except ToolError as error:
            raise CommandError(visible(error.message)) from None


async def _told(what: Awaitable[str]) -> str:
    try:
        return visible(await what)
    except ToolError as error:
        raise CommandError(visible(error.message)) from None
