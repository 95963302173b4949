"""The MCP servers that a client passes on, as they are read."""

from typing import Any

from north_lsp.acp.servers import read_servers

NOBODY: Any = None
"""No channel: nothing is sent."""


def test_no_more_servers_are_taken_than_files_may_name() -> None:
    rows = [{"name": f"s{number}", "command": "/bin/true", "args": [], "env": []} for number in range(52)]
    specs, problems = read_servers(rows, NOBODY)
    assert [spec.name for spec in specs] == [f"s{number}" for number in range(50)]
    assert problems == ["this editor passes on 52 MCP servers: the first 50 are used"]


def test_a_server_of_the_editor_has_a_name_and_an_id() -> None:
    rows = [{"type": "acp", "name": "", "serverId": "x"}, {"type": "acp", "name": "a", "serverId": 7}]
    specs, problems = read_servers(rows, NOBODY)
    assert problems == []
    assert [spec.problem for spec in specs] == ["its name is empty", "its `serverId` must be a string"]
