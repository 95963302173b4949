"""What the package imports, it declares: nothing is used that only comes along with something else."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    rows = [*project["dependencies"], *(row for name, rows in extras.items() if name != "dev" for row in rows)]
    declared = {_plain(re.split(r"[<>=!~;\[ ]", row)[0]) for row in rows}
    homes = packages_distributions()
    undeclared = {
        name: sorted(homes.get(name, ["nowhere"]))
        for name in _imported() - sys.stdlib_module_names - {"north_lsp"}
        if declared.isdisjoint(_plain(home) for home in homes.get(name, [name]))
    }
    assert undeclared == {}


def _imported() -> set[str]:
    names: set[str] = set()
    for path in (ROOT / "north_lsp").rglob("*.py"):
        if "sample" in path.parts:  # the demonstration's own small project
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
                names.add(node.module.partition(".")[0])
    return names


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
