"""Signs in to a provider for `authenticate`, which belongs to no conversation."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import anyio.to_thread

from north_lsp.acp.elicitation import Elicitation
from north_lsp.agent.models.keys import UserKeys
from north_lsp.agent.ports.forms import Page
from north_lsp.providers.model import ProviderInfo
from north_lsp.rpc.messages import AUTH_REQUIRED, RpcError
from north_lsp.rpc.peer import Call


async def sign_in_for(call: Call, info: ProviderInfo, keys: UserKeys, elicitation: Elicitation) -> None:
    """Have the user sign in within five minutes; who withdraws `call` ends it. The client opens the page if it has
    pages, else a browser on this machine. Raises RpcError."""
    page = Page(f"sign-in-{call.id}", f"Sign in to {info.title}", "")

    async def show(address: str) -> None:
        nonlocal page
        page = replace(page, url=address)
        answer = await elicitation.open(page)
        if answer is None and not await _browse(address):
            other = f"`north-lsp login {info.id}` in a terminal, or the prompt `/login {info.id}`, shows its address"
            raise ValueError(f"no browser could be opened on the machine that North runs on: {other}")
        if answer is not None and answer.kind != "accepted":
            raise ValueError("the page to sign in was not opened")

    try:
        await keys.sign_in(info, show)
    except (ValueError, OSError) as error:
        raise RpcError(AUTH_REQUIRED, f"you are not signed in to {info.title}: {error}") from None
    await elicitation.done(page)


async def _browse(address: str) -> bool:
    import webbrowser

    with suppress(webbrowser.Error):
        return await anyio.to_thread.run_sync(webbrowser.open, address, abandon_on_cancel=True)
    return False
