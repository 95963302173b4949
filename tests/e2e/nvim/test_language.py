"""Neovim's language servers for North: in a real Neovim with a language server of the tests', and the real North."""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import IDLE, PLUGIN, Bed, in_chat, review
from tests.end_to_end.test_work_trees import first_commit

LANGUAGE_SERVER = Path(__file__).parent / "language_server.py"
WITH_SERVER = f"""
vim.opt.runtimepath:prepend([[{PLUGIN}]])
local config = {{ name = "stub", cmd = {{ [[{sys.executable}]], [[{LANGUAGE_SERVER}]] }}, filetypes = {{ "python" }} }}
if vim.fn.has("nvim-0.11") == 1 then
  vim.lsp.config("stub", config)
  vim.lsp.enable("stub")
else
  config.root_dir = vim.fn.getcwd()
  vim.cmd("filetype on")
  vim.api.nvim_create_autocmd("FileType", {{ pattern = "python", callback = function() vim.lsp.start(config) end }})
end
"""
# The answers come when the language server has answered: the request is made as Neovim calls a handler, in a coroutine.
ASK = """
local params = ...
_G.answer = nil
coroutine.wrap(function()
  local result, failure = require("north.language").answer(params)
  _G.answer = { result = result, failure = failure and failure.message }
end)()
"""


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    made = Bed(tmp_path.resolve())
    made.project.mkdir()
    return made


@pytest.fixture
def nvim(bed: Bed) -> Iterator[Nvim]:
    (bed.project / "one.py").write_text("lamp = 1\nä = lamp; print(lamp)  \n")
    (bed.project / "two.py").write_text("fine = 1\n")
    with bed.nvim("one.py", init=WITH_SERVER) as nvim:
        nvim.until("#vim.lsp.get_clients({ name = 'stub' }) == 1 and vim.lsp.get_clients()[1].initialized")
        yield nvim


def ask(nvim: Nvim, action: str, **params: Any) -> dict[str, Any]:
    nvim.lua(ASK, {"action": action, **params})
    return cast(dict[str, Any], nvim.until("_G.answer"))


def attached(nvim: Nvim) -> list[str]:
    """What looks at two.py."""
    clients = "vim.iter(vim.lsp.get_clients({ bufnr = vim.fn.bufnr('two.py') }))"
    return sorted(cast(list[str], nvim.lua(f"return {clients}:map(function(client) return client.name end):totable()")))


def uri(bed: Bed, name: str) -> str:
    return (bed.project / name).as_uri()


def at(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def test_definitions_and_references_are_told_in_the_columns_that_north_counts(bed: Bed, nvim: Nvim) -> None:
    one = uri(bed, "one.py")
    there = {"line": 1, "character": 4}  # in UTF-16; the language server has it one further
    assert ask(nvim, "definition", uri=one, position=there)["result"] == {
        "locations": [{"uri": one, "range": at(0, 0, 4)}]
    }
    found = ask(nvim, "references", uri=one, position=there)["result"]["locations"]
    assert [row["range"] for row in found] == [at(0, 0, 4), at(1, 4, 8), at(1, 16, 20)]
    assert ask(nvim, "hover", uri=one, position=there)["result"] == {"text": "the name `lamp`"}
    [lamp] = ask(nvim, "symbols", uri=one)["result"]["symbols"]
    assert (lamp["name"], lamp["kind"], lamp["uri"]) == ("lamp", "variable", one)


def test_a_rename_and_a_formatting_are_told_and_change_nothing(bed: Bed, nvim: Nvim) -> None:
    one, text = uri(bed, "one.py"), (bed.project / "one.py").read_text()
    [file] = ask(nvim, "rename", uri=one, position={"line": 0, "character": 0}, newName="torch")["result"]["files"]
    assert file["uri"] == one
    assert file["edits"][1] == {"range": at(1, 4, 8), "newText": "torch"}
    formatted = ask(nvim, "format", uri=one)["result"]
    assert formatted == {
        "edits": [{"range": at(1, 21, 23), "newText": ""}],
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    assert "\n".join(nvim.lines()) + "\n" == text


def test_a_file_that_is_not_open_is_looked_at_without_being_shown(bed: Bed, nvim: Nvim) -> None:
    two = uri(bed, "two.py")
    (bed.project / "two.py").write_text("fine = BAD\n")
    told = ask(nvim, "diagnostics", uris=[two], wait=True)["result"]
    row = {"uri": two, "range": at(0, 7, 10), "severity": "error", "message": "this is bad", "source": "stub"}
    assert told == {"diagnostics": [row], "known": [two]}
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 1
    assert nvim.lua("return vim.fn.getbufinfo('two.py')[1].listed") == 0
    assert (
        ask(nvim, "definition", uri=two, position={"line": 0, "character": 1})["result"]["locations"][0]["uri"] == two
    )


def test_of_what_no_language_server_knows_nothing_is_known(bed: Bed, nvim: Nvim) -> None:
    (bed.project / "notes.txt").write_text("words\n")
    notes = uri(bed, "notes.txt")
    assert ask(nvim, "diagnostics", uris=[notes], wait=True)["result"] == {"diagnostics": [], "known": []}
    assert "no language server" in ask(nvim, "definition", uri=notes, position={"line": 0, "character": 0})["failure"]
    assert ask(nvim, "format", uri=notes)["result"]["edits"] == []
    assert "there is no" in ask(nvim, "symbols", uri=uri(bed, "gone.py"))["failure"]


def played(bed: Bed, *answers: list[dict[str, Any]]) -> dict[str, str]:
    """The variables that make North's model play a script."""
    script = bed.folder / "script.json"
    script.write_text(json.dumps(answers))
    return {"NORTH_TEST_PROVIDER": str(script), "NORTH_MODEL": "north-test/test"}


def told(bed: Bed) -> str:
    """What the model was told, as the conversation's log has it."""
    [log] = (bed.folder / "data").rglob("*.jsonl")
    return log.read_text()


def test_north_has_language_servers_look_at_a_file_and_leaves_it_to_the_disk_until_it_is_shown(bed: Bed) -> None:
    (bed.project / "one.py").write_text("lamp = 1\n")
    (bed.project / "two.py").write_text("fine = BAD\n")
    look = {"call": "lsp", "arguments": {"action": "diagnostics", "path": "two.py"}}
    with bed.nvim("one.py", init=WITH_SERVER, **played(bed, [look], [{"say": "It is bad."}])) as nvim:
        nvim.command("North ask go on")
        nvim.until(in_chat("It is bad."))
        nvim.until(IDLE)
        assert r"\"message\":\"this is bad\"" in told(bed)
        assert attached(nvim) == ["stub"]
        nvim.command("edit two.py")
        assert attached(nvim) == ["north", "north-actions", "stub"]


def test_the_model_learns_what_its_edit_made_wrong(bed: Bed) -> None:
    (bed.project / "one.py").write_text("lamp = 1\n")
    (bed.project / "two.py").write_text("from one import lamp\nfine = 1\n")
    read = {"call": "read_file", "arguments": {"path": "two.py"}}
    edit = {"call": "edit_replace_exact", "arguments": {"path": "two.py", "old": "fine = 1", "new": "fine = BAD"}}
    with bed.nvim("one.py", init=WITH_SERVER, **played(bed, [read], [edit], [{"say": "It is done."}])) as nvim:
        nvim.command("North ask go on")
        review(nvim)
        nvim.keys("ga")
        nvim.until(in_chat("It is done."))
        nvim.until(IDLE)
    problem = r"{\"path\":\"two.py\",\"line\":2,\"severity\":\"error\",\"message\":\"this is bad\""
    assert rf"\"diagnostics\":[{problem}" in told(bed)


def test_a_prompt_mentions_the_problems_that_neovim_shows_and_the_changes(bed: Bed) -> None:
    (bed.project / "names.py").write_text("NAMES = []\n")
    first_commit(bed.project)
    (bed.project / "two.py").write_text("fine = BAD\n")
    (bed.project / "names.py").write_text("NAMES = ['changed']\n")
    with bed.nvim("two.py", init=WITH_SERVER, **played(bed, [{"say": "I see."}])) as nvim:
        nvim.until("#vim.diagnostic.get(0) == 1")
        nvim.command("North ask fix @problems, then review @diff")
        nvim.until(in_chat("I see."))
        nvim.until(IDLE)
    assert "two.py:1:8: error: this is bad" in told(bed)
    assert "+NAMES = ['changed']" in told(bed)
