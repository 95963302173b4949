"""What the server's answer opens is opened only where the user still is, and nothing is taken from where they type."""

import pytest

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import Bed, bed
from tests.e2e.nvim.wire import Value

__all__ = ["bed"]

ASK = "function(_, _, on_answer) answer = function(result) on_answer(nil, result) end end"
NOT_OPENED = "vim.fn.execute('messages'):find('is not opened where you are now', 1, true) ~= nil"
WAYS: dict[str, tuple[str, Value]] = {
    "outputs": ("open(ask, { artifactId = '3' })", {"text": "seq", "totalCharacters": 3}),
    "context": ("show(ask)", {"markdown": "# Context"}),
    "export": ("show(ask)", {"text": "all of it"}),
    "learned": ("open(ask)", {"files": [{"title": "Profile", "path": "README.md"}]}),
    "storage": ("log(ask, '')", {"path": "/log", "lines": ["one"]}),
    "todo": ("edit(ask)", {"phases": []}),
    "work": ("open(ask, function() end)", {"decisions": []}),
}
WINDOWS = "#vim.iter(vim.api.nvim_list_tabpages()):map(vim.api.nvim_tabpage_list_wins):flatten():totable()"


def begin(nvim: Nvim, name: str) -> None:
    nvim.lua(f"ask = {ASK} require('north.{name}').{WAYS[name][0]}")


def end(nvim: Nvim, name: str) -> None:
    nvim.lua("answer(...)", WAYS[name][1])


@pytest.mark.parametrize("name", WAYS)
def test_it_opens_where_the_user_still_is(bed: Bed, name: str) -> None:
    with bed.nvim() as nvim:
        begin(nvim, name)
        nvim.command("normal! G")
        end(nvim, name)
        assert nvim.lua(f"return {WINDOWS}") == 2
        assert not nvim.lua(f"return {NOT_OPENED}")


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("go", ["split", "tab split", "edit README.md"])
def test_it_takes_no_window_that_the_user_has_gone_to(bed: Bed, name: str, go: str) -> None:
    with bed.nvim() as nvim:
        begin(nvim, name)
        nvim.command(go)
        before = nvim.lua(f"return {{ {WINDOWS}, vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf() }}")
        end(nvim, name)
        after = nvim.lua(f"return {{ {WINDOWS}, vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf() }}")
        assert after == before
        nvim.until(NOT_OPENED)


def test_it_takes_no_keys_from_who_has_begun_to_type(bed: Bed) -> None:
    with bed.nvim() as nvim:
        begin(nvim, "context")
        nvim.keys("o# one")
        nvim.until("vim.fn.getline('.') == '# one'")
        end(nvim, "context")
        nvim.keys("two")
        nvim.until("vim.fn.getline('.') == '# onetwo'")
        nvim.until(NOT_OPENED)


def test_a_picker_that_was_about_to_close_is_no_place(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.lua(
            "picker = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true,"
            " { relative = 'editor', width = 9, height = 1, row = 1, col = 1 })"
        )
        begin(nvim, "context")
        nvim.lua("vim.api.nvim_win_close(picker, true)")
        end(nvim, "context")
        assert nvim.lines() == ["# Context"]
