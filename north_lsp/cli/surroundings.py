"""The doctor's look at what is around North: editors with their clients, programs, proxies and certificates."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from north_lsp import __version__
from north_lsp.cli.finding import Finding
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.tls import verification
from north_lsp.server.options import Options
from north_lsp.storage.switches import is_on

_SECONDS = 10
_NEOVIM = (0, 11)
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_VSCODE = (".vscode", ".vscode-server", ".vscode-oss")


def on_path(options: Options) -> Iterator[Finding]:
    """Yield whether editors that start `north-lsp` by its name get this one."""
    found = shutil.which("north-lsp", path=options.environ.get("PATH"))
    own = Path(sys.executable).parent / "north-lsp"
    if found is None:
        remedy = f"name the program in your editor by its whole path, {own}, or install it with pipx or uv"
        yield Finding("note", "north-lsp is not on PATH: editors do not find it by its name", remedy)
    elif own.exists() and os.path.realpath(found) != os.path.realpath(own):
        yield Finding("note", f"editors that start north-lsp by its name get {found}, not this one ({own})")


def programs(options: Options) -> Iterator[Finding]:
    """Yield the programs that North runs, with their versions."""
    for program, missing, use in (
        ("bash", "error", "without it, commands cannot be run"),
        ("git", "warning", "without it, North knows nothing about the repository's history"),
    ):
        found = shutil.which(program, path=options.environ.get("PATH"))
        if found is not None:
            yield Finding("ok", f"{program}: {found} ({_version(found) or 'its version is unknown'})")
        else:
            text = f"{program} was not found: {use}"
            yield Finding("error" if missing == "error" else "warning", text, f"install {program}")


def editors(options: Options) -> Iterator[Finding]:
    """Yield the editors on this machine for which North has clients, and the versions of both."""
    home = Path(options.environ.get("HOME") or Path.home())
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
    program = shutil.which("nvim", path=environ.get("PATH"))
    if program is None:
        return
    shown = _version(program)
    version = tuple(int(part) for part in re.findall(r"\d+", shown)[:2])
    if version and version < _NEOVIM:
        yield Finding("warning", f"Neovim: {shown}; North's plugin needs 0.11", "install Neovim 0.11 or newer")
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "nvim"
    packs = [*data.glob("site/pack/*/*/*"), *data.glob("lazy/*")]
    gone = [path for path in packs if path.is_symlink() and not path.exists() and "north" in path.name]
    found = [path for path in packs if (path / "lua" / "north" / "init.lua").is_file()]
    for path in gone:
        yield Finding("warning", f"Neovim: {path} leads nowhere: {os.readlink(path)}", "make the link again")
    if found:
        yield Finding("ok", f"Neovim: {shown or program}, with North's plugin in {found[0]}")
    elif not gone:
        remedy = "`north-lsp docs start/neovim` says how; with another plugin manager this may be wrong"
        yield Finding("note", f"Neovim: {shown or program}, without North's plugin", remedy)


def network(options: Options, known: Catalog) -> Iterator[Finding]:
    """Yield what requests to models go through: proxies, certificates, other addresses."""
    environ = options.environ
    if is_on(environ, "NORTH_NO_NETWORK"):
        yield Finding("note", "NORTH_NO_NETWORK is set: North connects to this machine only")
    for name in _PROXIES:
        variable = next((one for one in (name.lower(), name) if environ.get(one)), None)
        if variable is not None:
            yield _proxy(variable, environ[variable])
    try:
        verification(environ)
    except OSError as error:
        yield Finding("error", str(error), "set NORTH_CA_BUNDLE to a PEM file with your company's certificates")
    for provider in known.providers:
        address = environ.get(provider.base_url or "", "").strip()
        if address and not _is_address(address, ("http", "https")):
            text = f"{provider.base_url} is not an address: {address!r}"
            yield Finding("error", text, f"set {provider.base_url} to an address like https://example.com, or unset it")


def _proxy(variable: str, value: str) -> Finding:
    parts = urlsplit(value if "://" in value else f"http://{value}")
    if not _is_address(value if "://" in value else f"http://{value}", ("http", "https", "socks5", "socks5h")):
        remedy = f"set {variable} to an address like http://proxy.example.com:3128"
        return Finding("error", f"{variable} does not name a proxy", remedy)
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        return Finding("error", f"{variable} names a SOCKS proxy", "install socksio beside North, or use an HTTP proxy")
    return Finding("ok", f"network: requests go through the proxy {parts.hostname} ({variable})")


def _is_address(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname)


def _version(program: str) -> str:
    """Return the first line that a program prints of its version; empty if it prints none in time."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.partition("\n")[0].strip()
