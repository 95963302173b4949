"""Several conversations in one Neovim: each tab page may have its own, and what one asks or says is nobody else's."""

from pathlib import Path
from typing import cast

from tests.e2e.nvim.bed import DEADLINE
from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import (
    COMMAND,
    HEADER,
    KILL_THE_SERVER,
    NEW,
    OLD,
    REPLACE,
    Bed,
    ask,
    asked,
    bed,
    in_chat,
    replace_select,
    text_of,
)
from tests.e2e.nvim.with_model import model, nvim_with
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer, call

__all__ = ["bed", "model"]

FIRST, SECOND = "north://chat", "north://chat/2"
ALL = "#require('north.live').all()"


def text(nvim: Nvim, name: str) -> str:
    return str(nvim.lua("return require('helpers').text(...)", name))


def has(name: str, words: str) -> str:
    return f"require('helpers').text([[{name}]]):find([==[{words}]==], 1, true) ~= nil"


def bar(name: str) -> str:
    """What stands above a chat that is in a window."""
    window = f"vim.fn.win_findbuf(vim.fn.bufnr([[^{name}$]]))[1]"
    return f"(vim.wo[{window}].winbar:gsub('%%<.*', ''))"


def tab_with_its_own(nvim: Nvim) -> None:
    nvim.command("North tab")
    nvim.until(f"{ALL} == 2 and vim.fn.expand('%') == 'north://prompt/2'")
    nvim.until(f"{bar(SECOND)} == ' North 2 · agent'")


def messages_have(words: str) -> str:
    return f"vim.fn.execute('messages'):find([==[{words}]==], 1, true) ~= nil"


def test_a_tab_page_has_a_conversation_of_its_own_while_another_one_works(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("ONE "), Gate("go"), Say("AND MORE")), answer(Say("TWO")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "first things")
        model.wait_reached("go", DEADLINE)
        nvim.until(has(FIRST, "ONE"))
        tab_with_its_own(nvim)
        assert nvim.lua("return require('north').statusline()") == "North agent · 1 other works"
        nvim.keys("isecond things<CR>")
        nvim.until(has(SECOND, "TWO"))
        nvim.until(f"{bar(SECOND)} == ' North 2 · agent'")
        nvim.command("North stop")  # of this one: it has nothing that runs
        nvim.until(messages_have("North: nothing is running"))
        model.open("go")
        nvim.until(has(FIRST, "AND MORE"))
        nvim.command("tabprevious")
        nvim.until(f"{bar(FIRST)} == ' North 1 · agent'")
        assert "second things" not in text(nvim, FIRST)
        assert "first things" not in text(nvim, SECOND)
        ask(nvim, "/mode ask")  # goes to the one of this tab page
        nvim.until(f"{bar(FIRST)} == ' North 1 · ask'")
        assert nvim.lua(f"return {bar(SECOND)}") == " North 2 · agent"
    assert len(list((bed.folder / "data" / "conversations").glob("*.jsonl"))) == 2


def test_a_question_is_asked_in_its_own_tab_page_and_names_its_conversation(bed: Bed, model: ModelServer) -> None:
    model.script(
        answer(Say("Wait. "), Gate("go"), call("shell_run", command="touch made && echo ran")),
        answer(Say("ONE is done")),
    )
    with nvim_with(bed, model) as nvim:
        ask(nvim, "first things")
        model.wait_reached("go", DEADLINE)
        tab_with_its_own(nvim)
        model.open("go")
        nvim.until(messages_have("North 1 asks to run: touch made && echo ran (:North review)"))
        assert nvim.lua(f"return {COMMAND}") == ""  # nothing opens beside another conversation
        assert nvim.lua("return require('north').statusline()") == "North agent · 1 other asks you"
        nvim.command("tabprevious")
        nvim.until(f"{COMMAND} == 'touch made && echo ran'")
        assert "North 1 asks to run this command" in cast(str, nvim.lua(f"return {HEADER}"))
        nvim.command("tabnext")
        nvim.command("North review")  # nothing waits here: it goes to the one that asks
        nvim.until(f"vim.fn.tabpagenr() == 1 and {COMMAND} ~= ''")
        nvim.keys("ga")
        nvim.until(has(FIRST, "ONE is done"))
        assert "touch made" not in text(nvim, SECOND)
    assert (bed.project / "made").exists()


def test_two_edits_wait_beside_each_other(bed: Bed) -> None:
    other = bed.project / "other.py"
    other.write_text("stranger = 1\n")
    with bed.nvim() as nvim:
        ask(nvim, REPLACE)
        nvim.until("require('north.permission').count() == 1")
        tab_with_its_own(nvim)
        ask(nvim, 'replace "stranger" by "friend" in other.py')
        nvim.until("require('north.permission').count() == 1")
        nvim.command("North review")
        nvim.until("vim.fn.tabpagenr('$') == 3")
        header = "vim.fn.getbufline('north://review/2', 1)[1]"
        assert "North 2 asks to change files" in cast(str, nvim.lua(f"return {header}"))
        nvim.keys("ga")
        nvim.until(f"{bar(SECOND)} == ' North 2 · agent'")
        assert other.read_text() == "friend = 1\n"
        assert OLD in text_of(nvim)
        nvim.command("1tabnext")
        nvim.command("North review")
        nvim.until("vim.fn.bufnr('^north://review$') > 0")
        nvim.keys("ga")
        nvim.until(f"{bar(FIRST)} == ' North 1 · agent'")
        assert NEW in text_of(nvim)


def test_the_open_ones_are_listed_gone_to_and_closed(bed: Bed) -> None:
    with bed.nvim() as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("is defined in"))
        tab_with_its_own(nvim)
        replace_select(nvim, "North 1: explain greet  (idle, tab page 1)", "Go to it")
        nvim.command("North live")
        nvim.until("vim.fn.tabpagenr() == 1")
        names = ["North 1: explain greet  (idle, tab page 1)", "North 2: nothing said yet  (idle, here)"]
        assert asked(nvim)[0]["names"] == names
        # A stored conversation that is open already is gone to, not opened again.
        nvim.command("tabnext")
        (log,) = [
            one for one in (bed.folder / "data" / "conversations").glob("*.jsonl") if "explain greet" in one.read_text()
        ]
        nvim.command(f"North resume {log.stem}")
        nvim.until("vim.fn.tabpagenr() == 1")
        assert nvim.lua(f"return {ALL}") == 2
        replace_select(nvim, "North 1: explain greet  (idle, here)", "Close it (it stays stored)")
        nvim.command("North live")
        nvim.until(f"{ALL} == 1 and vim.fn.bufnr('^{FIRST}$') == -1")
        nvim.command("tabnext")
        nvim.until(f"{bar(SECOND)} == ' North · agent'")  # the only one needs no number
        nvim.command(f"North tab {log.stem}")
        nvim.until(has(FIRST, "is defined in"))  # the number is free again
        assert nvim.lua(f"return {ALL}") == 2


def test_both_come_back_when_the_server_dies(bed: Bed) -> None:
    with bed.nvim() as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("is defined in"))
        tab_with_its_own(nvim)
        ask(nvim, "list files")
        nvim.until(has(SECOND, "README.md"))
        nvim.until(f"{bar(SECOND)} == ' North 2 · agent'")
        assert nvim.lua("return #vim.lsp.get_clients({ name = 'north' })") == 1
        nvim.lua(KILL_THE_SERVER)
        nvim.until(has(FIRST, "was started again"))
        nvim.until(has(SECOND, "was started again"))
        assert "is defined in" in text(nvim, FIRST)
        assert "README.md" in text(nvim, SECOND)
        ask(nvim, "explain greet")
        nvim.until(has(SECOND, "is defined in"))
        assert nvim.lua("return #vim.lsp.get_clients({ name = 'north' })") == 1


def test_all_that_were_at_work_are_remembered(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.lua(
            "local running = require('north.running') running.note('/a', 'one', true) running.note('/a', 'two', true)"
        )
        assert nvim.lua("return require('north.running').of('/a')") == ["one", "two"]
        nvim.lua("require('north.running').note('/a', 'one', false)")
        assert nvim.lua("return require('north.running').of('/a')") == ["two"]
        state = Path(str(nvim.lua("return vim.fn.stdpath('state')"))) / "north-running.json"
        state.write_text('{"/a": "../odd", "/b": "three"}')  # as an earlier version wrote it, and what is no id
        assert nvim.lua("return require('north.running').of('/a')") == []
        assert nvim.lua("return require('north.running').of('/b')") == ["three"]
