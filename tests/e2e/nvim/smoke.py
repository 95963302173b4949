"""Proves that the Neovim test bed works: `.venv/bin/python -m pytest tests/e2e/nvim/smoke.py`."""

import textwrap
from pathlib import Path

import pytest

from tests.e2e.nvim.nvim_driver import Nvim, NvimError
from tests.e2e.nvim.screen import Screen, nvim_screen
from tests.e2e.nvim.wire import Value, pack, unpack


def test_lua_runs_and_values_come_back_whole() -> None:
    values: list[Value] = [None, True, -1, 2**40, 0.5, "ö" * 300, "\udcff", ["x"] * 20, {"a": {"b": [1]}}]
    with Nvim() as nvim:
        assert [nvim.lua("return ...", value) for value in values] == values
        assert nvim.lua("return vim.version().minor") == 11
        assert nvim.request("nvim_get_current_buf") == 1


def test_an_error_in_lua_is_an_exception() -> None:
    with Nvim() as nvim, pytest.raises(NvimError, match="no such luck"):
        nvim.lua("error('no such luck')")


def test_keys_edit_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with Nvim("a.txt", cwd=tmp_path) as nvim:
        nvim.keys("otwo<Esc>:write<CR>")
        nvim.until("not vim.bo.modified and vim.fn.mode() == 'n' and vim.fn.line('$') == 2")
        assert nvim.lines() == ["one", "two"]
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"


def test_a_user_interface_function_can_be_replaced() -> None:
    with Nvim() as nvim:
        nvim.lua("vim.ui.select = function(items, _, choose) vim.rpcnotify(0, 'asked', items); choose(items[2]) end")
        nvim.lua("vim.ui.select({ 'allow', 'reject' }, {}, function(item) vim.g.answer = item end)")
        assert nvim.until("vim.g.answer") == "reject"
        assert nvim.notifications == [("asked", [["allow", "reject"]])]


def test_a_deadline_tells_what_was_waited_for() -> None:
    with Nvim() as nvim:
        nvim.lua("vim.notify('still thinking')")
        with pytest.raises(TimeoutError, match=r"vim\.g\.never(?s:.*)still thinking"):
            nvim.until("vim.g.never", deadline=0.1)


def test_an_nvim_that_has_ended_says_so() -> None:
    with Nvim() as nvim, pytest.raises(EOFError):
        nvim.command("quitall!")


def test_the_screen_shows_what_a_person_sees(tmp_path: Path) -> None:
    init = tmp_path / "init.lua"
    init.write_text("vim.o.number = true")
    with nvim_screen("a.txt", init=init, columns=60, rows=12, cwd=tmp_path) as screen:
        screen.wait_for(r"^a\.txt .* All$")
        screen.keys("i")
        screen.wait_for("-- INSERT --")
        screen.write("hällo; North -- x")
        screen.keys("Escape")
        screen.wait_until_gone("-- INSERT --")
        assert screen.text().splitlines()[0] == "  1 hällo; North -- x"
        assert len(screen.text().split("\n")) == 12 + 1
        assert "\x1b[" in screen.colored()
        with pytest.raises(TimeoutError, match=r"on the screen(?s:.*)North -- x"):
            screen.wait_for("absent", deadline=0.1)


def test_a_program_that_ends_leaves_its_screen() -> None:
    with Screen(["sh", "-c", "echo last words; read key"]) as screen:
        screen.wait_for("last words")
        screen.keys("Enter")
        screen.wait_for_end()
        assert "last words" in screen.text()


@pytest.mark.parametrize("size", [0, 31, 32, 255, 256, 65_535, 65_536])
def test_text_of_any_length_survives_the_wire(size: int) -> None:
    data = pack("x" * size)
    parts = memoryview(data)

    def read(count: int) -> bytes:
        nonlocal parts
        head, parts = parts[:count], parts[count:]
        return bytes(head)

    assert unpack(read) == "x" * size


def test_lsp_is_there() -> None:
    script = textwrap.dedent("""
        vim.lsp.config("none", { cmd = { "true" }, filetypes = { "text" } })
        return vim.lsp.config.none.cmd
    """)
    with Nvim() as nvim:
        assert nvim.lua(script) == ["true"]
