"""The slash commands about providers and keys, as far as they need a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

from north_lsp.agent.models.keys import UserKeys
from north_lsp.agent.ports.editor import UserInterface
from north_lsp.agent.ports.sign_in_page import SignInPage
from north_lsp.display import fenced
from north_lsp.providers.catalog.add_provider import ModelsText
from north_lsp.providers.catalog.presets import PresetError, find_preset, presets
from north_lsp.providers.model import ProviderInfo
from north_lsp.slash.base import CommandError, PlannedProvider
from north_lsp.storage.credentials import StoredKey

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.agent.session.process.environment import Environment

_T = TypeVar("_T")
_COMMAND_LINE = (
    "A key typed into the conversation would stay there. Run `north-lsp login{}` in a terminal, which asks for it "
    "without showing it; or use the editor's own way to sign in, if it offers one."
)


class ProvidersHost:
    """The part of a slash command's `Host` that is about providers and keys. Every method may raise CommandError."""

    def __init__(self, session: LiveSession, environment: Environment) -> None:
        self._session = session
        self._environment = environment

    @property
    def _keys(self) -> UserKeys:
        environment = self._environment
        return UserKeys(environment.models, environment.locations, environment.environ)

    @property
    def presets(self) -> Sequence[str]:
        return [preset.name for preset in presets()]

    async def provider_names(self, preset: str) -> tuple[str, str]:
        def names() -> tuple[str, str]:
            id, text = find_preset(preset).id, ModelsText(self._environment.locations.config)
            return id, text.free_name(id) if text.has(id) else id

        return await _done(names)

    async def plan_provider(self, preset: str, name: str, address: str | None, *, replace: bool) -> PlannedProvider:
        found = await _done(partial(find_preset, preset))
        if found.wants_address and address is None:
            raise CommandError(f"`/provider add {preset} <address>`: for example http://127.0.0.1:8000/v1")
        text = await _done(partial(ModelsText, self._environment.locations.config))
        addition = await _done(partial(text.with_preset, preset, name, address, replace=replace))

        async def write() -> None:
            await _done(addition.write)
            await self._environment.models.catalog_refresh.refresh()

        shown = fenced(addition.difference, "diff")
        return PlannedProvider(str(addition.path), shown, f"Continue with `/login {name}`.", write)

    async def how_to_log_in(self, provider: str | None) -> str:
        known, offered = await self._keys.known(), self._keys.providers()
        if provider is None:
            stored = {info.id: [self._shown(key) for key in known if key.provider == info.id] for info in offered}
            rows = [f"- `{info.id}`: {info.title}{_how(info)}{_stored(stored[info.id])}" for info in offered]
            return "\n".join([_COMMAND_LINE.format(" <provider>"), "", *rows])
        info = next((info for info in offered if info.id == provider), None)
        if info is None:
            ids = ", ".join(info.id for info in offered)
            # What was typed is not repeated: it may have been a key.
            raise CommandError(f"this is not a provider that needs a key; those that do are {ids}")
        variables = " or ".join(info.credentials)
        return f"{_COMMAND_LINE.format(f' {info.id}')} Or set {variables} in your editor's environment."

    def _shown(self, key: StoredKey) -> str:
        rest = self._keys.rest_of(key)
        return key.ending if rest is None else f"{key.ending} {rest}"

    async def sign_in_to_provider(self, provider: str) -> str | None:
        found = self._keys.provider(provider)
        if found is None or found.sign_in is None:
            return None
        questions = self._session.questions
        with questions.waiting():
            try:
                await sign_in_to(found, self._keys, questions.editor)
            except (ValueError, OSError) as error:
                raise CommandError(f"you are not signed in: {error}") from None
            winner = self._keys.winner(found)
            told = f" It is not used while there is {winner}: `/logout` forgets stored keys." if winner else ""
            return f"You are signed in to {found.title}.{told}"
        return "You have not signed in: it was cancelled."

    def signed_in(self) -> Sequence[tuple[str, str]]:
        return [(info.id, info.title) for info in self._keys.signed_in()]

    async def sign_out_of_provider(self, provider: str) -> None:
        await _kept(self._keys.sign_out(provider))

    async def stored_keys(self) -> Sequence[StoredKey]:
        return await _kept(self._keys.stored())

    async def forget_key(self, id: int) -> None:
        await _kept(self._keys.remove(id))


async def sign_in_to(info: ProviderInfo, keys: UserKeys, editor: UserInterface) -> None:
    """Have the user sign in to a provider. Raises ValueError, OSError."""
    page = SignInPage(editor, "sign-in")

    async def show(address: str) -> None:
        if not await page.show(info.title, address):
            raise ValueError("the page to sign in was not opened")

    await keys.sign_in(info, show)
    await page.done()


def _how(info: ProviderInfo) -> str:
    return f" (`/login {info.id}` signs you in, in a browser)" if info.sign_in is not None else ""


def _stored(keys: Sequence[str]) -> str:
    return f", stored ({', '.join(keys)})" if keys else ""


async def _done(work: Callable[[], _T]) -> _T:
    try:
        return await _kept(anyio.to_thread.run_sync(work))
    except PresetError as error:
        raise CommandError(str(error)) from None


async def _kept(work: Awaitable[_T]) -> _T:
    try:
        return await work
    except OSError as error:
        raise CommandError(f"this could not be done: {error.strerror or error}") from None
