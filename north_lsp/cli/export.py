"""`north-lsp export`: a conversation as a file, without an editor."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

from north_lsp.agent.exports.export import Format, as_format, default_name, format_for, render, source_of
from north_lsp.agent.exports.target import find_target, write_target
from north_lsp.agent.log.log import Log
from north_lsp.agent.session.keeping.exporting import find_log, mask_of, private_folders, read_log
from north_lsp.cli.talking import agrees, complain
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.server.options import Options
from north_lsp.storage.blobs import Blobs
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.locations import Locations


def export(
    options: Options,
    conversation: str,
    out: str | None,
    format: str | None,
    *,
    raw: bool,
    force: bool,
    ask: Callable[[str], str],
) -> int:
    """Export a stored conversation, by its id, or any log file. Returns the exit code; says on standard error what
    cannot be done."""
    from north_lsp.tools.shipped import shipped_tools

    locations = Locations.from_environment(options.environ)
    try:
        log = _log(conversation, locations)
        wanted = as_format(format) if format is not None else None

        def text(format: Format) -> str:
            mask = None if raw else mask_of(options.load_catalog(), options.environ)
            return render(source_of(log, Blobs(locations.blobs)), shipped_tools(), format, mask)

        if out == "-":
            sys.stdout.write(text(wanted or "html"))
            return 0
        name, folder = default_name(log.id, date.today(), wanted or "html"), options.path or Path.cwd()
        target = find_target(out or name, name, folder, private_folders(locations))
        rendered = text(wanted or format_for(target.name))
        if target.exists and not force and not _may_replace(target.path, ask):
            raise ToolError("CONFLICT", f"{target.path} exists already", "name another file, or use --force")
        write_target(target, rendered, replace=target.exists)
    except ToolError as error:
        told = f"{error.message}: {error.hint}" if error.hint else error.message
        complain(told)
        return 1
    sys.stderr.write(f"Written to {visible(str(target.path))}\n")
    return 0


def _log(named: str, locations: Locations) -> Log:
    """Find the log that is meant: an id wins over a file of that name. Raises ToolError."""
    if valid_conversation_id(named) and (locations.conversations / f"{named}.jsonl").exists():
        return find_log(locations, named)
    log = read_log(Path(named).expanduser().absolute())
    if not log.conversation.header and not log.path():
        raise ToolError("INVALID_INPUT", f"{named} is not the log of a conversation")
    return log


def _may_replace(path: Path, ask: Callable[[str], str]) -> bool:
    if not sys.stdin.isatty():
        return False
    return agrees(ask, f"{visible(str(path))} exists already. Replace it?")
