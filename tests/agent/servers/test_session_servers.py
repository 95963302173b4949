"""The servers of a session start and end one change after the other, whatever comes at the same time."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from north_lsp.agent.ports.servers import Connection, Listener, OfferedTool, ServerSpec
from north_lsp.agent.servers import server
from north_lsp.agent.servers.session_servers import ServerMeans, SessionServers
from north_lsp.errors import ToolError
from north_lsp.storage.locations import Locations
from north_lsp.storage.mcp_settings import McpSettings
from north_lsp.storage.settings import Settings
from north_lsp.storage.trust import Trust
from tests.support.patience import PATIENCE


class Opened:
    """A connection that stays."""

    title = "test"
    instructions = ""
    skipped = 0

    async def tools(self) -> tuple[Sequence[OfferedTool], Sequence[str]]:
        return [OfferedTool("look", "", {}, only_reads=True)], []

    async def prompts(self) -> list[Any]:
        return []

    async def wait_closed(self) -> str:
        await anyio.sleep_forever()
        return ""


class Connections:
    """Counts what is open; a connection ends once it may."""

    given = ()

    def __init__(self, made: type[Opened] = Opened) -> None:
        self.made = made
        self.opened = self.open = 0
        self.ending, self.may_end = anyio.Event(), anyio.Event()

    async def sign_in(self, spec: ServerSpec, show: object) -> None: ...

    async def sign_out(self, spec: ServerSpec) -> bool:
        return False

    @asynccontextmanager
    async def __call__(self, spec: ServerSpec, roots: Sequence[Path], listener: Listener) -> AsyncIterator[Connection]:
        self.opened, self.open = self.opened + 1, self.open + 1
        try:
            yield cast(Connection, self.made())
        finally:
            with anyio.CancelScope(shield=True):
                self.ending.set()
                await self.may_end.wait()
            self.open -= 1


class Silent:
    """An editor, or a log, that nobody looks at."""

    async def show(self, event: object) -> None: ...

    async def choose(self, choice: object) -> None: ...

    def event(self, name: str, **data: object) -> None: ...

    warning = event


class Renewed(Opened):
    """A connection whose server has to start again, once."""

    def __init__(self, checks: list[str]) -> None:
        self._checks = checks

    async def check(self) -> None:
        self._checks.append("checked")
        if len(self._checks) == 1:
            raise ToolError("STALE", "its sign-in has been renewed")


class Told(Silent):
    """Notes what is shown."""

    def __init__(self) -> None:
        self.shown: list[object] = []

    async def show(self, event: object) -> None:
        self.shown.append(event)


async def test_a_server_with_another_token_starts_again_without_a_word(tmp_path: Path) -> None:
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    checks, opened, told = list[str](), list[str](), Told()

    class Connecting(Connections):
        @asynccontextmanager
        async def __call__(self, spec: ServerSpec, *_: object) -> AsyncIterator[Connection]:
            opened.append(spec.name)
            yield cast(Connection, Renewed(checks))

    (tmp_path / "project").mkdir()
    async with anyio.create_task_group() as background:
        settings = replace(Settings(), mcp=McpSettings(ping_interval_ms=1))
        means = ServerMeans(
            locations, {"HOME": str(tmp_path)}, cast(Any, Connecting()), background, lambda: settings, frozenset, bool
        )
        servers = SessionServers(means, [tmp_path / "project"], Trust(locations, "p"), cast(Any, told), cast(Any, told))
        servers.take([ServerSpec("mine", "client", "", command="x")])
        servers.begin()
        with anyio.fail_after(PATIENCE):
            while len(checks) < 3:
                await anyio.sleep(0.001)
        await servers.close()
    assert opened == ["mine", "mine"]
    assert told.shown == []


async def test_no_server_starts_again_while_the_conversation_is_closed(tmp_path: Path) -> None:
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    connections, silent = Connections(), cast(Any, Silent())
    (tmp_path / "project").mkdir()
    async with anyio.create_task_group() as background:
        means = ServerMeans(locations, {"HOME": str(tmp_path)}, connections, background, Settings, frozenset, bool)
        servers = SessionServers(means, [tmp_path / "project"], Trust(locations, "p"), silent, silent)
        servers.take([ServerSpec("mine", "client", "", command="x")])
        servers.begin()
        await servers.settle()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(servers.reconnect, None)
            await connections.ending.wait()
            tasks.start_soon(servers.close)
            await anyio.wait_all_tasks_blocked()
            connections.may_end.set()
        assert (connections.opened, connections.open) == (1, 0)


class Gone(Opened):
    """A connection that ends as soon as it is open."""

    async def wait_closed(self) -> str:
        return "transport closed"


async def test_a_server_that_ends_as_soon_as_it_is_there_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_WAITS", (0.0, 0.0, 0.0))
    locations, opened, told = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state"), list[str](), Told()

    class Connecting(Connections):
        @asynccontextmanager
        async def __call__(self, spec: ServerSpec, *_: object) -> AsyncIterator[Connection]:
            opened.append(spec.name)
            assert len(opened) < 10, "it starts again and again"
            yield cast(Connection, Gone())

    (tmp_path / "project").mkdir()
    async with anyio.create_task_group() as background:
        means = ServerMeans(
            locations, {"HOME": str(tmp_path)}, cast(Any, Connecting()), background, Settings, frozenset, bool
        )
        servers = SessionServers(means, [tmp_path / "project"], Trust(locations, "p"), cast(Any, told), cast(Any, told))
        servers.take([ServerSpec("mine", "client", "", command="x")])
        servers.begin()
        with anyio.fail_after(PATIENCE):
            while not ((row := servers.rows()) and row[0].server and row[0].server.state == "failed"):
                await anyio.sleep(0.001)
        assert row[0].server.error == "transport closed"
        await servers.close()
    assert len(opened) == 4


class Asked(Opened):
    async def prompt(self, name: str, given: object) -> str:
        return "said"


async def test_a_server_that_takes_long_to_end_does_not_end_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_CLOSE_SECONDS", 0.0)
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    connections, silent = Connections(Asked), cast(Any, Silent())
    (tmp_path / "project").mkdir()
    async with anyio.create_task_group() as background:
        means = ServerMeans(locations, {"HOME": str(tmp_path)}, connections, background, Settings, frozenset, bool)
        servers = SessionServers(means, [tmp_path / "project"], Trust(locations, "p"), silent, silent)
        servers.take([ServerSpec("mine", "client", "", command="x")])
        servers.begin()
        await servers.settle()
        (found,) = await servers.reconnect(None)
        with anyio.fail_after(PATIENCE):
            await found.tried()
            assert (found.state, connections.open) == ("ready", 2)
            connections.may_end.set()
            while connections.open > 1:
                await anyio.sleep(0.001)
        await anyio.wait_all_tasks_blocked()
        assert await found.prompt("plan", {}) == "said"
        await servers.close()


async def test_what_a_project_has_when_it_is_trusted_is_noted_before_a_session_looks_for_servers(
    tmp_path: Path,
) -> None:
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    connections, silent = Connections(), cast(Any, Silent())
    project, trust = tmp_path / "project", Trust(locations, "p")
    project.mkdir()
    async with anyio.create_task_group() as background:
        means = ServerMeans(locations, {"HOME": str(tmp_path)}, connections, background, Settings, frozenset, bool)
        first, later = (SessionServers(means, [project], trust, silent, silent) for _ in range(2))
        trust.decide(True, "user")
        await first.follow_trust()
        await first.close()
        (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": {"command": "x"}}}))
        later.begin()
        await later.settle()
        assert [(row.spec.name, row.held) for row in later.rows()] == [("theirs", "new")]
        await later.close()
    assert connections.opened == 0
