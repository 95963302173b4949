"""Agents in a real Neovim: their call in the chat, their tasks in a list, the conversation of one in a tab."""

from typing import cast

from tests.e2e.nvim.test_plugin import Bed, ask, bed, in_chat
from tests.e2e.nvim.test_todo import ENDED
from tests.e2e.nvim.with_model import model, nvim_with
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer, call

__all__ = ["bed", "model"]

CHOOSES = "vim.ui.select = function(items, _, done) table.insert(_G.shown, items) done(items[_G.pick], _G.pick) end"


def test_a_task_is_opened_and_another_one_cancelled(bed: Bed, model: ModelServer) -> None:
    look = call("task", tasks=[{"id": "look", "agent": "task", "prompt": "LOOK around"}])
    wait = call("task", tasks=[{"id": "wait", "agent": "task", "prompt": "WAIT for ever"}])
    model.script(answer(look), answer(call("submit_result", result="Nothing there.")), answer(wait))
    model.script(answer(Say("I "), Gate("never")), answer(Say("So be it.")))
    with nvim_with(bed, model) as nvim:
        nvim.lua(f"_G.shown, _G.pick = {{}}, 1 {CHOOSES}")
        nvim.command("North tasks")
        nvim.until("vim.fn.execute('messages'):find('no agent has been given a task', 1, true) ~= nil")
        ask(nvim, "do it")
        nvim.until(in_chat("Agents: 1 of 1 tasks done"))
        model.wait_reached("never")
        nvim.command("North tasks")
        nvim.until("vim.bo.filetype == 'markdown' and vim.fn.search('LOOK around', 'nw') > 0")
        assert not nvim.lua("return vim.bo.modifiable")
        nvim.command("close")
        nvim.lua("_G.pick = 2")
        nvim.command("North tasks")
        nvim.until(f"{in_chat('So be it.')} and {ENDED}")
        states = cast(list[str], nvim.lua("return vim.tbl_map(function(one) return one.state end, _G.shown[2])"))
        assert states == ["done", "running"]
