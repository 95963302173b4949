"""`north-lsp login`, `logout` and `setup provider`. Keys are typed without being shown, and nothing prints them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches

from north_lsp.cli.talking import agrees, waiting
from north_lsp.display import counted
from north_lsp.providers.catalog.add_provider import ModelsText
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.presets import Preset, PresetError, find_preset, presets
from north_lsp.providers.keys.check import key_problem
from north_lsp.providers.model import ProviderInfo, SignIn
from north_lsp.server.options import Options, UsageError
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations

_COMMON = ("anthropic", "openai", "google", "openrouter")
"""The providers that are listed first."""
Ask = Callable[[str], str]
Say = Callable[[str], object]


def login(options: Options, provider: str | None, ask: Ask, ask_secret: Ask, say: Say) -> int:
    """Ask for a provider's key, try it out, and store it. Returns the exit code. Raises UsageError."""
    import anyio

    info = _provider(options.load_catalog(), provider, ask, say)
    if info.sign_in is not None:
        return _sign_in(options, info, info.sign_in, say)
    secret = ask_secret(f"{info.title} API key (not shown): ").strip()
    if not secret:
        say("No key was entered; nothing was stored.")
        return 1
    with waiting(f"Checking the key with {info.title}…"):
        problem = anyio.run(key_problem, info, secret, options.environ)
    if problem is not None:
        say(f"{problem}.")
        if not agrees(ask, "Store it anyway?"):
            return 1
    store = CredentialStore(Locations.from_environment(options.environ))
    try:
        stored = store.add(info.id, secret, info.title)
    except OSError as error:
        raise UsageError(str(error)) from None
    say(f"Stored the key {stored.ending} for {info.title} in {store.path}, readable only by you.")
    return 0


def _sign_in(options: Options, info: ProviderInfo, about: SignIn, say: Say) -> int:
    """Have the user sign in to a provider in a browser. Returns the exit code. Raises UsageError."""
    import webbrowser

    import anyio

    from north_lsp.providers.keys.sign_in import SignInFailed, sign_in

    async def show(address: str) -> None:
        say(f"Sign in to {info.title} on this page, within five minutes:\n\n  {address}\n")
        with suppress(webbrowser.Error):
            await anyio.to_thread.run_sync(webbrowser.open, address, abandon_on_cancel=True)

    try:
        grant = anyio.run(sign_in, about, options.environ, show)
        store = CredentialStore(Locations.from_environment(options.environ))
        store.keep_sign_in(info.id, info.title, grant.to_json())
        has_key = any(key.provider == info.id for key in store.all_keys())
    except SignInFailed as error:
        say(f"You are not signed in: {error}.")
        return 1
    except OSError as error:
        raise UsageError(str(error)) from None
    say(f"You are signed in to {info.title}.")
    if has_key:
        say("It is not used while a key is stored: `north-lsp logout` removes one.")
    return 0


def logout(options: Options, provider: str | None, ask: Ask, say: Say) -> int:
    """Remove a provider's keys, or show all of them and ask which. Returns the exit code. Raises UsageError."""
    store = CredentialStore(Locations.from_environment(options.environ))
    try:
        keys = [key for key in store.all_keys() if provider in (None, key.provider)]
        signed_in = [id for id in store.sign_ins() if provider in (None, id)]
        if not keys and not signed_in:
            say("No key is stored." if provider is None else f"No key is stored for {provider}.")
            return 0
        if provider is not None:
            store.remove(provider=provider)
            removed = [counted(len(keys), "key")] * bool(keys) + ["your sign-in"] * bool(signed_in)
            say(f"Removed {' and '.join(removed)} of {provider}.")
            return 0
        rows = [f"{key.provider}  {key.label}  {key.ending}  {key.use}" for key in keys]
        for number, row in enumerate([*rows, *(f"{id}  signed in" for id in signed_in)], 1):
            say(f"{number}  {row}")
        choice = ask("Which should be removed? (number, or all) ").strip()
        if choice == "all":
            say(f"Removed {counted(store.remove(), 'key')}.")
            return 0
        if not choice.isdecimal() or not 1 <= int(choice) <= len(keys) + len(signed_in):
            say("Nothing was removed.")
            return 1
        if int(choice) <= len(keys):
            store.remove(keys[int(choice) - 1].id)
        else:
            store.forget_sign_in(signed_in[int(choice) - 1 - len(keys)])
        say("Removed.")
        return 0
    except OSError as error:
        raise UsageError(str(error)) from None


def stored_as_json(options: Options, provider: str | None, say: Say) -> int:
    """Show the stored keys (of a provider) and sign-ins as JSON, without asking. Returns the exit code. Raises
    UsageError."""
    store = CredentialStore(Locations.from_environment(options.environ))
    try:
        rows: list[dict[str, object]] = [
            {
                "provider": key.provider,
                "kind": "key",
                "label": key.label,
                "ending": key.ending,
                "createdAt": key.created_at,
                "lastUsedAt": key.last_used_at,
            }
            for key in store.all_keys()
            if provider in (None, key.provider)
        ]
        rows += [{"provider": id, "kind": "sign-in"} for id in store.sign_ins() if provider in (None, id)]
    except OSError as error:
        raise UsageError(str(error)) from None
    say(json.dumps(rows, indent=2, ensure_ascii=False))
    return 0


def setup_provider(
    options: Options, preset_name: str | None, id: str | None, address: str | None, unattended: bool, ask: Ask, say: Say
) -> int:
    """Show the lines of a ready-made provider and add them to models.yml. Returns the exit code. Raises UsageError."""
    try:
        text = ModelsText(Locations.from_environment(options.environ).config)
        preset = find_preset(preset_name) if preset_name is not None else _chosen(unattended, ask, say)
        name, replace = id or preset.id, False
        if text.has(name):
            if unattended:
                raise UsageError(f"{text.path} already has a provider {name}: choose another name with --id")
            choice = ask(f"{text.path} already has a provider {name}: [k]eep it, [r]eplace it, or a new name? ").strip()
            if choice.lower() in ("", "k", "keep"):
                return 0
            replace = choice.lower() in ("r", "replace")
            name = name if replace else choice
        if preset.wants_address and address is None and not unattended:
            address = ask("Its address, for example http://127.0.0.1:8000/v1: ").strip()
        addition = text.with_preset(preset.name, name, address, replace=replace)
    except PresetError as error:
        raise UsageError(str(error)) from None
    say(addition.difference)
    if not unattended and not agrees(ask, "Write this?"):
        return 1
    try:
        addition.write()
    except OSError as error:
        raise UsageError(f"{addition.path} cannot be written: {error.strerror or error}") from None
    say(f"Written. `north-lsp models {name}` shows its models.")
    return 0


def _chosen(unattended: bool, ask: Ask, say: Say) -> Preset:
    """Have the user choose a preset, by its number or name. Raises PresetError, and UsageError where nobody can."""
    if unattended:
        raise UsageError("setup --yes needs --preset: " + ", ".join(preset.name for preset in presets()))
    for number, preset in enumerate(presets(), 1):
        say(f"{number:>3}  {preset.name:<12} {preset.address}")
    typed = ask("Which provider? (number or name) ").strip()
    if typed.isdecimal() and 1 <= int(typed) <= len(presets()):
        return presets()[int(typed) - 1]
    return find_preset(typed)


def _provider(known: Catalog, id: str | None, ask: Ask, say: Say) -> ProviderInfo:
    offered = [info for info in known.providers if info.credentials or info.sign_in is not None]
    if id is None:
        offered.sort(key=lambda info: info.id not in _COMMON)
        for number, info in enumerate(offered, 1):
            say(f"{number:>3}  {info.title} ({info.id})")
        id = ask("Which provider? (number or id) ").strip()
        if id.isdecimal() and 1 <= int(id) <= len(offered):
            return offered[int(id) - 1]
    found = next((info for info in offered if info.id == id), None)
    if found is None:
        ids = [info.id for info in offered]
        near = get_close_matches(id, ids, 1)
        raise UsageError(
            f"unknown provider {id!r}; " + (f"did you mean {near[0]}?" if near else f"known: {', '.join(ids)}")
        )
    return found


def is_terminal() -> bool:
    return os.isatty(0)
