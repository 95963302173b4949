"""The todo list in a real Neovim: counted in the chat's winbar, edited in a float, told to the model."""

import json
from collections.abc import Iterator
from typing import cast

import pytest

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import FILE, Bed, ask, bed, in_chat
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call

__all__ = ["bed"]

INIT = {"op": "init", "list": [{"phase": "Read", "items": ["a", "b"]}]}
ENDED = "#require('north.state').prompts == 0"
"""The winbar says more than when it idles."""
WINBAR = "vim.wo[vim.fn.bufwinid('^north://chat$')].winbar"
LINES = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('^north://todo$'), 0, -1, true), '|')"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as model:
        yield model


def nvim_with(bed: Bed, model: ModelServer) -> Nvim:
    keys = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": model.url, "HOME": str(bed.folder)}
    return bed.nvim(FILE, NORTH_MODEL="anthropic/claude-sonnet-4-5", NORTH_DISCOVERY="off", NORTH_NO_TITLE="1", **keys)


def test_the_list_is_counted_and_edited_in_a_float(bed: Bed, model: ModelServer) -> None:
    done = answer(call("todo", ops=[{"op": "done", "task": "a"}]))
    # The model stops twice without doing anything: it is reminded once.
    model.script(answer(call("todo", ops=[INIT])), done, answer(Say("So far.")), answer(Say("I wait.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "do it")
        nvim.until(f"{in_chat('I wait.')} and {ENDED}")
        nvim.until(f"{WINBAR}:find('todo 1/2', 1, true) ~= nil")
        nvim.command("North todo")
        nvim.until(f"vim.fn.bufnr('^north://todo$') > 0 and {LINES} == '# Read|- [x] a|- [/] b'")
        nvim.command("call setline(3, '- [x] b')")
        nvim.command("call append(3, ['some words'])")
        nvim.command("write")
        nvim.until("vim.fn.execute('messages'):find('line 4 is neither', 1, true) ~= nil")
        assert nvim.lua("return vim.bo.modified")  # nothing is lost
        nvim.command("call setline(4, '- [ ] c')")
        nvim.command("write")
        nvim.until(f"not vim.bo.modified and {LINES} == '# Read|- [x] a|- [x] b|- [/] c'")
        nvim.command("close")
        model.script(answer(Say("I see.")), answer(Say("Later.")))
        ask(nvim, "go on")
        nvim.until(f"{in_chat('Later.')} and {ENDED}")
        assert "some words" not in cast(str, nvim.lua(f"return {LINES}"))
    told = json.dumps(model.requests[4].body["messages"], ensure_ascii=False)
    assert "in_progress → completed: b" in told
    assert "added: c (in_progress)" in told
