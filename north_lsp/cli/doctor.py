"""`north-lsp doctor`: what North finds on this machine, and what to do about what is wrong. Never prints a secret."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from north_lsp import __version__, systems
from north_lsp.agent.secrets.secrets_file import BadFile, read_secrets_file
from north_lsp.agent.servers.sources import find_servers
from north_lsp.cli.finding import Finding, Level
from north_lsp.cli.reach import keys, network
from north_lsp.cli.surroundings import editors, on_path, programs
from north_lsp.cli.variables import NUMBERS, SET_BY_NORTH, SWITCHES, VARIABLES, WITHOUT_EFFECT
from north_lsp.errors import Problem
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.catalog.model_selection import Allowed, fits, prepared
from north_lsp.providers.catalog.selectors import ROLES, role_of
from north_lsp.server.options import Options, UsageError
from north_lsp.shell.plain.runner import ASKS
from north_lsp.shell.sandbox import probe
from north_lsp.storage.areas import areas, human
from north_lsp.storage.locations import Locations
from north_lsp.storage.model_settings import ModelSettings
from north_lsp.storage.settings_file import SettingsFile
from north_lsp.storage.switches import is_number, is_on, is_switch
from north_lsp.storage.trust import Trust
from north_lsp.storage.user_settings import load_settings
from north_lsp.workspace.project_root import find_root, project_hash

_KNOWN = {*VARIABLES, *SET_BY_NORTH}
_NO_TYPO = _KNOWN | WITHOUT_EFFECT.keys()
_FOR_A_SANDBOX = (
    "it needs Linux 5.13 or newer with Landlock and user namespaces, which many containers switch off, or macOS with "
    "/usr/bin/sandbox-exec; without it, you only have to answer more questions"
)


def examine(options: Options) -> list[Finding]:
    """Return all findings, in a fixed order. A check that fails is a finding, too."""
    found: list[Finding] = []
    for check in _CHECKS:
        try:
            found += check(options)
        except Exception as error:  # noqa: BLE001 - whatever is broken, the other checks are made
            what = getattr(check, "__name__", "something").strip("_").replace("_", " ")
            text = f"the check of {what} failed: {type(error).__name__}: {error}"
            found.append(Finding("error", text, "`north-lsp doctor --bundle` writes a zip to report it with"))
    return found


def _program(options: Options) -> Iterator[Finding]:
    yield Finding("ok", f"North {__version__}, Python {platform.python_version()}, {platform.system()}")
    yield Finding("ok", f"project root: {find_root(options.path or Path.cwd())}")
    unknown = sorted(name for name in options.environ if name.startswith("NORTH_") and name not in _NO_TYPO)
    if unknown:
        meant = {name: get_close_matches(name, _KNOWN, 1) for name in unknown}
        told = [f"{name} (did you mean {near[0]}?)" if near else name for name, near in meant.items()]
        yield Finding("note", f"unknown NORTH_ variables: {', '.join(told)}", "check their spelling")
    for name, why in WITHOUT_EFFECT.items():
        if options.environ.get(name):
            yield Finding("note", f"{name} has no effect: {why}", "unset it")
    yield from _values(options.environ)


def _values(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield North's own variables whose value is none that it knows."""
    for name in SWITCHES:
        if (value := environ.get(name, "")) and not is_switch(value):
            counts = "on" if is_on(environ, name) else "not set"
            text = f"{name} is {value[:40]!r}, which is neither on nor off: it counts as {counts}"
            yield Finding("warning", text, f"set {name} to 1 or 0, or unset it")
    for name in NUMBERS:
        if (value := environ.get(name, "")) and not is_number(value):
            text = f"{name} is {value[:40]!r}, which is not a whole number: the default applies"
            yield Finding("warning", text, f"set {name} to a number, or unset it")


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
    yield Finding("ok", f"log: {locations.log_file}; `/log` in the chat shows its end")


def _modes(options: Options) -> Iterator[Finding]:
    """Yield the files with secrets that others on this machine can read."""
    locations = Locations.from_environment(options.environ)
    for path in (locations.data / "agent.db", locations.config / "secrets.yml"):
        with suppress(OSError):
            mode = stat.S_IMODE(path.stat().st_mode)
            if systems.HAS_MODES and mode & 0o077:
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
    if not systems.CAN_KEEP_SHELLS:
        yield Finding("note", f"sandbox: {ASKS}")
        return
    held = probe()
    costs = "commands that you have allowed permanently still ask, except plain ones that only read"
    if isinstance(held, str):
        costs += "; so does every other command: the settings ask for the sandbox" if wanted else ""
        yield Finding("warning", f"sandbox: not available here ({held}): {costs}", _FOR_A_SANDBOX)
        return
    if not held.holds:
        text = f"sandbox: protected names and closed files cannot be guarded here ({held.why}): {costs}"
        yield Finding("warning", text, _FOR_A_SANDBOX)
    how = "Seatbelt" if held.seatbelt else f"Landlock {held.landlock}"
    network = "no network" if held.seatbelt else "a network of its own" if held.namespaces else "no sockets"
    state = "for all commands" if wanted else 'for what runs without asking (`"sandbox": "workspace"`: for all)'
    yield Finding("ok", f"sandbox: {state}; {how}, {network}")
    for gap in held.gaps():
        yield Finding("note", f"sandbox: not prevented on this machine: {gap}")


def _file_of(problem: str) -> str:
    path = problem.path if isinstance(problem, Problem) else None
    return str(path) if path is not None else "the file"


def _own_files(options: Options) -> Iterator[Finding]:
    """Yield what is wrong in the lists of secrets and of MCP servers, the user's and the project's."""
    locations, root = Locations.from_environment(options.environ), find_root(options.path or Path.cwd()).resolve()
    for path in (locations.config / "secrets.yml", root / ".north" / "secrets.yml"):
        try:
            problems = read_secrets_file(path).problems
        except BadFile as error:
            yield Finding("error", str(error), f"fix {path}: until then, no request is sent to a model")
        else:
            yield from (
                Finding("error", one, f"fix {path}; `north-lsp docs secrets` shows entries") for one in problems
            )
    home = systems.home(options.environ)
    found = find_servers([], root, home, locations, "listed")
    for problem in found.problems:
        yield Finding("warning", problem, f"fix {_file_of(problem)}; `north-lsp docs mcp` shows entries")
    for spec in found.specs:
        if spec.problem:
            text = f"{spec.source}: the MCP server {spec.name} cannot be used: {spec.problem}"
            yield Finding("warning", text, f"fix {spec.source}; `north-lsp docs mcp` shows entries")


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
        level: Level = "warning" if "has no effect" in problem else "error"
        yield Finding(level, problem, f"fix {_file_of(problem)}; it is read again when it changes")


def _known(options: Options) -> Catalog:
    settings = load_settings(Locations.from_environment(options.environ))
    return prepared(options.load_catalog(settings.models), settings.models)


def _models(options: Options) -> Iterator[Finding]:
    """Yield what is wrong with models, and which model answers."""
    settings, known = load_settings(Locations.from_environment(options.environ)), _known(options)
    for problem in known.problems:
        yield Finding("error", problem, f"fix {_file_of(problem)}; `north-lsp docs models` says what it may contain")
    if known.keys.problem is not None:
        yield Finding("error", known.keys.problem, "`north-lsp docs models` says where keys come from")
    allowed = Allowed.by(settings.models, (options.path or Path.cwd()).resolve())
    yield from _selectors(known, allowed, settings.models)
    try:
        choice = options.choose_model(settings.selected_model, known, allowed)
    except UsageError as error:
        named = "--model" if options.model != options.environ.get("NORTH_MODEL", "").strip() else "NORTH_MODEL"
        remedy = f"change {named}, or make that model usable; `north-lsp models` lists the others"
        yield Finding("error", str(error), remedy)
        yield from _saved(known, settings.selected_model)
        return
    for notice in choice.notices:
        yield Finding("warning", notice, "choose another model in the editor, or with `/model` in the chat")
    yield Finding("ok", f"model: {choice.model.title} ({choice.model.selector})")


def _saved(known: Catalog, saved: str | None) -> Iterator[Finding]:
    """Yield whether the saved model is unknown, which nobody notices while another one is asked for."""
    if saved is None:
        return
    try:
        known.find(saved)
    except UnknownModel as error:
        yield Finding("warning", f"the saved model: {error}", "correct selectedModel, or choose one with `/model`")


def _keys(options: Options) -> Iterator[Finding]:
    return keys(options, _known(options))


def _network(options: Options) -> Iterator[Finding]:
    return network(options, _known(options))


def _selectors(known: Catalog, allowed: Allowed, settings: ModelSettings) -> Iterator[Finding]:
    """Yield the settings that name models or providers that do not exist."""
    for role in sorted(set(settings.roles) - {role for role in settings.roles if role_of(role)}):
        near = get_close_matches(role, ROLES, 1)
        text = f"modelRoles: North has no role {role}" + (f"; did you mean {near[0]}?" if near else "")
        yield Finding("warning", text, f"correct modelRoles; the roles are {', '.join(ROLES)}")
    for role in sorted(known.roles):
        try:
            known.find(known.roles[role])
        except UnknownModel as error:
            remedy = "correct it in modelRoles (config.json) or modelBindings (models.yml)"
            yield Finding("warning", f"the role {role}: {error}", remedy)
    for pattern in allowed.models:
        if not any(fits(pattern, model) for model in known.models):
            remedy = "correct enabledModels; `north-lsp models` lists the names"
            yield Finding("warning", f"enabledModels: no known model is called {pattern}", remedy)
    if "offline" in allowed.without:
        text = "disabledProviders: the offline model cannot be disabled; it answers when no other model can"
        yield Finding("note", text, "remove offline from disabledProviders")
    ids = {provider.id for provider in known.providers}
    for id in sorted({*allowed.without, *settings.provider_order} - ids - {"*"}):
        near = get_close_matches(id, ids, 1)
        text = f"disabledProviders or modelProviderOrder: there is no provider {id}"
        yield Finding("warning", text + (f"; did you mean {near[0]}?" if near else ""), "correct the name")


_CHECKS: tuple[Callable[[Options], Iterable[Finding]], ...] = (
    _program,
    on_path,
    _folders,
    _modes,
    _settings,
    _own_files,
    _models,
    _keys,
    _network,
    programs,
    _shell,
    _sandbox,
    editors,
    _storage,
)
