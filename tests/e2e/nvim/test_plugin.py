"""The Neovim plugin and the plain `vim.lsp` configuration, in a real Neovim with the real server and offline model."""

import json
import os
import re
import shutil
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, urlsplit

import pytest

import north_lsp
from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.screen import Screen, nvim_screen
from tests.e2e.nvim.with_model import model, nvim_with
from tests.support.exported_page import Page
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer

__all__ = ["model"]

PLUGIN = Path(__file__).parents[3] / "nvim-client"
SAMPLE = Path(north_lsp.__file__).parent / "cli" / "demo" / "sample"
FAKE_SERVER = Path(__file__).parents[1] / "vscode" / "fake-north-lsp"  # answers as a server did that could not chat yet
FILE = "hello/greeting.py"
REPLACE = 'replace "Hello" by "Good morning" in hello/greeting.py'
OLD, NEW = 'SALUTATION = "Hello"', 'SALUTATION = "Good morning"'
REVIEW_IS_OPEN = "#vim.api.nvim_list_tabpages() == 2"
REVIEW_IS_CLOSED = "#vim.api.nvim_list_tabpages() == 1"

HELPERS = """
local M = {}
function M.text(name)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buffer) == name then
      return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), "\\n")
    end
  end
  return ""
end
function M.chat_has(text)
  return M.text("north://chat"):find(text, 1, true) ~= nil
end
function M.idle()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window)) == "north://chat" then
      return vim.wo[window].winbar:gsub("%%<.*", ""):match("^ North · %l+$") ~= nil
    end
  end
  return false
end
-- What stands in the split that asks to run a command: "" while there is none.
function M.part(number)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local buffer = vim.api.nvim_win_get_buf(window)
    if vim.bo[buffer].syntax == "sh" then
      local other = vim.api.nvim_win_get_buf(vim.fn.win_getid(vim.fn.win_id2win(window) - 1))
      return table.concat(vim.api.nvim_buf_get_lines(number == 1 and other or buffer, 0, -1, true), "\\n")
    end
  end
  return ""
end
function M.file()
  return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr("hello/greeting.py"), 0, -1, true), "\\n")
end
-- What a picker would show is kept; `choices` are the titles to take, in order, "" for closing it.
function M.replace_select(choices)
  M.asked = {}
  vim.ui.select = function(items, options, choose)
    local names = vim.tbl_map(options.format_item, items)
    table.insert(M.asked, { prompt = options.prompt, names = names })
    local wanted = table.remove(choices, 1)
    for index, name in ipairs(names) do
      if name == wanted then
        return choose(items[index], index)
      end
    end
    choose(nil, nil)
  end
end
return M
"""


def with_server(program: str) -> str:
    return f"vim.opt.runtimepath:prepend([[{PLUGIN}]])\nrequire('north').setup({{ cmd = {{ [[{program}]] }} }})"


def in_chat(text: str) -> str:
    return f"require('helpers').chat_has([==[{text}]==])"


IDLE = "require('helpers').idle()"


@dataclass
class Bed:
    """A project, folders of North's own for it, and what starts Neovim there."""

    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def file(self) -> Path:
        return self.project / FILE

    def environ(self, extra: dict[str, str]) -> dict[str, str]:
        folders = {f"NORTH_{name}_DIR": str(self.folder / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return folders | {"NORTH_MODEL": "offline", "NORTH_OFFLINE_DELAY_MS": "", "PATH": path} | extra

    def init(self, configuration: str) -> Path:
        """A configuration as a user would have it, with the helpers of these tests beside it."""
        helpers = self.folder / "helpers" / "lua" / "helpers.lua"
        helpers.parent.mkdir(parents=True, exist_ok=True)
        helpers.write_text(HELPERS)
        init = self.folder / "init.lua"
        init.write_text(f"vim.opt.runtimepath:prepend([[{self.folder / 'helpers'}]])\n{configuration}\n")
        return init

    def nvim(self, *arguments: str, init: str | None = None, **env: str) -> Nvim:
        configuration = init if init is not None else f"vim.opt.runtimepath:prepend([[{PLUGIN}]])"
        return Nvim(*(arguments or (FILE,)), init=self.init(configuration), cwd=self.project, env=self.environ(env))

    def screen(self, columns: int = 110, rows: int = 30, **env: str) -> Screen:
        init = self.init(f"vim.opt.runtimepath:prepend([[{PLUGIN}]])")
        return nvim_screen(FILE, init=init, columns=columns, rows=rows, cwd=self.project, env=self.environ(env))


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    folder = tmp_path.resolve()
    shutil.copytree(SAMPLE, folder / "project", ignore=shutil.ignore_patterns("__pycache__"))
    return Bed(folder)


def chat(nvim: Nvim) -> str:
    return str(nvim.lua("return require('helpers').text('north://chat')"))


def text_of(nvim: Nvim) -> str:
    return str(nvim.lua("return require('helpers').file()"))


def ask(nvim: Nvim, text: str) -> None:
    nvim.command(f"North ask {text}")


ASKED = "require('north.permission').count() > 0"


def review(nvim: Nvim) -> None:
    """Go to the question that waits, which by itself takes no cursor."""
    nvim.until(ASKED)
    nvim.command("North review")
    nvim.until(REVIEW_IS_OPEN)


def open_review(nvim: Nvim) -> None:
    ask(nvim, REPLACE)
    review(nvim)


def replace_select(nvim: Nvim, *choices: str) -> None:
    nvim.lua("require('helpers').replace_select(...)", list(choices))


def asked(nvim: Nvim) -> list[dict[str, object]]:
    return cast(list[dict[str, object]], nvim.lua("return require('helpers').asked"))


COMMAND = "require('helpers').part(2)"
"""The command that is asked for, whole; empty while none is."""
HEADER = "require('helpers').part(1)"
"""What stands above it."""


def answer_command(nvim: Nvim, keys: str) -> None:
    """Go to the question that waits and press keys there."""
    nvim.until(f"{COMMAND} ~= ''")
    nvim.command("North review")
    nvim.keys(keys)
    nvim.until(f"{COMMAND} == ''")


# -- chat ------------------------------------------------------------------------------------------------------------


def test_the_chat_opens_and_streams(bed: Bed) -> None:
    with bed.nvim(NORTH_OFFLINE_DELAY_MS="20") as nvim:
        nvim.command("North")
        assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == "north://prompt"
        assert nvim.lua("return vim.bo[vim.fn.winbufnr(vim.fn.winnr('k'))].filetype") == "markdown"
        nvim.keys("iexplain greet<CR>")
        nvim.until(in_chat("## You\n\nexplain greet\n\n## North\n\nI will look"))
        assert nvim.lua("return vim.api.nvim_get_mode().mode") == "n"
        nvim.until(in_chat('\n- ✓ Searched "greet" - 17 matches\n'))
        nvim.until(IDLE)
        assert "`greet` is defined in `hello/greeting.py`, line 9:\n\n```python\ndef greet" in chat(nvim)
        assert chat(nvim).count("Searched") == 1
        assert nvim.lua("return require('helpers').text('north://prompt')") == ""


def test_an_answer_is_shown_while_it_comes(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look. "), Gate("go"), Say("There it is.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        assert "There it is" not in chat(nvim)
        model.open("go")
        nvim.until(f"{in_chat('I will look. There it is.')} and {IDLE}")


def test_a_second_prompt_waits_for_the_first(bed: Bed) -> None:
    with bed.nvim(NORTH_OFFLINE_DELAY_MS="15") as nvim:
        ask(nvim, "explain greet")
        ask(nvim, "list files")
        nvim.until(in_chat("is defined in"))
        nvim.until(f"{in_chat('## You')} and {IDLE}")
        shown = chat(nvim)
        assert shown.index("explain greet") < shown.index("is defined in") < shown.index("## You\n\nlist files")


def test_what_waits_is_moved_edited_and_removed(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look"), Gate("never")))
    with nvim_with(bed, model) as nvim:
        nvim.lua(
            "picks = {} vim.ui.select = function(items, _, choose)"
            " local wanted = table.remove(picks, 1)"
            " for index, item in ipairs(items) do"
            " if (type(item) == 'table' and item.text or item) == wanted then return choose(item, index) end end end"
        )
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        for text in ("list files", "help", "read README.md"):
            ask(nvim, text)
        count = "#require('north.state').prompts"
        for row, act, left in (
            ("read README.md", "Send it earlier", 4),
            ("list files", "Edit it", 3),
            ("help", "Remove it", 2),
        ):
            nvim.lua(f"picks = {{ {row!r}, {act!r} }}")
            nvim.command("North queue")
            nvim.until(f"#picks == 0 and {count} == {left}")
        assert nvim.lua("return require('helpers').text('north://prompt')") == "list files"
        assert "Given up" not in chat(nvim)
        nvim.command("North stop")
        nvim.until(IDLE)


def test_a_selection_goes_along_as_a_resource(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.keys("5GVj:North ask explain greet<CR>")
        nvim.until(in_chat("explain greet\n\n[greeting.py:5-6]"))
        nvim.until(IDLE)
    (log,) = (bed.folder / "data" / "conversations").glob("*.jsonl")
    assert r"SALUTATION = \"Hello\"\nSTRANGER = \"stranger\"\n" in log.read_text()
    assert "hello/greeting.py" in log.read_text()
    assert "5-6" in log.read_text()


def test_stop(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look"), Gate("never"), Say("It is defined in a file.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "explain greet")
        ask(nvim, "list files")
        nvim.until(in_chat("I will look"))
        nvim.command("North stop")
        nvim.until(in_chat("Stopped."))
        nvim.until(in_chat("Given up: list files"))
        nvim.until(IDLE)
        assert "is defined in" not in chat(nvim)


def winbar_is(text: str) -> str:
    bar = "vim.wo[w].winbar:gsub('%%<.*', '')"
    return f"vim.iter(vim.api.nvim_list_wins()):any(function(w) return {bar} == ' {text}' end)"


def test_modes_and_new(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North mode ask")
        nvim.until(winbar_is("North · ask"))
        ask(nvim, REPLACE)
        nvim.until(IDLE)
        assert nvim.lua(f"return {REVIEW_IS_CLOSED}")
        assert OLD in text_of(nvim)
        nvim.command("North new")
        nvim.until("require('helpers').text('north://chat') == ''")
        nvim.until(winbar_is("North · agent"))


def test_completion(bed: Bed) -> None:
    with bed.nvim() as nvim:
        complete = "return vim.fn.getcompletion(..., 'cmdline')"
        assert nvim.lua(complete, "North ") == [
            "archive",
            "ask",
            "attach",
            "branch",
            "checkpoints",
            "close",
            "config",
            "context",
            "continue",
            "conversations",
            "delete",
            "detach",
            "document",
            "dump",
            "edit",
            "explain",
            "export",
            "fix",
            "fork",
            "goal",
            "import",
            "keys",
            "learned",
            "live",
            "log",
            "login",
            "mode",
            "model",
            "new",
            "options",
            "permissions",
            "prompts",
            "queue",
            "redo",
            "rename",
            "replaced",
            "restore",
            "resume",
            "retry",
            "review",
            "rewind",
            "steer",
            "stop",
            "storage",
            "tab",
            "takeover",
            "tasks",
            "tests",
            "thinking",
            "todo",
            "toggle",
            "tree",
            "undo",
            "work",
            "zoom",
        ]
        assert nvim.lua(complete, "North mo") == ["mode", "model"]
        assert nvim.lua(complete, "North mode a") == ["ask", "agent"]
        assert nvim.lua(complete, "North log ") == ["debug", "info", "warn", "error"]
        assert nvim.lua(complete, "North export hel") == ["hello/"]


def test_the_help_s_tags_are_those_of_its_text(bed: Bed) -> None:
    shutil.copytree(PLUGIN / "doc", bed.folder / "doc")
    with bed.nvim() as nvim:
        nvim.command(f"helptags {bed.folder / 'doc'}")
        nvim.command("help north-keys")
    assert (bed.folder / "doc" / "tags").read_text() == (PLUGIN / "doc" / "tags").read_text()


# -- exports ---------------------------------------------------------------------------------------------------------


def test_a_conversation_is_exported_and_shown_as_a_text(bed: Bed) -> None:
    with bed.nvim() as nvim:

        def told(words: str) -> None:
            nvim.until(f"vim.fn.execute('messages'):find([==[{words}]==], 1, true)")

        nvim.command("North export")
        told("nothing to export yet")
        ask(nvim, "explain greet")
        nvim.until(IDLE)
        nvim.command("North export")
        told("exported to ")
        (page,) = bed.project.glob("north-*.html")
        assert Page(page.read_text()).problems == []
        assert "explain greet" in Page(page.read_text()).text
        nvim.command("North export 'talk.md'")
        told("talk.md")
        assert "is defined in" in (bed.project / "talk.md").read_text()
        (bed.project / "talk.md").write_text("mine")
        nvim.command("lua vim.fn.confirm = function(question) _G.question = question; return 2 end")
        nvim.command("North export talk.md")
        told("nothing was exported")
        assert "talk.md exists already. Replace it?" in str(nvim.lua("return _G.question"))
        assert (bed.project / "talk.md").read_text() == "mine"
        nvim.command("lua vim.fn.confirm = function() return 1 end")
        nvim.command("North export talk.md")
        nvim.until(f"table.concat(vim.fn.readfile([[{bed.project / 'talk.md'}]]), ''):find('is defined in', 1, true)")
        nvim.command("North export talk.pdf")
        told("'.pdf' is not the ending of an export: end the name in .html")
        nvim.command("North export .git/hooks/talk.txt")
        told("there is no folder")
        nvim.command("North dump")
        nvim.until("vim.fn.search('Tool read_file') > 0")
        assert nvim.lua("return { vim.bo.buftype, vim.bo.modified }") == ["nofile", False]


def test_a_summary_is_shown_and_what_it_replaced_is_opened(bed: Bed) -> None:
    script = bed.folder / "script.json"
    script.write_text(json.dumps([[{"say": "word " * 4_000}], [{"say": '{"goal": "Say a word"}'}], [{"say": "Yes."}]]))
    with bed.nvim(NORTH_TEST_PROVIDER=str(script), NORTH_MODEL="north-test/test") as nvim:
        nvim.command("North replaced")
        nvim.until("vim.fn.execute('messages'):find('was summarized', 1, true)")
        ask(nvim, "Tell me many words")
        nvim.until(f"{in_chat('word word')} and {IDLE}")
        ask(nvim, "/summarize --keep-last 0")
        nvim.until(in_chat("\n- ✓ The conversation up to here was summarized: "))
        nvim.until(IDLE)
        nvim.command("North replaced")
        nvim.until("vim.fn.search('Tell me many words') > 0")
        assert nvim.lua("return { vim.bo.buftype, vim.bo.modifiable }") == ["nofile", False]
        nvim.command("tabclose")
        nvim.command("North")
        nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('north://chat'))")
        nvim.lua("vim.fn.search('was summarized', 'bw')")
        nvim.lua("require('north.chat').show_details()")
        nvim.until(
            "vim.iter(vim.api.nvim_list_bufs()):any(function(buffer)"
            " return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true)):find('^## Goal.*Say a word') end)"
        )


def test_the_log_and_what_is_kept_are_shown(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North log info")
        nvim.until("vim.api.nvim_buf_get_name(0) == 'north://log'")
        shown = nvim.lines()
        assert shown[0].endswith("/north.log")
        assert any("app_start" in line for line in shown)
        assert not any("  debug  " in line for line in shown)
        assert nvim.lua("return vim.bo.modifiable") is False
        nvim.keys("q")
        nvim.command("North storage")
        nvim.until("vim.api.nvim_buf_get_name(0) == 'north://storage'")
        shown = nvim.lines()
        assert str(bed.folder / "data") in shown[0]
        assert any(line.startswith("conversations ") and "freed by" in line for line in shown)
        assert "/storage clean" in shown[-1]


# -- edits -----------------------------------------------------------------------------------------------------------


def test_an_accepted_edit_is_one_undo_step(bed: Bed) -> None:
    with bed.nvim() as nvim:
        before = text_of(nvim)
        open_review(nvim)
        sides = "return vim.tbl_map(function(w) return {vim.wo[w].diff, vim.bo[vim.fn.winbufnr(w)].modifiable}"
        assert nvim.lua(f"{sides} end, vim.api.nvim_tabpage_list_wins(0))") == [
            [False, False],
            [True, False],
            [True, True],
        ]
        texts = "return vim.tbl_map(function(w) return vim.api.nvim_buf_get_lines(vim.fn.winbufnr(w), 4, 5, false)[1]"
        assert nvim.lua(f"{texts} or '' end, vim.api.nvim_tabpage_list_wins(0))") == ["", OLD, NEW]
        nvim.keys("ga")
        nvim.until(REVIEW_IS_CLOSED)
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        assert "- ✓ Edited greeting.py (+1/-1)\n" in chat(nvim)
        assert text_of(nvim) == before.replace(OLD, NEW)
        assert NEW in bed.file.read_text(), "what runs next reads the disk"
        assert not nvim.lua("return vim.bo[vim.fn.bufnr('hello/greeting.py')].modified")
        nvim.command("undo")
        assert text_of(nvim) == before


def test_an_edit_of_a_file_that_is_not_open_is_read_again(bed: Bed) -> None:
    with bed.nvim("README.md") as nvim:
        open_review(nvim)
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        assert NEW in bed.file.read_text()


def test_an_edit_is_taken_back_and_done_again(bed: Bed) -> None:
    with bed.nvim("README.md") as nvim:
        replace_select(nvim, "Keep later changes", "Discard later changes")
        nvim.command("North undo")
        nvim.until("vim.fn.execute('messages'):find('nothing', 1, true)")
        open_review(nvim)
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        after = bed.file.read_text()

        def file_is(text: str) -> str:
            return f"table.concat(vim.fn.readfile([[{bed.file}]]), '\\n') .. '\\n' == {json.dumps(text)}"

        nvim.command("North undo")
        nvim.until(file_is(after.replace(NEW, OLD)))
        nvim.command("North redo")
        nvim.until(file_is(after))
        bed.file.write_text(after.replace(NEW, "SALUTATION = 1"))
        nvim.command("North undo")
        nvim.until("vim.fn.execute('messages'):find('not restored: hello/greeting.py', 1, true)")
        assert bed.file.read_text() == after.replace(NEW, "SALUTATION = 1")
        nvim.command("North undo")
        nvim.until(file_is(after.replace(NEW, OLD)))
        prompts = [question["prompt"] for question in asked(nvim)]
        assert prompts == ["Changed later at the same place: hello/greeting.py"] * 2


def test_a_key_is_stored_without_being_shown(bed: Bed) -> None:
    key = "sk-e2e-0123456789abcdef"
    with bed.nvim(OPENAI_BASE_URL="http://127.0.0.1:1/v1") as nvim:
        nvim.command(f"lua vim.fn.inputsecret = function(prompt) _G.secret_prompt = prompt; return '{key}' end")
        replace_select(nvim, "OpenAI (openai)", "Do not store it", "Store it anyway")
        nvim.command("North login")
        nvim.until("#require('helpers').asked == 2")
        assert nvim.lua("return _G.secret_prompt") == "API key of OpenAI: "
        assert not (bed.folder / "data" / "agent.db").exists()
        nvim.command("North login openai")
        nvim.until("vim.fn.execute('messages'):find('has stored the key …cdef of OpenAI', 1, true)")
        assert key not in str(nvim.lua("return vim.fn.execute('messages') .. vim.fn.execute('history all')"))
    assert key.encode() in (bed.folder / "data" / "agent.db").read_bytes()


def test_the_user_signs_in_to_a_provider_on_a_page(bed: Bed) -> None:
    page = {"authorizeUrl": "https://a.example/authorize", "tokenUrl": "https://a.example/token", "clientId": "north"}
    there = {"baseUrl": "https://a.example", "api": "anthropic-messages", "auth": "oauth", "oauth": page}
    models = bed.folder / "config" / "models.json"
    models.parent.mkdir(exist_ok=True)
    models.write_text(json.dumps({"providers": {"company": there | {"models": [{"id": "m-1"}]}}}))
    with bed.nvim() as nvim:
        nvim.command("North login company")
        nvim.until(in_chat("redirect_uri="))
        address = re.findall(r"https://a\.example/authorize\S*", chat(nvim))[-1]
        asked = parse_qs(urlsplit(address).query)
        back = f"{asked['redirect_uri'][0]}?state={asked['state'][0]}&error=access_denied"
        with urllib.request.urlopen(back) as answer:
            assert answer.status == 200
        nvim.until(in_chat("the sign-in failed: access_denied"))


def test_words_for_the_turn_that_runs(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look. "), Gate("go")), answer(Say("There are four.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        nvim.command("North steer list files")
        nvim.lua("vim.ui.select = function(rows, options) waits = options.format_item(rows[1]) end")
        nvim.until("vim.cmd('North queue') and waits == 'for this turn: list files'")
        model.open("go")
        nvim.until(f"{in_chat('I will look.')} and {in_chat('There are four.')} and {IDLE}")
        assert chat(nvim).count("## You\n\nlist files\n") == 1
        assert len(model.requests) == 2
        nvim.command("North retry now")
        nvim.until("vim.fn.execute('messages'):find('no retry is pending', 1, true)")


def test_a_file_that_a_command_changed_is_read_again(bed: Bed) -> None:
    with bed.nvim() as nvim:
        ask(nvim, f"run `sed -i s/Hello/Hi/ {FILE}`")
        answer_command(nvim, "ga")
        nvim.until(f"{in_chat('I ran')} and {IDLE}")
        nvim.until("require('helpers').file():find('\"Hi\"', 1, true)")


def test_a_rejected_edit_changes_nothing(bed: Bed) -> None:
    with bed.nvim() as nvim:
        before = text_of(nvim)
        open_review(nvim)
        nvim.keys("gr")
        nvim.until(REVIEW_IS_CLOSED)
        nvim.until(in_chat("- ✗ Editing greeting.py (+1/-1) — Rejected; nothing was written."))
        nvim.until(IDLE)
        assert text_of(nvim) == before
        assert OLD in bed.file.read_text()


def test_the_right_side_is_what_is_accepted(bed: Bed) -> None:
    many = bed.project / "many.py"
    gap = "#\n" * 12
    many.write_text(f"ITEM = 1\n{gap}ITEM = 2\n{gap}ITEM = 3\n")
    with bed.nvim("many.py") as nvim:
        ask(nvim, 'replace "ITEM" by "ENTRY" in many.py')
        review(nvim)
        nvim.keys("14Gdo27GA  # mine<Esc>ga")
        nvim.until(REVIEW_IS_CLOSED)
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        buffer = "vim.api.nvim_buf_get_lines(vim.fn.bufnr('many.py'), 0, -1, true)"
        lines = cast(list[str], nvim.lua(f"return vim.tbl_filter(function(line) return line ~= '#' end, {buffer})"))
        assert lines == ["ENTRY = 1", "ITEM = 2", "ENTRY = 3  # mine"]


def test_a_rejection_can_say_why(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.lua("vim.ui.input = function(_, done) done('not in this file') end")
        open_review(nvim)
        nvim.keys("gR")
        nvim.until(REVIEW_IS_CLOSED)
        nvim.until(f"{in_chat('Rejected; nothing was written.')} and {IDLE}")
        ask(nvim, "run `touch denied`")
        answer_command(nvim, "gR")
        nvim.until(f"{in_chat('it was not run')} and {IDLE}")
    logs = "".join(path.read_text() for path in bed.folder.rglob("data/**/*.jsonl"))
    assert logs.count("not in this file") >= 4  # each in its review and in its result


def test_only_the_keys_decide(bed: Bed) -> None:
    with bed.nvim() as nvim:
        open_review(nvim)
        nvim.keys("<CR><Esc>y<Space>")
        nvim.keys(":tabclose<CR>")
        nvim.until(REVIEW_IS_CLOSED)
        nvim.until(in_chat("asks you (:North review)"))
        nvim.command("North review")
        nvim.until(REVIEW_IS_OPEN)
        nvim.keys(":quit<CR>")
        nvim.until(REVIEW_IS_CLOSED)
        assert "Rejected" not in chat(nvim)
        assert OLD in text_of(nvim)
        nvim.command("North review")
        nvim.until(REVIEW_IS_OPEN)
        nvim.keys("gr")
        nvim.until(in_chat("Rejected; nothing was written."))


def with_options(lua: str) -> str:
    return f"vim.opt.runtimepath:prepend([[{PLUGIN}]])\nrequire('north').setup({{ {lua} }})"


def test_a_review_waits_while_the_user_types(bed: Bed) -> None:
    with bed.nvim(init=with_options('review = "auto"')) as nvim:
        nvim.command("North")
        nvim.keys(f"i{REPLACE}<CR>")
        nvim.until("vim.api.nvim_get_mode().mode == 'n'")
        nvim.keys("iga")
        nvim.until(in_chat("asks you"))
        nvim.keys("gr")
        nvim.until("require('helpers').text('north://prompt') == 'gagr'")
        assert nvim.lua(f"return {REVIEW_IS_CLOSED}")
        nvim.keys("<Esc>")
        nvim.until(REVIEW_IS_OPEN)
        assert OLD in text_of(nvim)


def test_always_accept_is_asked_once(bed: Bed) -> None:
    with bed.nvim() as nvim:
        open_review(nvim)
        nvim.keys("gA")
        nvim.until("vim.fn.execute('messages'):find('Press gA again to allow it', 1, true)")
        assert OLD in bed.file.read_text()
        nvim.keys("gA")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        ask(nvim, 'replace "stranger" by "friend" in hello/greeting.py')
        nvim.until(f"{in_chat('with `friend` in')} and {IDLE}")
        assert 'STRANGER = "friend"' in text_of(nvim)


def test_what_was_not_offered_has_no_key(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        (bed.project / ".vscode").mkdir()
        (bed.project / ".vscode" / "settings.json").write_text('{"a": "old"}\n')
        ask(nvim, 'replace "old" by "new" in .vscode/settings.json')
        review(nvim)
        maps = "return vim.tbl_map(function(m) return m.lhs end, vim.api.nvim_buf_get_keymap(0, 'n'))"
        assert sorted(cast(list[str], nvim.lua(maps))) == ["gR", "ga", "gl", "gr"]
        header = "return vim.api.nvim_buf_get_lines(vim.fn.winbufnr(1), 0, -1, true)[2]"
        assert "protected file" in str(nvim.lua(header))


def test_stopping_withdraws_the_review(bed: Bed) -> None:
    with bed.nvim() as nvim:
        open_review(nvim)
        nvim.command("North stop")
        nvim.until(REVIEW_IS_CLOSED)
        nvim.until(f"{in_chat('Stopped.')} and {IDLE}")
        assert OLD in text_of(nvim)
        ask(nvim, "list files")
        nvim.until(f"{in_chat('README.md')} and {IDLE}")


def test_a_file_that_was_modified_before_is_not_written(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.keys("Gomine = 1<Esc>")
        nvim.until("vim.bo.modified")
        open_review(nvim)
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        assert OLD in bed.file.read_text()
        assert nvim.lua("return vim.bo[vim.fn.bufnr('hello/greeting.py')].modified")
        ask(nvim, f"run `cat {FILE}`")
        nvim.until(f"{HEADER}:find('not saved in the editor', 1, true)")


def test_saving_can_be_switched_off(bed: Bed) -> None:
    with bed.nvim(
        init=f"vim.opt.runtimepath:prepend([[{PLUGIN}]])\nrequire('north').setup({{ save = false }})"
    ) as nvim:
        open_review(nvim)
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        assert OLD in bed.file.read_text()
        assert NEW in text_of(nvim)


def test_the_next_command_reads_an_accepted_edit(bed: Bed) -> None:
    with bed.nvim() as nvim:
        open_review(nvim)
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        ask(nvim, f"run `grep Good {FILE} && echo found-it`")
        answer_command(nvim, "ga")
        nvim.until(f"{in_chat('exit code 0')} and {IDLE}")


@pytest.mark.parametrize("where", ["a file", "the chat", "the window to type in"])
def test_no_question_takes_the_cursor_or_a_key_by_itself(bed: Bed, where: str) -> None:
    with bed.nvim(NORTH_OFFLINE_DELAY_MS="20") as nvim:
        if where != "a file":
            nvim.command("North")
        if where == "the chat":
            nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('^north://chat$'))")
        ask(nvim, REPLACE)
        maps = "vim.tbl_map(function(m) return m.lhs end, vim.api.nvim_buf_get_keymap(0, 'n'))"
        here = f"return {{ vim.api.nvim_get_current_win(), {maps} }}"
        before = nvim.lua(here)
        nvim.until(ASKED)
        nvim.until("vim.fn.execute('messages'):find('North asks.*:North review')")
        assert nvim.lua(here) == before
        assert nvim.lua(f"return {REVIEW_IS_CLOSED}")
        nvim.keys("ga")
        nvim.until("vim.api.nvim_get_mode().mode == 'n' and not vim.api.nvim_get_mode().blocking")
        assert nvim.lua(f"return {ASKED}")
        nvim.command("North stop")
        nvim.until(IDLE)
        ask(nvim, "run `touch ran`")
        nvim.until(f"{COMMAND} ~= ''")
        assert nvim.lua(here) == before
        nvim.keys("ga")
        nvim.until("vim.api.nvim_get_mode().mode == 'n' and not vim.api.nvim_get_mode().blocking")
        assert nvim.lua(f"return {ASKED}")
    assert OLD in bed.file.read_text()
    assert not (bed.project / "ran").exists()


def test_a_review_does_not_take_the_cursor_from_somebody_who_works_in_a_file(bed: Bed) -> None:
    with bed.nvim(init=with_options('review = "auto"'), NORTH_OFFLINE_DELAY_MS="20") as nvim:
        ask(nvim, REPLACE)
        nvim.keys("G")
        nvim.until(in_chat("asks you (:North review)"))
        nvim.until("vim.fn.execute('messages'):find('North asks.*:North review')")
        nvim.keys("ggdd")
        nvim.until("vim.bo.modified")
        assert nvim.lua(f"return {REVIEW_IS_CLOSED}")
        nvim.keys("u")
        nvim.command("North review")
        nvim.until(REVIEW_IS_OPEN)


def test_windows_line_ends_are_kept(bed: Bed) -> None:
    many = bed.project / "many.txt"
    many.write_bytes(b"ITEM = 1\r\nrest\r\n")
    with bed.nvim() as nvim:
        ask(nvim, 'replace "ITEM" by "ENTRY" in many.txt')
        review(nvim)
        assert nvim.lines() == ["ENTRY = 1", "rest"]
        nvim.keys("oadded<Esc>ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
    assert many.read_bytes() == b"ENTRY = 1\r\nadded\r\nrest\r\n"


def test_the_proposed_side_has_the_file_s_options(bed: Bed) -> None:
    with bed.nvim(
        "README.md", init=f"vim.cmd('filetype plugin on')\nvim.opt.runtimepath:prepend([[{PLUGIN}]])"
    ) as nvim:
        open_review(nvim)
        assert nvim.lua("return { vim.bo.expandtab, vim.bo.shiftwidth, vim.bo.filetype }") == [True, 4, ""]


def test_what_was_changed_during_a_review_is_not_written_over_and_that_is_told(bed: Bed) -> None:
    with bed.nvim() as nvim:
        open_review(nvim)
        nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('hello/greeting.py'), 4, 5, true, { 'SALUTATION = 1' })")
        nvim.keys("ga")
        nvim.until(in_chat("✗ Editing greeting.py — "))
        nvim.until(IDLE)
        (line,) = [line for line in chat(nvim).splitlines() if "✗ Editing greeting.py — " in line and "changed" in line]
        assert "```" not in line
        assert "SALUTATION = 1\n" in text_of(nvim)


def test_a_restored_session_is_taken_over(bed: Bed) -> None:
    session = bed.folder / "s.vim"
    with bed.nvim() as nvim:
        ask(nvim, "list files")
        nvim.until(f"{in_chat('README.md')} and {IDLE}")
        nvim.command(f"mksession {session}")
    with bed.nvim("-S", str(session)) as nvim:
        ask(nvim, "list files")
        nvim.until(f"{in_chat('README.md')} and {IDLE}")
        nvim.command("North")
        assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == "north://prompt"
        open_review(nvim)


SEVERAL_FILES = """
local function diff(name) return { path = name, oldText = "old " .. name, newText = "new " .. name } end
require("north.review").open({
  title = "Two files",
  notes = {},
  files = {},
  diffs = { diff("one.py"), diff("two.py") },
  options = {
    { optionId = "a", name = "Yes", kind = "allow_once" },
    { optionId = "b", name = "Other yes", kind = "allow_once" },
    { optionId = "c", name = "No", kind = "reject_once" },
  },
}, function(option) vim.g.chosen = option.optionId end)
"""


def test_several_files_and_options_of_one_kind(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.lua(SEVERAL_FILES)
        assert nvim.lines() == ["new one.py"]
        nvim.keys("]f")
        nvim.until("vim.api.nvim_get_current_line() == 'new two.py'")
        assert "file 2 of 2" in str(nvim.lua("return vim.wo[vim.fn.win_getid(1)].winbar"))
        nvim.keys("]f")
        nvim.until("vim.api.nvim_get_current_line() == 'new one.py'")
        nvim.keys("g2")
        assert nvim.until("vim.g.chosen") == "b"


WHOLE_FILES = """
require("north.review").open({
  title = "Three files",
  notes = {},
  files = {
    { path = "/a.py", kind = "update", hunks = { { id = "h1" } } },
    { path = "/new.py", kind = "create", hunks = { { id = "h2" } } },
    { path = "/gone.py", kind = "delete", hunks = { { id = "h3" } } },
    { path = "/picture.png", kind = "delete", hunks = {} },
  },
  diffs = {
    { path = "/a.py", oldText = "old\\n", newText = "new\\n" },
    { path = "/new.py", newText = "one\\n\\ntwo\\n" },
    { path = "/gone.py", oldText = "there\\n", newText = "" },
  },
  options = {
    { optionId = "a", name = "Accept", kind = "allow_once" },
    { optionId = "c", name = "Reject", kind = "reject_once" },
  },
}, function(option, extra) vim.g.chosen = { option.optionId, extra or false } end)
"""


@pytest.mark.parametrize(
    ("keys", "stands"),
    [
        ("ga", False),
        ("]f]fdoga", {"hunks": {"/a.py": ["h1"], "/new.py": ["h2"], "/picture.png": []}}),
        ("]fdoga", {"hunks": {"/a.py": ["h1"], "/gone.py": ["h3"], "/picture.png": []}}),
        ("]fdodoga", False),
        ("]fglgl]fgl]fgl]fglga", {"hunks": {"/picture.png": []}}),
        ("dogg]f]fddxga", {"hunks": {"/new.py": ["h2"], "/gone.py": ["h3"], "/picture.png": []}}),
        (
            "cwmine<Esc>]f]fgl[f[fga",
            {"hunks": {"/a.py": ["h1"], "/new.py": ["h2"], "/picture.png": []}, "texts": {"/a.py": "mine\n"}},
        ),
    ],
)
def test_a_file_of_several_is_left_out_as_a_whole(bed: Bed, keys: str, stands: object) -> None:
    with bed.nvim() as nvim:
        nvim.lua(WHOLE_FILES)
        nvim.keys(keys)
        assert nvim.until("vim.g.chosen") == ["a", stands]


# -- commands --------------------------------------------------------------------------------------------------------


def test_a_command_is_shown_whole_and_approved(bed: Bed) -> None:
    with bed.nvim() as nvim:
        ask(nvim, "run `echo one > made.txt && echo it-is-made`")
        nvim.until(f"{COMMAND} == 'echo one > made.txt && echo it-is-made'")
        assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == str(bed.file), "the cursor stays"
        header = str(nvim.lua(f"return {HEADER}"))
        keys = "ga Run │ ge change it first │ g2 Run in the terminal │ gA Always run this command"
        assert header.startswith(f"North asks to run this command\n{keys}")
        assert "gr Deny │ gR Deny, and say why\n" in header
        assert str(bed.project) in header
        nvim.keys("ggga:let g:typed = 1<CR>")  # in the file, where these keys decide nothing
        nvim.until("vim.g.typed == 1")
        assert nvim.lua(f"return {COMMAND}") != ""
        answer_command(nvim, "ga")
        nvim.until(f"{in_chat('exit code 0')} and {IDLE}")
        assert (bed.project / "made.txt").read_text() == "one\n"
        nvim.command("North")
        nvim.keys("<C-w>k/✓ Ran<CR>K")
        nvim.until("vim.iter(vim.api.nvim_list_wins()):any(function(w) return vim.fn.win_gettype(w) == 'popup' end)")
        popup = "vim.api.nvim_buf_get_lines(vim.fn.winbufnr(vim.fn.win_getid(vim.fn.winnr('$'))), 0, -1, true)"
        assert nvim.lua(f"return {popup}") == ["it-is-made"]


def test_a_command_is_denied(bed: Bed) -> None:
    with bed.nvim() as nvim:
        ask(nvim, "run `touch made.txt`")
        answer_command(nvim, "gr")
        nvim.until(f"{in_chat('Denied; the command was not run.')} and {IDLE}")
        assert not (bed.project / "made.txt").exists()


def test_closing_the_question_decides_nothing(bed: Bed) -> None:
    with bed.nvim() as nvim:
        ask(nvim, "run `touch made.txt`")
        nvim.until(f"{COMMAND} ~= ''")
        nvim.command("North review")
        nvim.keys(":quit<CR>")
        nvim.until(f"{COMMAND} == ''")
        nvim.until(in_chat("asks you (:North review)"))
        nvim.command("North review")
        answer_command(nvim, "ga")
        nvim.until(f"{in_chat('exit code 0')} and {IDLE}")


def test_a_command_is_changed_before_it_runs(bed: Bed) -> None:
    with bed.nvim() as nvim:
        ask(nvim, "run `touch made.txt`")
        nvim.until(f"{COMMAND} ~= ''")
        nvim.command("North review")
        nvim.keys("ge0wcwmine<Esc>")
        nvim.until(f"{COMMAND} == 'touch mine.txt'")
        answer_command(nvim, "ga")
        nvim.until(f"{in_chat('exit code 0')} and {IDLE}")
        assert (bed.project / "mine.txt").exists()
        assert not (bed.project / "made.txt").exists()


def test_a_long_command_is_allowed_once_its_end_has_been_in_view(bed: Bed) -> None:
    words = " && ".join(f"echo {number}" for number in range(80))
    with bed.nvim() as nvim:
        ask(nvim, f"run `{words} && touch made.txt`")
        nvim.until(f"vim.endswith({COMMAND}, 'touch made.txt')")
        nvim.command("North review")
        nvim.keys("ga")
        nvim.until("vim.fn.execute('messages'):find('scroll to its end', 1, true)")
        assert nvim.lua(f"return {COMMAND}") != ""
        nvim.keys("G$ga")
        nvim.until(f"{in_chat('exit code 0')} and {IDLE}")
        assert (bed.project / "made.txt").exists()


def test_what_allows_more_than_this_once_is_said_in_words_and_pressed_twice(bed: Bed) -> None:
    with bed.nvim() as nvim:
        ask(nvim, "run `touch one.txt`")
        nvim.until(f"{COMMAND} ~= ''")
        nvim.command("North review")
        nvim.keys("gA")
        nvim.until(f"{HEADER}:find('Press gA again to allow it', 1, true)")
        assert not (bed.project / "one.txt").exists()
        answer_command(nvim, "gA")
        nvim.until(f"{in_chat('exit code 0')} and {IDLE}")
        assert (bed.project / "one.txt").exists()


def test_what_is_asked_beside_commands_is_said_in_words(bed: Bed) -> None:
    ask_for = """
    local kind, text = ...
    local call = { toolCallId = "c", title = text, content = {} }
    local options = { { optionId = "y", name = "Yes", kind = "allow_once" } }
    local question = { toolCall = call, options = options }
    question._meta = { north = { question = { kind = kind, text = text } } }
    coroutine.wrap(function() require("north.permission").request(question) end)()
    """
    with bed.nvim() as nvim:
        shown = "table.concat(vim.iter(vim.api.nvim_list_wins()):map(function(w) return vim.fn.getbufline("
        shown += "vim.fn.winbufnr(w), 1)[1] or '' end):totable(), '|')"
        for kind, text, words in [
            ("edit", "Delete notes.txt (120 lines)?", "North asks to change files: Delete notes.txt (120 lines)?"),
            ("choice", "The limit is reached. Go on?", "North asks: The limit is reached. Go on?"),
        ]:
            nvim.lua(ask_for, kind, text)
            nvim.until(f"{shown}:find([[{words}]], 1, true)")
            assert "asks to run" not in str(nvim.lua(f"return {shown}"))
            nvim.command("North review")
            nvim.keys("ga")
            nvim.until("#vim.api.nvim_list_wins() == 1")


# -- the server ------------------------------------------------------------------------------------------------------

KILL_THE_SERVER = """
local children = vim.api.nvim_get_proc_children(vim.fn.getpid())
assert(#children == 1, vim.inspect(children))
vim.uv.kill(children[1], "sigkill")
"""


def test_a_killed_server_brings_the_conversation_back(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("It has README.md.")), answer(Say("I will look"), Gate("never")), answer(Say("names.py")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "list files")
        nvim.until(f"{in_chat('README.md')} and {IDLE}")
        ask(nvim, "explain greet")
        ask(nvim, "find tidy")
        nvim.until(in_chat("I will look"))
        nvim.lua(KILL_THE_SERVER)
        nvim.until(in_chat("(signal 9) and was started again."))
        nvim.until(IDLE)
        shown = chat(nvim)
        assert shown.startswith("## You\n\nlist files\n")
        assert shown.count("## You") == 2
        assert "## You\n\nexplain greet" in shown
        assert "Not sent: find tidy" in shown
        ask(nvim, "find tidy")
        nvim.until(f"{in_chat('names.py')} and {IDLE}")


def test_a_server_killed_during_a_review_asks_again(bed: Bed) -> None:
    with bed.nvim() as nvim:
        open_review(nvim)
        nvim.lua(KILL_THE_SERVER)
        nvim.until(in_chat("was started again."))
        nvim.until(REVIEW_IS_CLOSED)
        review(nvim)
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        assert NEW in text_of(nvim)


# -- Neovim is left and comes back, and two of them -------------------------------------------------------------------


def test_a_turn_goes_on_when_neovim_is_back(bed: Bed, model: ModelServer) -> None:
    state = {"XDG_STATE_HOME": str(bed.folder / "nvim-state")}
    model.script(answer(Say("I will look. "), Gate("go"), Say("It is in greeting.py.")), answer(Say("README.md")))
    with nvim_with(bed, model, **state) as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        nvim.keys(":qa!<CR>")
        nvim.wait_end()
    with nvim_with(bed, model, **state) as nvim:
        nvim.keys(":North<CR>")
        nvim.until(f"{in_chat('explain greet')} and {in_chat('I will look')}")
        model.open("go")
        nvim.until(f"{in_chat('I will look. It is in greeting.py.')} and {IDLE}")
        assert chat(nvim).count("## You") == 1
    with nvim_with(bed, model, **state) as nvim:
        nvim.keys(":North<CR>")
        ask(nvim, "list files")
        nvim.until(f"{in_chat('README.md')} and {IDLE}")
        assert "explain greet" not in chat(nvim)


def test_a_review_waits_until_neovim_is_back(bed: Bed) -> None:
    state = {"XDG_STATE_HOME": str(bed.folder / "nvim-state")}
    with bed.nvim(**state) as nvim:
        open_review(nvim)
        nvim.keys(":qa!<CR>")
        nvim.wait_end()
    assert OLD in bed.file.read_text()
    with bed.nvim(**state) as nvim:
        nvim.keys(":North<CR>")
        review(nvim)
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        assert NEW in text_of(nvim)


def test_a_server_that_is_missing_is_told_with_what_to_do(bed: Bed) -> None:
    with bed.nvim(PATH="/usr/bin:/bin") as nvim:
        nvim.keys(":North ask list files<CR>")
        nvim.until("vim.fn.execute('messages'):find('north%-lsp was not found on PATH. Install it')")
        nvim.command("checkhealth north")
        assert any("north-lsp was not found" in line for line in nvim.lines())


def test_a_server_that_ends_at_once_is_not_started_again(bed: Bed) -> None:
    with bed.nvim(init=with_server("false")) as nvim:
        ask(nvim, "list files")
        nvim.until(in_chat("the server ended before it was ready (exit code 1)"))
        nvim.until(in_chat("Not sent: list files"))


def test_a_server_whose_python_is_gone_is_told_with_what_to_do(bed: Bed) -> None:
    orphan = bed.folder / "north-lsp"
    orphan.write_text("#!/nowhere/bin/python3\n")
    orphan.chmod(0o755)
    with bed.nvim(init=with_server(str(orphan))) as nvim:
        nvim.keys(":North ask list files<CR>")
        nvim.until("vim.fn.execute('messages'):find('could not be started')")
        assert "Create its environment again" in nvim.messages()
        assert "Spawning" not in nvim.messages()  # what Neovim says itself makes it wait for a key


def test_a_server_that_is_too_old_is_told_with_what_to_do(bed: Bed) -> None:
    with bed.nvim(init=with_server(str(FAKE_SERVER))) as nvim:
        ask(nvim, "list files")
        nvim.until(in_chat("it is too old, or not North's server"))
        nvim.until(in_chat("Not sent: list files"))


@pytest.mark.parametrize("path", ["/usr/bin:/bin", ".venv/bin:/usr/bin:/bin", ".::/usr/bin:/bin"])
def test_a_server_that_lies_in_the_project_is_not_started_unless_it_was_set_up(bed: Bed, path: str) -> None:
    folders = [bed.project / ".venv" / "bin", bed.project]
    planted = "#!/bin/sh\ntouch started\n"
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "north-lsp").write_text(planted)
        (folder / "north-lsp").chmod(0o755)
    own = folders[0] / "north-lsp"
    with bed.nvim(PATH=path) as nvim:
        nvim.keys(":North ask list files<CR>")
        nvim.until("vim.fn.execute('messages'):find('which is not started unless you say so', 1, true)")
        nvim.command("checkhealth north")
        assert any("which is not started unless you say so" in line for line in nvim.lines())
        assert not (bed.project / "started").exists()
    with bed.nvim(init=with_server(str(own)), PATH=path) as nvim:
        nvim.keys(":North ask list files<CR>")
        nvim.until("vim.uv.fs_stat('started') ~= nil")


@pytest.mark.parametrize("source", ["PATH", "setup()"])
def test_health(bed: Bed, source: str) -> None:
    configuration = f"vim.opt.runtimepath:prepend([[{PLUGIN}]])"
    if source == "setup()":
        command = f"{{ [[{sys.executable}]], '-m', 'north_lsp', 'lsp' }}"
        configuration += f"\nrequire('north').setup({{ cmd = {command} }})"
    with bed.nvim(init=configuration) as nvim:
        nvim.command("checkhealth north")
        report = "\n".join(nvim.lines())
        assert f"(from {source})" in report
        assert f"version: north-lsp {north_lsp.__version__}" in report
        assert f"initialize is answered by north {north_lsp.__version__}" in report
        assert "`:North storage` shows what frees it" in report
        assert "`:North login` stores one." in report
        assert "1 model can be used; `:North model` chooses one" in report
        assert "north.log; `:North log` shows its end" in report
        assert "ERROR" not in report


# -- Neovim alone ----------------------------------------------------------------------------------------------------


def bare_configuration() -> str:
    """The configuration that the README shows."""
    found = re.search(r"## Without the plugin.*?```lua\n(.*?)```", (PLUGIN / "README.md").read_text(), re.DOTALL)
    assert found
    return found[1]


def ask_about_line_5(nvim: Nvim, text: str, *choices: str) -> None:
    nvim.until("#vim.lsp.get_clients({ name = 'north', bufnr = 0 }) == 1 and vim.lsp.get_clients()[1].initialized")
    replace_select(nvim, *choices)
    nvim.lua("local text = ... vim.ui.input = function(_, done) done(text) end", text)
    nvim.keys("5GV\\n")


def test_neovim_alone_asks_about_the_selection(bed: Bed) -> None:
    with bed.nvim(init=bare_configuration()) as nvim:
        ask_about_line_5(nvim, "explain greet")
        nvim.until("vim.fn.execute('messages'):find('is defined in', 1, true)")
    (log,) = (bed.folder / "data" / "conversations").glob("*.jsonl")
    assert r"SALUTATION = \"Hello\"\n" in log.read_text()


def test_neovim_alone_reviews_and_undoes_an_edit(bed: Bed) -> None:
    with bed.nvim(init=bare_configuration()) as nvim:
        before = text_of(nvim)
        ask_about_line_5(nvim, REPLACE, "Accept")
        nvim.until("vim.fn.execute('messages'):find('I replaced', 1, true)")
        (question,) = asked(nvim)
        assert "changed: hello/greeting.py (+1/-1)" in str(
            question["prompt"]
        )  # the diff stands in a document beside it
        texts = nvim.lua(
            "return table.concat(vim.iter(vim.api.nvim_list_bufs()):filter(vim.api.nvim_buf_is_loaded):map(function(b)"
            " return table.concat(vim.api.nvim_buf_get_lines(b, 0, -1, false), '\\n') end):totable(), '\\n')"
        )
        assert f"-{OLD}\n+{NEW}" in str(texts)
        assert text_of(nvim) == before.replace(OLD, NEW)
        nvim.keys("<Esc>")
        nvim.command("undo")
        assert text_of(nvim) == before


def typed_while_accepting(nvim: Nvim, *changes: str) -> None:
    """Changes of the buffer, as Lua, in the instant in which the edit is accepted: Neovim tells the server the first at
    once, and those right behind it some time later."""
    body = "\n".join(changes)
    nvim.lua(
        "local select, body = vim.ui.select, ... vim.ui.select = function(...)"
        " assert(loadstring(body))() select(...) end",
        body,
    )


def typed(line: int, end: int, text: str) -> str:
    return f"vim.api.nvim_buf_set_lines(vim.fn.bufnr('{FILE}'), {line}, {end}, true, {{ [[{text}]] }})"


def test_neovim_alone_merges_what_was_typed_while_an_edit_was_accepted(bed: Bed) -> None:
    with bed.nvim(init=bare_configuration()) as nvim:
        before = text_of(nvim)
        nvim.until("#vim.lsp.get_clients({ name = 'north', bufnr = 0 }) == 1 and vim.lsp.get_clients()[1].initialized")
        replace_select(nvim, "Accept")
        typed_while_accepting(nvim, typed(0, 0, "# one"), typed(1, 1, "# two"), typed(2, 2, "# three"))
        nvim.lua("vim.ui.input = function(_, done) done(...) end".replace("...", f"[[{REPLACE}]]"))
        nvim.keys("5GV\\n")
        nvim.until("vim.fn.execute('messages'):find('I replaced', 1, true)")
        assert text_of(nvim) == "# one\n# two\n# three\n" + before.replace(OLD, NEW)
    (log,) = (bed.folder / "data" / "conversations").glob("*.jsonl")
    assert "changed while the edit was waiting; both changes were merged" in log.read_text()


def test_neovim_alone_keeps_what_was_typed_in_the_very_line_of_an_accepted_edit(bed: Bed) -> None:
    with bed.nvim(init=bare_configuration()) as nvim:
        before = text_of(nvim)
        row = before.split("\n").index(OLD)
        nvim.until("#vim.lsp.get_clients({ name = 'north', bufnr = 0 }) == 1 and vim.lsp.get_clients()[1].initialized")
        replace_select(nvim, "Accept")
        typed_while_accepting(nvim, typed(0, 0, "# one"), typed(row + 1, row + 2, "SALUTATION = 'Hey'"))
        nvim.lua("vim.ui.input = function(_, done) done(...) end".replace("...", f"[[{REPLACE}]]"))
        nvim.keys("5GV\\n")
        nvim.until("#(require('helpers').asked or {}) == 1")
        nvim.until("vim.fn.execute('messages'):find('I did not replace', 1, true)")
        assert text_of(nvim) == "# one\n" + before.replace(OLD, "SALUTATION = 'Hey'")
    (log,) = (bed.folder / "data" / "conversations").glob("*.jsonl")
    assert "was changed in the editor while the edit was being applied" in log.read_text()


def test_neovim_alone_refuses_an_edit_when_the_question_is_closed(bed: Bed) -> None:
    with bed.nvim(init=bare_configuration()) as nvim:
        before = text_of(nvim)
        ask_about_line_5(nvim, REPLACE, "")
        nvim.until("#(require('helpers').asked or {}) == 1")
        nvim.until("vim.fn.execute('messages'):find('reject', 1, true)")
        assert text_of(nvim) == before


# -- on screen -------------------------------------------------------------------------------------------------------


def test_chat_and_review_on_screen(bed: Bed, record: Callable[[str, str], None]) -> None:
    with bed.screen() as screen:
        screen.wait_for("SALUTATION")
        screen.write(":North")
        screen.keys("Enter")
        screen.wait_for("Enter send · g[?] keys · C-c stop · C-j line")
        screen.keys("i")
        screen.wait_for("-- INSERT --")
        screen.write(REPLACE)
        screen.keys("Enter")
        screen.wait_for(r"asks \(:North review\)")
        screen.write(":North review")
        screen.keys("Enter")
        screen.wait_for(r"ga Accept │ gr Reject │ do take the hunk out │ gA Accept this and all later edits in this")
        screen.wait_for(r"before: hello/greeting\.py .*proposed: hello/greeting\.py")
        screen.wait_for(r'SALUTATION = "Hello" .*SALUTATION = "Good morning"')
        record("review", screen.text())
        screen.keys("Enter")
        screen.write("ga")
        screen.wait_for("✓ Edited greeting.py")
        screen.wait_for("I replaced")
        screen.wait_for(r"North · agent(?! ·)")
        record("chat", screen.text())
        screen.wait_until_gone("gA Always")
        screen.write(":North ask run `python3 -m unittest discover && echo all good && rm -rf some-precious-folder`")
        screen.keys("Enter")
        screen.wait_for("North asks to run this command")
        screen.wait_for("ga Run │ ge change it first │")
        screen.wait_for("rm -rf some-precious-folder *$")
        record("command", screen.text())


@pytest.fixture
def record() -> Callable[[str, str], None]:
    """Keep what the screen showed, for people to look at."""
    folder = Path(__file__).parents[1] / "artifacts" / "nvim"

    def keep(name: str, text: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(text)

    return keep
