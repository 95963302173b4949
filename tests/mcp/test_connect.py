"""Whether a server is there, and whether it has to start again, is asked while nothing waits for it."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.errors import ToolError
from north_lsp.mcp.connect import Connector
from north_lsp.mcp.oauth import SignIns, Tokens
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from tests.support import mcp_server

SIGNED_IN_AT = "https://a.example/mcp"


class Heard:
    """Takes what a server says by itself."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def tools_changed(self) -> None: ...

    def logged(self, line: str) -> None:
        self.lines.append(line)


def program(*modes: str, seconds: float = 30.0, sign_in_url: str = "") -> ServerSpec:
    args = ("-I", mcp_server.__file__, *modes)
    return ServerSpec(
        "s", "user", "mcp.json", command=sys.executable, args=args, seconds=seconds, sign_in_url=sign_in_url
    )


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    return Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")


async def quiet(text: str) -> None: ...


async def test_nobody_asks_while_an_answer_is_waited_for(locations: Locations, tmp_path: Path) -> None:
    heard = Heard()
    connector = Connector({}, frozenset, locations)
    async with connector(program("hang-calls", "no-pings", seconds=0.5), [tmp_path], heard) as connection:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                with pytest.raises(ToolError, match="no answer to tools/call"):
                    await connection.call("look", {}, quiet)

            tasks.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            await connection.check()
        with pytest.raises(ToolError, match="no answer to ping"):
            await connection.check()
    assert sum("not answered" in line for line in heard.lines) == 1


async def test_a_program_starts_again_with_another_token(locations: Locations, tmp_path: Path) -> None:
    sign_ins, spec = SignIns({}, CredentialStore(locations), list[str]().extend), program(sign_in_url=SIGNED_IN_AT)
    connector = Connector({}, frozenset, locations)
    with pytest.raises(ToolError, match="wants you to sign in"):
        async with connector(spec, [tmp_path], Heard()):
            pass
    await signed_in(sign_ins, "first")
    async with connector(spec, [tmp_path], Heard()) as connection:
        await connection.check()
        await signed_in(sign_ins, "second")
        said = await connection.call("environment", {"name": "OAUTH_ACCESS_TOKEN"}, quiet)
        assert said.text == '"first"'
        with pytest.raises(ToolError) as caught:
            await connection.check()
    assert caught.value.code == "STALE"


async def signed_in(sign_ins: SignIns, token: str) -> None:
    tokens = Tokens(token, "", 0.0, "https://b.example/token", "client", SIGNED_IN_AT)
    at = ServerSpec("s", "user", "mcp.json", url=SIGNED_IN_AT)
    await anyio.to_thread.run_sync(sign_ins.keep, at, json.dumps(asdict(tokens)))
