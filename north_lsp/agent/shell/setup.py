"""Makes a session's shells, from the user's settings and the editor's environment."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from north_lsp import systems
from north_lsp.background import Background
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.shell.environment import command_environment
from north_lsp.shell.options import ShellOptions
from north_lsp.shell.pool import ShellPool
from north_lsp.shell.port import Runner
from north_lsp.shell.runner import CommandRunner
from north_lsp.shell.sandbox import Sandbox
from north_lsp.storage.settings import Settings
from north_lsp.workspace.files.ignore import ALWAYS_SKIPPED, OWN_IGNORE_FILE, IgnoreRules
from north_lsp.workspace.files.wildmatch import any_matches
from north_lsp.workspace.git import common_folder, git_folder, top_level
from north_lsp.workspace.guards.protected import write_rule
from north_lsp.workspace.guards.repositories import Named, named_by_git
from north_lsp.workspace.guards.sandbox_guards import Watched
from north_lsp.workspace.paths import extra_roots
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from north_lsp.shell.plain.programs import Program

_PREFIXES = ("NORTH_SHELL_PREFIX", "CLAUDE_CODE_SHELL_PREFIX")


@dataclass(frozen=True)
class ShellResources:
    """The resources that a session's shells are made with, besides the user's settings. `own` are variables that North
    adds for this session; `kept` is the folder for records of jobs that outlive North, `quarantine` the folder for what
    must not appear in the workspace."""

    environ: Mapping[str, str]
    secret_names: frozenset[str]
    own: Mapping[str, str]
    background: Background
    shell_pool: ShellPool | None = None
    kept: Path | None = None
    quarantine: Path | None = None


def make_runner(settings: Settings, workspace: Workspace, resources: ShellResources) -> Runner:
    """Make the command runner of a session; no shell is started yet."""
    shell, environ, roots = settings.shell, resources.environ, workspace.roots.roots
    passed = (*settings.shell_pass_variables, *(resources.secret_names if shell.pass_keys else ()))
    given = command_environment(environ, resources.secret_names, passed, {**resources.own, **shell.env})
    withheld = frozenset(environ.keys() - given.keys())
    prefix = shell.prefix or next((environ[name].strip() for name in _PREFIXES if environ.get(name)), "")
    options = ShellOptions(shell.path, shell.virtual_terminal == "on", shell.persistent, prefix, shell.snapshot)
    if not systems.CAN_KEEP_SHELLS:
        from north_lsp.shell.plain.runner import PlainRunner

        return PlainRunner(given, resources.background, roots[0], options, partial(find_shell, options.path, given))
    sandbox = sandbox_of(settings, roots, given, workspace, resources.quarantine)
    background, shell_pool, kept = resources.background, resources.shell_pool, resources.kept
    return CommandRunner(given, background, roots[0], sandbox, withheld, options, shell_pool, kept)


def find_shell(wanted: str | None, environ: Mapping[str, str]) -> Program | None:
    """Find what runs commands where each has a shell of its own."""
    from north_lsp.shell.plain.programs import find_program

    return find_program(wanted, environ, partial(systems.find_program, environ=environ), os.path.isfile)


def sandbox_of(
    settings: Settings,
    roots: tuple[Path, ...],
    environ: Mapping[str, str],
    workspace: Workspace | None = None,
    quarantine: Path | None = None,
) -> Sandbox:
    """Make the sandbox of a workspace. What runs without a question runs in it; so does, if the settings say so, what
    is asked about. Whether the machine supports it only shows when it is used."""
    rules = {root: IgnoreRules.of(root) for root in roots} if workspace is None else workspace.trees.rules
    private = () if workspace is None else workspace.private

    def closed() -> Collection[str]:
        return () if workspace is None else workspace.trees.left_out()

    def named() -> Collection[str]:
        return [str(path) for root in roots for path in _named_by_git(root)]

    own = [pattern.casefold() for pattern in settings.edits.protected]

    def protected(relative: str) -> bool:
        return _is_protected(relative) or (bool(own) and any_matches(own, relative.casefold()) is not None)

    held = Watched({root: rules[root] for root in roots}, protected, closed, private, named)
    readable = (*extra_roots(settings.reading.extra_roots), *_git_folders(roots))
    # Anything other than "off" asks for the sandbox.
    return Sandbox(roots, environ, held.look, readable, settings.sandbox != "off", quarantine)


def _git_folders(roots: tuple[Path, ...]) -> list[Path]:
    """Return git's folders of linked work trees, and of roots inside a larger repository."""
    named = [git_folder(top) for root in roots if (top := top_level(root)) is not None]
    own = [folder.resolve() for folder in named if folder is not None]
    both = {*own, *(common_folder(folder).resolve() for folder in own)}
    # A `.git` file that someone wrote may name any folder.
    return sorted(path for path in both if (path / "HEAD").is_file() and not path.joinpath("HEAD").is_symlink())


def _named_by_git(root: Path) -> Iterator[Path]:
    """Yield what git runs or reads, wherever it is. Git is only asked again when its configuration or hooks have
    changed."""
    top = top_level(root)
    if top is not None:
        folder = git_folder(top) or top / ".git"
        places = (folder, common_folder(folder), common_folder(folder) / "hooks", common_folder(folder) / "config")
        named = _named(top, tuple(_changed(place) for place in places))
        yield from named.below(root) if named is not None else ()


@lru_cache(maxsize=64)
def _named(top: Path, state: tuple[int, ...]) -> Named | None:
    return named_by_git(top)


def _changed(path: Path) -> int:
    try:
        return path.stat().st_ctime_ns
    except OSError:
        return 0


# What builds and tools create, and remove again.
_OUTPUTS = ALWAYS_SKIPPED - {".git", ".hg", ".svn", ".idea"} | {
    ".hypothesis", ".ruff_cache", ".tox", ".nox", ".turbo", ".nuxt", ".svelte-kit", ".parcel-cache", "htmlcov",
}  # fmt: skip
_OF_OUTPUTS = lazy_pattern(r"package\.json|\..*ignore", re.IGNORECASE)


def _is_protected(relative: str) -> bool:
    """Tell whether a path is protected. Quick: a bare name is looked up in a cache, and only paths in hidden folders
    are judged whole."""
    folder, _, name = relative.rpartition("/")
    if "." in folder and any(part.startswith(".") for part in folder.split("/")):
        found = write_rule(relative, relative) != "free"
    else:
        found = is_protected_name(name)
    if found and _OF_OUTPUTS.fullmatch(name) and name != OWN_IGNORE_FILE:
        return _OUTPUTS.isdisjoint(folder.split("/"))
    return found


@lru_cache(maxsize=16_384)
def is_protected_name(name: str) -> bool:
    """Tell whether a file with this name is protected wherever it is."""
    return write_rule(name, name) != "free"
