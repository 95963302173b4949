"""Agents in a real Neovim: their call in the chat, their tasks in a list, the conversation of one in a tab."""

import json
from typing import cast

from tests.e2e.nvim.test_plugin import FILE, OLD, Bed, ask, bed, in_chat, review
from tests.e2e.nvim.test_todo import ENDED
from tests.e2e.nvim.with_model import model, nvim_with
from tests.end_to_end.test_agents import submit, tasks
from tests.end_to_end.test_work_trees import first_commit, git, isolated, replaced
from tests.support.model_server import ModelServer
from tests.support.script import Fail, Gate, Say, answer, call

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


def test_three_at_work_of_which_one_fails_one_is_cancelled_and_one_clashes_with_what_is_typed(
    bed: Bed, model: ModelServer
) -> None:
    """Each in a work tree of its own, while the user changes the open file and does not save it."""
    first_commit(bed.project)
    rows = [isolated("task", name, id=name.lower()) for name in ("ALPHA", "BETA", "GAMMA")]
    model.route("do it", tasks(*rows), answer(Say("So be it.")))
    model.route("ALPHA", answer(Fail(400, "invalid_request_error", "no such thing")))
    model.route("BETA", answer(Say("I "), Gate("never")))
    model.route(
        "GAMMA",
        answer(call("read_file", path=FILE)),
        replaced(OLD, 'SALUTATION = "Good day"', FILE),
        replaced("or STRANGER}!", "or STRANGER}.", FILE),
        answer(Say("I "), Gate("edited"), call("list_root")),
        submit("Both are changed."),
    )
    with nvim_with(bed, model) as nvim:
        nvim.lua(f"_G.shown, _G.pick = {{}}, 2 {CHOOSES}")
        ask(nvim, "do it")
        model.wait_reached("never")
        model.wait_reached("edited")
        nvim.until("#vim.lsp.get_clients({ name = 'north', bufnr = 0 }) == 1")
        nvim.command('%s/SALUTATION = "Hello"/SALUTATION = "Hi"/')
        nvim.command("North tasks")
        nvim.until("vim.fn.execute('messages'):find('the task 1-beta is cancelled', 1, true) ~= nil")
        model.open("edited")
        nvim.until(in_chat("task (2-gamma): hello/greeting.py: line 5: changed by the user and the agent"))
        review(nvim)
        nvim.keys("ga")
        nvim.until(f"{in_chat('So be it.')} and {ENDED}")
        text = cast(str, nvim.lua("return require('helpers').file()"))
        states = cast(list[str], nvim.lua("return vim.tbl_map(function(one) return one.state end, _G.shown[1])"))
        assert nvim.lua("return vim.fn.bufnr('north://chat') > 0")
    assert 'SALUTATION = "Hi"' in text
    assert "or STRANGER}." in text
    assert states == ["failed", "running", "running"]
    told = json.dumps(model.requests[-1].body["messages"])
    for words in ("[0-alpha] task: failed", "[1-beta] task: cancelled", "[2-gamma] task: done", "Good day"):
        assert words in told
    assert git(bed.project, "worktree", "list").count("\n") == 1
