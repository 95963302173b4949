"""How a session's shells are made, from the user's settings and the editor's environment."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from north_lsp.background import Background
from north_lsp.shell.environment import command_environment
from north_lsp.shell.keeping import Keeper
from north_lsp.shell.options import ShellOptions
from north_lsp.shell.runner import CommandRunner
from north_lsp.shell.sandbox import Sandbox
from north_lsp.storage.settings import Settings
from north_lsp.workspace.paths import extra_roots
from north_lsp.workspace.protected import write_rule

_PREFIXES = ("NORTH_SHELL_PREFIX", "CLAUDE_CODE_SHELL_PREFIX")


def make_runner(
    settings: Settings,
    environ: Mapping[str, str],
    secret_names: frozenset[str],
    roots: tuple[Path, ...],
    own: Mapping[str, str],
    background: Background,
    keeper: Keeper | None = None,
    kept: Path | None = None,
) -> CommandRunner:
    """`own` are variables that North adds for this session; `kept` is for the records of what outlives North."""
    shell = settings.shell
    passed = (*settings.shell_pass_variables, *(secret_names if shell.pass_keys else ()))
    given = command_environment(environ, secret_names, passed, {**own, **shell.env})
    withheld = frozenset(environ.keys() - given.keys())
    prefix = shell.prefix or next((environ[name].strip() for name in _PREFIXES if environ.get(name)), "")
    options = ShellOptions(shell.path, shell.virtual_terminal, shell.persistent, prefix, shell.snapshot)
    sandbox = sandbox_of(settings, roots, given)
    return CommandRunner(given, background, roots[0], sandbox, withheld, options, keeper, kept)


def sandbox_of(settings: Settings, roots: tuple[Path, ...], environ: Mapping[str, str]) -> Sandbox | None:
    """The sandbox that the settings ask for; whether the machine has one shows when it is used."""
    readable = extra_roots(settings.reading.extra_roots)
    return Sandbox(roots, environ, _is_protected, readable) if settings.sandbox == "workspace" else None


def _is_protected(relative: str) -> bool:
    """Quickly: a name alone is known from before, and only what lies in a hidden folder needs its whole path."""
    folder, _, name = relative.rpartition("/")
    if "." in folder and any(part.startswith(".") for part in folder.split("/")):
        return write_rule(relative, relative) != "free"
    return is_protected_name(name)


@lru_cache(maxsize=16_384)
def is_protected_name(name: str) -> bool:
    """Whether a file of this name is protected wherever it lies."""
    return write_rule(name, name) != "free"
