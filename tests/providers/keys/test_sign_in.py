"""A sign-in to a provider: who asks for a token proves that it asked for the code, what is secret is not told again,
and a token goes to nobody else."""

import asyncio
import base64
import hashlib
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
import pytest

from north_lsp.providers.base import Done, Failed, ModelRequest, Provider, StreamEvent, UserMessage
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.factory import make_provider
from north_lsp.providers.keys.routes import Route
from north_lsp.providers.keys.sign_in import Grant, SignInFailed, refreshed, sign_in
from north_lsp.providers.keys.sources import Keys
from north_lsp.providers.model import SignIn
from north_lsp.storage import keyring
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer

ENDED = Grant("token-old-0123456789", "refresh-old-0123456789", 1.0)
GIVEN: dict[str, Any] = {
    "access_token": "token-new-0123456789",
    "refresh_token": "refresh-new-0123456789",
    "expires_in": 3600,
}
REQUEST = ModelRequest("m", "", [UserMessage("q")], [], 100, "a")
MODELS = """
providers:
  company:
    baseUrl: {url}
    api: anthropic-messages
    auth: oauth
    oauth: {{authorizeUrl: "{url}/authorize/", tokenUrl: "{url}/token/", clientId: north}}
    models: [{{id: m-1}}]
"""


class Company:
    """A provider to which the user has signed in, and whose token has ended."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.store = CredentialStore(Locations(folder / "config", folder / "data", folder / "state"))
        self.store.keep_sign_in("company", "Company", ENDED.to_json())
        self.keys = Keys(self.store)
        self.keys.refresh()
        (folder / "models.yml").write_text(MODELS.format(url=server.url))
        self.model = load_catalog(folder, {}).find("company/m-1")
        self.provider: Provider = make_provider(self.model, {}, keys=self.keys)

    async def ask(self) -> StreamEvent:
        events = [event async for event in self.provider.stream(REQUEST)]
        await self.provider.aclose()
        return events[-1]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def form(raw: bytes) -> dict[str, str]:
    return {key: value for key, (value,) in parse_qs(raw.decode()).items()}


def answering(asked: list[dict[str, str]], given: dict[str, Any]) -> Callable[[bytes], dict[str, Any]]:
    def page(raw: bytes) -> dict[str, Any]:
        asked.append(form(raw))
        return given

    return page


async def test_who_asks_for_the_token_is_who_asked_for_the_code(server: ModelServer) -> None:
    asked: list[dict[str, str]] = []
    server.pages["/token/"] = answering(asked, GIVEN)
    pages: list[str] = []

    async def show(address: str) -> None:
        pages.append(address)
        back = form(urlsplit(address).query.encode())
        answer = f"{back['redirect_uri']}?state={back['state']}&code=c-1"
        await anyio.to_thread.run_sync(lambda: urllib.request.urlopen(answer).close())

    about = SignIn(f"{server.url}/authorize/", f"{server.url}/token/", "north")
    grant = await sign_in(about, {}, show)
    (request,), (page,) = asked, pages
    wanted = form(urlsplit(page).query.encode())
    digest = hashlib.sha256(request.pop("code_verifier").encode()).digest()
    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == wanted["code_challenge"]
    told = {"grant_type": "authorization_code", "code": "c-1", "client_id": "north"}
    assert request == told | {"redirect_uri": wanted["redirect_uri"]}
    assert (grant.access, grant.refresh) == (GIVEN["access_token"], GIVEN["refresh_token"])
    assert GIVEN["access_token"] not in repr(grant)


async def test_a_refusal_does_not_tell_a_secret_again(server: ModelServer) -> None:
    about = SignIn(f"{server.url}/authorize", f"{server.url}/token", "north")
    server.pages["/token"] = lambda raw: {"error": f"{form(raw)['refresh_token']} is not known\x1b[2J"}
    with pytest.raises(SignInFailed) as failed:
        await refreshed(ENDED, about, {})
    assert "the sign-in service gave no token: … is not known" in str(failed.value)
    assert "\x1b" not in str(failed.value)


async def test_a_token_that_has_ended_is_refreshed_and_kept(tmp_path: Path, server: ModelServer) -> None:
    asked: list[dict[str, str]] = []
    server.pages["/token/"] = answering(asked, GIVEN)
    server.script(answer(Say("Hello.")))
    company = Company(tmp_path, server)
    assert isinstance(await company.ask(), Done)
    assert asked == [{"grant_type": "refresh_token", "refresh_token": ENDED.refresh, "client_id": "north"}]
    assert GIVEN["refresh_token"] in company.store.sign_ins()["company"]
    assert {ENDED.refresh, GIVEN["access_token"], GIVEN["refresh_token"]} <= {*company.keys.secrets}


async def test_who_signs_out_while_a_token_is_refreshed_is_signed_out(tmp_path: Path, server: ModelServer) -> None:
    company = Company(tmp_path, server)

    def page(raw: bytes) -> dict[str, Any]:
        company.store.forget_sign_in("company")
        return GIVEN

    server.pages["/token/"] = page
    failed = await company.ask()
    assert isinstance(failed, Failed)
    assert "you have signed out" in failed.message
    assert (company.store.sign_ins(), company.keys.find("company")) == ({}, None)


async def test_a_cancel_while_a_token_is_refreshed_loses_no_sign_in(tmp_path: Path, server: ModelServer) -> None:
    company, cancelled, scope = Company(tmp_path, server), threading.Event(), anyio.CancelScope()
    loop = asyncio.get_running_loop()

    def cancel() -> None:
        scope.cancel()
        cancelled.set()

    def page(raw: bytes) -> dict[str, Any]:
        loop.call_soon_threadsafe(cancel)
        cancelled.wait()
        return GIVEN

    server.pages["/token/"] = page
    with scope:
        await company.ask()
    assert scope.cancelled_caught
    assert GIVEN["refresh_token"] in company.store.sign_ins()["company"]


async def test_what_a_refresh_gave_is_used_where_it_cannot_be_stored_and_stored_later(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: str) -> bool:
        raise OSError("the disk is full")

    server.pages["/token/"] = GIVEN
    server.script(answer(Say("Hello.")))
    company = Company(tmp_path, server)
    with monkeypatch.context() as patch:
        patch.setattr(company.store, "renew_sign_in", fail)
        assert isinstance(await company.ask(), Done)
    assert ENDED.refresh in company.store.sign_ins()["company"]
    company.store.add("anthropic", "sk-0123456789")  # the store has changed, so it is read again
    company.keys.refresh()
    grant = company.keys.sign_in("company")
    assert grant is not None
    assert grant.refresh == GIVEN["refresh_token"] in company.store.sign_ins()["company"]
    assert {GIVEN["access_token"], GIVEN["refresh_token"]} <= {*company.keys.secrets}


async def test_a_key_that_the_keyring_does_not_give_ends_no_sign_in(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolved(kept: str) -> str:
        if kept == "sk-0123456789":
            raise keyring.KeyringError("the keyring is locked")
        return kept

    company = Company(tmp_path, server)
    company.store.add("anthropic", "sk-0123456789")
    monkeypatch.setattr(keyring, "resolved", resolved)
    keys = Keys(company.store)
    keys.refresh()
    assert keys.sign_in("company") == ENDED
    assert ENDED.refresh in keys.secrets
    assert "the keyring is locked" in (keys.problem or "")


async def test_no_token_goes_to_an_endpoint_of_the_editors(tmp_path: Path, server: ModelServer) -> None:
    server.pages["/token/"] = GIVEN
    server.script(answer(Say("Hello.")))
    company = Company(tmp_path, server)
    company.keys.routes.set("company", Route(f"{server.url}/elsewhere", {"x-mine": "yes"}))
    assert isinstance(await company.ask(), Done)
    (request,) = server.requests
    assert request.path.startswith("/elsewhere/")
    assert "token-new" not in str(request.headers)
