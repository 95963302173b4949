"""What North proposes while one types, in a real Neovim: shown in the file, taken with the user's own key."""

from collections.abc import Callable
from typing import cast

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.screen import Screen, nvim_screen
from tests.e2e.nvim.test_plugin import PLUGIN, Bed, bed
from tests.e2e.nvim.test_screens import keep
from tests.e2e.nvim.with_model import asking, model, nvim_with
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer

__all__ = ["bed", "keep", "model"]

SETUP = f"""
vim.opt.runtimepath:prepend([[{PLUGIN}]])
vim.o.termguicolors = true
vim.keymap.set({{ "n", "i" }}, "<C-l>", "<Plug>(north-take-suggestion)")
vim.keymap.set("n", "<C-x>", "<Plug>(north-dismiss-suggestion)")
require("north").setup({{ suggestions = true }})
"""
SPACE = "vim.api.nvim_create_namespace('north.suggestions')"
MARKS = f"vim.api.nvim_buf_get_extmarks(0, {SPACE}, 0, -1, {{ details = true }})"
SHOWN = f"#{MARKS} > 0"
ATTACHED = "#vim.lsp.get_clients({ bufnr = 0, name = 'north' }) == 1 and require('north.state').phase == 'ready'"
TEXT = "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n"
RENAMED = TEXT.replace("def add", "def total")
WHOLE = RENAMED.replace("print(add", "print(total")


def opened(nvim: Nvim, bed: Bed, text: str = TEXT) -> None:
    """Open a file, and wait for the server."""
    (bed.project / "sums.py").write_text(text)
    nvim.command("edit sums.py")
    nvim.lua("require('north.conversation').with_session(function() end)")
    nvim.until(ATTACHED)


def lines(nvim: Nvim) -> str:
    return "\n".join(cast(list[str], nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"))) + "\n"


def test_the_edit_that_follows_is_shown_and_taken(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say(WHOLE)), answer(Say("NONE")))
    with nvim_with(bed, model, SETUP) as nvim:
        opened(nvim, bed)
        nvim.keys("gg0wcwtotal<Esc>")
        nvim.until(SHOWN)
        assert lines(nvim) == RENAMED  # nothing is changed before it is taken
        marks = cast(str, nvim.lua(f"return vim.inspect({MARKS})"))
        assert "NorthRemoved" in marks
        assert '"total", "NorthSuggestion"' in marks
        nvim.keys("<C-l>")
        nvim.until("vim.fn.getline(5) == 'print(total(1, 2))'")
        nvim.until(f"not ({SHOWN}) and vim.fn.line('.') == 5")
        assert lines(nvim) == WHOLE
        nvim.keys("u")
        nvim.until("vim.fn.getline(5) == 'print(add(1, 2))'")
        assert lines(nvim) == RENAMED
    assert "-def add(a, b):" in str(model.requests[0].body["messages"])


def test_it_goes_with_the_next_change_or_when_it_is_dismissed(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say(WHOLE)), answer(Say(WHOLE)), answer(Say("NONE")))
    with nvim_with(bed, model, SETUP) as nvim:
        opened(nvim, bed)
        nvim.keys("gg0wcwtotal<Esc>")
        nvim.until(SHOWN)
        nvim.keys("<C-x>")
        nvim.until(f"not ({SHOWN})")
        assert lines(nvim) == RENAMED
        nvim.keys("A # sum<Esc>")
        nvim.until(SHOWN)
        nvim.keys("Gochanged = 1<Esc>")
        nvim.until(f"not ({SHOWN})")
        nvim.keys("<C-l>")  # does nothing: there is nothing to take
        assert "print(add(1, 2))" in lines(nvim)


def test_one_that_is_out_of_view_is_gone_to_first(bed: Bed, model: ModelServer) -> None:
    text = TEXT.replace("\n\n\n", "\n" * 15)
    renamed = text.replace("def add", "def total")
    model.script(answer(Say(renamed.replace("print(add", "print(total"))), answer(Say("NONE")))
    with nvim_with(bed, model, SETUP) as nvim:
        opened(nvim, bed, text)
        nvim.command("5split")
        nvim.keys("gg0wcwtotal<Esc>")
        nvim.until(SHOWN)
        assert "North: line 17" in cast(str, nvim.lua(f"return vim.inspect({MARKS})"))
        nvim.keys("<C-l>")
        nvim.until("vim.fn.line('.') == 17")
        assert lines(nvim) == renamed
        nvim.keys("<C-l>")
        nvim.until("vim.fn.getline(17) == 'print(total(1, 2))'")


def test_nothing_is_asked_unless_it_is_set_up(bed: Bed, model: ModelServer) -> None:
    with nvim_with(bed, model) as nvim:
        opened(nvim, bed)
        nvim.keys("gg0wcwtotal<Esc>")
        nvim.until("vim.fn.getline(1) == 'def total(a, b):'")
        assert nvim.lua("return require('north').take_suggestion()") is False
    assert model.requests == []


def test_it_is_seen_while_one_types(bed: Bed, model: ModelServer, keep: Callable[[str, Screen], None]) -> None:
    summed = WHOLE.replace("a + b", "sum((a, b))")
    model.script(answer(Say(summed)), answer(Say(summed)), answer(Say("NONE")))
    (bed.project / "sums.py").write_text(TEXT)
    environ = bed.environ(asking(bed, model))
    with nvim_screen("sums.py", init=bed.init(SETUP), columns=80, rows=14, cwd=bed.project, env=environ) as screen:
        screen.wait_for(r"print\(add")
        screen.write(":lua require('north.conversation').with_session(function() vim.notify('it is ready') end)")
        screen.keys("Enter")
        screen.wait_for("^it is ready")
        screen.write("gg0wcwtotal")
        screen.wait_for(r"sum\(\(a, b\)\)")
        keep("suggestion", screen)
        screen.keys("C-l")
        screen.wait_for(r"print\(addtotal")
        keep("suggestion-next", screen)
