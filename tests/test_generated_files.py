"""Files that are made from the code's tables are as those say, and the tables are complete."""

import json
import re
from pathlib import Path

import pytest

from north_lsp.cli.variables import SET_BY_NORTH, VARIABLES
from tests.support.generated_files import ROOT, SCHEMA, generated


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.name)
def test_what_is_made_from_the_code_is_up_to_date(path: Path) -> None:
    assert path.read_text("utf-8") == generated()[path], "run `just generate`"


def test_every_variable_that_the_code_reads_is_in_the_table() -> None:
    named: set[str] = set()
    for path in (ROOT / "north_lsp").rglob("*.py"):
        if path.name != "variables.py":
            named |= set(re.findall(r"""["'](NORTH_[A-Z_]+)["'=]""", path.read_text("utf-8")))
    assert named - {"NORTH_FILE"} == {*VARIABLES, *SET_BY_NORTH}


def test_the_extension_has_the_schema_and_uses_it() -> None:
    folder = ROOT / "vscode-client"
    contributes = json.loads((folder / "package.json").read_text("utf-8"))["contributes"]
    (row,) = contributes["jsonValidation"]
    assert (folder / row["url"]).resolve() == SCHEMA
    assert row["fileMatch"] == ["/.config/north/config.json"]
    assert f"!{SCHEMA.name}" in (folder / ".vscodeignore").read_text("utf-8").split()
