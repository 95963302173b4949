"""Exporting conversations and summing them up: those that are open in this process, and stored ones. What it takes is
imported when it is used, since opening a session does without."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.edits.totals import totals
from north_lsp.agent.log.context import replaced_by
from north_lsp.agent.log.log import Log
from north_lsp.agent.session.process.environment import Environment
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.blobs import Blobs
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.conversation_index import ConversationIndex
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.locations import Locations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from north_lsp.agent.exports.document import Surroundings
    from north_lsp.agent.exports.export import Format
    from north_lsp.agent.exports.masking import Mask
    from north_lsp.agent.exports.statistics import Statistics
    from north_lsp.agent.exports.target import Target
    from north_lsp.providers.catalog.catalog import Catalog

_UNMASKED = "try again, or export it unmasked (--raw)"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be exported how. `path` is a file or a folder as the user wrote it, None for a name of North's own;
    without a `format`, the file's ending decides, and must mean the `only` one if there is one; `raw` leaves keys and
    the home folder as they are; `replace` says that a file that is there may be replaced."""

    path: str | None = None
    format: Format | None = None
    raw: bool = False
    replace: bool = False
    only: Format | None = None


class Exports:
    """The exports of one conversation. `folder` is where its files are written by default; `surroundings` says what
    else the model is told, for one that is open."""

    def __init__(
        self,
        log: Log,
        folder: Path,
        environment: Environment,
        surroundings: Callable[[], Awaitable[Surroundings]] | None = None,
    ) -> None:
        self._log = log
        self._folder = folder
        self._environment = environment
        self._surroundings = surroundings

    async def text(self, format: Format, *, raw: bool = False) -> str:
        """Return the whole conversation in a format. Raises ToolError."""
        environment = self._environment
        around = await self._surroundings() if self._surroundings is not None else None
        tools = await anyio.to_thread.run_sync(environment.process.load_tools)

        def rendered() -> str:
            from north_lsp.agent.exports.export import render, source_of

            mask = None if raw else self._mask()
            return render(source_of(self._log, Blobs(environment.locations.blobs), around), tools, format, mask)

        return await anyio.to_thread.run_sync(rendered, abandon_on_cancel=True)

    def _mask(self) -> Mask:
        keys = mask_of(self._environment.models.catalog, self._environment.environ)
        return lambda text: keys(self._log.conversation.masked(text))

    async def replaced(self, summary_id: str) -> str:
        """Return what a summary of the conversation replaced for the model, as plain text. Raises ToolError
        NOT_FOUND."""
        tools = await anyio.to_thread.run_sync(self._environment.process.load_tools)

        def rendered() -> str:
            from north_lsp.agent.exports.export import render, source_of

            part = replaced_by(self._log.path(), summary_id)
            source = source_of(self._log, Blobs(self._environment.locations.blobs))
            return render(replace(source, path=part, left=(), warnings=()), tools, "txt", None)

        try:
            return await anyio.to_thread.run_sync(rendered, abandon_on_cancel=True)
        except ValueError as error:
            raise ToolError("NOT_FOUND", str(error)) from None

    async def write(self, wanted: Wanted) -> tuple[Path, Format]:
        """Write the conversation to a file, and return the file's path and format. Raises ToolError: CONFLICT if the
        file exists and may not be replaced."""
        from north_lsp.agent.exports.target import must_not_exist, write_target

        target, format = await self.target(wanted)
        if not wanted.replace:
            must_not_exist(target)
        text = await self.text(format, raw=wanted.raw)
        await anyio.to_thread.run_sync(partial(write_target, target, text, replace=wanted.replace))
        return target.path, format

    async def target(self, wanted: Wanted) -> tuple[Target, Format]:
        """Find the file that would be written, and in which format. Raises ToolError."""
        from north_lsp.agent.exports.export import default_name, format_for
        from north_lsp.agent.exports.target import find_target

        name = default_name(self._log.id, date.today(), wanted.format or wanted.only or "html")
        named = wanted.path if wanted.path is not None else name
        private = private_folders(self._environment.locations)
        target = await anyio.to_thread.run_sync(find_target, named, name, self._folder, private)
        return target, wanted.format or format_for(target.name, wanted.only)

    async def statistics(self) -> Statistics:
        """Sum the conversation up."""
        return await anyio.to_thread.run_sync(summed_up, self._log, self._environment.locations)


def summed_up(log: Log, locations: Locations) -> Statistics:
    """Sum a conversation up, by its log. Blocks."""
    from north_lsp.agent.exports.statistics import statistics_of

    checkpoints = Checkpoints(log, Blobs(locations.blobs), locations.state)  # only read
    children = ConversationIndex(locations).children(log.id)
    return statistics_of(log.header, log.entries(), totals(checkpoints.all()), children, log.used_aside())


async def stored_exports(environment: Environment, id: str) -> Exports:
    """Return the exports of a stored conversation, which is only read. Raises ToolError NOT_FOUND, IO_ERROR."""
    log = await anyio.to_thread.run_sync(find_log, environment.locations, id)
    return Exports(log, Path(log.header.root or "/"), environment)


def find_log(locations: Locations, id: str) -> Log:
    """Find a stored conversation by its id, and only read it. Raises ToolError NOT_FOUND, IO_ERROR."""
    path = locations.conversations / f"{id}.jsonl"
    if not valid_conversation_id(id) or not path.exists():
        raise ToolError("NOT_FOUND", f"there is no conversation {id[:64]!r}")
    return read_log(path)


def read_log(path: Path) -> Log:
    """Read a log, and only read it. Raises ToolError NOT_FOUND, IO_ERROR."""
    try:
        return Log(Conversation.look_at(path))
    except FileNotFoundError:
        raise ToolError("NOT_FOUND", f"file not found: {path}") from None
    except OSError as error:
        raise ToolError("IO_ERROR", f"{path} cannot be read: {error.strerror or error}") from None


def mask_of(known: Catalog, environ: Mapping[str, str]) -> Mask:
    """Return what masks the user's keys and home folder. Raises ToolError UNAVAILABLE if the keys cannot be known. May
    read files, and ask a broker: for a thread."""
    from north_lsp.agent.exports.masking import mask_for
    from north_lsp.agent.secrets.names import of_environment
    from north_lsp.providers.catalog.known_secrets import known_secrets

    known.keys.refresh()
    if known.keys.problem is not None:
        why = f"North cannot determine which keys to mask: {known.keys.problem}"
        raise ToolError("UNAVAILABLE", why, _UNMASKED)
    return mask_for({*known_secrets(known, environ), *of_environment(environ)}, environ.get("HOME") or str(Path.home()))


def private_folders(locations: Locations) -> tuple[Path, ...]:
    """Return North's own folders, where nothing is exported to."""
    return (locations.config, locations.data, locations.state)
