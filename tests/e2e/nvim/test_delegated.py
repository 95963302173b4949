"""What goes on beside a turn or outside of the project, in a real Neovim: tasks in the background, agents in work trees
of git, pages of the web. The screens are kept as text and as pictures."""

from collections.abc import Callable
from typing import cast

import pytest

from tests.e2e.nvim.screen import Screen, nvim_screen
from tests.e2e.nvim.test_plugin import ASKED, FILE, NEW, OLD, PLUGIN, Bed, ask, bed, in_chat
from tests.e2e.nvim.test_screens import keep
from tests.e2e.nvim.test_todo import ENDED
from tests.e2e.nvim.with_model import asking, model, nvim_with
from tests.end_to_end.test_agents import submit, task, tasks
from tests.end_to_end.test_work_trees import first_commit, isolated
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer, call
from tests.support.web_site import Page, Site

__all__ = ["bed", "keep", "model"]

INIT = f"vim.opt.runtimepath:prepend([[{PLUGIN}]])\nvim.o.termguicolors = true"


def run(screen: Screen, command: str) -> None:
    screen.write(f":{command}")
    screen.keys("Enter")


def test_a_task_in_the_background_holds_up_no_turn_and_its_end_is_told(bed: Bed, model: ModelServer) -> None:
    behind = tasks(task("task", "ALPHA", background=True))
    model.route("ALPHA-FIRST", behind, answer(Say("It works.")), answer(Say("I see.")), answer(Say("I know.")))
    model.route('"ALPHA"', answer(Say("I "), Gate("on")), submit("A is done."))
    with nvim_with(bed, model) as nvim:
        nvim.lua("vim.ui.select = function(items, _, done) _G.listed = items done(nil) end")
        ask(nvim, "ALPHA-FIRST")
        model.wait_reached("on")
        nvim.until(f"{in_chat('It works.')} and {ENDED}")
        nvim.command("North tasks")
        nvim.until("_G.listed ~= nil")
        assert nvim.lua("return _G.listed[1].state") == "running"
        ask(nvim, "meanwhile")
        nvim.until(f"{in_chat('I see.')} and {ENDED}")
        model.open("on")
        nvim.until(in_chat("has ended its task 0-task"))
        ask(nvim, "and now")
        nvim.until(f"{in_chat('I know.')} and {ENDED}")
    assert "A is done." in str(model.requests[-1].body["messages"])


@pytest.mark.usefixtures("without_proxies")
def test_a_page_of_the_web_is_asked_about_by_its_host(
    bed: Bed, model: ModelServer, site: Site, keep: Callable[[str, Screen], None]
) -> None:
    site.pages["/fly"] = Page("<title>How to fly</title><p>Take wings and jump.</p>")
    model.script(answer(call("web_fetch", url=f"{site.url}/fly")), answer(Say("One jumps.")))
    environ = bed.environ(asking(bed, model))
    with nvim_screen(FILE, init=bed.init(INIT), columns=110, rows=30, cwd=bed.project, env=environ) as screen:
        screen.wait_for("SALUTATION")
        run(screen, "North ask how does one fly")
        screen.wait_for(rf"Fetch from 127\.0\.0\.1:{site.port}")
        assert site.asked == []
        run(screen, "North review")
        screen.wait_for("this machine")
        keep("web-question", screen)
        screen.write("ga")
        screen.wait_for(r"One jumps\.")
        keep("web-fetched", screen)
    assert len(site.asked) == 1
    assert "Take wings and jump" in str(model.requests[-1].body["messages"])


def test_what_an_agent_changes_in_its_work_tree_is_one_review_under_its_name(
    bed: Bed, model: ModelServer, keep: Callable[[str, Screen], None]
) -> None:
    first_commit(bed.project)
    before = bed.file.read_text()
    model.script(
        tasks(isolated("executor", "Change it", id="one")),
        answer(call("read_file", path=FILE)),
        answer(call("edit_replace_exact", path=FILE, old=OLD, new=NEW)),
        answer(call("edit_create_file", path="hello/made.py", content="MADE = 1\n")),
        submit({"done": True, "files": [], "checks": [], "open": []}),
        answer(Say("It was changed.")),
    )
    environ = bed.environ(asking(bed, model))
    with nvim_screen(FILE, init=bed.init(INIT), columns=110, rows=30, cwd=bed.project, env=environ) as screen:
        screen.wait_for("SALUTATION")
        run(screen, "North ask have it changed")
        screen.wait_for(r"asks you|North asks")
        assert bed.file.read_text() == before
        run(screen, "North review")
        screen.wait_for("Good morning")
        screen.wait_for(r"executor \(0-one\)")
        keep("work-tree-review", screen)
        screen.write("ga")
        screen.wait_for(r"It was changed\.")
        keep("work-tree-accepted", screen)
        run(screen, "North undo")
        screen.wait_for('SALUTATION = "Hello"')
    assert bed.file.read_text() == before
    assert not (bed.project / "hello" / "made.py").exists()


def test_an_agent_in_a_work_tree_is_told_what_was_rejected(bed: Bed, model: ModelServer) -> None:
    first_commit(bed.project)
    before = bed.file.read_text()
    model.script(
        tasks(isolated("executor", "Change it", id="one")),
        answer(call("read_file", path=FILE)),
        answer(call("edit_replace_exact", path=FILE, old=OLD, new=NEW)),
        submit({"done": True, "files": [], "checks": [], "open": []}),
        answer(Say("So it stays.")),
    )
    with nvim_with(bed, model) as nvim:
        ask(nvim, "have it changed")
        nvim.until(ASKED)
        nvim.command("North review")
        nvim.until("#vim.api.nvim_list_tabpages() == 2")
        nvim.keys("gr")
        nvim.until(f"{in_chat('So it stays.')} and {ENDED}")
        assert cast(str, nvim.lua("return require('helpers').file()")) + "\n" == before
    assert "rejected" in str(model.requests[-1].body["messages"])
