"""Neovim without the plugin, as docs/start/neovim.md sets it up: the chat document, with the real server."""

import re
from pathlib import Path
from typing import cast

from tests.e2e.nvim import test_plugin
from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import NEW, OLD, REPLACE, Bed, replace_select
from tests.e2e.nvim.test_plugin import text_of as file_of

bed = test_plugin.bed

PAGE = Path(__file__).parents[3] / "docs" / "start" / "neovim.md"
IS_FLOATING = "function(window) return vim.api.nvim_win_get_config(window).relative ~= '' end"
CHAT = "vim.fn.expand('%:t') == 'chat.md'"


def configuration() -> str:
    found = re.search(r"## Without the plugin\n.*?```lua\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    return found[1]


def open_chat(nvim: Nvim) -> None:
    nvim.until("#vim.lsp.get_clients({ name = 'north', bufnr = 0 }) == 1 and vim.lsp.get_clients()[1].initialized")
    nvim.command("NorthChat")
    nvim.until(f"{CHAT} and #vim.lsp.get_clients({{ name = 'north', bufnr = 0 }}) == 1")


def has(text: str) -> str:
    return f"table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n'):find([==[{text}]==], 1, true) ~= nil"


def act(nvim: Nvim, title: str) -> None:
    """Take a code action."""
    wanted = "function(one) return one.title == title end"
    nvim.lua(f"local title = ... vim.lsp.buf.code_action({{ apply = true, filter = {wanted} }})", title)


def test_without_a_file_there_is_no_server_and_a_word_about_it(bed: Bed) -> None:
    with bed.nvim("-c", "enew", init=configuration()) as nvim:
        nvim.command("NorthChat")
        assert "North starts with the first file that you open" in str(nvim.lua("return vim.fn.execute('messages')"))


def test_a_conversation_in_the_document(bed: Bed) -> None:
    with bed.nvim(init=configuration(), NORTH_OFFLINE_DELAY_MS="5") as nvim:
        open_chat(nvim)
        nvim.keys("iexplain greet<Esc>")
        act(nvim, "North: send")
        nvim.until(has("is defined in `hello/greeting.py`"))
        nvim.until(has("*This was North's offline model"))
        nvim.until("vim.fn.line('.') == vim.fn.line('$')")  # where the next prompt is written
        nvim.keys("itypo<Esc>u")
        nvim.until(f"not ({has('typo')})")
        assert nvim.lua(f"return {has('is defined in')}")
        nvim.command("call search('Reading greeting.py')")
        nvim.lua("vim.lsp.buf.definition()")
        nvim.until("vim.fn.expand('%:t') == 'greeting.py'")


def test_an_edit_that_is_asked_for_in_the_document(bed: Bed) -> None:
    with bed.nvim(init=configuration()) as nvim:
        before = file_of(nvim)
        open_chat(nvim)
        replace_select(nvim, "Accept")
        nvim.lua("vim.api.nvim_put({ ... }, 'c', false, true)", REPLACE)
        act(nvim, "North: send")
        nvim.until(has("I replaced `Hello`"))
        nvim.until(has("- ✓ Editing greeting.py (+1/-1)"))
        assert file_of(nvim) == before.replace(OLD, NEW)
        replace_select(nvim)
        act(nvim, "North: undo the last change")
        nvim.until(has("/undo"))
        nvim.until("require('helpers').file():find('SALUTATION = \"Hello\"', 1, true) ~= nil")
        assert file_of(nvim) == before


def test_what_neovim_makes_of_the_document(bed: Bed) -> None:
    with bed.nvim(init=configuration(), NORTH_OFFLINE_DELAY_MS="5") as nvim:
        open_chat(nvim)
        nvim.keys("iexplain greet<Esc>")
        nvim.lua("vim.lsp.codelens.refresh({ bufnr = 0 })")
        nvim.until("#vim.lsp.codelens.get(0) > 0")
        titles = nvim.lua("return vim.tbl_map(function(lens) return lens.command.title end, vim.lsp.codelens.get(0))")
        assert {"Mode: agent", "Undo the last change", "Send"} <= set(cast(list[str], titles))
        act(nvim, "North: send")
        nvim.until(has("*This was North's offline model"))
        nvim.lua("vim.wo.foldmethod = 'expr' vim.wo.foldexpr = 'v:lua.vim.lsp.foldexpr()'")
        nvim.until("vim.fn.foldlevel(vim.fn.search('^## North', 'nw')) > 0")
        nvim.command("normal! zR")
        nvim.command("call search('Reading greeting.py')")
        nvim.lua("vim.lsp.buf.hover()")
        nvim.until(f"vim.iter(vim.api.nvim_list_wins()):any({IS_FLOATING})")
        nvim.keys("G")
        nvim.keys("isee @hello/gree<C-x><C-o>")
        nvim.until(has("see @hello/greeting.py"))
