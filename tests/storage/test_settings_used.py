"""No setting is without effect: each is read by the code that it is about, outside of the declarations."""

import ast
from functools import cache
from pathlib import Path

import pytest

import north_lsp
from north_lsp.storage.setting import Declared, declared
from north_lsp.storage.settings import Settings

_PACKAGE = Path(north_lsp.__file__).parent


@cache
def read_names() -> frozenset[str]:
    """Return the names of all attributes that some module reads which declares no setting, and of those that properties
    of the declaring ones are made of."""
    found: set[str] = set()
    for path in _PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        nodes = [*ast.walk(tree)]
        if any(isinstance(node, ast.Call) and _is_setting(node.func) for node in nodes):
            parts = [node for node in nodes if isinstance(node, ast.FunctionDef)]
            nodes = [node for part in parts for node in ast.walk(part)]
        found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return frozenset(found)


def _is_setting(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "setting"


@pytest.mark.parametrize("row", declared(Settings).values(), ids=list(declared(Settings)))
def test_every_setting_is_used(row: Declared) -> None:
    assert row.path[-1] in read_names()
