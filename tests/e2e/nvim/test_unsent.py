"""What was typed and is not sent comes back to be sent again, and no Neovim takes what another one is at work on."""

import json
import os
from pathlib import Path
from typing import cast

import pytest

from tests.e2e.nvim.bed import until
from tests.e2e.nvim.nvim_driver import Nvim, NvimError
from tests.e2e.nvim.test_plugin import FAKE_SERVER, IDLE, PLUGIN, Bed, ask, bed, chat, in_chat, with_server
from tests.e2e.nvim.test_suggestions import SETUP
from tests.e2e.nvim.with_model import model, nvim_with
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer

__all__ = ["bed", "model"]

NEVER_READY = f"""
vim.opt.runtimepath:prepend([[{PLUGIN}]])
require('north').setup({{ cmd = {{ 'sh', '-c', 'cat >/dev/null' }} }})
"""
TYPED = "require('helpers').text('north://prompt')"
ID = "require('north.state').session_id"
CHAT, ASIDES = "vim.fn.bufnr('^north://chat$')", "vim.api.nvim_create_namespace('north.chat.asides')"
WAITING = f"vim.inspect(vim.api.nvim_buf_get_extmarks({CHAT}, {ASIDES}, 0, -1, {{ details = true }}))"


def attached(nvim: Nvim) -> object:
    return nvim.lua("return require('north.attachments').labels()")


def typed(nvim: Nvim) -> object:
    return nvim.lua(f"return {TYPED}")


# -- while the server starts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["North stop", "North new", "lua require('north.conversation').interrupt()"])
def test_what_waits_for_the_server_comes_back(bed: Bed, how: str) -> None:
    with bed.nvim(init=NEVER_READY) as nvim:
        nvim.command("North attach README.md")
        nvim.command("5,6North ask explain greet")
        ask(nvim, "list files")
        assert "explain greet" in cast(str, nvim.lua(f"return {WAITING}"))
        nvim.command(how)
        assert typed(nvim) == "explain greet\n\nlist files"
        assert attached(nvim) == ["greeting.py:5-6", "README.md"]
        assert "explain greet" not in cast(str, nvim.lua(f"return {WAITING}"))


def test_what_a_closed_conversation_had_not_sent_is_in_the_one_that_is_seen_then(bed: Bed) -> None:
    with bed.nvim(init=NEVER_READY) as nvim:
        nvim.command("North")
        nvim.lua("require('north.prompt').restore('what I write')")
        nvim.command("North tab")
        nvim.command("North attach README.md")
        ask(nvim, "list files")
        nvim.lua("require('north.prompt').restore('and then')")
        nvim.lua("require('north.conversation').close(require('north.live').here())")
        assert typed(nvim) == "list files\n\nand then\n\nwhat I write"
        assert attached(nvim) == ["README.md"]


def test_what_cannot_be_sent_for_want_of_room_stays_typed(bed: Bed) -> None:
    with bed.nvim(init=NEVER_READY) as nvim:
        nvim.command("North")
        nvim.lua("require('north.prompt').restore('list files')")
        nvim.lua("require('north.conversation').ask = function() error('E36: Not enough room') end")
        nvim.lua("vim.api.nvim_set_current_buf(vim.fn.bufnr('^north://prompt$'))")
        with pytest.raises(NvimError, match="E36"):
            nvim.lua("vim.fn.maparg('<CR>', 'n', false, true).callback()")
        assert typed(nvim) == "list files"


def test_a_key_starts_no_server_that_could_not_be_started(bed: Bed) -> None:
    with bed.nvim(init=SETUP, PATH="/usr/bin:/bin") as nvim:
        for _ in range(3):
            nvim.command("doautocmd TextChanged")
        assert chat(nvim).count("north-lsp was not found on PATH") == 1
        nvim.lua("require('north').setup({ suggestions = true })")  # it may be another server now
        nvim.command("doautocmd TextChanged")
        assert chat(nvim).count("north-lsp was not found on PATH") == 2


def test_what_had_been_queued_is_told_when_the_server_ends_for_good(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look"), Gate("never")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        nvim.command("North attach README.md")
        ask(nvim, "list files")
        assert attached(nvim) == []
        nvim.lua("local now = os.time() + 3600 require('north.state').restarts = { now, now, now }")
        nvim.lua("vim.uv.kill(vim.api.nvim_get_proc_children(vim.fn.getpid())[1], 'sigkill')")
        nvim.until(in_chat("North's server ended again"))
        nvim.until(in_chat("Not sent: list files"))
        assert "Not sent: explain greet" not in chat(nvim)
        assert attached(nvim) == ["README.md"]


# -- before their turn begins ----------------------------------------------------------------------------------------

HOLDS_ANSWERS = (
    "held = {} local state = require('north.state') local request = state.request"
    " state.request = function(method, params, act)"
    " if method ~= 'session/prompt' then return request(method, params, act) end"
    " table.insert(held, require('north.live').bind(function(is_unsent)"
    " local meta = is_unsent and { north = { unsent = true } } or nil"
    " act(nil, { stopReason = 'cancelled', _meta = meta }) end)) end"
)
BEGINS = (
    "require('north.updates').handlers['_north/event'](nil, { event = 'turn_start', turnId = 'm',"
    f" sessionId = {ID} }}, {{ client_id = require('north.state').client_id }})"
)
CLOSE = "lua require('north.conversation').close(require('north.live').here())"
NO_COMMAND = "/usr/lib/x.so crashes, why?"


def ask_and_hold(nvim: Nvim, *texts: str) -> None:
    """Ask these, and leave the answers to the test: `held[number](is_unsent)`, each a prompt that was cancelled."""
    nvim.until("require('north.state').phase == 'ready' and require('north.completion').count() > 0")
    nvim.lua(HOLDS_ANSWERS)
    for text in texts:
        ask(nvim, text)


@pytest.mark.parametrize("text", ["list files", "/compact", NO_COMMAND])
@pytest.mark.parametrize("is_unsent", [False, True])
@pytest.mark.parametrize("how", ["North stop", "North new"])
def test_the_server_says_whether_it_has_what_was_stopped(bed: Bed, text: str, is_unsent: bool, how: str) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        ask_and_hold(nvim, text)
        nvim.command(how)
        nvim.lua("held[1](...)", is_unsent)
        assert typed(nvim) == (text if is_unsent else "")


@pytest.mark.parametrize("how", ["North stop", "North new"])
def test_what_is_given_up_comes_back_in_its_order_however_it_is_answered(bed: Bed, how: str) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        ask_and_hold(nvim, "list files", "second one", "third one")
        nvim.command(how)
        for number in (2, 1, 3):
            assert typed(nvim) == ""
            nvim.lua("held[...](true)", number)
        assert typed(nvim) == "list files\n\nsecond one\n\nthird one"


@pytest.mark.parametrize("how", ["North stop", "North new"])
def test_what_shared_the_turn_of_another_prompt_stays_in_the_conversation(bed: Bed, how: str) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        ask_and_hold(nvim, "list files", "second one")
        nvim.command(how)
        nvim.lua("held[1](false) held[2](false)")
        assert typed(nvim) == ""
        assert "Given up" not in chat(nvim)
        assert ("## You\n\nsecond one" in chat(nvim)) == (how == "North stop")


def test_prompts_that_share_a_turn_stay_in_the_conversation_when_it_is_stopped(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look. "), Gate("go")), answer(Say("All of them"), Gate("never")))
    settings = (
        f"vim.opt.runtimepath:prepend([[{PLUGIN}]]) require('north').setup({{ settings = {{ followUpMode = 'all' }} }})"
    )
    with nvim_with(bed, model, init=settings) as nvim:
        ask(nvim, "explain greet")
        model.wait_reached("go")
        nvim.lua("vim.ui.select = function(rows) waiting = #rows end")
        for text in ("list files", "find tidy"):
            ask(nvim, text)
        nvim.until("vim.cmd('North queue') and waiting == 2")
        model.open("go")
        nvim.until(in_chat("All of them"))
        nvim.command("North stop")
        nvim.until(f"{in_chat('find tidy')} and {IDLE}")
        assert "Given up" not in chat(nvim)
        assert typed(nvim) == ""


def test_what_the_server_does_not_answer_any_more_comes_back_also_of_a_conversation_that_was_left(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        ask_and_hold(nvim, "list files", "second one")
        nvim.command("North new")
        nvim.until(f"{ID} ~= nil and {IDLE}")
        nvim.lua(KILL)
        nvim.until(f"{TYPED} == 'list files\\n\\nsecond one'")


@pytest.mark.parametrize(
    ("text", "begins", "comes_back"),
    [("list files", False, True), ("list files", True, False), ("/compact", False, False), (NO_COMMAND, False, True)],
)
@pytest.mark.parametrize("how", [CLOSE, "North new"])
def test_what_has_not_begun_comes_back_where_no_answer_is_heard(
    bed: Bed, how: str, text: str, begins: bool, comes_back: bool
) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        nvim.until(IDLE)
        if how == CLOSE:
            nvim.command("North tab")
        ask_and_hold(nvim, text, "second one")
        if begins:
            nvim.lua(BEGINS)
        other = bed.folder / "other"
        other.mkdir()
        nvim.lua("local folder = ... require('north.server').root = function() return folder end", str(other))
        nvim.command("wincmd p")  # of a file, whose folder is the new conversation's
        nvim.command(how)
        nvim.lua("held[1](true) held[2](true)")
        assert typed(nvim) == (f"{text}\n\nsecond one" if comes_back else "second one")


# -- another Neovim --------------------------------------------------------------------------------------------------


def test_what_another_neovim_is_at_work_on_stays_there(bed: Bed, model: ModelServer) -> None:
    state = {"XDG_STATE_HOME": str(bed.folder / "nvim-state")}
    model.script(answer(Say("I will look"), Gate("never")), answer(Say("README.md")))
    with nvim_with(bed, model, **state) as first:
        ask(first, "explain greet")
        first.until(in_chat("I will look"))
        id = cast(str, first.lua(f"return {ID}"))
        (kept,) = bed.folder.rglob("north-running.json")
        assert id in kept.read_text()
        with nvim_with(bed, model, **state) as second:
            ask(second, "list files")
            second.until(f"{in_chat('README.md')} and {IDLE}")
            assert "explain greet" not in chat(second)
            second.command(f"North resume {id}")
            second.until("require('north.state').elsewhere ~= nil")
            second.until(in_chat("I will look"))
            assert id in kept.read_text()  # it goes on where it is at work, and the next one continues it
            second.command("North attach README.md")
            ask(second, "find tidy")
            second.until(in_chat("Not sent, since this conversation is open elsewhere"))
            assert typed(second) == "find tidy"
            assert attached(second) == ["README.md"]
            assert "## You\n\nfind tidy" not in chat(second)
            second.command("North new")
            second.until(f"{ID} ~= nil and {ID} ~= '{id}'")
            assert id in kept.read_text()
    assert len(model.requests) == 2


def test_a_neovim_that_has_ended_is_at_work_on_nothing(bed: Bed) -> None:
    with bed.nvim() as nvim:
        kept = Path(str(nvim.lua("return vim.fn.stdpath('state')"))) / "north-running.json"
        since = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19]

        def remembered(*rows: object) -> object:
            kept.write_text(json.dumps({"/a": rows}))
            return nvim.lua("return require('north.running').of('/a')")

        live = {"id": "one", "pid": os.getpid()}
        assert remembered(live) == []
        assert remembered(live | {"since": since}) == []
        assert remembered(live | {"since": "1"}) == ["one"]  # another process has got the number
        assert remembered({"id": "one", "pid": 2**22 + 1}) == ["one"]
        assert remembered({"id": "one", "pid": -1}, {"id": "two", "pid": "odd"}, {"pid": 1}, 7) == ["one", "two"]

        note = "require('north.running').note('/a', 'one', ...)"
        remembered(live | {"since": since})
        nvim.lua(note, False)
        assert remembered(*json.loads(kept.read_text())["/a"]) == []  # as it was
        nvim.lua(note, True)  # it was taken over from there
        assert nvim.lua("return require('north.running').of('/a')") == ["one"]
        assert json.loads(kept.read_text())["/a"][0]["pid"] == nvim.lua("return vim.fn.getpid()")
        nvim.lua(note, False)
        assert json.loads(kept.read_text()) == {}


# -- leaving ---------------------------------------------------------------------------------------------------------


def test_a_neovim_that_stays_after_all_does_not_say_that_it_leaves(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look"), Gate("never")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        nvim.lua(
            "told = {} local rpc = vim.lsp.get_clients({ name = 'north' })[1].rpc local notify = rpc.notify"
            " rpc.notify = function(method, ...) table.insert(told, method) return notify(method, ...) end"
        )
        nvim.command("edit hello/greeting.py")
        nvim.request("nvim_buf_set_lines", 0, 0, 0, True, ["# changed"])
        with pytest.raises(NvimError, match="E37"):
            nvim.command("qall")
        assert "_north/leaving" not in cast(list[str], nvim.lua("return told"))


def test_what_waits_for_the_server_is_typed_in_the_next_neovim_in_that_folder(bed: Bed) -> None:
    state = {"XDG_STATE_HOME": str(bed.folder / "nvim-state")}
    with bed.nvim(init=NEVER_READY, **state) as nvim:
        nvim.command("North attach README.md")
        ask(nvim, "list files")
        ask(nvim, "explain greet")
        nvim.keys(":qall!<CR>")
        nvim.wait_end()
    (kept,) = bed.folder.rglob("north-unsent.json")
    assert kept.stat().st_mode & 0o077 == 0
    with bed.nvim(**state) as nvim:
        nvim.lua("state, server = require('north.state'), require('north.server')")
        nvim.lua("root = server.root server.root = function() return '/elsewhere' end")
        nvim.lua("require('north.opening').open(true)")
        assert typed(nvim) == ""
        nvim.lua("server.root, state.root = root, nil")
        nvim.command("stopinsert | wincmd p")
        ask(nvim, "find tidy")
        nvim.until(f"{in_chat('tidy')} and {IDLE}")
        assert "README.md" not in chat(nvim).partition("## North")[0]
        nvim.command("North")
        assert typed(nvim) == "list files\n\nexplain greet"
        assert attached(nvim) == ["README.md"]
        assert json.loads(kept.read_text()) == {}
        nvim.command("North")
        assert typed(nvim) == "list files\n\nexplain greet"


def test_what_is_queued_has_its_turn_in_the_next_neovim(bed: Bed, model: ModelServer) -> None:
    state = {"XDG_STATE_HOME": str(bed.folder / "nvim-state")}
    model.script(answer(Say("I will look. "), Gate("go"), Say("There it is.")), answer(Say("All files.")))
    with nvim_with(bed, model, **state) as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        ask(nvim, "list files")
        nvim.lua("vim.ui.select = function(rows) waiting = #rows end")
        nvim.until("vim.cmd('North queue') and waiting == 1")
        nvim.keys(":qall!<CR>")
        nvim.wait_end()
    with nvim_with(bed, model, **state) as nvim:
        nvim.command("North")
        nvim.until(in_chat("I will look"))
        model.open("go")
        nvim.until(f"{in_chat('All files.')} and {IDLE}")
        assert chat(nvim).count("list files") == 1
        assert typed(nvim) == ""


# -- the server ends, or does not take them --------------------------------------------------------------------------

ENDS_FOR_GOOD = "local now = os.time() + 3600 require('north.state').restarts = { now, now, now }"
KILL = "vim.uv.kill(vim.api.nvim_get_proc_children(vim.fn.getpid())[1], 'sigkill')"
NOTHING_RUNS = "not require('north').status().working and require('north').status().queued == 0"


@pytest.mark.parametrize("init", [with_server("false"), with_server(str(FAKE_SERVER)), with_server("/no/such/server")])
def test_what_was_asked_comes_back_when_the_start_fails_above_what_is_being_typed(bed: Bed, init: str) -> None:
    with bed.nvim(init=init) as nvim:
        nvim.lua("require('north.opening').open(true)")
        nvim.lua("require('north.prompt').restore('what I write')")
        nvim.command("North attach README.md")
        ask(nvim, "list files")
        nvim.until(f"{TYPED} == 'list files\\n\\nwhat I write'")
        nvim.until(in_chat("Not sent: list files"))
        assert attached(nvim) == ["README.md"]
        assert nvim.lua("return require('north.state').waiting") == []


def test_the_cursor_stays_in_what_is_being_typed(bed: Bed) -> None:
    with bed.nvim(init=NEVER_READY) as nvim:
        nvim.command("North")
        nvim.keys("iwhat I ")
        nvim.until(f"{TYPED} == 'what I '")
        nvim.lua("require('north.unsent').take_back({ { text = 'list files' } })")
        nvim.keys("write")
        nvim.until(f"{TYPED} == 'list files\\n\\nwhat I write'")


def test_words_that_a_dead_server_had_not_taken_come_back_and_nothing_runs(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Gate("never")))
    with nvim_with(bed, model) as nvim:
        nvim.lua(
            "told = {} for _, name in ipairs({ 'NorthTurnStart', 'NorthTurnEnd' }) do"
            " vim.api.nvim_create_autocmd('User', { pattern = name,"
            " callback = function() table.insert(told, name) end }) end"
        )
        ask(nvim, "explain greet")
        ask(nvim, "list files")
        nvim.until("#require('north.state').prompts == 2")
        until(lambda: model.requests, lambda: "the first prompt's turn")
        nvim.command("North steer and be brief")
        nvim.lua("require('north.chat').set_call({ toolCallId = '1', title = 'Read', status = 'in_progress' })")
        nvim.lua(ENDS_FOR_GOOD)
        nvim.lua(KILL)
        nvim.until(f"{TYPED} == 'explain greet\\n\\nlist files\\n\\nand be brief'")
        nvim.until(NOTHING_RUNS)
        assert "- ✗ Read — the server ended" in chat(nvim)
        assert nvim.lua("return told") == ["NorthTurnStart"] * 2 + ["NorthTurnEnd"] * 2
        assert nvim.lua("return require('north.running').of(require('north.state').root)") == []
        assert "working" not in cast(str, nvim.lua("return require('north').statusline()"))


def test_nothing_runs_and_what_waited_comes_back_when_the_server_is_started_again(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look"), Gate("never")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        nvim.command("North attach README.md")
        ask(nvim, "list files")
        nvim.command("North steer and be brief")
        nvim.lua(KILL)
        nvim.until("#require('north.state').restarts == 1")
        assert nvim.lua(f"return {NOTHING_RUNS}")
        nvim.until(f"{in_chat('and was started again')} and {IDLE}")
        assert typed(nvim) == "list files\n\nand be brief"
        assert attached(nvim) == ["README.md"]
        assert chat(nvim).count("explain greet") == 1


def test_a_prompt_that_the_server_refuses_comes_back(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        nvim.until(IDLE)
        nvim.lua(
            "local state = require('north.state') local request = state.request state.request = function(method, ...)"
            " if method ~= 'session/prompt' then return request(method, ...) end"
            " select(2, ...)({ message = 'not now' }, nil) end"
        )
        nvim.command("North attach README.md")
        ask(nvim, "list files")
        nvim.until(f"{in_chat('not now')} and {TYPED} == 'list files'")
        assert attached(nvim) == ["README.md"]
        assert nvim.lua(f"return {NOTHING_RUNS}")


# -- words for the turn that runs ------------------------------------------------------------------------------------


def steer(nvim: Nvim, text: str) -> None:
    """Say it to the turn that runs, and wait until the server has it."""
    nvim.lua("vim.ui.select = function(rows) waits = rows[#rows].text end")
    nvim.command(f"North steer {text}")
    nvim.until(f"vim.cmd('North queue') and waits == '{text}'")


def test_a_turn_that_ends_without_the_words_for_it_has_them_asked_next_without_what_is_attached(
    bed: Bed, model: ModelServer
) -> None:
    model.script(answer(Say("I will look. "), Gate("go")), answer(Say("There are four.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "explain greet")
        model.wait_reached("go")
        nvim.lua(
            "local state = require('north.state') local request = state.request"
            " state.request = function(method, params, on_answer)"
            " if method ~= '_north/steer' then return request(method, params, on_answer) end late = on_answer end"
        )
        nvim.command("North steer list files")
        nvim.command("North attach README.md")
        model.open("go")
        nvim.until(IDLE)
        nvim.lua("require('north.live').with(require('north.live').here(), late, nil, { delivered = false })")
        nvim.until(f"{in_chat('There are four.')} and {IDLE}")
        assert "## You\n\nlist files\n\n## North" in chat(nvim)
        assert attached(nvim) == ["README.md"]
        nvim.lua("late({ message = 'gone' }, nil)")  # it has been answered
        assert typed(nvim) == ""


def test_words_for_a_turn_that_is_stopped_come_back(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look"), Gate("never")), answer(Say("There it is")))
    once = f"select(2, {TYPED}:gsub('and be brief', '')) == 1"
    with nvim_with(bed, model) as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        steer(nvim, "and be brief")
        ask(nvim, "list files")
        ask(nvim, "find tidy")
        nvim.command("North stop")
        nvim.until(f"{in_chat('Not sent: and be brief')} and {IDLE}")
        nvim.until(f"{once} and {TYPED}:find('list files\\n\\nfind tidy', 1, true)")
        ask(nvim, "go on")  # its answer tells of what was not sent
        nvim.until(f"{in_chat('There it is')} and {IDLE}")
        assert nvim.lua(f"return {once}")


def test_words_for_the_turn_of_a_conversation_that_is_left_are_not_said_in_the_next_one(
    bed: Bed, model: ModelServer
) -> None:
    model.script(answer(Say("I will look"), Gate("never")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        steer(nvim, "and be brief")
        nvim.command("North new")
        nvim.until(f"{IDLE} and {TYPED} == 'and be brief'")
        assert "and be brief" not in chat(nvim)
    assert len(model.requests) == 1
