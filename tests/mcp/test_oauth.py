"""A sign-in leads to no address where others could read it, and what is stored of it may be damaged."""

import json
import ssl
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import pytest

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.errors import ToolError
from north_lsp.mcp import oauth, sign_in_steps
from north_lsp.mcp.oauth import SignedIn, SignIns, Tokens
from north_lsp.mcp.sign_in_client import carried_by
from north_lsp.mcp.sign_in_places import covers, is_safe
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from north_lsp.storage.locks import FileLock
from tests.support.patience import PATIENCE

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
    with pytest.raises(ToolError, match="https://"):
        await SignIns({}, store, list[str]().extend).sign_in(
            ServerSpec("a", "user", "", "http", url="http://a.example/mcp"), nothing
        )


async def test_what_is_damaged_is_no_sign_in(store: CredentialStore) -> None:
    sign_ins = SignIns({}, store, list[str]().extend)
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


@pytest.mark.parametrize(
    ("resource", "address", "belongs"),
    [
        ("https://a.example", "https://a.example/mcp", True),
        ("https://a.example/", "https://a.example/mcp", True),
        ("https://A.example:443/mcp/", "https://a.example/mcp", True),
        ("https://a.example/mcp", "https://a.example/mcp/more?x=1", True),
        ("https://a.example", "https://a.example.evil.com/mcp", False),
        ("https://a.example/mcp", "https://a.example/mcp2", False),
        ("https://a.example/mcp/more", "https://a.example/mcp", False),
        ("https://a.example:8443", "https://a.example/mcp", False),
        ("http://a.example", "https://a.example/mcp", False),
        ("https://a.example@evil.com", "https://evil.com/mcp", False),
        ("https://a.example/mcp?x=2", "https://a.example/mcp?x=1", False),
        ("https://[a", "https://a.example/mcp", False),
        ("https://", "https://a.example/mcp", False),
        ("/mcp", "https://a.example/mcp", False),
        ("h", "https://a.example/mcp", False),
        ("", "https://a.example/mcp", False),
    ],
)
def test_a_server_speaks_for_its_own_addresses_alone(resource: str, address: str, belongs: bool) -> None:
    assert covers(resource, address) is belongs


Handle = Callable[[httpx2.Request], httpx2.Response]
PUBLIC = "93.184.216.34"


def named(request: httpx2.Request) -> str:
    """The host that a request is for; the connection goes to a network address."""
    return request.headers["host"].partition(":")[0]


class Answered(SignIns):
    """Sign-ins whose requests are answered by a function; `reads` is set when a sign-in was read."""

    def __init__(self, store: CredentialStore, handle: Handle, names: Mapping[str, str] | None = None) -> None:
        async def resolve(host: str, port: int) -> Sequence[str]:
            self.looked_up.append(host)
            if not (found := (names or {}).get(host, PUBLIC)):
                raise OSError("there is no such name")
            return found.split()

        async def carry(scheme: str, proxy: str) -> httpx2.AsyncBaseTransport:
            self.carriers.append((scheme, proxy))
            return httpx2.MockTransport(handle)

        self.noted: list[str] = []
        super().__init__({}, store, self.noted.extend, resolve, carry)
        self.looked_up: list[str] = []
        self.carriers: list[tuple[str, str]] = []
        self.reads = threading.Event()

    def _kept(self, spec: ServerSpec) -> Tokens | None:
        found = super()._kept(spec)
        self.reads.set()
        return found

    def put(self, spec: ServerSpec, tokens: Tokens) -> None:
        self.keep(spec, json.dumps(asdict(tokens)))


TOKENS = Tokens("access-1", "refresh-1", 1.0, "https://b.example/token", "client", REMOTE.url)
GRANTED = {"access_token": "access-2", "token_type": "Bearer", "refresh_token": "refresh-2", "expires_in": 3600}


def granting(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200, json=GRANTED)


def failing(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(500)


def unasked(request: httpx2.Request) -> httpx2.Response:
    raise AssertionError("nobody is to be asked")


async def nothing(address: str, hosts: Sequence[str]) -> None:
    raise AssertionError("there is nothing to show")


@pytest.mark.parametrize("resource", ["https://a.example", "https://a.example.evil.com/m", "", "/mcp"])
async def test_a_description_of_another_resource_is_refused(store: CredentialStore, resource: str) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        about = {"resource": resource, "authorization_servers": ["https://a.example"]}
        return httpx2.Response(401) if request.method == "POST" else httpx2.Response(200, json=about)

    spec = replace(REMOTE, url="https://a.example.evil.com/mcp")
    with pytest.raises(ToolError, match="another resource"):
        await Answered(store, handle).sign_in(spec, nothing)


async def test_an_answer_has_a_limit_of_time_as_a_whole(
    store: CredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dripping(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes, None]:
            yield b"{"
            await anyio.sleep_forever()

    monkeypatch.setattr(sign_in_steps, "SECONDS", 0.01)
    sign_ins = Answered(store, lambda request: httpx2.Response(200, stream=Dripping()))
    sign_ins.put(REMOTE, TOKENS)
    with pytest.raises(ToolError, match="has not answered"):
        await sign_ins.token(REMOTE)


async def test_a_sign_in_that_is_refreshed_holds_up_no_other(store: CredentialStore) -> None:
    arrived, release = anyio.Event(), anyio.Event()

    class Waiting(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes, None]:
            arrived.set()
            await release.wait()
            yield json.dumps(GRANTED).encode()

    def handle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Waiting()) if named(request) == "b.example" else granting(request)

    sign_ins = Answered(store, handle)
    other = replace(REMOTE, name="other")
    sign_ins.put(REMOTE, TOKENS)
    sign_ins.put(other, replace(TOKENS, endpoint="https://c.example/token"))
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sign_ins.token, REMOTE)
            await arrived.wait()
            assert await sign_ins.token(other) == "access-2"
            release.set()
    assert await sign_ins.token(REMOTE) == "access-2"


async def test_what_another_process_refreshes_is_not_refreshed_again(store: CredentialStore) -> None:
    sign_ins, found = Answered(store, unasked), list[str]()
    sign_ins.put(REMOTE, TOKENS)
    lock = store.lock(oauth._name(REMOTE))
    assert isinstance(lock, FileLock)

    async def ask() -> None:
        found.append(await sign_ins.token(REMOTE))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.to_thread.run_sync(sign_ins.reads.wait)
        sign_ins.put(REMOTE, replace(TOKENS, access="access-2", expires_at=0))
        lock.release(remove=False)
    assert found == ["access-2"]


async def test_another_process_that_does_not_come_to_an_end_is_said(
    store: CredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_ins = Answered(store, unasked)
    sign_ins.put(REMOTE, TOKENS)
    lock = store.lock(oauth._name(REMOTE))
    assert isinstance(lock, FileLock)
    monkeypatch.setattr(oauth, "SECONDS", 0.01)
    with pytest.raises(ToolError, match="another process"):
        await sign_ins.token(REMOTE)
    lock.release(remove=False)


@pytest.mark.parametrize("again", [False, True])
async def test_a_refreshed_token_does_not_bring_back_what_the_user_has_left(
    store: CredentialStore, again: bool
) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        store.remove(provider=oauth._name(REMOTE))
        if again:
            sign_ins.put(REMOTE, replace(TOKENS, access="new", expires_at=0))
        return granting(request)

    sign_ins = Answered(store, handle)
    sign_ins.put(REMOTE, TOKENS)
    assert await sign_ins.token(REMOTE) == ("new" if again else "")
    assert "access-2" not in (store.sign_in(oauth._name(REMOTE)) or "")


async def test_a_token_is_refreshed_and_kept(store: CredentialStore) -> None:
    sign_ins = Answered(store, granting)
    sign_ins.put(REMOTE, TOKENS)
    assert await sign_ins.token(REMOTE) == "access-2"
    assert await Answered(store, unasked).token(REMOTE) == "access-2"


async def test_a_token_that_has_not_ended_is_used_where_it_cannot_be_refreshed(store: CredentialStore) -> None:
    sign_ins = Answered(store, failing)
    sign_ins.put(REMOTE, replace(TOKENS, expires_at=time.time() + 30))
    assert await sign_ins.token(REMOTE) == "access-1"
    with pytest.raises(ToolError):
        await sign_ins.token(REMOTE, refused="access-1")
    sign_ins.put(REMOTE, TOKENS)
    with pytest.raises(ToolError):
        await sign_ins.token(REMOTE)


def signing(asked: list[str], **more: str) -> Handle:
    """Answer as a server whose users b.example signs in; `more` are other addresses."""
    about = {
        "issuer": "https://b.example",
        "authorization_endpoint": "https://login.example/in",
        "token_endpoint": "https://c.example/token",
        "registration_endpoint": "https://d.example:8443/register",
        "code_challenge_methods_supported": ["S256"],
    } | more

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(named(request))
        if request.url.path == "/mcp":
            return httpx2.Response(401)
        if request.url.path.startswith("/.well-known/oauth-protected"):
            return httpx2.Response(200, json={"resource": REMOTE.url, "authorization_servers": [about["issuer"]]})
        return httpx2.Response(200, json={"client_id": "1"} if request.url.path == "/register" else about)

    return handle


@pytest.mark.parametrize(
    ("names", "more", "place"),
    [
        ({"b.example": "10.0.0.1"}, {}, "private or reserved network (b.example)"),
        ({"c.example": "127.0.0.1"}, {}, "this machine (c.example)"),
        ({"d.example": "169.254.169.254"}, {}, "credentials (d.example:8443)"),
        ({}, {"issuer": "https://192.168.1.1"}, "private or reserved network (192.168.1.1)"),
        ({}, {"token_endpoint": "https://0x7f.1/token"}, "this machine (0x7f.1)"),
        ({"a.example": "127.0.0.1", "b.example": "10.0.0.1"}, {}, "private or reserved network (b.example)"),
    ],
)
async def test_a_sign_in_does_not_lead_into_the_users_network(
    store: CredentialStore, names: dict[str, str], more: dict[str, str], place: str, without_proxies: None
) -> None:
    asked: list[str] = []
    with pytest.raises(ToolError) as caught:
        await Answered(store, signing(asked, **more), names).sign_in(REMOTE, nothing)
    assert place in caught.value.message
    assert set(asked) <= {"a.example", "b.example"} - ({"b.example"} if "b.example" in place else set())


@pytest.mark.parametrize("names", [{}, dict.fromkeys(("a.example", "b.example", "c.example"), "10.0.0.1")])
async def test_the_user_is_told_which_hosts_have_a_part_in_a_sign_in(
    store: CredentialStore, names: dict[str, str], without_proxies: None
) -> None:
    told: list[Sequence[str]] = []

    async def show(address: str, hosts: Sequence[str]) -> None:
        told.append(hosts)
        raise ToolError("REJECTED", "not now")

    with pytest.raises(ToolError, match="not now"):
        await Answered(store, signing([]), names).sign_in(REMOTE, show)
    assert told == [("login.example", "b.example", "c.example", "d.example:8443")]


async def accept(address: str, hosts: Sequence[str]) -> None:
    raise ToolError("REJECTED", "not now")


async def test_connections_go_to_the_addresses_that_were_checked(store: CredentialStore, without_proxies: None) -> None:
    made: list[tuple[str, str, str]] = []
    answers = signing([])

    def handle(request: httpx2.Request) -> httpx2.Response:
        made.append((request.url.host, request.headers["host"], request.extensions["sni_hostname"]))
        return answers(request)

    names = {"b.example": "93.184.216.35", "d.example": "93.184.216.36 93.184.216.37"}
    sign_ins = Answered(store, handle, names)
    with pytest.raises(ToolError, match="not now"):
        await sign_ins.sign_in(REMOTE, accept)
    assert set(made) == {
        (PUBLIC, "a.example", "a.example"),
        ("93.184.216.35", "b.example", "b.example"),
        ("93.184.216.36", "d.example:8443", "d.example"),
    }
    assert sorted(sign_ins.looked_up) == ["a.example", "b.example", "c.example", "d.example"]  # once each


async def test_the_next_address_is_tried_where_one_cannot_be_reached(
    store: CredentialStore, without_proxies: None
) -> None:
    tried: list[str] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        tried.append(request.url.host)
        if request.url.host == PUBLIC:
            raise httpx2.ConnectError("not reached")
        return granting(request)

    sign_ins = Answered(store, handle, {"b.example": f"{PUBLIC} 93.184.216.35"})
    sign_ins.put(REMOTE, TOKENS)
    assert await sign_ins.token(REMOTE) == "access-2"
    assert tried == [PUBLIC, "93.184.216.35"]


@pytest.mark.parametrize(
    ("endpoint", "names"),
    [
        ("https://b.example/token", {"b.example": "10.0.0.1"}),
        ("https://b.example/token", {"b.example": f"{PUBLIC} 127.0.0.1"}),
        ("https://[::1]/token", {}),
        ("http://b.example/token", {}),
    ],
)
async def test_a_refresh_is_checked_like_the_sign_in(
    store: CredentialStore, endpoint: str, names: dict[str, str], without_proxies: None
) -> None:
    sign_ins = Answered(store, unasked, names)
    sign_ins.put(REMOTE, replace(TOKENS, endpoint=endpoint))
    with pytest.raises(ToolError, match=r"its sign-in is (at|refreshed at)"):
        await sign_ins.token(REMOTE)


@pytest.mark.parametrize(
    ("names", "hosts", "problem"),
    [
        ({"b.example": ""}, [], "only the proxy knows where that is"),
        ({"b.example": ""}, ["b.example"], ""),
        ({"b.example": "10.0.0.1"}, [], "private or reserved network"),
        ({"a.example": "", "b.example": PUBLIC}, [], ""),
        ({"b.example": PUBLIC}, [], ""),
    ],
)
async def test_behind_a_proxy_names_are_looked_up_as_well(
    store: CredentialStore,
    names: dict[str, str],
    hosts: list[str],
    problem: str,
    without_proxies: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    asked: list[str] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.host)
        return granting(request)

    sign_ins = Answered(store, handle, names)
    spec = replace(REMOTE, sign_in_hosts=frozenset(hosts))
    sign_ins.put(spec, TOKENS)
    if problem:
        with pytest.raises(ToolError, match=problem):
            await sign_ins.token(spec)
        assert asked == []
    else:
        assert await sign_ins.token(spec) == "access-2"
        assert (asked, sign_ins.carriers) == (["b.example"], [("https", "http://proxy.example:3128")])


async def test_certificates_are_checked_whatever_carries_the_server(without_proxies: None) -> None:
    """Also where the server itself is on this machine and has none."""
    carrier = await carried_by({})("https", "")
    assert isinstance(carrier, httpx2.AsyncHTTPTransport)
    assert carrier._pool._ssl_context.verify_mode == ssl.CERT_REQUIRED  # type: ignore[union-attr]  # never None here
    await carrier.aclose()


async def test_a_server_on_this_machine_does_not_switch_off_certificates(
    store: CredentialStore, without_proxies: None
) -> None:
    sign_ins = Answered(store, granting)
    sign_ins.put(LOCAL, TOKENS)
    assert await sign_ins.token(LOCAL) == "access-2"
    assert sign_ins.carriers == [("https", "")]
