"""Signing in to a provider of models in a browser: over ACP and on the command line, and what becomes of its token."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import pytest

from north_lsp.providers.keys.sign_in import Grant
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from tests.end_to_end.test_context import notices
from tests.end_to_end.test_faults import configure, prompt, texts
from tests.end_to_end.test_queue import start
from tests.end_to_end.test_secrets_campaign import agree
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import COLD_SERVER, SERVER, World
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Fail, Say, answer

OAUTH = {"clientId": "north", "scopes": ["models", "offline"]}
REFUSED = answer(Fail(401, "authentication_error", "expired"))


def granted(number: int, seconds: int = 3600) -> dict[str, Any]:
    refresh = {"refresh_token": f"refresh-{number}-0123456789"}
    return {"access_token": f"token-{number}-0123456789", "token_type": "Bearer", "expires_in": seconds} | refresh


def company(world: World, url: str, **more: object) -> None:
    """A provider of the user's own, `company/m-1`, to which users sign in."""
    oauth = {"authorizeUrl": f"{url}/authorize?tenant=7", "tokenUrl": f"{url}/token", **OAUTH, **more}
    there = {"baseUrl": url, "api": "anthropic-messages", "auth": "oauth", "oauth": oauth, "models": [{"id": "m-1"}]}
    (world.folder / "config" / "models.json").write_text(json.dumps({"providers": {"company": there}}))


def store(world: World) -> CredentialStore:
    return CredentialStore(Locations(world.folder / "config", world.data, world.folder / "state"))


def kept(world: World) -> dict[str, Any]:
    return dict(json.loads(store(world).sign_ins()["company"]))


def browse(told: str, **more: str) -> int:
    """Do what a browser does with the page of a sign-in; returns the status of North's answer."""
    page = urlsplit(re.findall(r"http://[^\s*>)]+/authorize[^\s*>)]+", told)[-1])
    asked = {key: value for key, (value, *_) in parse_qs(page.query).items()}
    assert (asked["tenant"], asked["client_id"], asked["scope"]) == ("7", "north", "models offline")
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert urlsplit(asked["redirect_uri"]).hostname == "127.0.0.1"
    given = "&".join(f"{key}={value}" for key, value in ({"state": asked["state"], "code": "c-1"} | more).items())
    try:
        with urllib.request.urlopen(f"{asked['redirect_uri']}?{given}") as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return int(error.code)


def tokens(server: ModelServer) -> list[str]:
    return [one.headers.get("Authorization", "").removeprefix("Bearer ") for one in server.requests]


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "true")


async def test_a_user_signs_in_and_out_in_a_conversation(world: World, server: ModelServer) -> None:
    company(world, server.url)
    server.pages["/token"] = granted(1)
    server.script(answer(Say("Hello.")), REFUSED, answer(Say("Again.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "/model company/m-1")
        assert "needs you to sign in: sign in with `/login company`" in texts(client)
        signing = await start(client, session, "/login company")
        update = await client.wait_update(lambda update: "/authorize" in json.dumps(update))
        assert await anyio.to_thread.run_sync(lambda: browse(update["content"]["text"], state="wrong")) == 400
        assert await anyio.to_thread.run_sync(lambda: browse(update["content"]["text"])) == 200
        await client.answer(signing)
        assert "You are signed in to company." in texts(client)
        await prompt(client, session, "/model company/m-1")
        await prompt(client, session, "Hello")
        server.pages["/token"] = granted(2)
        await prompt(client, session, "Again")  # the token is refused, and refreshed
        assert tokens(server) == ["token-1-0123456789", "token-1-0123456789", "token-2-0123456789"]
        assert kept(world)["refresh"] == "refresh-2-0123456789"
        client.handlers["session/request_permission"] = agree
        await prompt(client, session, "/logout")
        assert store(world).sign_ins() == {}
        assert "The key was removed." in "\n".join(notices(client))
    said = json.dumps([one.body for one in server.requests]) + "".join(world.log_entries())
    assert "token-1" not in said
    assert "refresh-1" not in said


async def test_a_token_that_ends_soon_is_refreshed_before_it_is_used(world: World, server: ModelServer) -> None:
    company(world, server.url)
    store(world).keep_sign_in("company", "company", Grant("old-0123", "r", 1.0).to_json())
    server.pages["/token"] = granted(3, 30)
    server.script(answer(Say("Hello.")), answer(Say("Again.")))
    async with conversation(world, "--model", "company/m-1") as (client, session):
        await prompt(client, session, "Hello")
        server.pages["/token"] = 500
        await prompt(client, session, "Again")  # it is used until it ends
        assert tokens(server) == ["token-3-0123456789"] * 2
        store(world).keep_sign_in("company", "company", Grant("x", "", 1.0).to_json())
        await prompt(client, session, "Once more")
        assert "cannot be asked: the sign-in has ended; sign in again with `/login company`" in texts(client)
    assert len(server.requests) == 2


async def test_a_sign_in_that_fails_is_told(world: World, server: ModelServer) -> None:
    company(world, server.url)
    server.pages["/token"] = {"error": "invalid_grant", "error_description": "This code was used"}
    async with conversation(world) as (client, session):
        for more, told in (
            ({"error": "access_denied", "error_description": "Not+allowed"}, "the sign-in failed: Not allowed"),
            ({}, "the sign-in service gave no token: This code was used"),
        ):
            before = len(client.updates)
            signing = await start(client, session, "/login company")
            while not (shown := [one for one in client.updates[before:] if "/authorize" in json.dumps(one)]):
                await client.request("_north/costs/get", {})
            await anyio.to_thread.run_sync(partial(browse, shown[0]["update"]["content"]["text"], **more))
            await client.answer(signing)
            assert told in texts(client)
        signing = await start(client, session, "/login company")
        await client.notify("session/cancel", {"sessionId": session})
        await client.answer(signing)
    assert store(world).sign_ins() == {}


async def test_a_client_that_opens_pages_is_asked_to_open_this_one(world: World, server: ModelServer) -> None:
    company(world, server.url)
    server.pages["/token"] = granted(1)
    actions = iter(["decline", "accept"])
    asked: list[dict[str, Any]] = []

    async def open_page(params: dict[str, Any]) -> dict[str, str]:
        asked.append(params)
        if (action := next(actions)) == "accept":
            await anyio.to_thread.run_sync(browse, params["url"])
        return {"action": action}

    store(world).add("company", "sk-test-0123456789abcdef")
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        client.handlers["elicitation/create"] = open_page
        announced: dict[str, Any] = {"elicitation": {"url": {}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": announced})
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        await prompt(client, made["sessionId"], "/login company")
        assert "you are not signed in: the page to sign in was not opened" in texts(client).lower()
        await prompt(client, made["sessionId"], "/login company")
        assert "You are signed in to company. It is not used while there is North's own store" in texts(client)
        assert [(one["mode"], one["message"]) for one in asked] == [("url", "Sign in to company")] * 2
        await client.request("authenticate", {"methodId": "api-key"})
    assert (kept(world)["access"], len(store(world).all_keys())) == ("token-1-0123456789", 1)


async def test_a_client_is_offered_to_sign_in_to_each_provider(world: World, server: ModelServer) -> None:
    async def offered(client: RawAcpClient, capabilities: dict[str, Any]) -> list[str]:
        params = {"protocolVersion": 1, "clientCapabilities": capabilities}
        return [one["id"] for one in (await client.request("initialize", params))["authMethods"]]

    async def open_page(params: dict[str, Any]) -> dict[str, str]:
        asked.append(params)
        await anyio.to_thread.run_sync(browse, params["url"])
        return {"action": "accept"}

    asked: list[dict[str, Any]] = []
    company(world, server.url)
    server.pages["/token"] = granted(1)
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        client.handlers["elicitation/create"] = open_page
        assert await offered(client, {"elicitation": {"url": {}}}) == ["api-key", "sign-in:company"]
        for wrong in ("sign-in:", "sign-in:anthropic", "sign-in:nobody"):
            with pytest.raises(RpcFailure, match="must be one of the offered methods"):
                await client.request("authenticate", {"methodId": wrong})
        assert await client.request("authenticate", {"methodId": "sign-in:company"}) == {}
    (page,) = asked
    assert (page["mode"], page["message"]) == ("url", "Sign in to company")
    assert "sessionId" not in page
    assert page["requestId"] is not None
    assert kept(world)["access"] == "token-1-0123456789"


@pytest.mark.parametrize("named", [False, True], ids=["in the folder", "named by the setting"])
async def test_a_client_is_offered_to_sign_in_to_the_provider_of_an_extension(
    world: World, server: ModelServer, named: bool
) -> None:
    company(world, server.url)
    folder = world.folder / ("elsewhere" if named else "config/extensions")
    if named:
        configure(world, extensions=[str(folder)])
    (there,) = json.loads((world.folder / "config/models.json").read_text())["providers"].values()
    folder.mkdir()
    code = f"def setup(api):\n    api.register_provider({there | {'id': 'mine', 'name': 'Mine'}!r})\n"
    (folder / "mine.py").write_text(code)
    (folder / "broken.py").write_text("oauth = 1 / 0\n")
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        answer = await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        assert [one["id"] for one in answer["authMethods"]] == ["api-key", "sign-in:company", "sign-in:mine"]


async def test_a_page_is_opened_on_this_machine_for_a_client_without_pages(
    world: World, server: ModelServer, tmp_path: Path
) -> None:
    """The browser writes down what it is to open; the user signs in there, refuses, or closes it."""
    browser = tmp_path / "browser.py"
    place = "sys.argv[0] + '.'"
    browser.write_text(
        f"import os, sys\nopen({place}, 'w').write(sys.argv[1])\nos.rename({place}, {place} + 'opened')\n"
    )
    opened = tmp_path / "browser.py.opened"

    async def page() -> str:
        while not opened.exists():
            await client.request("_north/keys/list", {})
        told = opened.read_text()
        opened.unlink()
        return told

    company(world, server.url)
    server.pages["/token"] = granted(1)
    environ = {**world.environ, "BROWSER": f"{sys.executable} {browser} %s"}
    async with raw_client([*SERVER, "acp"], environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        signing = await client.start_request("authenticate", {"methodId": "sign-in:company"})
        await anyio.to_thread.run_sync(partial(browse, await page(), error="access_denied"))
        with pytest.raises(RpcFailure, match="you are not signed in to company: the sign-in failed: access_denied"):
            await client.answer(signing)
        signing = await client.start_request("authenticate", {"methodId": "sign-in:company"})
        address = await page()
        await client.notify("$/cancel_request", {"requestId": signing})
        with pytest.raises(RpcFailure) as cancelled:
            await client.answer(signing)
        assert cancelled.value.code == -32800
        with pytest.raises(urllib.error.URLError):
            browse(address)
        assert store(world).sign_ins() == {}
        signing = await client.start_request("authenticate", {"methodId": "sign-in:company"})
        await anyio.to_thread.run_sync(browse, await page())
        assert await client.answer(signing) == {}
    assert kept(world)["access"] == "token-1-0123456789"


async def test_without_a_browser_a_client_is_told_where_the_address_is_shown(world: World, server: ModelServer) -> None:
    company(world, server.url)
    environ = {**world.environ, "BROWSER": "false", "PATH": str(world.folder)}
    async with raw_client([*COLD_SERVER, "acp"], environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        with pytest.raises(RpcFailure, match=r"no browser could be opened .* `north-lsp login company`"):
            await client.request("authenticate", {"methodId": "sign-in:company"})


@pytest.mark.parametrize("text", ["{oauth", "[]", '{"providers": {"company": {"oauth": 1}}}'])
async def test_a_file_with_errors_offers_no_sign_in(world: World, text: str) -> None:
    (world.folder / "config" / "models.json").write_text(text)
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        hello = await client.request("initialize", {"protocolVersion": 1})
        assert [one["id"] for one in hello["authMethods"]] == ["api-key"]


def test_a_user_signs_in_on_the_command_line(world: World, server: ModelServer) -> None:
    company(world, server.url)
    server.pages["/token"] = granted(1)
    command = [*COLD_SERVER, "login", "company"]
    environ = world.environ | {"BROWSER": "true"}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdout is not None
        told = next(line for line in process.stdout if "/authorize" in line)
        assert browse(told) == 200
        assert "You are signed in to company." in process.stdout.read()
    assert process.returncode == 0
    assert kept(world)["access"] == "token-1-0123456789"
    done = subprocess.run([*COLD_SERVER, "logout", "company"], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, store(world).sign_ins()) == (0, {})


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"tokenUrl": "http://example.org/token"}, "oauth.tokenUrl: expected an https address"),
        ({"clientId": None}, "oauth: expected clientId"),
        ({"redirectPort": 70_000}, "oauth.redirectPort: expected a port"),
    ],
)
def test_a_mistake_is_named(world: World, more: dict[str, Any], told: str) -> None:
    company(world, "https://company.example", **more)
    done = subprocess.run([*COLD_SERVER, "models"], env=world.environ, capture_output=True, text=True, check=False)
    assert told in done.stdout + done.stderr
