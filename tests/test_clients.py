"""What both clients repeat of the server's, since they cannot ask for it, is the same there."""

import json
import re
from pathlib import Path

import pytest

from north_lsp.lsp.initialize import initialize_result
from north_lsp.vocabulary import TREE_FILTERS

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("file", ["vscode-client/src/chat/branches.ts", "nvim-client/lua/north/rewind.lua"])
def test_the_filters_of_a_tree_are_the_same_in_the_clients(file: str) -> None:
    found = re.search(r"\bFILTERS = [\[{](.*?)[\]}]", (ROOT / file).read_text())
    assert found is not None
    assert tuple(re.findall(r'"([^"]+)"', found[1])) == TREE_FILTERS


@pytest.mark.parametrize("file", sorted((ROOT / "tests/e2e/vscode").glob("*.mjs")), ids=lambda path: path.name)
def test_no_case_of_a_program_for_vs_code_is_there_twice(file: Path) -> None:
    """The second of two keys silently replaces the first."""
    cases = re.findall(r'^  (?:async )?("[^"]*"|\w+)\([^()]*\) \{$', file.read_text(), re.MULTILINE)
    assert [case for case in sorted(set(cases)) if cases.count(case) > 1] == []


def test_no_command_of_the_server_has_the_name_of_one_of_vs_codes() -> None:
    """The client registers all commands that the server announces: two of one name end its start."""
    params = {"capabilities": {}, "initializationOptions": {"north": {"acp": True}}}
    announced = initialize_result(params, {})["capabilities"]["executeCommandProvider"]["commands"]
    manifest = json.loads((ROOT / "vscode-client/package.json").read_text())
    own = {command["command"] for command in manifest["contributes"]["commands"]}
    for file in (ROOT / "vscode-client/src").rglob("*.ts"):
        text = file.read_text()
        own |= {f"north.{name}" for name in re.findall(r'\bregister\("(\w+)"', text)}
        if "registerAll(" in text:
            own |= {f"north.{name}" for name in re.findall(r"^\s+(?:async )?(\w+)(?:\(|:)", text, re.MULTILINE)}
    assert len(own) > 50
    assert own & set(announced) == set()
