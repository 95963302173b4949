"""The plugin on a terminal of 80 columns and 24 rows: nothing takes the keyboard or moves the user's text, and windows
are afterwards as they were before."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.screen import Screen
from tests.e2e.nvim.test_chat import WINBAR
from tests.e2e.nvim.test_plugin import ASKED, COMMAND, Bed, answer_command, ask, bed, in_chat
from tests.e2e.nvim.test_screens import keep
from tests.e2e.nvim.with_model import asking, model, nvim_with
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer

__all__ = ["bed", "keep", "model"]

LONG = "run `echo one && echo two && echo three four five six seven eight nine ten eleven`"
PROMPT = "vim.fn.bufwinid('^north://prompt$')"
HEIGHT = f"vim.api.nvim_win_get_height({PROMPT})"
FLOAT_COMES_AND_GOES = "vim.api.nvim_win_close(vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, "
FLOAT_COMES_AND_GOES += "{ relative = 'editor', width = 9, height = 1, row = 1, col = 1 }), true)"
ONLY_THE_CHAT_GOES = """
local chat = vim.fn.bufwinid('^north://chat$')
vim.api.nvim_clear_autocmds({ group = 'north.layout', event = 'WinClosed', pattern = tostring(chat) })
vim.api.nvim_win_close(chat, true)
"""
REQUEST = """
local command, details = ...
local text = function(words) return { type = "content", content = { type = "text", text = words } } end
local call = { toolCallId = "c", kind = "execute", title = "Run it", rawInput = { command = command } }
call.content = { text(command), text(details) }
local options = { { optionId = "run", name = "Run", kind = "allow_once" } }
coroutine.wrap(function()
  vim.g.answer = require("north.permission").request({ toolCall = call, options = options }).outcome.optionId
end)()
"""
IN_VIEW = """
(function(words)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    for number, line in ipairs(vim.fn.getbufline(vim.fn.winbufnr(window), 1, "$")) do
      local at = line:find(words, 1, true)
      if at and vim.fn.screenpos(window, number, at).row > 0 then
        return true
      end
    end
  end
  return false
end)(...)
"""
FLOATS = "vim.iter(vim.api.nvim_list_wins()):any(function(w) return vim.api.nvim_win_get_config(w).relative ~= '' end)"


def small(bed: Bed, **env: str) -> Screen:
    return bed.screen(columns=80, rows=24, **env)


def command(screen: Screen, text: str) -> None:
    screen.write(f":{text}")
    screen.wait_for(rf"^:{text}"[:60])
    screen.keys("Enter")


def servers(bed: Bed) -> list[int]:
    """The processes of the server, by the folder of their data."""
    wanted = f"NORTH_DATA_DIR={bed.folder / 'data'}".encode()
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (one / "environ").read_bytes() and b"north-lsp\0lsp" in (one / "cmdline").read_bytes():
                found.append(int(one.name))
        except OSError:
            continue
    return found


def test_a_question_takes_neither_the_keyboard_nor_the_view(bed: Bed, keep: Callable[[str, Screen], None]) -> None:
    with small(bed) as screen:
        screen.wait_for("SALUTATION")
        command(screen, f"North ask {LONG}")
        screen.wait_for("^North asks to run: echo one .*… [(]:North review[)]")
        keep("small-question", screen)
        assert "Press ENTER" not in screen.text()
        screen.wait_for('^"""The greeting itself')  # what was on top still is
        screen.wait_for("- [?] Run")  # and the chat shows its end
        screen.keys("i")
        screen.wait_for("-- INSERT --")
        screen.write("typed ")
        screen.wait_for('^typed """The greeting')


def test_a_server_that_dies_takes_no_key(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("Begun."), Gate("never")))
    with small(bed, **asking(bed, model)) as screen:
        screen.wait_for("SALUTATION")
        command(screen, "North ask go")
        screen.wait_for("Begun[.]")
        screen.keys("i")
        screen.wait_for("-- INSERT --")
        screen.write("ty")
        screen.wait_for('^ty"""')
        for process in servers(bed):
            os.kill(process, signal.SIGKILL)
        screen.wait_for("server ended")
        screen.write("ped ")
        screen.wait_for('^typed """')
        screen.wait_for("was started again")
        assert "Press ENTER" not in screen.text()


def test_what_is_wrong_about_a_command_is_said_without_waiting_for_a_key(bed: Bed) -> None:
    with bed.screen(columns=60, rows=24) as screen:
        screen.wait_for("SALUTATION")
        for typed, said in (
            ("nonsense", "there is no :North nonsense, only arch.*…"),
            ("mode x", "usage: :North mode ask"),
            ("review x", r"usage: :North review \[tab"),
            ("retry x", "usage: :North retry now"),
            ("goal x", r"usage: :North goal \[edit\]"),
            ("undo x", r"usage: :North undo \[choose\]"),
        ):
            command(screen, f"North {typed}")
            screen.wait_for(rf"^North: .*{said}.*\n*\Z")  # in the last line, where Neovim would ask for a key


def test_a_model_that_is_none_is_named_in_plain_words(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North model no-such-model")
        said = "vim.fn.execute('messages')"
        nvim.until(f"{said}:find('no-such-model', 1, true)")
        assert "invalid params" not in str(nvim.lua(f"return {said}"))


def test_windows_are_as_they_were_after_a_question(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("set lines=24 columns=80")
        nvim.command("North")
        assert nvim.lua(f"return {HEIGHT}") == 4
        ask(nvim, "run `true`")
        nvim.until(ASKED)
        answer_command(nvim, "ga")
        nvim.until(f"{HEIGHT} == 4")
        for made, gone in (("copen", "cclose"), ("North storage", "bwipeout north://storage")):
            windows = "#vim.api.nvim_list_wins()"
            nvim.command(made)
            nvim.until(f"{windows} == 4")
            nvim.command(gone)
            nvim.until(f"{windows} == 3 and {HEIGHT} == 4")
        nvim.lua("vim.api.nvim_create_autocmd('WinResized', { callback = function() vim.g.resized = true end })")
        nvim.command("wincmd b | resize 7")
        nvim.until("vim.g.resized")
        nvim.command("copen | cclose")
        nvim.until(f"{HEIGHT} == 7")


@pytest.mark.parametrize("comes_and_goes", [f"lua {FLOAT_COMES_AND_GOES}", "tabnew | tabclose", "split | close"])
def test_what_comes_and_goes_does_not_undo_the_users_next_resize(bed: Bed, comes_and_goes: str) -> None:
    with bed.nvim() as nvim:
        nvim.command("set lines=24 columns=80")
        nvim.command("North")
        nvim.lua("vim.api.nvim_create_autocmd('WinResized', { callback = function() vim.g.resized = true end })")
        nvim.command(comes_and_goes)
        nvim.command("autocmd SafeState * let g:rests = v:true")
        nvim.until("vim.g.rests")  # as it does before a user can press the next key
        nvim.command("let g:resized = v:false | wincmd b | resize 7")
        nvim.until("vim.g.resized")
        assert nvim.lua(f"return {HEIGHT}") == 7


@pytest.mark.parametrize("does", ["vim.g.told = text", "error('no room')"])
def test_no_notifier_hides_a_question(bed: Bed, does: str) -> None:
    """Plugins put a table that can be called in the place of `vim.notify`."""
    with bed.nvim() as nvim:
        nvim.lua(f"vim.notify = setmetatable({{}}, {{ __call = function(_, text) {does} end }})")
        nvim.lua(REQUEST, "true", "In the project.")
        nvim.until(f"{COMMAND} == 'true'")
        if "told" in does:
            nvim.until("vim.g.told:find('asks to run: true', 1, true)")


@pytest.mark.parametrize(("rows", "columns", "words"), [(50, 120, 300), (24, 80, 300), (14, 80, 30)])
def test_warnings_are_in_view_whatever_else_is_said(bed: Bed, rows: int, columns: int, words: int) -> None:
    with bed.nvim() as nvim:
        nvim.command(f"set lines={rows} columns={columns}")
        nvim.command("North")
        nvim.lua("vim.api.nvim_create_autocmd('WinResized', { callback = function() vim.g.resized = true end })")
        nvim.lua(REQUEST, "rm -rf x", f"{'word ' * words}\n\n**This command deletes files: WARNED.**")
        nvim.until(f"{COMMAND} ~= ''")
        nvim.until("vim.g.resized")
        assert nvim.lua(f"return {IN_VIEW}", "WARNED")
        answer_command(nvim, "ga")
        nvim.until(f"{HEIGHT} == 4")


def test_what_warns_out_of_view_is_shown_before_a_command_is_allowed(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("set lines=14 columns=80")
        warnings = "\n\n".join(f"**This command {'word ' * 20} {number}.**" for number in range(9))
        nvim.lua(REQUEST, "true", f"{warnings}\n\n**This command deletes files: WARNED.**\n\nAt most 10 s.")
        nvim.until(f"{COMMAND} ~= ''")
        assert not nvim.lua(f"return {IN_VIEW}", "WARNED")
        nvim.command("North review")
        nvim.keys("ga")
        nvim.until("vim.fn.execute('messages'):find('read the warning above', 1, true)")
        assert nvim.lua(f"return {IN_VIEW}", "WARNED")
        assert nvim.lua("return vim.g.answer") is None
        answer_command(nvim, "ga")
        nvim.until("vim.g.answer == 'run'")


def test_the_command_line_keeps_its_height(bed: Bed) -> None:
    """A window as high as the screen that is made lower leaves its room to the command line."""
    with bed.nvim() as nvim:
        nvim.command("set lines=24 columns=160")
        nvim.command("North")
        nvim.lua("vim.api.nvim_create_autocmd('WinResized', { callback = function() vim.g.resized = true end })")
        nvim.lua(ONLY_THE_CHAT_GOES)
        nvim.until("vim.g.resized")
        assert nvim.lua("return vim.o.cmdheight") == 1


def test_what_is_missing_stands_in_the_chat(bed: Bed) -> None:
    with bed.nvim(PATH="/usr/bin:/bin") as nvim:
        nvim.command("North")
        nvim.until(in_chat("north-lsp was not found on PATH. Install it"))


def test_a_prompt_that_waits_for_the_server_is_seen(bed: Bed) -> None:
    shown = "vim.inspect(vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('^north://chat$'), "
    shown += "vim.api.nvim_get_namespaces()['north.chat.asides'], 0, -1, { details = true }))"
    with bed.nvim() as nvim:
        nvim.command("North ask list files")
        assert "list files" in str(nvim.lua(f"return {shown}"))
        nvim.until(in_chat("## You\n\nlist files"))
        assert "list files" not in str(nvim.lua(f"return {shown}"))


def test_a_float_goes_when_it_is_left_but_not_with_what_was_typed_in_it(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        nvim.until(f"{WINBAR}:find('agent') ~= nil")
        nvim.command("North todo")
        nvim.until(FLOATS)
        nvim.command("wincmd p")
        nvim.until(f"not {FLOATS}")
        nvim.command("North todo")
        nvim.until(FLOATS)
        nvim.keys("i- [ ] mine<Esc>")
        nvim.command("wincmd p")
        assert nvim.lua(f"return {FLOATS}")


def test_a_long_answer_is_not_looked_at_as_a_whole_for_each_piece(bed: Bed, model: ModelServer) -> None:
    """What hides whole lines makes Neovim look at all lines of a text after each change of it."""
    model.script(answer(Say("Look:\n\n```python\na = 1\n```\n\nEnd.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "code")
        nvim.until(in_chat("End."))
        active = "vim.treesitter.highlighter.active[vim.fn.bufnr('^north://chat$')]"
        if version(nvim) < (0, 11):
            assert nvim.lua(f"return {active} == nil")
        else:
            assert nvim.lua(f"return {active}:get_query('markdown'):query().has_conceal_line") in (None, False)


def version(nvim: Nvim) -> tuple[int, int]:
    found = nvim.lua("local v = vim.version() return { v.major, v.minor }")
    assert isinstance(found, list)
    return int(str(found[0])), int(str(found[1]))
