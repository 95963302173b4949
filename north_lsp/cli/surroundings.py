"""The doctor's look at what is around North: programs, and editors with their clients."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from north_lsp import __version__, systems
from north_lsp.cli.finding import Finding
from north_lsp.server.options import Options
from north_lsp.storage.locations import Locations
from north_lsp.storage.user_settings import load_settings

_SECONDS = 10
_NEOVIM = (0, 10)
_VSCODE = (".vscode", ".vscode-server", ".vscode-oss")


def on_path(options: Options) -> Iterator[Finding]:
    """Yield whether editors that start `north-lsp` by its name get this one."""
    found = systems.find_program("north-lsp", options.environ)
    own = Path(sys.executable).with_name("north-lsp.exe" if os.name == "nt" else "north-lsp")
    if found is None:
        remedy = f"name the program in your editor by its whole path, {own}, or install it with pipx or uv"
        yield Finding("note", "north-lsp is not on PATH: editors do not find it by its name", remedy)
    elif own.exists() and os.path.realpath(found) != os.path.realpath(own):
        yield Finding("note", f"editors that start north-lsp by its name get {found}, not this one ({own})")


def programs(options: Options) -> Iterator[Finding]:
    """Yield the programs that North runs, with their versions."""
    git = ("git", "warning", "without it, North knows nothing about the repository's history")
    bash = ("bash", "error", "without it, commands cannot be run")
    if not systems.CAN_KEEP_SHELLS:
        yield _shell(options)
    for program, missing, use in (bash, git) if systems.CAN_KEEP_SHELLS else (git,):
        found = systems.find_program(program, options.environ)
        if found is not None:
            yield Finding("ok", f"{program}: {found} ({_version(found) or 'its version is unknown'})")
        else:
            text = f"{program} was not found: {use}"
            yield Finding("error" if missing == "error" else "warning", text, f"install {program}")


def _shell(options: Options) -> Finding:
    """Return what runs commands where each has a shell of its own."""
    from north_lsp.agent.shell.setup import find_shell

    wanted = load_settings(Locations.from_environment(options.environ)).shell.path
    found = find_shell(wanted, options.environ)
    if found is not None:
        return Finding("ok", f"commands run in {found.words}: {found.path}; each needs approval and gets a fresh shell")
    missing = f"{wanted} was not found" if wanted is not None else "neither Git Bash nor PowerShell was found"
    return Finding("error", f"{missing}: no command can be run", "install Git for Windows, or set shell.path")


def editors(options: Options) -> Iterator[Finding]:
    """Yield the editors on this machine for which North has clients, and the versions of both."""
    home = systems.home(options.environ)
    yield from _vscode(home)
    yield from _neovim(options.environ, home)


def _vscode(home: Path) -> Iterator[Finding]:
    for folder in (home / name / "extensions" for name in _VSCODE):
        versions = [path.name.removeprefix("north.north-") for path in folder.glob("north.north-*")]
        if versions and __version__ not in versions:
            text = f"VS Code: North's extension is version {', '.join(sorted(versions))}, the server is {__version__}"
            yield Finding("note", text, "the extension starts its own server unless north.server.source is path")
        elif versions:
            yield Finding("ok", f"VS Code: North's extension {__version__} in {folder}")


def _neovim(environ: Mapping[str, str], home: Path) -> Iterator[Finding]:
    program = systems.find_program("nvim", environ)
    if program is None:
        return
    shown = _version(program)
    version = tuple(int(part) for part in re.findall(r"\d+", shown)[:2])
    if version and version < _NEOVIM:
        yield Finding("warning", f"Neovim: {shown}; North's plugin needs 0.10", "install Neovim 0.10 or newer")
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "nvim"
    packs = [*data.glob("site/pack/*/*/*"), *data.glob("lazy/*")]
    gone = [path for path in packs if path.is_symlink() and not path.exists() and "north" in path.name]
    found = [path for path in packs if (path / "lua" / "north" / "init.lua").is_file()]
    for path in gone:
        remedy = "link the folder nvim-client of your clone there: `north-lsp docs start/neovim`"
        yield Finding("warning", f"Neovim: {path} is a broken link to {os.readlink(path)}", remedy)
    if found:
        yield Finding("ok", f"Neovim: {shown or program}, with North's plugin in {found[0]}")
    elif not gone:
        remedy = "`north-lsp docs start/neovim` says how; with another plugin manager this may be wrong"
        yield Finding("note", f"Neovim: {shown or program}, without North's plugin", remedy)


def _version(program: str) -> str:
    """Return the first line that a program prints of its version; empty if it prints none in time."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.partition("\n")[0].strip()
