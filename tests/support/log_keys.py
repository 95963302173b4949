"""Finds who spells a key of the conversation's file, or has a way to write one, outside `agent/log`."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SEVERAL_WORDS = re.compile(r"[a-z]+[0-9]*(?:[A-Z_][A-Za-z0-9]*)+")
_LOOSE = re.compile(r"\b(Json|object|Any|Record)\b|\bdict\[|\bMapping\[str, (str|Any|object)\]")
_FREE = ("arguments", "outputSchema", "preserveData")  # what is in them is not North's
_LOG = "north_lsp.agent.log."
_RAW = ("more", "beside", "record")
"""The fields of entries that have what this version does not know, as it is in the file."""


@dataclass(frozen=True)
class Source:
    """A module outside the room of the log."""

    name: str
    tree: ast.Module

    @property
    def nodes(self) -> Iterator[ast.AST]:
        return ast.walk(self.tree)

    def found(self, node: ast.expr | ast.stmt, what: str) -> str:
        return f"{self.name}:{node.lineno}: {what}"


def sources_in(package: Path) -> Iterator[Source]:
    """Parse all that might write to the file. (What adapters spell is ACP's or LSP's.)"""
    for room in ("agent", "slash", "command_policy", "tools"):
        for path in sorted((package / room).rglob("*.py")):
            if path.parent != package / "agent" / "log":
                yield Source(path.relative_to(package).as_posix(), ast.parse(path.read_text()))


# -- keys of several words -------------------------------------------------------------------------------------------


def keys_of_the_file(package: Path, recorded: Path) -> set[str]:
    """Return those of several words: the ones that the log spells, and those in the recorded files of a folder."""
    found = {key for tree in _of_the_log(package) for _, key in spelled_in(tree)}
    for path in recorded.glob("*.jsonl"):
        found |= {key for line in path.read_text().splitlines() for key in _keys_of(json.loads(line))}
    return {key for key in found if _SEVERAL_WORDS.fullmatch(key)}


def spelled_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the lines and keys of a module, and whatever else is written like a key of several words: a list of them,
    say."""
    yield from _keys(tree, _constants(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search("[a-z][A-Z]", node.value):
            yield node.lineno, node.value


def _of_the_log(package: Path) -> Iterator[ast.Module]:
    for path in sorted((package / "agent" / "log").glob("*.py")):
        yield ast.parse(path.read_text())


def _keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _keys_of(one) if key not in _FREE else ()
    elif isinstance(value, list):
        for one in value:
            yield from _keys_of(one)


def _constants(tree: ast.Module) -> dict[str, str]:
    """Return the names that a module has for single texts."""
    return {
        name: value.value
        for name, value in _assigned(tree.body)
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    }


def _assigned(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that get a value, each of several at once with its own."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                pairs = [*zip(names, values, strict=False)]
            case ast.Assign(targets=[target], value=value):
                pairs = [(target, value)]
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
                pairs = [(target, value)]
            case _:
                continue
        yield from ((target.id, value) for target, value in pairs if isinstance(target, ast.Name))


def _keys(tree: ast.AST, named: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield what is spelled as a key: of a dict, an index, a look-up, or a question whether there is one; also by the
    name that the module has for it."""
    for node in ast.walk(tree):
        spelled: list[ast.expr] = []
        match node:
            case ast.Dict(keys=keys):
                spelled = [one for one in keys if one is not None]
            case ast.Subscript(slice=key):
                spelled = [key]
            case ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault"), args=[key, *_]):
                spelled = [key]
            case ast.Call(func=ast.Name(id="dict" | "given"), keywords=words):
                yield from ((node.lineno, word.arg) for word in words if word.arg is not None)
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()]):
                spelled = [key]
            case ast.MatchMapping(keys=keys):
                spelled = [*keys]
        for one in spelled:
            match one:
                case ast.Constant(value=str(text)):
                    yield one.lineno, text
                case ast.Name(id=name) if name in named:
                    yield one.lineno, named[name]


# -- ways into the file ----------------------------------------------------------------------------------------------


class Ways:
    """The ways by which a dictionary could come into the file past the log. `foreign` are the fields of what the log
    declares that have one which nobody here spells."""

    def __init__(self, package: Path, foreign: Iterable[str]) -> None:
        self._classes = {
            node.name: node for tree in _of_the_log(package) for node in tree.body if isinstance(node, ast.ClassDef)
        }
        conversation = ast.parse((package / "storage" / "conversation.py").read_text())
        self.loose_members = {
            one.name
            for node in conversation.body
            if isinstance(node, ast.ClassDef) and node.name == "Conversation"
            for one in _public_functions(node)
            if _is_loose(one)
        } | {"arriving"}
        """What of a stored conversation takes or gives lines of the file."""
        self._foreign = frozenset(foreign)

    def into_the_log(self) -> list[str]:
        """Return what can be told to the log, or asked of it, as a dictionary."""
        return [one.name for one in _public_functions(self._classes["Log"]) if _is_loose(one) and not _is_property(one)]

    def by_entries(self, source: Source) -> Iterator[str]:
        """Find the dictionaries that are given to entries, or to anything else that the log declares."""
        known = {
            one.asname or one.name: one.name
            for node in source.nodes
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_LOG)
            for one in node.names
        }
        for node in source.nodes:
            match node:
                case ast.Call(func=ast.Name(id=name), args=args, keywords=words) if known.get(name) in self._classes:
                    cls = known[name]
                    fields = _fields(self._classes[cls])
                    given = [*zip(fields, args, strict=False), *((one.arg or "**", one.value) for one in words)]
                    wrong = [field for field, value in given if self._is_wrong(cls, field, value)]
                case ast.Call(func=ast.Name(id="replace" as name), args=[what, *_], keywords=words):
                    is_entry = re.search(r"(entry|logged|begun|details)$", ast.unparse(what)) is not None
                    wrong = [
                        one.arg
                        for one in words
                        if one.arg is not None and (one.arg in _RAW or (is_entry and _is_spelled(one.value)))
                    ]
                case _:
                    continue
            yield from (source.found(node, f"{name}({field}=…)") for field in wrong)

    def _is_wrong(self, cls: str, field: str, value: ast.expr) -> bool:
        annotation = _fields(self._classes[cls]).get(field, "")
        if field == "**" or not _LOOSE.search(annotation):
            return field == "**"
        return f"{cls}.{field}" not in self._foreign or _is_spelled(value)

    def by_details(self, source: Source) -> Iterator[str]:
        """Find the results of calls whose details the log has not made."""
        for function in source.nodes:
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            spelled = {name for name, value in _assigned(ast.walk(function)) if _is_made(value)}
            for node in ast.walk(function):
                match node:
                    case ast.Call(func=ast.Name(id="Result"), args=[_, _, _, details, *_]):
                        pass
                    case ast.Call(func=ast.Name(id="Result" | "Output" | "CallEnded"), keywords=words):
                        details = next((one.value for one in words if one.arg == "details"), ast.Constant(None))
                    case _:
                        continue
                names = {one.id for one in ast.walk(details) if isinstance(one, ast.Name)}
                if _is_made(details) or (names & spelled and not isinstance(details, ast.Call)):
                    yield source.found(node, "details")

    def by_storage(self, source: Source) -> Iterator[str]:
        """Find who reads or writes lines of the file past the log, or makes one for `storage`."""
        passed_on = {
            id(one)
            for node in source.nodes
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Header.from_json", "is_newer")
            for one in node.args
        }
        stored = {name for name, value in _assigned(source.nodes) if ast.unparse(value).endswith("conversation")}
        for node in source.nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="Conversation"), attr="create"), keywords=words):
                    if any(_is_spelled(one.value) for one in words):
                        yield source.found(node, "Conversation.create({…})")
                case ast.Attribute(value=value, attr=attr) if attr in self.loose_members and id(node) not in passed_on:
                    text = ast.unparse(value)
                    if text in stored or re.search(r"(\b|_)conversation(\.answer)?$", text):
                        yield source.found(node, ast.unparse(node))
                case ast.Dict(keys=keys, values=values):
                    unpacked = [value for key, value in zip(keys, values, strict=True) if key is None]
                    if any("to_json()" in ast.unparse(one) for one in unpacked):
                        yield source.found(node, "more keys than an entry has")
                case ast.Subscript(value=ast.Call(func=ast.Attribute(attr="to_json")), slice=ast.Constant(str())):
                    yield source.found(node, "a key of an entry")
        if any(isinstance(node, ast.ImportFrom) and _imports_record(node) for node in source.nodes):
            yield from _spells(source, source.tree)

    def by_veils(self, source: Source) -> Iterator[str]:
        """Find who spells the lines that number secrets, which a veil gives to `storage`."""
        for node in source.nodes:
            if isinstance(node, ast.ClassDef) and any(one.name == "take_unrecorded" for one in _public_functions(node)):
                yield from _spells(source, node)

    def by_forms(self, source: Source) -> Iterator[str]:
        """Find what has a stored form of its own."""
        for node in source.nodes:
            if isinstance(node, ast.FunctionDef) and node.name in ("to_json", "from_json"):
                yield source.found(node, node.name)


def _spells(source: Source, tree: ast.AST) -> Iterator[str]:
    keys = _keys(tree, _constants(source.tree))
    yield from (f"{source.name}:{line}: {key}" for line, key in keys if re.fullmatch("[A-Za-z_]+", key))


def _is_made(value: ast.expr) -> bool:
    return _is_spelled(value) or "to_json" in ast.unparse(value)


def _is_spelled(value: ast.expr) -> bool:
    """Tell whether an expression spells a dictionary. (An empty one has no keys.)"""
    match value:
        case ast.Dict(keys=keys):
            return bool(keys)
        case ast.DictComp() | ast.Call(func=ast.Name(id="dict" | "given"), keywords=[_, *_]):
            return True
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            return _is_spelled(one) or _is_spelled(other)
        case _:
            return False


def _fields(node: ast.ClassDef) -> dict[str, str]:
    """Return the fields of a class in their order, with their types."""
    return {
        one.target.id: ast.unparse(one.annotation)
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }


def _public_functions(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]


def _is_loose(function: ast.FunctionDef) -> bool:
    """Tell whether it takes or gives something that may be a dictionary."""
    arguments = [*function.args.args, *function.args.kwonlyargs, function.args.vararg, function.args.kwarg]
    types = [one.annotation for one in arguments if one is not None] + [function.returns]
    return any(_LOOSE.search(ast.unparse(one)) for one in types if one is not None)


def _is_property(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(one) == "property" for one in function.decorator_list)


def _imports_record(node: ast.ImportFrom) -> bool:
    return node.module == "north_lsp.storage.entries" and any(one.name == "Record" for one in node.names)
