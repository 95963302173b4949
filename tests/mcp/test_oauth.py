"""A sign-in leads to no address where others could read it, and what is stored of it may be damaged."""

from pathlib import Path

import httpx2
import pytest

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.errors import ToolError
from north_lsp.mcp.oauth import SignedIn, SignIns, is_safe
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations

REMOTE = ServerSpec("remote", "user", "mcp.json", "http", url="https://a.example/mcp")
LOCAL = ServerSpec("local", "user", "mcp.json", "http", url="http://127.0.0.1:1/mcp")


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    return CredentialStore(Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state"))


@pytest.mark.parametrize(
    ("address", "server", "safe"),
    [
        ("https://b.example/token", REMOTE, True),
        ("http://b.example/token", REMOTE, False),
        ("http://localhost:1/token", REMOTE, False),
        ("http://localhost:1/token", LOCAL, True),
        ("http://b.example/token", LOCAL, False),
        ("file:///etc/passwd", LOCAL, False),
        ("https:///token", REMOTE, False),
        ("https://b.example/a b", REMOTE, False),
        ("https://b.example/\x1b]8;;", REMOTE, False),
        ("https://[b/token", REMOTE, False),
        ("", REMOTE, False),
    ],
)
def test_addresses_of_sign_ins(address: str, server: ServerSpec, safe: bool) -> None:
    assert is_safe(address, server) is safe


async def test_nobody_signs_in_to_a_server_that_others_could_listen_to(store: CredentialStore) -> None:
    async def show(address: str) -> None:
        raise AssertionError

    with pytest.raises(ToolError, match="https://"):
        await SignIns({}, store).sign_in(ServerSpec("a", "user", "", "http", url="http://a.example/mcp"), show)


async def test_what_is_damaged_is_no_sign_in(store: CredentialStore) -> None:
    sign_ins = SignIns({}, store)
    request = httpx2.Request("POST", REMOTE.url)
    flow = SignedIn(REMOTE, sign_ins).async_auth_flow(request)
    assert "authorization" not in (await anext(flow)).headers
    await flow.aclose()
    for damaged in ("{", "[]", '{"access": "a"}'):
        sign_ins.keep(REMOTE, damaged)
        assert await sign_ins.token(REMOTE) == ""
    assert await sign_ins.sign_out(REMOTE)
    assert not await sign_ins.sign_out(REMOTE)
    assert store.all_keys() == []
