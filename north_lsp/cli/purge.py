"""`north-lsp purge`: says what would be removed, asks, and removes it. Settings and models are never touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from north_lsp.display import visible
from north_lsp.server.options import Options
from north_lsp.storage.areas import Scope, human, removal, remove
from north_lsp.storage.locations import Locations
from north_lsp.storage.memory_jobs import MemoryJobs
from north_lsp.workspace.project_root import find_root, project_hash

_SHOWN = 20
_WHAT: dict[Scope, str] = {
    "spare": "what North can do without: the trash, caches, logs, and files that could not be read",
    "project": "all conversations about {root}, what was remembered of them, and what you allowed there",
    "all": "everything that North keeps: all conversations, costs, keys, approvals and logs",
}


def purge(
    options: Options,
    scope: Scope,
    ask: Callable[[str], str] | None,
    say: Callable[[str], None],
    complain: Callable[[str], None],
) -> int:
    """Remove what `scope` says after the user has agreed; without `ask`, at once. Returns the exit code."""
    locations = Locations.from_environment(options.environ)
    if scope == "all" and (problem := _too_wide(locations)) is not None:
        complain(problem)
        return 1
    root = find_root(options.path or Path.cwd()).resolve()
    found = removal(locations, scope, project_hash(root))
    if found.held:
        complain(f"open in a running North: {', '.join(found.held[:_SHOWN])}; close it first, these are kept")
        if scope == "all":
            return 1
    if not found.paths:
        say("There is nothing to remove.")
        return 0
    say(f"This removes {_WHAT[scope].format(root=visible(str(root)))}.")
    for path, size in found.paths[:_SHOWN]:
        say(f"  {visible(str(path))}  {human(size)}")
    if len(found.paths) > _SHOWN:
        say(f"  … and {len(found.paths) - _SHOWN} more")
    say(f"Total: {human(found.size)}. Settings and models are kept. This cannot be undone.")
    for path in found.unknown[:_SHOWN]:
        say(f"Not North's, kept: {visible(str(path))}")
    if ask is not None and ask("Remove it? Type yes: ").strip().lower() != "yes":
        say("Nothing was removed.")
        return 1
    # Somebody may have opened a conversation while the question waited.
    now = removal(locations, scope, project_hash(root))
    if opened := sorted({*now.held} - {*found.held}):
        complain(f"opened meanwhile in a running North: {', '.join(opened[:_SHOWN])}; close it first, these are kept")
        if scope == "all":
            return 1
    there = {path for path, _ in now.paths}
    found = replace(now, paths=tuple(row for row in found.paths if row[0] in there))
    failed = remove(found)
    if scope == "project" and not found.held:
        failed += _forget(locations, project_hash(root))
    for path, why in failed:
        complain(f"{path} is still there: {why}")
    say(f"Removed {len(found.paths) - len(failed)} of {len(found.paths)}.")
    return 1 if failed else 0


def _forget(locations: Locations, project: str) -> list[tuple[Path, str]]:
    """Remove what is known of a project's conversations for its memory; return what could not be, and why."""
    database = locations.data / "memories" / "memory.db"
    try:
        if database.exists():
            MemoryJobs(locations, project).forget()
    except OSError as error:
        return [(database, error.strerror or str(error))]
    return []


def _too_wide(locations: Locations) -> str | None:
    """Return why everything must not be removed: a folder of North's that is the user's own, too."""
    home = Path(os.path.realpath(Path.home()))
    for folder in (locations.data, locations.state):
        real = Path(os.path.realpath(folder))
        if real in (home, Path(real.anchor)) or (real / ".git").exists():
            return f"{folder} holds more than North's files: remove those by hand"
    return None
