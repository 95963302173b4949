"""What goes along with a prompt: files, lines, problems, the quickfix list; what is often asked; completion."""

import base64
import json
import os
import sys
from pathlib import Path
from typing import cast

import pytest

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_chat import ENDED
from tests.e2e.nvim.test_plugin import FILE, Bed, ask, bed, chat, in_chat, replace_select
from tests.e2e.nvim.with_model import model, nvim_with
from tests.support.model_server import ModelServer
from tests.support.png import png
from tests.support.script import Say, answer

__all__ = ["bed", "model"]

PROBLEM = """
vim.diagnostic.set(vim.api.nvim_create_namespace("test"), vim.fn.bufnr("hello/greeting.py"), {
  { lnum = 4, col = 0, severity = vim.diagnostic.severity.ERROR, message = "wrong name", source = "check" },
})
"""
PROMPT_BAR = "vim.wo[vim.fn.bufwinid('^north://prompt$')].winbar"


def told(model: ModelServer) -> str:
    return json.dumps(model.requests[-1].body["messages"], ensure_ascii=False)


def test_what_is_attached_is_named_sent_once_and_taken_back(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("First.")), answer(Say("Second.")))
    with nvim_with(bed, model) as nvim:
        nvim.lua(PROBLEM)
        nvim.lua("vim.fn.setqflist({ { bufnr = vim.fn.bufnr('hello/greeting.py'), lnum = 9, text = 'def greet' } })")
        nvim.command("North attach diagnostics")
        nvim.command("North attach quickfix")
        nvim.command("North attach README.md")
        nvim.command("5,6North attach")
        nvim.command("North attach nowhere.txt")
        assert "there is no file nowhere.txt" in nvim.messages()
        bar = str(nvim.until(f"{PROMPT_BAR}:find('README.md', 1, true) and {PROMPT_BAR}"))
        for label in ("problems of hello/greeting.py (1)", "quickfix (1)", "README.md", "greeting.py:5-6"):
            assert f"[{label}]" in bar
        replace_select(nvim, "README.md")
        nvim.command("North detach")
        assert "README.md" not in str(nvim.lua(f"return {PROMPT_BAR}"))
        ask(nvim, "look")
        nvim.until(f"{in_chat('First.')} and {ENDED}")
        assert "look\n\n[problems of hello/greeting.py (1)] [quickfix (1)] [greeting.py:5-6]" in chat(nvim)
        sent = told(model)
        assert "hello/greeting.py:5: error: wrong name (check)" in sent
        assert "hello/greeting.py:9: def greet" in sent
        assert 'lines=\\"5-6\\"' in sent
        assert "problems" not in str(nvim.lua(f"return {PROMPT_BAR}"))
        ask(nvim, "again")
        nvim.until(f"{in_chat('Second.')} and {ENDED}")
        assert "quickfix" not in json.dumps(model.requests[-1].body["messages"][-1])


def test_pictures_of_the_clipboard_and_of_files_are_seen_by_the_model(
    bed: Bed, model: ModelServer, tmp_path: Path
) -> None:
    pasted, shot = png(40, 30), png(7, 5)
    (tmp_path / "pasted.png").write_bytes(pasted)
    (bed.project / "shot.png").write_bytes(shot)
    paste = tmp_path / "bin" / "wl-paste"
    paste.parent.mkdir()
    paste.write_text(f'#!/bin/sh\n[ "$3" = image/png ] && cat {tmp_path}/pasted.png\n')
    paste.chmod(0o755)
    model.script(answer(Say("A white square.")))
    path = os.pathsep.join([str(paste.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    with nvim_with(bed, model, PATH=path) as nvim:
        nvim.command("North")
        nvim.until("require('north.state').phase == 'ready'")
        nvim.command("North attach picture")
        nvim.command("North attach shot.png")
        bar = str(nvim.until(f"{PROMPT_BAR}:find('shot.png', 1, true) and {PROMPT_BAR}"))
        assert "[picture of the clipboard (1 KB)]" in bar
        ask(nvim, "what is on them")
        nvim.until(f"{in_chat('A white square.')} and {ENDED}")
        assert "[picture of the clipboard (1 KB)] [shot.png]" in chat(nvim)
        (tmp_path / "pasted.png").unlink()
        nvim.command("North attach picture")
        assert "there is no picture in the clipboard" in nvim.messages()
    content = model.requests[-1].body["messages"][-1]["content"]
    sent = [base64.b64decode(part["source"]["data"]) for part in content if part["type"] == "image"]
    assert sent == [pasted, shot]


def test_what_could_not_be_sent_stays_attached(bed: Bed) -> None:
    with bed.nvim(PATH="/usr/bin:/bin") as nvim:
        nvim.command("North attach README.md")
        nvim.keys(":North ask look<CR>")
        nvim.until(in_chat("Not sent: look"))
        assert "[README.md]" in str(nvim.lua(f"return {PROMPT_BAR}"))


def test_open_files_go_along(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("Done.")))
    with nvim_with(bed, model) as nvim:
        nvim.command("edit README.md")
        nvim.command("North attach buffers")
        ask(nvim, "look")
        nvim.until(f"{in_chat('Done.')} and {ENDED}")
        assert "[hello/greeting.py] [README.md]" in chat(nvim)
    assert "SALUTATION" in told(model)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("North fix", ["Find what is wrong with this code", "- line 5: wrong name", 'lines=\\"5-5\\"']),
        ("5,6North explain briefly", ["Explain this code", "briefly", 'lines=\\"5-6\\"']),
        ("North tests", ["Write tests for this code", "def greet"]),
    ],
)
def test_what_is_often_asked_about_code(bed: Bed, model: ModelServer, command: str, words: list[str]) -> None:
    model.script(answer(Say("Done.")))
    with nvim_with(bed, model) as nvim:
        nvim.lua(PROBLEM)
        nvim.command("5")
        nvim.command(command)
        nvim.until(f"{in_chat('Done.')} and {ENDED}")
        for word in words:
            assert word in told(model)
        nvim.command("North")
        nvim.command("North fix")
        assert "go to the code" in nvim.messages()


def test_code_actions_ask_in_the_chat(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("First.")), answer(Say("Second.")))
    with nvim_with(bed, model) as nvim:
        nvim.command("North")
        nvim.until("require('north.state').phase == 'ready'")
        nvim.command("wincmd t")
        nvim.lua(PROBLEM)
        nvim.command("5")
        nvim.lua(
            "_G.words = { 'North: fix', 'North: ask about' } vim.ui.select = function(items, options, choose)"
            " for index, item in ipairs(items) do"
            " if options.format_item(item):find(_G.words[1], 1, true) then table.remove(_G.words, 1)"
            " return choose(item, index) end end choose(nil) end"
            " vim.ui.input = function(_, done) done('what is it?') end"
        )
        nvim.lua("vim.lsp.buf.code_action()")
        nvim.until(f"{in_chat('First.')} and {ENDED}")
        assert "- line 5: wrong name" in told(model)
        nvim.lua("vim.lsp.buf.code_action()")
        nvim.until(f"{in_chat('Second.')} and {ENDED}")
        assert "what is it?\n\n[greeting.py:5]" in chat(nvim)


def test_what_to_ask_about_the_selection_can_be_typed_afterwards(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("Done.")))
    with nvim_with(bed, model) as nvim:
        nvim.lua("vim.ui.input = function(options, done) _G.prompt = options.prompt done('why?') end")
        nvim.command("5,6North ask")
        nvim.until(f"{in_chat('Done.')} and {ENDED}")
        assert nvim.lua("return _G.prompt") == "North, about greeting.py:5-6: "
        assert "why?\n\n[greeting.py:5-6]" in chat(nvim)


SOURCES = """
local found
local line = "see @greeti"
require("north.blink").new():get_completions({ line = line, cursor = { 1, #line } }, function(answer)
  found = answer.items[1]
end)
vim.wait(5000, function() return found ~= nil end, 10)
local commands
require("north.cmp").new():complete(
  { context = { cursor_before_line = "/tre", cursor = { row = 1, line = 0 } } },
  function(answer) commands = answer.items end
)
return { found, commands[1].label, commands[1].textEdit.range.start.character, #commands }
"""


def test_completion_plugins_get_what_fits(bed: Bed) -> None:
    with bed.nvim(FILE) as nvim:
        nvim.command("North")
        nvim.until("require('north.state').phase == 'ready' and require('north.completion').count() > 0")
        available = "return { require('north.blink').new():enabled(), require('north.cmp').new():is_available() }"
        assert nvim.lua(available) == [True, True]
        item, label, start, count = cast(tuple[dict[str, object], str, int, int], nvim.lua(SOURCES))
        assert item["label"] == "@hello/greeting.py"
        assert item["textEdit"] == {
            "newText": "@hello/greeting.py",
            "range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 11}},
        }
        assert (label, start, count) == ("/tree", 0, 1)
        nvim.command("wincmd t")
        assert nvim.lua(available) == [False, False]


def run_in_a_terminal(nvim: Nvim, command: str) -> None:
    ask(nvim, f"run `{command}`")
    nvim.until("require('helpers').part(2) ~= ''")
    nvim.command("North review")
    key = (
        "vim.iter(vim.api.nvim_buf_get_keymap(0, 'n')):find(function(m) return m.desc:find('terminal') ~= nil end).lhs"
    )
    nvim.keys(str(nvim.lua(f"return {key}")))
    nvim.until("vim.iter(vim.api.nvim_list_bufs()):any(function(b) return vim.bo[b].buftype == 'terminal' end)")


TERMINAL = "vim.iter(vim.api.nvim_list_bufs()):find(function(b) return vim.bo[b].buftype == 'terminal' end)"


def test_a_command_runs_in_a_terminal_where_one_can_type(bed: Bed) -> None:
    with bed.nvim() as nvim:
        run_in_a_terminal(nvim, "read word && echo got-$word")
        assert nvim.lua("return vim.bo.buftype") != "terminal"  # the cursor stays
        assert nvim.lua("return vim.api.nvim_get_mode().mode") == "n"
        nvim.lua(f"vim.fn.chansend(vim.bo[{TERMINAL}].channel, 'this\\n')")
        nvim.until(f"{in_chat('got-this')} or {in_chat('exit code 0')}")
        nvim.until("require('helpers').idle()")
    logs = "".join(path.read_text() for path in bed.folder.rglob("data/**/*.jsonl"))
    assert "got-this" in logs


@pytest.mark.parametrize("way", ["stop", "new"])
def test_stopping_and_leaving_end_what_runs_in_a_terminal(bed: Bed, way: str) -> None:
    with bed.nvim() as nvim:
        run_in_a_terminal(nvim, "sleep 600")
        nvim.command(f"North {way}")
        if way == "stop":
            nvim.until(in_chat("Stopped."))
        nvim.until("require('helpers').idle()")
        nvim.until(f"{TERMINAL} == nil or vim.fn.jobwait({{ vim.bo[{TERMINAL}].channel }}, 0)[1] ~= -1")
