"""How servers are named in files: the shapes of several agents, variables, and what cannot be used."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.agent.servers.config import Place, expanded, read_entry
from north_lsp.agent.servers.sources import find_servers
from north_lsp.storage.locations import Locations

HERE = Place("user", "mcp.json")


@pytest.mark.parametrize(
    ("entry", "carrier", "address"),
    [
        ({"command": "a", "args": ["b", 1]}, "stdio", "a b 1"),
        ({"type": "local", "command": ["a", "b"]}, "stdio", "a b"),
        ({"url": "https://a/mcp"}, "http", "https://a/mcp"),
        ({"httpUrl": "https://a/mcp"}, "http", "https://a/mcp"),
        ({"type": "streamable-http", "url": "http://a"}, "http", "http://a"),
        ({"type": "sse", "url": "http://a"}, "sse", "http://a"),
    ],
)
def test_the_shapes_of_several_agents(entry: dict[str, Any], carrier: str, address: str) -> None:
    spec, warnings = read_entry("s", entry, HERE)
    assert (spec.carrier, spec.address, spec.problem, warnings) == (carrier, address, "", [])


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({}, "neither `command` nor `url`"),
        ({"command": "a", "url": "b"}, "both `command` and `url`"),
        ({"command": 7}, "`command` must be a string"),
        ({"command": "a", "args": {}}, "`args` must be a list"),
        ({"command": "a", "env": {"A": []}}, "`env` must be an object of strings"),
        ({"url": "file:///etc/passwd"}, "must begin with http"),
        ({"type": "pigeon", "command": "a"}, "`type` 'pigeon' is unknown"),
        ({"type": "http", "command": "a"}, "does not fit its `command`"),
        ([], "must be an object"),
    ],
)
def test_what_cannot_be_used_says_why(entry: object, problem: str) -> None:
    assert problem in read_entry("s", entry, HERE)[0].problem


def test_only_the_users_own_files_say_where_a_sign_in_may_lead() -> None:
    entry = {"url": "https://a/mcp", "oauth": {"clientId": "me", "hosts": ["Auth.Example"]}}
    assert read_entry("s", entry, HERE)[0].sign_in_hosts == {"auth.example"}
    assert read_entry("s", entry, Place("project", ".mcp.json"))[0].sign_in_hosts == frozenset()
    assert "`hosts` must be a list" in read_entry("s", {"url": "https://a", "oauth": {"hosts": 1}}, HERE)[0].problem


def test_only_the_users_own_files_say_which_program_gets_a_token() -> None:
    entry = {"command": "a", "oauth": {"url": "https://b/mcp", "clientId": "me"}}
    spec, _ = read_entry("s", entry, HERE)
    assert (spec.sign_in_url, spec.client_id, spec.problem) == ("https://b/mcp", "me", "")
    assert "only a file of your own" in read_entry("s", entry, Place("project", ".mcp.json"))[0].problem
    assert "must begin with https" in read_entry("s", {"command": "a", "oauth": {"url": "file:///x"}}, HERE)[0].problem
    assert read_entry("s", {"url": "https://a/mcp", "oauth": {"url": "https://b"}}, HERE)[0].sign_in_url == ""


def test_wrong_switches_give_way_to_defaults_with_a_warning() -> None:
    spec, warnings = read_entry("s", {"command": "a", "enabled": "no", "timeout": True}, HERE)
    assert (spec.enabled, spec.seconds, len(warnings)) == (True, 30.0, 2)


def test_variables_are_put_in_everywhere() -> None:
    entry = {
        "command": "${A}",
        "args": ["${env:A}/x", "${B:-two}"],
        "env": {"K": "${C:-}"},
        "cwd": "${workspaceFolder}",
    }
    spec = expanded(read_entry("s", entry, HERE)[0], {"A": "one"}, Path("/root"))
    assert (spec.command, spec.args, spec.env, spec.cwd) == ("one", ("one/x", "two"), {"K": ""}, Path("/root"))
    unset = expanded(read_entry("s", {"command": "${NO} ${input:key}"}, HERE)[0], {}, Path("/root"))
    assert "NO, input:key is not set" in unset.problem


@pytest.mark.parametrize("part", ["${", "${a:", "${a:-", "a:-", "$"])
def test_a_text_of_any_length_is_read_in_no_time(part: str, tmp_path: Path) -> None:
    entry = {"command": "${a" + part * (1_000_000 // len(part))}
    spec, _ = read_entry("s", entry, HERE)
    began = time.process_time()
    assert expanded(spec, {}, tmp_path).command == spec.command
    assert time.process_time() - began < 2


def test_the_first_source_that_names_a_server_has_it(tmp_path: Path) -> None:
    root, home, config = (tmp_path / name for name in ("root", "home", "config"))
    files = {
        root / ".north/mcp.json": {"mcpServers": {"a": {"command": "1"}}},
        config / "mcp.json": {"mcpServers": {"a": {"command": "2"}, "b": {"command": "3"}}},
        home / ".claude.json": {
            "mcpServers": {"c": {"command": "4"}},
            "projects": {str(root): {"mcpServers": {"c": {"command": "5"}}}},
        },
        root / ".vscode/mcp.json": {"servers": {"d": {"command": "6"}}},
        root / ".mcp.json": {"mcpServers": {"d": {"command": "7"}}},
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    (root / ".codex").mkdir()
    (root / ".codex/config.toml").write_text('[mcp_servers.e]\ncommand = "8"\n')
    (root / ".cursor").mkdir()
    (root / ".cursor/mcp.json").write_text('{"mcpServers": {')
    locations = Locations(config, tmp_path / "data", tmp_path / "state")
    found = find_servers([], root, home, locations, "used")
    assert {spec.name: (spec.command, spec.origin) for spec in found.specs} == {
        "a": ("1", "project"), "b": ("3", "user"), "c": ("5", "user"), "d": ("6", "project"), "e": ("8", "project"),
    }  # fmt: skip
    assert [(spec.name, spec.command) for spec in found.shadowed] == [("a", "2"), ("c", "4"), ("d", "7")]
    assert [".cursor/mcp.json cannot be read" in problem for problem in found.problems] == [True]
    alone = find_servers([], root, home, locations, "left out")
    assert {spec.name for spec in alone.specs} == {"a", "b", "c"}


def test_a_file_that_leads_out_of_the_project_is_left_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.json").write_text('{"mcpServers": {"a": {"command": "1"}}}')
    (root / ".mcp.json").symlink_to(tmp_path / "outside.json")
    found = find_servers([], root, tmp_path / "home", Locations(tmp_path, tmp_path, tmp_path), "used")
    assert found.specs == []
    assert "points outside the project" in found.problems[0]


@pytest.mark.parametrize(("name", "text"), [(".codex/config.toml", "a = " + "[" * 9_000), (".mcp.json", "[" * 90_000)])
def test_a_file_that_is_too_deep_costs_only_its_own_servers(tmp_path: Path, name: str, text: str) -> None:
    root, home, config = (tmp_path / folder for folder in ("root", "home", "config"))
    config.mkdir()
    (config / "mcp.json").write_text('{"mcpServers": {"mine": {"command": "1"}}}')
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    found = find_servers([], root, home, Locations(config, tmp_path / "data", tmp_path / "state"), "used")
    assert [spec.name for spec in found.specs] == ["mine"]
    assert [f"{name} cannot be read" in problem for problem in found.problems] == [True]


def test_a_project_that_is_not_trusted_hides_nothing_of_the_users_extensions(tmp_path: Path) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    for folder in (root, home):
        path = folder / ".gemini/extensions/one/gemini-extension.json"
        path.parent.mkdir(parents=True)
        servers = {"mine": {"command": str(folder)}, folder.name: {"command": "1"}}
        path.write_text(json.dumps({"name": "database", "mcpServers": servers}))
    names = ["mine", *(f"s{number}" for number in range(60))]
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": {name: {"command": "1"} for name in names}}))
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    listed = find_servers([], root, home, locations, "listed")
    assert [(spec.name, spec.origin) for spec in listed.specs[:2]] == [("mine", "user"), ("home", "user")]
    assert [(spec.name, spec.origin) for spec in listed.shadowed] == [("mine", "project")]
    used = find_servers([], root, home, locations, "used")
    assert {spec.origin for spec in used.specs} == {"project"}
    without = find_servers([], root, home, locations, "left out")
    assert [(spec.name, spec.origin) for spec in without.specs] == [("mine", "user"), ("home", "user")]


def test_a_project_that_is_not_trusted_takes_no_name_and_no_place(tmp_path: Path) -> None:
    root, home, config = (tmp_path / name for name in ("root", "home", "config"))
    for path, names in (
        (root / ".north/mcp.json", ["mine", *(f"s{number}" for number in range(60))]),
        (config / "mcp.json", ["mine"]),
        (home / ".cursor/mcp.json", ["other"]),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": {name: {"command": str(path)} for name in names}}))
    locations = Locations(config, tmp_path / "data", tmp_path / "state")
    listed = find_servers([], root, home, locations, "listed")
    assert [(spec.name, spec.origin) for spec in listed.specs[:3]] == [
        ("mine", "user"), ("other", "user"), ("s0", "project"),
    ]  # fmt: skip
    assert [(spec.name, spec.origin) for spec in listed.shadowed] == [("mine", "project")]
    assert len(listed.specs) + len(listed.shadowed) == 50
    used = find_servers([], root, home, locations, "used")
    assert {spec.origin for spec in used.specs} == {"project"}


def test_servers_of_plugins_and_extensions_come_where_their_tools_do(tmp_path: Path) -> None:
    root, home, config = (tmp_path / name for name in ("root", "home", "config"))

    def servers(*names: str, of: str) -> str:
        return json.dumps({"name": of, "mcpServers": {name: {"command": of} for name in names}})

    files = {
        home / ".claude.json": servers("a", of="claude"),
        tmp_path / "plugin/.mcp.json": servers("a", "b", of="plugin"),
        root / ".codex/config.toml": '[mcp_servers.b]\ncommand = "codex"\n[mcp_servers.c]\ncommand = "codex"\n',
        home / ".gemini/extensions/x/gemini-extension.json": servers("c", "d", of="extension"),
        root / ".cursor/mcp.json": servers("d", of="cursor"),
        root / ".mcp.json": servers("b", "d", of="mcp.json"),
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    rows = {"plugin@market": {"installPath": str(tmp_path / "plugin")}}
    (home / ".claude/plugins").mkdir(parents=True)
    (home / ".claude/plugins/installed_plugins.json").write_text(json.dumps({"plugins": rows}))
    given = [ServerSpec("c", "client", "the editor", command="client", via="client")]
    locations = Locations(config, tmp_path / "data", tmp_path / "state")
    found = find_servers(given, root, home, locations, "used")
    assert {spec.name: (spec.command, spec.via) for spec in found.specs} == {
        "a": ("claude", "claude"), "b": ("plugin", "claude-plugin"), "c": ("client", "client"),
        "d": ("extension", "gemini"),
    }  # fmt: skip
    assert [(spec.name, spec.via) for spec in found.shadowed] == [
        ("a", "claude-plugin"), ("b", "codex"), ("c", "codex"), ("c", "gemini"), ("d", "cursor"), ("b", "mcp-json"),
        ("d", "mcp-json"),
    ]  # fmt: skip


def test_what_fails_in_one_file_and_too_many_servers_are_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    names = ("s0", "broken")
    for path, wanted in (
        (root / ".cursor/mcp.json", names),
        (root / ".mcp.json", [f"s{number}" for number in range(60)]),
        (home / ".codex/config.toml", ()),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": {name: {"command": str(path)} for name in wanted}}) if wanted else "")

    def read(name: str, entry: object, place: Place) -> tuple[ServerSpec, list[str]]:
        if name == "broken":
            raise RuntimeError("a bug")
        return read_entry(name, entry, place)

    monkeypatch.setattr("north_lsp.agent.servers.sources.read_entry", read)
    found = find_servers([], root, home, Locations(tmp_path, tmp_path, tmp_path), "used")
    assert len(found.specs) + len(found.shadowed) == 50
    assert found.specs[0].via == "cursor"
    assert [one.partition(", test_")[0] for one in found.problems] == [
        "MCP servers of Cursor cannot all be read (RuntimeError: a bug",
        ".mcp.json: more than 50 MCP servers; the rest is left out",
    ]


def test_an_entry_is_shown_whole_but_for_keys() -> None:
    entry = {
        "command": "npx",
        "args": ["server", "--key", "sk-abcdefgh12345678ABCDEFGH"],
        "env": {"API_TOKEN": "0123456789abcdef", "OTHER_TOKEN": "${MINE}", "NODE_OPTIONS": "--require ./x.js"},
        "cwd": "sub",
        "headers": {"Authorization": "Bearer 0123456789abcdef", "X-Key-Credential-Helper": "/tmp/run-me"},
    }
    spec, _ = read_entry("s", entry, Place("project", ".mcp.json"))
    shown = json.loads(spec.written)
    assert shown == {
        "command": "npx",
        "args": ["server", "--key", "[masked]"],
        "env": {"API_TOKEN": "[masked]", "OTHER_TOKEN": "${MINE}", "NODE_OPTIONS": "--require ./x.js"},
        "cwd": "sub",
        "headers": {"Authorization": "[masked]", "X-Key-Credential-Helper": "/tmp/run-me"},
    }


def test_an_entry_of_a_project_that_is_too_long_to_be_shown_cannot_be_used() -> None:
    entry: dict[str, Any] = {"command": "a", "args": ["x" * 30_000]}
    assert "more than 20,000 characters" in read_entry("s", entry, Place("project", ".mcp.json"))[0].problem
    assert read_entry("s", entry, HERE)[0].problem == ""
    deep: dict[str, Any] = {}
    for _ in range(2000):
        deep = {"a": deep}
    assert "nested too deeply" in read_entry("s", {"command": "a", "x": deep}, HERE)[0].problem
