"""Regular expressions of modules are compiled when they are used, and each of them can be."""

import ast
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

import north_lsp
from north_lsp.lazy_pattern import lazy_pattern
from tests.support.modules import is_for_here

_PACKAGE = Path(north_lsp.__file__).parent


def _modules() -> list[Path]:
    return [
        path
        for path in sorted(_PACKAGE.rglob("*.py"))
        if path.relative_to(_PACKAGE).parts[0] not in ("rpc", "__main__.py") and "sample" not in path.parts
    ]


def test_it_finds_what_the_pattern_finds() -> None:
    lazy, plain = lazy_pattern(r"(?P<word>[a-z]+)\d", re.IGNORECASE), re.compile(r"(?P<word>[a-z]+)\d", re.IGNORECASE)
    text = "ab1 CD2 ef"
    assert lazy.findall(text) == plain.findall(text)
    assert lazy.sub("-", text) == plain.sub("-", text)
    assert [one.span() for one in lazy.finditer(text)] == [one.span() for one in plain.finditer(text)]
    assert (lazy.pattern, lazy.flags, lazy.groups) == (plain.pattern, plain.flags, plain.groups)
    assert lazy.groupindex == plain.groupindex
    assert lazy_pattern(rb"\d").search(b"a1") is not None
    with pytest.raises(AttributeError):
        lazy.nothing  # type: ignore[attr-defined]  # noqa: B018 - that there is no such name is the case


def test_it_is_compiled_when_it_is_used() -> None:
    wrong = lazy_pattern("(")
    with pytest.raises(re.error):
        wrong.search("")


def test_every_pattern_of_the_package_can_be_compiled() -> None:
    kind = type(lazy_pattern(""))
    found = 0
    for one in pkgutil.walk_packages(north_lsp.__path__, "north_lsp."):
        if one.name.endswith("__main__") or ".sample" in one.name or not is_for_here(one.name):
            continue
        for value in vars(import_module(one.name)).values():
            if isinstance(value, kind):
                assert re.compile(value.pattern, vars(value)["_flags"]).groups >= 0
                found += 1
    assert found > 100


def test_no_module_compiles_a_pattern_when_it_is_imported() -> None:
    found = [
        f"{path.relative_to(_PACKAGE)}:{node.lineno}"
        for path in _modules()
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "re.compile"
    ]
    assert found == [], "north_lsp.lazy_pattern makes patterns that are compiled when they are used"
