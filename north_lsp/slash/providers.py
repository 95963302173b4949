"""The commands for providers: ready-made ones, and keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, CommandError, KnownKey, PlannedProvider, Reply, UsageError


class HostForProviders(Protocol):
    """What commands about providers and keys ask of a session. Every method may raise CommandError."""

    @property
    def presets(self) -> Sequence[str]:
        """The names of the ready-made providers."""
        ...

    async def provider_names(self, preset: str) -> tuple[str, str]:
        """Return the name that a preset's provider gets, and one that is free: the same one unless it is taken."""
        ...

    async def plan_provider(self, preset: str, name: str, address: str | None, *, replace: bool) -> PlannedProvider: ...

    async def how_to_log_in(self, provider: str | None) -> str: ...

    async def sign_in_to_provider(self, provider: str) -> str | None:
        """Have the user sign in to a provider in a browser; None for one that wants a key."""
        ...

    def signed_in(self) -> Sequence[tuple[str, str]]:
        """Return the ids and names of the providers that the user is signed in to."""
        ...

    async def sign_out_of_provider(self, provider: str) -> None: ...

    async def stored_keys(self) -> Sequence[KnownKey]: ...

    async def forget_key(self, id: int) -> None: ...

    async def choose(self, question: str, options: Sequence[tuple[str, str]], detail: str = "") -> str | None:
        """Ask the user to choose; return the option's id, None if nobody chose. `detail` is Markdown below the
        question."""
        ...


async def _provider(host: HostForProviders, words: Sequence[str]) -> Reply:
    match words:
        case ["add"]:
            rows = [(name, name) for name in host.presets]
            preset = await host.choose("Which provider?", (*rows, ("none", "None of them")))
            if preset in (None, "none"):
                return Reply(
                    f"The presets are {', '.join(f'`{name}`' for name in host.presets)}: `/provider add <preset>`."
                )
            return await _add(host, str(preset), None)
        case ["add", preset] | ["add", preset, ""]:
            return await _add(host, preset, None)
        case ["add", preset, address]:
            return await _add(host, preset, address)
        case _:
            raise UsageError("A local server needs its address.")


async def _add(host: HostForProviders, preset: str, address: str | None) -> Reply:
    name, free = await host.provider_names(preset)
    replace = False
    if free != name:
        question = f"models.yml already has a provider {name}."
        options = (("replace", "Replace it"), ("rename", f"Add it as {free}"), ("keep", "Keep it as it is"))
        choice = await host.choose(question, options)
        if choice not in ("replace", "rename"):
            return Reply(f"The provider `{name}` is unchanged.")
        replace = choice == "replace"
        name = name if replace else free
    planned = await host.plan_provider(preset, name, address, replace=replace)
    answers = (("write", "Write it"), ("leave", "Leave the file as it is"))
    if await host.choose(f"Add the provider {name} to {planned.path}?", answers, planned.shown) != "write":
        return Reply("Nothing was written.")
    await planned.write()
    return Reply(f"The provider `{name}` is in models.yml now. {planned.next_step}")


async def _login(host: HostForProviders, words: Sequence[str]) -> Reply:
    if len(words) > 1:
        raise CommandError(
            "Never type a key into a conversation. If this was one, revoke it at the provider; `/login` says how to "
            "store a key."
        )
    if words and (told := await host.sign_in_to_provider(words[0])) is not None:
        return Reply(told)
    return Reply(await host.how_to_log_in(words[0] if words else None))


async def _logout(host: HostForProviders, words: Sequence[str]) -> Reply:
    if len(words) > 1:
        raise UsageError
    keys = {str(key.id): key for key in await host.stored_keys() if not words or key.provider == words[0]}
    signed_in = {f"sign-in {id}": (id, name) for id, name in host.signed_in() if not words or id == words[0]}
    rows = [(id, f"{key.provider}: {key.label} {key.ending}, {key.use}") for id, key in keys.items()]
    rows += [(row, f"{id}: signed in to {name}") for row, (id, name) in signed_in.items()]
    if not rows:
        return Reply(f"No key is stored{' for that provider' if words else ''}.")
    options = (*rows, *([("all", "All of these")] if len(rows) > 1 else []), ("none", "None"))
    choice = await host.choose("Which key should be removed?", options)
    chosen = [id for id, _ in rows if choice in (id, "all")]
    if not chosen:
        return Reply("Nothing was removed. Stored keys:\n\n" + "\n".join(f"- {name}" for _, name in rows))
    for id in chosen:
        if id in signed_in:
            await host.sign_out_of_provider(signed_in[id][0])
        else:
            await host.forget_key(keys[id].id)
    return Reply("The key was removed." if len(chosen) == 1 else f"{len(chosen)} keys were removed.")


PROVIDERS = (
    Command("login", "Show how to store a provider's key", _login, "[provider]", is_private=True),
    Command("logout", "Remove stored keys", _logout, "[provider]", is_private=True),
    Command("provider", "Add a ready-made provider to models.yml", _provider, "add [preset] [address]"),
)
