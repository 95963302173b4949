"""`north-lsp doctor`: what North finds on this machine, and what to do about what is wrong. Never prints a secret."""

import os
import platform
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from north_lsp import __version__
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.keys.credential_lookup import credential_source, has_credential
from north_lsp.server.options import Options
from north_lsp.shell.sandbox import probe
from north_lsp.storage.areas import areas, human
from north_lsp.storage.locations import Locations
from north_lsp.storage.settings import load_settings
from north_lsp.storage.settings_file import SettingsFile
from north_lsp.storage.trust import Trust
from north_lsp.workspace.roots import find_root, project_hash

_MARKS = {"ok": "ok     ", "note": "note   ", "warning": "warning", "error": "error  "}
_KNOWN = {
    "NORTH_MODEL",
    "NORTH_CONFIG_DIR",
    "NORTH_DATA_DIR",
    "NORTH_STATE_DIR",
    "NORTH_LOG_LEVEL",
    "NORTH_NO_NETWORK",
    "NORTH_TIMING",
    "NORTH_NO_TITLE",
    "NORTH_NO_OFFER",
    "NORTH_NULL_PROMPT",
    "NORTH_NOTIFICATIONS",
    "NORTH_CACHE_RETENTION",
    "NORTH_FAST_MODEL",
    "NORTH_SLOW_MODEL",
    "NORTH_PLAN_MODEL",
    "NORTH_CA_BUNDLE",
    "NORTH_DISCOVERY",
    "NORTH_OFFLINE_DELAY_MS",
    "NORTH_TCP_TOKEN",
    "NORTH_TEST_PROVIDER",
    "NORTH_AUTH_BROKER_URL",
    "NORTH_AUTH_BROKER_TOKEN",
    "NORTH_BASH_NO_CI",
    "NORTH_NO_PTY",
    "NORTH_SHELL_PREFIX",
    "NORTH_SESSION_ID",  # in commands that North runs
    "NORTH_COMMAND_ID",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `remedy` says what to do; it is empty where nothing is wrong."""

    level: Literal["ok", "note", "warning", "error"]
    text: str
    remedy: str = ""


def examine(options: Options) -> list[Finding]:
    """Return all findings, in a fixed order."""
    return [
        *_program(options),
        *_folders(options),
        *_modes(options),
        *_settings(options),
        *_models(options),
        *_tools(options),
        *_shell(options),
        *_sandbox(options),
        *_storage(options),
    ]


def report(findings: list[Finding]) -> str:
    lines = []
    for finding in findings:
        lines.append(f"{_MARKS[finding.level]}  {finding.text}")
        if finding.remedy:
            lines.append(f"         -> {finding.remedy}")
    return "\n".join(lines)


def _program(options: Options) -> Iterator[Finding]:
    yield Finding("ok", f"North {__version__}, Python {platform.python_version()}, {platform.system()}")
    yield Finding("ok", f"project root: {find_root(options.path or Path.cwd())}")
    unknown = sorted(name for name in options.environ if name.startswith("NORTH_") and name not in _KNOWN)
    if unknown:
        yield Finding("note", f"unknown NORTH_ variables: {', '.join(unknown)}", "check their spelling")


def _folders(options: Options) -> Iterator[Finding]:
    locations = Locations.from_environment(options.environ)
    rows = (
        ("settings", locations.config, "NORTH_CONFIG_DIR"),
        ("data", locations.data, "NORTH_DATA_DIR"),
        ("state", locations.state, "NORTH_STATE_DIR"),
    )
    for name, folder, variable in rows:
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
            yield Finding(
                "ok", f"{name} folder: {folder}" + ("" if folder.exists() else " (created when first needed)")
            )
        else:
            yield Finding(
                "error", f"the {name} folder {folder} cannot be written", f"set {variable} to a folder that can"
            )


def _modes(options: Options) -> Iterator[Finding]:
    """Yield the files with secrets that others on this machine can read."""
    locations = Locations.from_environment(options.environ)
    for path in (locations.data / "agent.db", locations.config / "secrets.yml"):
        with suppress(OSError):
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                path.chmod(0o600)
                text = f"{path} could be read by others on this machine (mode {mode:o}); now it is yours alone"
                yield Finding("warning", text, "replace the keys in it if you share this machine")


def _shell(options: Options) -> Iterator[Finding]:
    """Yield what users of a shell other than bash need to know."""
    own = os.path.basename(options.environ.get("SHELL", ""))
    if own and not own.startswith("bash"):
        yield Finding(
            "note",
            f"your shell is {own}: commands run with bash, without {own}'s functions and aliases",
            "put what commands need in ~/.bash_profile, or in the setting shell.env",
        )


def _sandbox(options: Options) -> Iterator[Finding]:
    """Try whether commands can be confined to the workspace here; yield what it means if not, and whether the settings
    ask for it for all commands."""
    wanted = load_settings(Locations.from_environment(options.environ)).sandbox != "off"
    held = probe()
    costs = "commands that you have allowed for good still ask, except plain ones that only read"
    if isinstance(held, str):
        remedy = "; so does every other command: the settings ask for the sandbox" if wanted else ""
        yield Finding("warning", f"sandbox: not available here ({held})", costs + remedy)
        return
    if not held.namespaces:
        yield Finding(
            "warning", f"sandbox: protected names and closed files cannot be guarded here ({held.why})", costs
        )
    network = "a network of its own" if held.namespaces else "no sockets"
    state = "for all commands" if wanted else 'for what runs without asking (`"sandbox": "workspace"`: for all)'
    yield Finding("ok", f"sandbox: {state}; Landlock {held.landlock}, {network}")
    for gap in held.gaps():
        yield Finding("note", f"sandbox: not prevented on this machine: {gap}")


def _storage(options: Options) -> Iterator[Finding]:
    """Yield what takes room, and what frees it."""
    locations = Locations.from_environment(options.environ)
    for area in areas(locations):
        files = "file" if area.count == 1 else "files"
        text = f"storage: {area.title}: {human(area.size)} in {area.count:,} {files}; freed by {area.freed_by}"
        yield Finding("ok", text)


def _settings(options: Options) -> Iterator[Finding]:
    locations, root = Locations.from_environment(options.environ), find_root(options.path or Path.cwd()).resolve()
    trust = Trust(locations, project_hash(root))
    for problem in SettingsFile(locations).of(root, trust.is_distrusted).current().problems:
        yield Finding(
            "warning" if "has no effect" in problem else "error",
            problem,
            "fix the file; it is read again when it changes",
        )


def _models(options: Options) -> Iterator[Finding]:
    known = options.load_catalog()
    for problem in known.problems:
        yield Finding("error", problem, "fix the file; docs/models.md says what it may contain")
    if known.keys.problem is not None:
        yield Finding(
            "error", known.keys.problem, "docs/models.md says where keys come from; north-lsp login stores one"
        )
    keyed = [provider for provider in known.providers if has_credential(provider, options.environ, known.keys)]
    for provider in keyed:
        name = credential_source(provider, options.environ, known.keys)
        base = options.environ.get(provider.base_url or "")
        yield Finding("ok", f"{provider.title}: the key is in {name}" + (f", served by {base}" if base else ""))
    for provider in known.providers:
        if provider.default is not None and provider.credentials and provider not in keyed:
            yield Finding(
                "note",
                f"{provider.title}: no key" + ("" if keyed else "; the offline model answers"),
                f"set {provider.credentials[-1]} in the environment that starts the editor, or run north-lsp login",
            )
    choice = options.choose_model(None, known)
    for notice in choice.notices:
        yield Finding("warning", notice, "choose another model")
    yield Finding("ok", f"model: {choice.model.title}")


def _tools(options: Options) -> Iterator[Finding]:
    path = options.environ.get("PATH")
    for program, level, use in (
        ("bash", "error", "without it, commands cannot be run"),
        ("git", "warning", "without it, North knows nothing about the repository's history"),
    ):
        found = shutil.which(program, path=path)
        if found:
            yield Finding("ok", f"{program}: {found}")
        else:
            yield Finding(
                "error" if level == "error" else "warning", f"{program} was not found: {use}", f"install {program}"
            )
