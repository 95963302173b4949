"""What import contracts cannot say: adapters take nothing but types from what lies below the session."""

import ast
import builtins
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Literal, NewType, Union, get_args, get_origin

import pytest

import north_lsp
import north_lsp.agent

_PACKAGE = Path(north_lsp.__file__).parent
_ADAPTERS = ("acp", "lsp", "cli/demo", "slash")
_BELOW = ("storage", "workspace", "providers", "shell", "command_policy", "tools", "web")
_PURE = tuple(f"north_lsp.workspace.edit.{name}" for name in ("diff", "editor_result", "merge", "positions"))
"""Functions over the texts of a change, which an adapter turns into what its protocol has for an edit."""
_OF_TEXTS = {"dominant_newline", "encode", "split_lines", "to_newlines"}
"""The same in `workspace/text.py`, which reads files as well."""


@cache
def _import_statements(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Return all of a module, which are read once for all tests here."""
    return tuple(
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)
    )


def _taken(path: Path) -> Iterator[tuple[str, str]]:
    for node in _import_statements(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("north_lsp."):
            for name in node.names:
                yield str(node.module), name.name


def _is_type(module: str, name: str) -> bool:
    value = getattr(importlib.import_module(module), name)
    return isinstance(value, type | NewType) or get_origin(value) in (Literal, Union, UnionType)


@pytest.mark.parametrize("adapter", _ADAPTERS)
def test_adapters_take_only_types_from_below_the_session(adapter: str) -> None:
    found = [
        f"{path.name}: {module}.{name}"
        for path in sorted((_PACKAGE / adapter).rglob("*.py"))
        for module, name in _taken(path)
        if module.split(".")[1] in _BELOW and module not in _PURE and not _is_type(module, name)
        if (module, name) not in {("north_lsp.workspace.text", one) for one in _OF_TEXTS}
    ]
    assert found == []


def test_what_adapters_do_with_texts_reads_and_writes_nothing() -> None:
    modules = _modules()
    seen, left = set[str](), [*_PURE]
    while left:
        name = left.pop()
        if name not in seen and name != "north_lsp.workspace.text":
            seen.add(name)
            left += _imports(modules[name], modules)
    effects = {
        "anyio",
        "asyncio",
        "io",
        "os",
        "shutil",
        "socket",
        "subprocess",
        "tempfile",
        "north_lsp.workspace.opening",
    }
    for name in seen:
        nodes = _import_statements(modules[name])
        froms = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
        whole = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
        assert not effects & {*froms, *whole}, name


_OF_THE_CORE = """
approvals.listing.what_it_allows edits.apply.has_other_names edits.checkpoints.depth edits.checkpoints.live
edits.disk_check.disk_size edits.disk_check.disk_text edits.disk_check.ensure_on_disk edits.disk_check.ensure_own_file
edits.disk_check.ensure_unchanged edits.disk_check.remove_created edits.disk_check.restore
edits.review_folder.make_review_folder edits.syntax.syntax_errors edits.totals.totals edits.unsaved.saved_changes
edits.unsaved.unsaved_for_model exports.export.as_format log.modes.MODES log.modes.find_mode log.prompt.split_uri
log.tree.find_filter servers.config.read_entry subagents.progress.in_words
"""
"""What adapters take of the core besides its session, its ports and its types: words for people, readers of what a
client wrote, and checks of what an editor did to a file. Whatever else they want goes through the session."""


def test_adapters_talk_to_the_session() -> None:
    found = {
        f"{module.removeprefix('north_lsp.agent.')}.{name}"
        for adapter in _ADAPTERS
        for path in (_PACKAGE / adapter).rglob("*.py")
        for module, name in _taken(path)
        if module.startswith("north_lsp.agent.") and module.split(".")[2] not in ("session", "ports")
        if not _is_type(module, name)
    }
    assert sorted(found) == sorted(_OF_THE_CORE.split())


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
    for node in _import_statements(path):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif (node.module or "").startswith("north_lsp"):
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                found.add(whole if whole in modules else str(node.module))
    return found & modules.keys()


def test_imports_of_our_own_are_absolute() -> None:
    """So the tests here see all of them."""
    found = [
        f"{path.relative_to(_PACKAGE)}:{node.lineno}"
        for path in _modules().values()
        for node in _import_statements(path)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert found == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = _modules()
    left = {name: _imports(path, modules) - {name} for name, path in modules.items()}
    while free := [name for name, imports in left.items() if not imports & left.keys()]:
        for name in free:
            del left[name]
    behind = set().union(*left.values()) if left else set()
    assert sorted(left.keys() & behind) == []


def test_each_package_with_inner_rooms_has_an_order_of_them() -> None:
    contracts = ConfigParser()
    contracts.read(_PACKAGE.parent / ".importlinter")
    ordered = {
        one.rpartition(".")[0] if key != "containers" else one
        for section in contracts.sections()
        for key in ("containers", "layers", "modules")
        for one in contracts[section].get(key, "").split()
    }
    inner = [path.parent.relative_to(_PACKAGE.parent) for path in _PACKAGE.rglob("*/__init__.py")]
    with_rooms = {
        ".".join(path.parent.parts) for path in inner if len(path.parts) > 1 and "demo" not in path.parent.parts
    }
    assert sorted(with_rooms - ordered) == []


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
_FOR_TOOLS = ("tools/base.py", "workspace/workspace.py", "workspace/seen.py", "workspace/files/trees.py")
"""What every tool is given, and the parts of that."""


def _held() -> list[Path]:
    return [*sorted((_PACKAGE / "agent").rglob("*.py")), *(_PACKAGE / name for name in _FOR_TOOLS)]


def test_nothing_in_the_agent_and_nothing_for_tools_takes_more_than_seven_things() -> None:
    found = [
        f"{path.relative_to(_PACKAGE)}:{node.lineno} {node.name}"
        for path in _held()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and len(
            [
                one
                for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                if one.arg not in ("self", "cls")
            ]
        )
        > _MOST
    ]
    assert found == []


_CONTAINERS = {"Any", "Collection", "Json", "Literal", "Mapping", "Path", "Sequence", "SeenFiles", "object"}
_ACTING_PARTS = {
    "ports.servers.ServerSpec channel",  # the editor's connection, by which a server in the editor is reached
}
"""The parts of records that are no values."""


def _constructed(node: ast.ClassDef) -> list[ast.AnnAssign]:
    """Return the fields that the constructor of a dataclass takes."""
    fields = [line for line in node.body if isinstance(line, ast.AnnAssign)]
    return [
        one for one in fields if "ClassVar" not in ast.unparse(one.annotation) and "init=False" not in ast.unparse(one)
    ]


def _is_data(name: str, module: dict[str, object]) -> bool:
    """Tell whether a name in an annotation means values: plain ones, or other dataclasses of them."""
    value = module.get(name, getattr(builtins, name, None))
    origin = get_origin(value)
    if origin in (Union, UnionType):
        return all(
            _is_data(getattr(one, "__name__", ""), {getattr(one, "__name__", ""): one}) for one in get_args(value)
        )
    if name in _CONTAINERS or origin is Literal or isinstance(value, NewType) or value is type(None):
        return True
    is_plain = isinstance(value, type) and value.__module__ == "builtins"
    return is_plain or hasattr(value, "__dataclass_fields__") or hasattr(value, "model_fields")


def _only_for_types(tree: ast.Module) -> dict[str, object]:
    """Return what a module imports where only types are checked, by name."""
    guarded = [one for one in tree.body if isinstance(one, ast.If) and ast.unparse(one.test).endswith("TYPE_CHECKING")]
    return {
        alias.name: getattr(importlib.import_module(one.module), alias.name)
        for block in guarded
        for one in block.body
        if isinstance(one, ast.ImportFrom) and one.module is not None
        for alias in one.names
    }


def test_only_records_have_more_than_seven_fields() -> None:
    """A record is values alone, and does not change itself: nobody who is given one is given a way to act."""
    found = set[str]()
    for path in _held():
        name = ".".join(("north_lsp", *path.relative_to(_PACKAGE).with_suffix("").parts))
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef) or not any(
                "dataclass" in ast.unparse(one) for one in node.decorator_list
            ):
                continue
            if len(fields := _constructed(node)) > _MOST:
                module = vars(importlib.import_module(name)) | _only_for_types(tree)
                names = {
                    (str(ast.unparse(field.target)), one.id)
                    for field in fields
                    for one in ast.walk(field.annotation)
                    if isinstance(one, ast.Name)
                }
                acting = {field for field, kind in names if not _is_data(kind, module)}
                if not any("frozen=True" in ast.unparse(one) for one in node.decorator_list):
                    acting |= {one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
                found |= {f"{name.removeprefix('north_lsp.agent.')}.{node.name} {one}" for one in acting}
    assert found == _ACTING_PARTS


@cache
def _loaded_to_open_a_session() -> frozenset[str]:
    opened = "north_lsp.server.connection, north_lsp.acp.agent, north_lsp.agent.session.factory"
    code = f"import sys, {opened}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


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
