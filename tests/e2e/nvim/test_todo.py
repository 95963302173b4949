"""The todo list in a real Neovim: counted in the chat's winbar, edited in a float, told to the model."""

import json
from typing import cast

from tests.e2e.nvim.test_plugin import Bed, ask, bed, in_chat
from tests.e2e.nvim.with_model import model, nvim_with
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call

__all__ = ["bed", "model"]

INIT = {"op": "init", "list": [{"phase": "Read", "items": ["a", "b"]}]}
ENDED = "#require('north.state').prompts == 0"
"""The winbar says more than when it idles."""
WINBAR = "vim.wo[vim.fn.bufwinid('^north://chat$')].winbar"
LINES = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('^north://todo$'), 0, -1, true), '|')"


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
        # What is typed here is never saved into another conversation.
        nvim.command("North todo")
        nvim.until("vim.api.nvim_buf_get_name(0) == 'north://todo'")
        nvim.command("call setline(2, '- [ ] mine')")
        nvim.lua("_G.before = require('north.state').session_id")
        nvim.command("North new")
        nvim.until("(require('north.state').session_id or _G.before) ~= _G.before")
        nvim.lua("vim.api.nvim_buf_call(vim.fn.bufnr('^north://todo$'), function() vim.cmd('write') end)")
        nvim.until("vim.fn.execute('messages'):find('another conversation', 1, true) ~= nil")
        assert "mine" in cast(str, nvim.lua(f"return {LINES}"))
        assert nvim.lua("return vim.bo[vim.fn.bufnr('^north://todo$')].modified")
    told = json.dumps(model.requests[4].body["messages"], ensure_ascii=False)
    assert "in_progress → completed: b" in told
    assert "added: c (in_progress)" in told


def test_what_is_closed_is_folded_in_the_document_and_kept_when_it_is_saved(bed: Bed, model: ModelServer) -> None:
    (bed.folder / "config").mkdir()
    (bed.folder / "config" / "config.json").write_text('{"tasks.todoClearDelay": 0, "todo.reminders": false}')
    closing = [{"op": "done", "task": "a"}, {"op": "append", "phase": "Read", "items": ["c"]}]
    model.script(answer(call("todo", ops=[INIT])), answer(call("todo", ops=closing)), answer(Say("So far.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "do it")
        nvim.until(f"{in_chat('So far.')} and {ENDED}")
        nvim.until(f"{WINBAR}:find('todo 1/3', 1, true) ~= nil")
        nvim.command("North todo")
        nvim.until("vim.fn.foldclosed(2) == 2 and vim.fn.foldclosedend(2) == 2")
        assert nvim.lua("return vim.fn.foldtextresult(2)") == "▸ 1 closed"
        assert nvim.lua("return vim.fn.foldclosed(3)") == -1
        nvim.command("call setline(3, '- [x] b')")
        nvim.command("write")
        nvim.until(f"not vim.bo.modified and {LINES} == '# Read|- [x] a|- [x] b|- [/] c'")
        nvim.until("vim.fn.foldclosed(2) == 2 and vim.fn.foldclosedend(2) == 3")


def test_a_plan_is_rejected_with_a_comment_edited_and_approved_and_a_question_answered(
    bed: Bed, model: ModelServer
) -> None:
    heads = ("Goal", "Findings", "Steps", "Risks", "Out of scope")
    plan = "".join(f"# {head}\n{'1. Look' if head == 'Steps' else 'x'}\n" for head in heads)
    asking = {"id": "q", "question": "Which one?", "options": [{"label": "A"}, {"label": "B"}]}
    model.script(
        answer(call("ask", questions=[asking])),
        answer(call("write_plan", content=plan)),
        answer(call("exit_plan_mode", summary="Look.")),
        answer(call("exit_plan_mode", summary="Again.")),
        answer(call("todo", ops=[{"op": "done"}])),
        answer(Say("Carried out.")),
    )
    with nvim_with(bed, model) as nvim:
        nvim.command("North mode plan")
        nvim.until(f"{WINBAR}:find('plan', 1, true) ~= nil")
        ask(nvim, "plan it")
        nvim.until("require('north.permission').count() > 0")
        nvim.command("North review")
        nvim.until("vim.fn.search('^Which one?') == 1 and vim.fn.search('( ) B') > 0")
        nvim.keys("<CR>")
        nvim.until("vim.api.nvim_get_current_line() == '  (•) B'")
        nvim.keys("ga")
        nvim.until(in_chat("? Approve this plan? — asks you"))
        nvim.until("#require('north.state').prompts > 0 and require('north.permission').count() > 0")
        nvim.lua("vim.ui.input = function(_, done) done('Look better') end")
        nvim.command("North review")
        nvim.keys("GgR")
        nvim.until(in_chat("You rejected the plan: Look better"))
        nvim.until("require('north.permission').count() > 0")
        nvim.command("North review")
        nvim.keys("Gg4")
        nvim.until("vim.fn.expand('%:t') == 'plan.md'")
        nvim.command("%s/1. Look/1. Look twice/")
        nvim.command("write")
        nvim.until("require('north.permission').count() > 0")
        nvim.command("North review")
        nvim.keys("Gga")
        nvim.until(f"{in_chat('Carried out.')} and {ENDED}")
    assert "Look better" in json.dumps(model.requests[3].body["messages"])
    told = json.dumps(model.requests[4].body["messages"], ensure_ascii=False)
    assert "1. Look twice" in told
    assert "I approve the plan" in told
    assert "Chosen: B" in json.dumps(model.requests[1].body["messages"])


def test_several_questions_are_one_form_that_keeps_what_was_chosen(bed: Bed, model: ModelServer) -> None:
    one = {"id": "a", "question": "Which parser?", "options": [{"label": "Old"}, {"label": "New"}]}
    several = {"id": "b", "question": "Which files?", "multi": True, "options": [{"label": "X"}, {"label": "Y"}]}
    model.script(answer(call("ask", questions=[one, several])), answer(Say("I see.")))
    with nvim_with(bed, model) as nvim:
        nvim.lua("vim.ui.input = function(_, done) done('my own words') end")
        ask(nvim, "ask me")
        nvim.until("require('north.permission').count() > 0")
        bar = "vim.wo[w].winbar:find('choose or type') ~= nil"
        form = f"vim.iter(vim.api.nvim_list_wins()):find(function(w) return {bar} end)"
        nvim.until(f"{form} ~= nil")
        assert nvim.lua(f"return {form} ~= vim.api.nvim_get_current_win()")  # the cursor stays
        nvim.command("North review")
        nvim.keys("/Other<CR><CR>/\\[ ] X<CR><CR>/\\[ ] Y<CR><Space>:quit<CR>")
        nvim.until(f"{form} == nil")
        nvim.command("North review")
        nvim.until("vim.fn.search('\\\\[x] X', 'w') > 0 and vim.fn.search('\\\\[x] Y', 'w') > 0")
        nvim.keys("<CR>ga")
        nvim.until(f"{in_chat('I see.')} and {ENDED}")
        assert nvim.lua(f"return {form} == nil")
    told = json.dumps(model.requests[1].body["messages"], ensure_ascii=False)
    assert "Own answer: my own words" in told
    assert "Chosen: X" in told
    assert "Chosen: X, Y" not in told


def test_a_form_is_closed_without_an_answer_or_with_the_turn(bed: Bed, model: ModelServer) -> None:
    question = {"id": "a", "question": "Which parser?", "options": [{"label": "Old"}, {"label": "New"}]}
    (bed.folder / "config").mkdir()
    (bed.folder / "config" / "config.json").write_text('{"profile.offer": false}')
    model.script(
        answer(call("ask", questions=[question])), answer(Say("I go on.")), answer(call("ask", questions=[question]))
    )
    with nvim_with(bed, model) as nvim:
        ask(nvim, "ask me")
        nvim.until("require('north.permission').count() > 0")
        nvim.command("North review")
        nvim.keys("gr")
        nvim.until(f"{in_chat('I go on.')} and {ENDED}")
        ask(nvim, "again")
        nvim.until("require('north.permission').count() > 0 and #vim.api.nvim_list_wins() == 4")
        nvim.command("North stop")
        nvim.until(f"{in_chat('Stopped.')} and {ENDED}")
        assert nvim.lua("return require('north.permission').count()") == 0
        assert nvim.lua("return #vim.api.nvim_list_wins()") == 3
    assert "closed the question" in json.dumps(model.requests[1].body["messages"])
