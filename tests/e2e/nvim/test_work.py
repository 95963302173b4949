"""Goals and workflows in a real Neovim: in the chat's winbar, and in a float where the user decides."""

import json
from collections.abc import Callable
from typing import cast

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.screen import Screen, nvim_screen
from tests.e2e.nvim.test_plugin import ASKED, FILE, PLUGIN, Bed, ask, bed, in_chat
from tests.e2e.nvim.test_screens import keep
from tests.e2e.nvim.test_todo import ENDED, WINBAR
from tests.e2e.nvim.with_model import asking, model, nvim_with
from tests.end_to_end.test_goals import CHECK, SET, WELL, goal, run
from tests.end_to_end.test_workflows import HIGH, move, write
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call

__all__ = ["bed", "keep", "model"]

FLOAT = "vim.api.nvim_buf_get_name(0) == 'north://work'"
ROWS = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('^north://work$'), 0, -1, true), '\\n')"


def shows(text: str) -> str:
    return f"{ROWS}:find([==[{text}]==], 1, true) ~= nil"


def rows(nvim: Nvim) -> str:
    return cast(str, nvim.lua(f"return {ROWS}"))


def in_winbar(text: str) -> str:
    return f"{WINBAR}:find([==[{text}]==], 1, true) ~= nil"


def test_a_goal_is_seen_confirmed_and_edited(bed: Bed, model: ModelServer) -> None:
    (bed.project / "made.txt").write_text("x\n")
    model.script(SET, run(CHECK), goal("evidence", id="c1"), answer(Say("So far.")))
    with nvim_with(bed, model) as nvim:
        nvim.command("North goal")
        nvim.until(f"{FLOAT} and {shows('There is no goal and no workflow')}")
        nvim.keys("q")
        ask(nvim, "make it work")
        nvim.until(ASKED)
        nvim.command("North review")
        nvim.keys("ga")
        nvim.until(f"{in_chat('So far.')} and {ENDED}")
        nvim.until(in_winbar("goal 1/2"))
        assert nvim.lua("return require('north').status().work") == "goal 1/2"
        nvim.command("North goal")
        nvim.until(f"{FLOAT} and {shows('# Goal: It works')}")
        assert f"- [x] c1: made `{CHECK}`\n      met (exit code 0)\n- [ ] c2: it is tidy\n      open" in rows(nvim)
        assert not nvim.lua("return vim.bo.modifiable")
        nvim.command("call search('Confirm c2')")
        nvim.keys("<CR>")
        nvim.until(shows("met (the user confirmed it)"))
        nvim.until(in_winbar("goal 2/2"))
        nvim.keys("e")
        nvim.until("vim.api.nvim_buf_get_name(0) == 'north://goal'")
        nvim.command("call append('$', '- it is fast')")
        nvim.command("write")
        nvim.until(f"not vim.bo.modified and {shows('c3: it is fast')}")
        nvim.command("close")
        nvim.command("North goal")
        nvim.until(FLOAT)
        nvim.command("call search('Drop the goal')")
        nvim.keys("<CR>")
        nvim.until("vim.fn.execute('messages'):find('not shown any more. Decide again to confirm', 1, true) ~= nil")
        assert "# Goal: It works" in rows(nvim)
        nvim.keys("<CR>")
        nvim.until(shows("There is no goal and no workflow"))
        nvim.until(f"not ({in_winbar('goal ')})")


def test_a_workflow_is_seen_with_what_it_holds_and_ended(bed: Bed, model: ModelServer) -> None:
    model.script(move("explore"), answer(call("list_root")), write("unknowns", [HIGH]), move("question"), WELL)
    with nvim_with(bed, model) as nvim:
        ask(nvim, "/work start clarify A login page")
        nvim.until(f"{in_chat('Well.')} and {ENDED}")
        nvim.until(in_winbar("clarify: question, changes are held"))
        nvim.command("North work")
        nvim.until(f"{FLOAT} and {shows('# Workflow: clarify')}")
        shown = rows(nvim)
        assert "✓ intake → ✓ explore → **question** → draft → confirm" in shown
        assert "Held: edits and commands are refused" in shown
        assert "Rounds of questions left: 5" in shown
        nvim.keys("2")
        nvim.until(
            "vim.fn.execute('messages'):find('Models may change files again then. Decide again', 1, true) ~= nil"
        )
        assert "# Workflow: clarify" in rows(nvim)
        nvim.keys("2")
        nvim.until(shows("There is no goal and no workflow"))
        nvim.until(f"not ({in_winbar('clarify')})")


def test_it_is_there_again_when_the_conversation_is_loaded(bed: Bed, model: ModelServer) -> None:
    model.script(SET, answer(Say("So far.")), WELL)
    with nvim_with(bed, model) as nvim:
        ask(nvim, "make it work")
        nvim.until(f"{in_chat('So far.')} and {ENDED} and {in_winbar('goal 0/2')}")
        nvim.command("North new")
        nvim.until(f"not ({in_winbar('goal ')})")
        nvim.command("North continue")
        nvim.until(f"{in_chat('So far.')} and {in_winbar('goal 0/2')}")
        nvim.command("North goal")
        nvim.until(f"{FLOAT} and {shows('# Goal: It works')}")
        nvim.keys("1")
        nvim.until(f"{in_chat('Well.')} and {ENDED}")
    assert "Continue with the goal of this conversation" in json.dumps(model.requests[-1].body["messages"])


def test_how_it_looks(bed: Bed, model: ModelServer, keep: Callable[[str, Screen], None]) -> None:
    model.script(SET, answer(Say("So far.")))
    init = bed.init(f"vim.opt.runtimepath:prepend([[{PLUGIN}]])\nvim.o.termguicolors = true")
    environ = bed.environ(asking(bed, model))
    with nvim_screen(FILE, init=init, columns=110, rows=30, cwd=bed.project, env=environ) as screen:
        screen.wait_for("SALUTATION")
        screen.write(":North ask make it work")
        screen.keys("Enter")
        screen.wait_for("So far.")
        screen.write(":North goal")
        screen.keys("Enter")
        screen.wait_for("Goal: It works")
        screen.wait_for("3. Drop the goal")
        keep("goal", screen)


def test_a_skill_is_seen_with_its_phase_and_ended(bed: Bed, model: ModelServer) -> None:
    folder = bed.folder / "config" / "skills" / "tart"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: tart\ndescription: Bakes\nphases: [draw, bake]\n---\nDraw, then bake.\n"
    )
    model.script(answer(call("skill", name="tart")), answer(call("skill_phase", to="bake")), WELL)
    with nvim_with(bed, model) as nvim:
        ask(nvim, "Bake")
        nvim.until(f"{in_chat('Well.')} and {ENDED}")
        nvim.command("North work")
        nvim.until(f"{FLOAT} and {shows('# Skill: tart')}")
        assert "**bake**" in rows(nvim)
        nvim.command("call search('End the skill')")
        nvim.keys("<CR>")
        nvim.until(shows("There is no goal and no workflow"))
