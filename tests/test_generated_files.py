"""Files that are made from the declarations of the settings, and from the tools, are as those say."""

import json
from pathlib import Path

import pytest

from tests.support.generated_files import PAGE, ROOT, SCHEMA, TOOLS, generated


@pytest.mark.parametrize("path", [SCHEMA, PAGE, TOOLS], ids=lambda path: path.name)
def test_what_is_made_is_up_to_date(path: Path) -> None:
    assert path.read_text("utf-8") == generated()[path], "run `just generate`"


def test_the_extension_has_the_schema_and_uses_it() -> None:
    folder = ROOT / "vscode-client"
    contributes = json.loads((folder / "package.json").read_text("utf-8"))["contributes"]
    (row,) = contributes["jsonValidation"]
    assert (folder / row["url"]).resolve() == SCHEMA
    assert row["fileMatch"] == ["/.config/north/config.json"]
    assert f"!{SCHEMA.name}" in (folder / ".vscodeignore").read_text("utf-8").split()
