"""`north-lsp doctor`: what North finds on this machine, and what to do about what is wrong. Never prints a secret."""

import os
import platform
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from north_lsp import __version__
from north_lsp.cli.finding import Finding
from north_lsp.cli.surroundings import editors, network, on_path, programs
from north_lsp.cli.variables import NUMBERS, SET_BY_NORTH, SWITCHES, VARIABLES
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.catalog.model_selection import Allowed, fits, prepared
from north_lsp.providers.keys.credential_lookup import credential_source, has_credential
from north_lsp.server.options import Options, UsageError
from north_lsp.shell.sandbox import probe
from north_lsp.storage.areas import areas, human
from north_lsp.storage.locations import Locations
from north_lsp.storage.model_settings import ModelSettings
from north_lsp.storage.settings import load_settings
from north_lsp.storage.settings_file import SettingsFile
from north_lsp.storage.switches import is_number, is_on, is_switch
from north_lsp.storage.trust import Trust
from north_lsp.workspace.roots import find_root, project_hash

_KNOWN = {*VARIABLES, *SET_BY_NORTH}


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
    unknown = sorted(name for name in options.environ if name.startswith("NORTH_") and name not in _KNOWN)
    if unknown:
        meant = {name: get_close_matches(name, _KNOWN, 1) for name in unknown}
        told = [f"{name} (did you mean {near[0]}?)" if near else name for name, near in meant.items()]
        yield Finding("note", f"unknown NORTH_ variables: {', '.join(told)}", "check their spelling")
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
            text = f"{name} is {value[:40]!r}, which is no whole number: the default applies"
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
    costs = "commands that you have allowed permanently still ask, except plain ones that only read"
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
    """Yield what is wrong with models and keys, where keys are, and which model answers."""
    locations = Locations.from_environment(options.environ)
    settings = load_settings(locations)
    known = prepared(options.load_catalog(settings.models), settings.models)
    for problem in known.problems:
        yield Finding("error", problem, "fix the file; `north-lsp docs models` says what it may contain")
    if known.keys.problem is not None:
        yield Finding("error", known.keys.problem, "`north-lsp docs models` says where keys come from")
    keyed = [provider for provider in known.providers if has_credential(provider, options.environ, known.keys)]
    for provider in keyed:
        name = credential_source(provider, options.environ, known.keys)
        base = options.environ.get(provider.base_url or "")
        yield Finding("ok", f"{provider.title}: the key is in {name}" + (f", served by {base}" if base else ""))
    if not keyed:
        yield Finding(
            "note",
            "no API key was found: the built-in offline model answers, or a model server on this machine",
            "store a key with `north-lsp login`, or set ANTHROPIC_API_KEY (or another provider's variable) in the "
            "environment that starts the editor",
        )
    allowed = Allowed.by(settings.models, (options.path or Path.cwd()).resolve())
    yield from _selectors(known, allowed, settings.models)
    try:
        choice = options.choose_model(settings.selected_model, known, allowed)
    except UsageError as error:
        named = "--model" if options.model != options.environ.get("NORTH_MODEL", "").strip() else "NORTH_MODEL"
        remedy = f"change {named}, or make that model usable; `north-lsp models` lists the others"
        yield Finding("error", str(error), remedy)
        return
    for notice in choice.notices:
        yield Finding("warning", notice, "choose another model in the editor, or with `/model` in the chat")
    yield Finding("ok", f"model: {choice.model.title} ({choice.model.selector})")
    yield from network(options, known)


def _selectors(known: Catalog, allowed: Allowed, settings: ModelSettings) -> Iterator[Finding]:
    """Yield the settings that name models or providers that do not exist."""
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
    _models,
    programs,
    _shell,
    _sandbox,
    editors,
    _storage,
)
