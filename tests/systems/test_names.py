"""Each system is asked by the same names, with the same arguments."""

import ast
from pathlib import Path

import pytest

from north_lsp import systems

_ROOT = Path(systems.__file__).parent
_OF_WINDOWS_ALONE = {"open_real"}  # elsewhere it is `workspace/opening.py`


def _imported() -> dict[str, set[str]]:
    tree = ast.parse((_ROOT / "__init__.py").read_text())
    found = dict[str, set[str]]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found.setdefault(str(node.module), set()).update(name.name for name in node.names)
    return found


def _functions(path: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((_ROOT / path).read_text())
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_both_systems_have_the_same_names() -> None:
    of_posix, of_windows = (_imported()[f"north_lsp.systems.{module}"] for module in ("posix", "windows.system"))
    assert of_windows - of_posix == _OF_WINDOWS_ALONE
    assert of_posix <= of_windows
    assert set(systems.__all__) == of_posix


@pytest.mark.parametrize("name", sorted(name for name in systems.__all__ if name.islower()))
def test_a_call_takes_the_same_on_both_systems(name: str) -> None:
    windows = {**_functions("windows/files.py"), **_functions("windows/system.py")}
    one, other = _functions("posix.py")[name].args, windows[name].args
    own = [argument.arg for argument in other.args if argument.arg != "self"]
    assert [argument.arg for argument in one.args] == own
    assert {argument.arg for argument in one.kwonlyargs} <= {argument.arg for argument in other.kwonlyargs}
