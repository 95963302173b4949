"""What import contracts cannot say: adapters take nothing but types from what lies below the session."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

import north_lsp
import north_lsp.agent

_PACKAGE = Path(north_lsp.__file__).parent
_ADAPTERS = ("acp", "lsp", "cli/demo", "slash")
_BELOW = ("north_lsp.storage", "north_lsp.workspace", "north_lsp.providers", "north_lsp.shell")
_PURE = ("north_lsp.workspace.edit", "north_lsp.workspace.text")
"""Functions over the texts of a change: nothing there reads or writes."""


def _taken(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_BELOW):
            for name in node.names:
                yield str(node.module), name.name


@pytest.mark.parametrize("adapter", _ADAPTERS)
def test_adapters_take_only_types_from_below_the_session(adapter: str) -> None:
    found = [
        f"{path.name}: {module}.{name}"
        for path in sorted((_PACKAGE / adapter).rglob("*.py"))
        for module, name in _taken(path)
        if not module.startswith(_PURE) and inspect.isroutine(getattr(importlib.import_module(module), name))
    ]
    assert found == []


def _modules() -> dict[str, Path]:
    named = {
        ".".join(("north_lsp", *path.relative_to(_PACKAGE).with_suffix("").parts)): path
        for path in _PACKAGE.rglob("*.py")
        if "sample" not in path.parts
    }
    return {name.removesuffix(".__init__"): path for name, path in named.items()}


def _imports(path: Path, modules: dict[str, Path]) -> set[str]:
    """Of North's own modules; also what is imported later, or for types alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("north_lsp"):
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                found.add(whole if whole in modules else str(node.module))
    return found & modules.keys()


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = _modules()
    left = {name: _imports(path, modules) - {name} for name, path in modules.items()}
    while free := [name for name, imports in left.items() if not imports & left.keys()]:
        for name in free:
            del left[name]
    behind = set().union(*left.values()) if left else set()
    assert sorted(left.keys() & behind) == []


_ROOM = re.compile(r"^    (\w+)(?: \*)?  +\S.*?  +(\S+\.\w+(?:, \S+\.\w+)*)$", re.MULTILINE)


def test_the_map_of_the_agent_has_every_room_in_the_order_of_the_contract() -> None:
    rooms = dict(_ROOM.findall(str(north_lsp.agent.__doc__)))
    contracts = ConfigParser()
    contracts.read(_PACKAGE.parent / ".importlinter")
    layers = contracts["importlinter:contract:agent"]["layers"].split()
    assert [*rooms] == [layer for layer in layers if layer != "|"]
    assert [
        begin for row in rooms.values() for begin in row.split(", ") if not (_PACKAGE / "agent" / begin).exists()
    ] == []


_MOST = 7


def test_nothing_in_the_agent_takes_more_than_seven_things() -> None:
    found = [
        f"{path.relative_to(_PACKAGE)}:{node.lineno} {node.name}"
        for path in sorted((_PACKAGE / "agent").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and len([one for one in (*node.args.args, *node.args.kwonlyargs) if one.arg not in ("self", "cls")]) > _MOST
    ]
    assert found == []


_RECORDS = {"Checkpoint", "SettingRow", "Work"}
"""What is handed on as it is: nothing of it does anything."""


@pytest.mark.parametrize("room", ["session", "turn", "calls", "edits", "shell", "ports/turn_context.py"])
def test_no_bag_of_more_than_seven_things_is_handed_around(room: str) -> None:
    path = _PACKAGE / "agent" / room
    found = [
        f"{one.relative_to(_PACKAGE)}:{node.lineno} {node.name}"
        for one in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
        for node in ast.walk(ast.parse(one.read_text()))
        if isinstance(node, ast.ClassDef)
        and any("frozen" in ast.unparse(decorator) for decorator in node.decorator_list)
        and sum(isinstance(line, ast.AnnAssign) for line in node.body) > _MOST
        and node.name not in _RECORDS
    ]
    assert found == []


def _loaded_to_open_a_session() -> set[str]:
    opened = "north_lsp.server.connection, north_lsp.acp.agent, north_lsp.agent.session.factory"
    code = f"import sys, {opened}; print(*sys.modules, sep='\\n')"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_opening_a_session_loads_neither_pydantic_nor_an_sdk() -> None:
    heavy = {"pydantic", "pydantic_core", "anthropic", "openai", "pygls", "lsprotocol", "yaml"}
    assert heavy & {name.split(".")[0] for name in _loaded_to_open_a_session()} == set()


def test_opening_a_session_loads_nothing_of_a_turn() -> None:
    of_turns = {
        "north_lsp.agent.turn.turn",
        "north_lsp.agent.calls.dispatch",
        "north_lsp.agent.shell.run",
        "north_lsp.agent.edits.review",
        "north_lsp.command_policy.grammar",
        "north_lsp.tools.edit.drafting",
    }
    assert of_turns & _loaded_to_open_a_session() == set()


def test_a_connection_loads_its_own_protocol_alone() -> None:
    assert "north_lsp.lsp.service" not in _loaded_to_open_a_session()


_TOOL_CLASS = re.compile(r"\b\w*Tool\b(?<!\bTool)")


@pytest.mark.parametrize("room", ["agent/turn", "agent/calls", "agent/stream_rules", "tools/registry.py"])
def test_the_loop_asks_tools_what_they_need_and_not_what_they_are(room: str) -> None:
    """So a new tool touches its own file, its description and the registry."""
    names = json.loads((_PACKAGE / "tools" / "shipped.json").read_text("utf-8")).keys() - _WORDS
    path = _PACKAGE / room
    found = []
    for one in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        for node in ast.walk(ast.parse(one.read_text())):
            match node:
                case ast.Call(func=ast.Name("isinstance"), args=[_, kind]) | ast.MatchClass(cls=kind):
                    spelled = _TOOL_CLASS.findall(ast.unparse(kind))
                case ast.Constant(str(text)) if text in names and (one.name, text) not in _NAMED:
                    spelled = [text]
                case _:
                    continue
            found += [f"{one.relative_to(_PACKAGE)}:{node.lineno} {name}" for name in spelled]
    assert found == []


_WORDS = {"ask", "goal", "job", "lsp", "todo", "workflow"}
"""Tools whose names are words of other things as well: modes, kinds, protocols."""
_NAMED = {
    ("called_commands.py", "shell_run"),  # commands in a template the user calls are shown as calls of that tool
    ("watch.py", "edit_create_file"),  # a file in an answer's text counts as written by that tool
}

_ONE_TURN = ("agent/turn/turn.py", "agent/turn/request.py", "agent/turn/stream.py", "agent/calls/dispatch.py")


def test_one_turn_can_be_read_in_700_lines() -> None:
    """What else a turn needs has a name there, and can be read when it is asked for."""
    assert sum(len((_PACKAGE / name).read_text().splitlines()) for name in _ONE_TURN) <= 700
