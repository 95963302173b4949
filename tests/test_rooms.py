"""What import contracts cannot say: adapters take nothing but types from what lies below the session."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import north_lsp

_PACKAGE = Path(north_lsp.__file__).parent
_ADAPTERS = ("acp", "lsp", "cli/demo")
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
