"""Workflows, over ACP: their phases, and that their guards hold whatever a model tries."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_agents import submit, talking, task, tasks, told
from tests.end_to_end.test_ask import answering
from tests.end_to_end.test_faults import prompt, sent, texts
from tests.end_to_end.test_goals import CHECK, MADE, MAKE, goal, run
from tests.end_to_end.test_mcp import entry, own, talk
from tests.end_to_end.test_plan_mode import hostile, tree
from tests.end_to_end.test_queue import events
from tests.end_to_end.test_todo import plans, rows
from tests.end_to_end.test_work_trees import first_commit
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call
from tests.support.web_site import Page, Site

WELL = answer(Say("Well."))
HEADINGS = ("Goal", "Non-goals", "Users and scenarios", "Requirements", "Interfaces and data", "Constraints")
SPEC = "".join(f"# {name}\n\nR1 something\n\n" for name in HEADINGS) + (
    "# Acceptance criteria\n\n- A1: it is made (R1)\n- A2: it is quick (R1)\n\n# Assumptions\n\n# Risks\n"
)
HIGH = {"id": "u1", "question": "Which?", "why": "it decides", "impact": "high", "default": "one", "status": "open"}
KNOWN = HIGH | {"status": "answered", "source": "the user"}


def move(to: str, note: str = "") -> Any:
    return answer(call("workflow", action="move", to=to, note=note))


def write(document: str, content: object) -> Any:
    text = content if isinstance(content, str) else json.dumps(content)
    return answer(call("workflow", action="write", document=document, content=text))


def came(server: ModelServer, start: int = 1) -> list[str]:
    return [json.dumps(one[-1]) for one in sent(server)[start:]]


def state(world: World, slug: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((world.project / ".north/work" / slug / "state.json").read_text())
    return found


QUESTION = {"id": "q", "question": "Which?", "options": [{"label": "one"}, {"label": "two"}]}


async def test_clarify_ends_with_a_specification_that_the_user_accepts(world: World, server: ModelServer) -> None:
    server.script(
        move("question"),  # not from here
        move("explore"),
        answer(call("list_root")),
        move("question"),  # without a list
        write("unknowns", [HIGH]),
        move("question"),
        move("draft"),  # what matters is open
        answer(call("ask", questions=[QUESTION])),
        write("unknowns", [KNOWN]),
        move("draft"),
        write("spec", "# Goal\n"),
        write("spec", SPEC),
        move("confirm"),
        move("done"),
        move("done"),
        move("confirm"),
        move("done"),
        MAKE,
        WELL,
    )
    async with talking(world) as (client, session):
        answering(client, "0", ("change", "Name the users"), "accept", "accept")
        assert await prompt(client, session, "/work start clarify A Login page!") == "end_turn"
        told_of = came(server)
    begun = json.dumps(sent(server)[0][-1])
    assert "I began the workflow `clarify`: A Login page!" in begun
    assert "workflow" in {tool["name"] for tool in server.requests[0].body["tools"]}
    assert "cannot go from intake" in told_of[0]
    assert "unknowns.json is missing" in told_of[3]
    assert "unknowns with a high impact are open: u1" in told_of[6]
    assert "lacks the headings Non-goals" in told_of[10]
    assert "The user wants it changed: Name the users" in told_of[13]
    assert "cannot go from draft" in told_of[14]
    assert "The user accepts it" in told_of[16]
    assert (world.project / "made.txt").exists()  # the hold ends with the workflow
    folder = world.project / ".north/work/a-login-page"
    assert (folder / "spec.md").read_text() == SPEC
    assert (folder / ".gitignore").read_text() == "evidence/\n"
    kept = state(world, "a-login-page")
    assert (kept["workflow"], kept["phase"]) == ("clarify", "done")
    phases = [row["to"] for row in kept["history"]]
    assert phases == ["intake", "explore", "question", "draft", "confirm", "draft", "confirm", "done"]


async def test_nothing_is_changed_while_clarify_is_active(world: World, server: ModelServer) -> None:
    own(world, mine=entry(autoApprove=["echo"]))
    before = {name: text for name, text in tree(world.project).items() if ".north" not in str(name)}
    async with talk(world) as (client, session):
        server.script(WELL)
        await prompt(client, session, "/work start clarify Something")
        shown = answering(client)
        server.script(*hostile(), answer(call("mcp_mine_echo", text="x")), run("git status; touch pwned"))
        server.script(run("ls > pwned"), run("git diff --output=pwned"), run("/bin/ls"), run("$(touch pwned)"))
        server.script(tasks(task("task", "CHILD")), *hostile(), submit("Nothing."), WELL)
        await prompt(client, session, "Go")
        server.drop()
        after = {name: text for name, text in tree(world.project).items() if ".north" not in str(name)}
        assert after == before
        assert shown == []
        assert not list(world.folder.rglob("pwned*"))
        assert json.dumps([one.body["messages"] for one in server.requests]).count("BLOCKED: clarify is active") > 10
        server.script(MAKE, WELL)
        answering(client, "accept")
        await prompt(client, session, "/work stop")
        await prompt(client, session, "Go")
        assert (world.project / "made.txt").exists()


async def test_what_only_looks_runs_and_the_folder_of_the_workflow_can_be_written(
    world: World, server: ModelServer
) -> None:
    notes = {"path": ".north/work/something/notes.md", "content": "x\n"}
    server.script(WELL, run("ls json && python3 --version"), answer(call("edit_create_file", **notes)), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start clarify Something")
        seen: list[str] = []

        async def decide(params: dict[str, Any]) -> dict[str, Any]:
            kind = params["toolCall"]["kind"]
            seen.append(kind)
            return {"outcome": {"outcome": "selected", "optionId": "run" if kind == "execute" else "accept"}}

        client.handlers["session/request_permission"] = decide
        await prompt(client, session, "Go")
    assert "decoder.py" in came(server, 2)[0]
    assert (world.project / ".north/work/something/notes.md").read_text() == "x\n"


async def test_reading_and_asking_have_their_limits(world: World, server: ModelServer) -> None:
    looks = [answer(call("find_files", pattern=f"*{number}.py")) for number in range(21)]
    many = [QUESTION | {"id": f"q{number}"} for number in range(5)]
    server.script(move("explore"), *looks, write("unknowns", [HIGH]), move("question"))
    rounds = [answer(call("ask", questions=[QUESTION | {"question": f"Which, {number}?"}])) for number in range(6)]
    server.script(answer(call("ask", questions=many)), *rounds, WELL)
    async with talking(world, **{"todo.reminders": False}) as (client, session):
        answering(client, *["0"] * 5)
        await prompt(client, session, "/work start clarify Something")
    told_of = came(server)
    assert "BLOCKED" not in told_of[20]
    assert "the read calls of this phase are used up" in told_of[21]
    assert "at most 4 questions are asked at once" in told_of[24]
    assert "BLOCKED" not in told_of[28]
    assert "no rounds of questions are left in this phase" in told_of[30]


def left_behind(world: World, slug: str) -> Path:
    """A folder with the specification of an earlier workflow."""
    folder = world.project / ".north/work" / slug
    folder.mkdir(parents=True)
    (folder / "spec.md").write_text(SPEC)
    (folder / "state.json").write_text(json.dumps({"version": 1, "slug": slug, "history": []}))
    return folder


STEP = {"id": "s1", "title": "Make it", "do": "Write made.txt", "verify": "A1: test -f made.txt", "size": "S"}


ASSESSED = [tasks(task("architect", "Assess it")), submit({"assessment": "Fine.", "risks": [], "alternatives": []})]


def challenged(verdict: str) -> list[Any]:
    """From the phase assess to what the critic says."""
    issues = [] if verdict == "approve" else ["A2?"]
    said = [tasks(task("critic", "Attack it")), submit({"verdict": verdict, "issues": issues})]
    return [*ASSESSED, move("challenge"), *said]


async def test_a_plan_is_assessed_challenged_and_approved(world: World, server: ModelServer) -> None:
    whole = {"goal": "It is made", "steps": [STEP | {"verify": "A1 and A2"}]}
    folder = left_behind(world, "something")
    server.script(
        write("plan", {"steps": [STEP | {"dependsOn": ["s0"]}]}),
        write("plan", {"goal": "It is made", "steps": [STEP]}),
        move("assess"),
        move("challenge"),  # nobody has assessed it
        *challenged("revise"),
        move("present"),
        move("revise"),
        write("plan", {"goal": "It is made", "steps": [STEP]}),
        move("assess"),
        *challenged("approve"),
        move("present"),  # A2 is not covered
        move("revise"),
        write("plan", whole),
        move("assess"),
        *challenged("approve"),
        move("present"),
        move("done", "One step."),
        MAKE,
        WELL,
    )
    async with talking(world, **{"todo.reminders": False}) as (client, session):
        shown = answering(client, "execute", "accept")
        assert await prompt(client, session, "/work start plan something") == "end_turn"
        await client.wait(lambda message: "stopReason" in json.dumps(message) or "Well." in json.dumps(message))
    everything = [json.dumps(one) for one in sent(server)]
    for words in (
        "step s1 depends on s0",
        "the agent architect has not done its part",
        "the critic has not approved it",
        "no step verifies the acceptance criteria A2",
    ):
        assert any(words in one for one in everything), words
    assert "Make it" in json.dumps(shown[0])
    assert state(world, "something")["phase"] == "done"
    assert "1. Make it (S)" in (folder / "plan.md").read_text()


async def test_work_is_done_only_when_all_is_checked_and_reviewed(world: World, server: ModelServer) -> None:
    server.script(
        move("baseline"),  # there is no goal
        goal("set", statement="It works", criteria=[MADE]),
        move("baseline"),
        move("work"),  # nothing was run
        run(CHECK),
        move("work"),
        MAKE,
        move("verify"),
        move("review"),  # not run since
        run(CHECK),
        move("review"),
        move("done"),  # nobody has reviewed it
        tasks(task("reviewer", "Review it")),
        submit({"verdict": "approve", "findings": []}),
        move("done"),  # the goal is open
        goal("evidence", id="c1"),
        goal("complete"),
        move("done"),
        WELL,
    )
    async with talking(world) as (client, session):
        answering(client, "run", "accept", "run")
        assert await prompt(client, session, "/work start ultragoal Something") == "end_turn"
    everything = [json.dumps(one) for one in sent(server)]
    for words in (
        "there is no goal with criteria",
        f"not run yet: {CHECK}",
        "files have changed since these were run",
        "the agent reviewer has not done its part",
        "only when the goal is complete",
        "Kept in `.north/work/something/evidence/c1.md`",
    ):
        assert any(words in one for one in everything), words
    assert "The workflow is done." in told(server)
    assert state(world, "something")["phase"] == "done"
    kept = {one.name: one.read_text() for one in (world.project / ".north/work/something/evidence").iterdir()}
    assert sorted(kept) == ["baseline.md", "c1.md", "review.md", "verify.md"]
    assert f"| `{CHECK}` | fails (1) | fails (1) |" in kept["baseline.md"]
    assert kept["c1.md"].startswith("# c1: made\n\n- met, ")
    assert f"- command: `{CHECK}`" in kept["c1.md"]
    assert '"verdict": "approve"' in kept["review.md"]


def package(id: str, *owns: str) -> dict[str, Any]:
    return {"id": id, "steps": [id], "owns": list(owns), "reads": [], "agent": "task"}


async def test_packages_are_worked_on_side_by_side_and_each_changes_only_what_it_owns(
    world: World, server: ModelServer
) -> None:
    first_commit(world.project)
    three = [package("a", "one/**"), package("b", "two/**"), package("c", "three.txt")]
    work = [task("task", f"DO-{id}", id=id, isolation="worktree") for id in "abc"]
    server.route(
        "I began the workflow",
        write("packages", three[:2]),
        write("packages", [*three[:2], package("c", "one/x.txt")]),
        write("packages", three),
        move("work"),
        tasks(task("task", "DO-a", id="a")),  # not in a tree of its own
        move("integrate"),  # nobody has worked
        tasks(*work),
        move("integrate"),
        move("done"),
        WELL,
    )
    for id, own_path in (("a", "one/made.txt"), ("b", "two/made.txt")):
        server.route(
            f"DO-{id}",
            answer(call("edit_create_file", path="three.txt", content="pwned\n")),
            answer(call("edit_create_file", path=own_path, content=f"{id}\n")),
            submit("Done."),
        )
    made = run("echo c > three.txt; echo pwned > one.txt")
    server.route("DO-c", made, submit("Done."))
    async with talking(world) as (client, session):

        async def decide(params: dict[str, Any]) -> dict[str, Any]:
            kind = params["toolCall"]["kind"]
            return {"outcome": {"outcome": "selected", "optionId": "run" if kind == "execute" else "accept"}}

        client.handlers["session/request_permission"] = decide
        assert await prompt(client, session, "/work start team Something") == "end_turn"
    everything = json.dumps([one.body["messages"] for one in server.requests])
    for words in (
        "2 packages are too few",
        "the packages a and c may own the same files",
        "a is a package: it needs isolation worktree",
        "no agent has worked on a, b, c",
        "this package owns other files",
        "one.txt: it is not among what the package owns",
    ):
        assert words in everything, words
    assert "| a | task | done |" in told(server)
    assert [(world.project / one).read_text() for one in ("one/made.txt", "two/made.txt", "three.txt")] == [
        "a\n",
        "b\n",
        "c\n",
    ]
    assert not (world.project / "one.txt").exists()


def options_of(world: World, slug: str) -> object:
    return state(world, slug)["data"]["options"]


UNSURE = HIGH | {"status": "assumed", "source": "the code", "confidence": "low"}


async def test_with_auto_nothing_is_asked_but_once_what_matters_and_is_not_sure(
    world: World, server: ModelServer
) -> None:
    ask = answer(call("ask", questions=[QUESTION]))
    server.script(
        move("explore"),
        write("unknowns", [HIGH]),
        move("question"),
        ask,  # not now
        move("draft"),
        write("unknowns", [HIGH | {"status": "assumed", "source": "the code"}]),
        move("draft"),  # how sure is that?
        write("unknowns", [UNSURE]),
        move("draft"),
        write("spec", SPEC),
        move("confirm"),
        move("done"),  # what is not sure is asked about first
        ask,
        ask,  # once
        move("done"),
        WELL,
    )
    async with talking(world) as (client, session):
        shown = answering(client, "0", "accept")
        await prompt(client, session, "/work start clarify A login page --auto")
    told_of = came(server)
    assert "Ask nothing on the way" in json.dumps(sent(server)[0][-1])
    assert "clarify is active (phase question, --auto): no rounds of questions are left in this phase" in told_of[3]
    assert "u1; take their defaults" in told_of[4]
    assert "say in `confidence` how sure that is" in told_of[6]
    assert "u1 are important and still uncertain" in told_of[11]
    assert "no rounds of questions are left in this phase" in told_of[13]
    assert len(shown) == 2
    assert options_of(world, "a-login-page") == ["auto"]
    assert state(world, "a-login-page")["phase"] == "done"


@pytest.mark.usefixtures("without_proxies")
async def test_research_looks_up_ten_things_and_names_its_sources(
    world: World, server: ModelServer, site: Site
) -> None:
    site.pages["/0"] = Page("There are two ways.", "text/plain")
    pages = [answer(call("web_fetch", url=f"{site.url}/{number}")) for number in range(11)]
    named = SPEC + "\n# Sources\n\n- https://example.org/login\n"
    server.script(move("explore"), *pages, write("unknowns", [KNOWN]), move("question"), move("draft"))
    server.script(write("spec", SPEC), move("confirm"), write("spec", named), move("confirm"), WELL)
    async with talking(world) as (client, session):
        answering(client, "run", *["deny"] * 9)
        await prompt(client, session, "/work start clarify A login page --research")
    told_of = came(server)
    assert "BLOCKED" not in told_of[10]
    assert "no web searches or fetches are left in this phase" in told_of[11]
    assert "lacks the heading Sources" in told_of[16]
    assert "phase **confirm**" in told_of[18]


async def test_research_that_found_nothing_names_no_sources(world: World, server: ModelServer) -> None:
    server.script(move("explore"), answer(call("web_fetch", url="http://127.0.0.1:9/")), write("unknowns", [KNOWN]))
    server.script(move("question"), move("draft"), write("spec", SPEC), move("confirm"), WELL)
    async with talking(world) as (client, session):
        answering(client, "deny")
        await prompt(client, session, "/work start clarify A login page --research")
    assert "phase **confirm**" in told(server)


async def test_a_new_project_is_researched_without_being_told(world: World, server: ModelServer) -> None:
    shutil.rmtree(world.project)
    world.project.mkdir()
    (world.project / "README.md").write_text("# To be\n")
    server.script(WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start clarify A login page")
    assert "at most 10 searches and fetches" in json.dumps(sent(server)[0][-1])
    assert options_of(world, "a-login-page") == ["research"]


async def test_a_resumed_workflow_has_the_options_that_it_was_begun_with(world: World, server: ModelServer) -> None:
    server.script(WELL, answer(call("ask", questions=[QUESTION])), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start clarify One thing --auto")
    async with talking(world) as (client, session):
        await prompt(client, session, "/work resume one-thing")
    assert "(phase intake, --auto): no rounds of questions are left in this phase" in came(server, 2)[0]


HIGHLY = {"file": "made.txt", "line": 1, "severity": "high", "text": "It is empty", "suggestion": "Fill it"}


async def test_work_follows_its_plan_and_is_compared_with_what_was_there(world: World, server: ModelServer) -> None:
    (world.project / "there.txt").write_text("x\n")
    there = "test -f there.txt"
    criteria = [{"text": "A1 made", "command": CHECK}, {"text": "A2 still there", "command": there}]
    spoil = run("mv there.txt gone.txt")
    fixed = run("mv gone.txt there.txt")
    server.script(
        goal("set", statement="It works", criteria=[MADE]),
        move("baseline"),  # A1 and A2 are in no criterion
        goal("set", statement="It works", criteria=criteria),
        move("baseline"),
        run(CHECK),
        run(there),
        move("work"),
        MAKE,
        spoil,
        move("verify"),
        run(CHECK),
        run(there),
        move("review"),  # it is worse than before
        fixed,
        run(CHECK),
        run(there),
        move("review"),
        tasks(task("reviewer", "Review it")),
        submit({"verdict": "request_changes", "findings": [HIGHLY]}),
        goal("evidence", id="c1"),
        goal("evidence", id="c2"),
        goal("complete"),
        move("done"),  # what was found is neither fixed nor explained
        move("done", "It is meant to be empty."),
        WELL,
    )
    plan = {"goal": "It is made", "steps": [STEP, STEP | {"id": "s2"}]}
    (left_behind(world, "something") / "plan.json").write_text(json.dumps(plan))
    async with talking(world, **{"todo.reminders": False}) as (client, session):
        answering(client, *["run", "run", "accept", *["run"] * 6])
        await prompt(client, session, "/work start execute-and-verify something")
        assert [row[0] for row in rows(plans(client)[-1])] == ["Make it"]
    everything = [json.dumps(one[-1]) for one in sent(server)]
    for words in (
        "no criterion of the goal names the acceptance criteria A1, A2",
        f"| `{CHECK}` | fails (1) | fails (1) |",
        f"passed before the work began, and fails now: {there}",
        f"| `{CHECK}` | fails (1) | passes |",
        "the reviewer found something of high severity",
    ):
        assert any(words in one for one in everything), words
    assert "The workflow is done." in told(server)
    kept = state(world, "something")
    assert kept["data"]["baseline"] == {CHECK: 1, there: 0}
    assert kept["history"][-1]["why"] == "It is meant to be empty."


async def test_a_check_that_failed_three_times_is_left_until_all_are_run_again(
    world: World, server: ModelServer
) -> None:
    tries = [run(CHECK)] * 4
    server.script(goal("set", statement="It works", criteria=[MADE]), move("baseline"), run(CHECK), move("work"))
    server.script(*tries, run("ls json"), move("verify"), answer(call("ask", questions=[QUESTION])), move("verify"))
    server.script(run(CHECK), WELL)
    async with talking(world) as (client, session):
        answering(client, *["run"] * 4, "0", *["run"] * 2)
        await prompt(client, session, "/work start execute-and-verify Something")
        told_work = [one["workflow"] for one in events(client) if one["event"] == "work_changed"]
        held = [one["held"] for one in told_work if "held" in one]
        assert [one["spent"] for one in held] == [[CHECK]]  # and changes are not held
    told_of = came(server)
    assert "BLOCKED" not in told_of[6]
    assert f"{CHECK} has failed too often" in told_of[7]
    assert "ask the user about it at the end" in told_of[7]
    assert "BLOCKED" not in told_of[8]
    assert f"{CHECK} failed 3 times: ask the user with `ask`" in told_of[9]
    assert "phase **verify**" in told_of[11]
    assert "BLOCKED" not in told_of[12]


def done(task: str) -> Any:
    return answer(call("todo", ops=[{"op": "done", "task": task}]))


async def test_a_step_is_done_only_when_its_check_has_passed_and_what_it_depends_on_is_done(
    world: World, server: ModelServer
) -> None:
    criteria = [{"text": "A1 made", "command": CHECK}, {"text": "A2 more", "command": "test -f more.txt"}]
    second = {**STEP, "id": "s2", "title": "Make more", "verify": "A1, A2", "dependsOn": ["s1"]}
    plan = {"goal": "It is made", "steps": [{**STEP, "verify": "A1"}, second]}
    (left_behind(world, "something") / "plan.json").write_text(json.dumps(plan))
    (world.project / ".north/work/something/spec.md").unlink()
    server.script(
        goal("set", statement="It works", criteria=criteria),
        move("baseline"),
        run(CHECK),
        run("test -f more.txt"),
        move("work"),
        done("Make more"),  # not before the other one
        done("Make it"),  # A1 is checked with the last step that names it
        answer(call("todo", ops=[{"op": "done"}])),
        MAKE,
        run("test -f more.txt"),
        done("Make more"),
        answer(call("edit_create_file", path="more.txt", content="x\n")),
        run(CHECK),
        run("test -f more.txt"),
        done("Make more"),
        answer(call("todo", ops=[{"op": "start", "task": "Make it"}, {"op": "drop", "task": "Make it"}])),
        move("verify"),
        WELL,
    )
    async with talking(world, **{"todo.reminders": False}) as (client, session):
        answering(client, "run", "run", "accept", "run", "accept", "run", "run")
        await prompt(client, session, "/work start execute-and-verify something")
        assert [row[1] for row in rows(plans(client)[-1])] == ["completed"]  # the other one was dropped
    told_of = came(server)
    assert "Make more: it depends on Make it, which is not done" in told_of[5]
    assert "Make more: its check `test -f more.txt` failed (1)" in told_of[5]
    assert "nothing was changed in the list" not in told_of[6]
    assert f"Make more: its check `{CHECK}` failed (1)" in told_of[7]
    assert f"its check `{CHECK}` was not run since the last change" in told_of[10]
    assert "nothing was changed in the list" not in told_of[14]
    assert state(world, "something")["data"]["dropped"] == ["Make it"]


async def test_packages_that_read_what_others_own_are_not_independent(world: World, server: ModelServer) -> None:
    three = [package("a", "one/**"), package("b", "two/**"), package("c", "three.txt")]
    three[2]["reads"] = ["one/x.py"]
    server.script(write("packages", three), write("packages", [*three[:2], three[2] | {"reads": ["../x"]}]), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start team Something")
    told_of = came(server)
    assert "c reads what a owns, so they are not independent" in told_of[0]
    assert "package 3: what it owns and reads is relative" in told_of[1]


async def test_a_package_comes_back_only_if_the_checks_pass_with_it(world: World, server: ModelServer) -> None:
    there, made = "! grep -q bad shared.txt one/*", "test -f one/made.txt"
    (world.project / "shared.txt").write_text("good\n")
    first_commit(world.project)
    three = [package("a", "one/**"), package("b", "two/**"), package("c", "three.txt")]
    three[0]["reads"] = ["shared.txt"]
    criteria = [{"text": "A1 good", "command": there}, {"text": "A2 made", "command": made}]
    work = tasks(*[task("task", f"DO-{id}", id=id, isolation="worktree") for id in "abc"])
    server.route(
        "I began the workflow",
        goal("set", statement="It works", criteria=criteria),
        write("packages", three),
        move("work"),
        work,
        move("integrate"),
        tasks(task("task", "AGAIN-a", id="a", isolation="worktree")),
        move("integrate"),
        run(there),
        run(made),
        move("done"),
        WELL,
    )

    def makes(path: str, content: str) -> list[Any]:
        return [answer(call("edit_create_file", path=path, content=content)), submit("Done.")]

    server.route("DO-a", *makes("one/made.txt", "bad\n"))
    server.route("DO-b", *makes("two/made.txt", "b\n"))
    server.route("DO-c", *makes("three.txt", "c\n"))
    server.route("AGAIN-a", *makes("one/made.txt", "good\n"))
    async with talking(world) as (client, session):
        seen: list[str] = []

        async def decide(params: dict[str, Any]) -> dict[str, Any]:
            kind = params["toolCall"]["kind"]
            seen.append(json.dumps(params))
            return {"outcome": {"outcome": "selected", "optionId": "run" if kind == "execute" else "accept"}}

        client.handlers["session/request_permission"] = decide
        assert await prompt(client, session, "/work start team Something") == "end_turn"
    everything = json.dumps([one.body["messages"] for one in server.requests])
    for words in (
        "Others work on other packages of the same plan beside you. Change only one/**",
        "What you depend on is shared.txt",
        "Checks fail with it, so none of it was proposed. Give the package to its agent once more",
        "a did not fit: give it to its agent once more",
        f"`{made}`: fails (1) in a work tree, with these changes and without them",
    ):
        assert words in everything, words
    assert (world.project / "one/made.txt").read_text() == "good\n"
    assert "| a | task | done | 2 |" in told(server)
    asked = [one for one in seen if "task (0-a)" in one and made in one]  # the checks are asked about under its name
    assert asked
    assert all("with changes of its files that you have not seen" in one for one in asked)
    assert not [*(world.folder / "state").rglob("worktrees/*")]


async def test_a_package_is_given_back_once(world: World, server: ModelServer) -> None:
    first_commit(world.project)
    again = tasks(task("task", "DO-a", id="a", isolation="worktree"))
    three = [package("a", "one/**"), package("b", "two/**"), package("c", "three.txt")]
    server.route("I began the workflow", write("packages", three), move("work"), again, again, again, WELL)
    server.route("DO-a", submit("Done."), submit("Done."), submit("Done."))
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start parallelize Something")
    assert "a was given to an agent 2 times" in told(server)


async def test_a_model_begins_a_workflow_only_if_the_user_agrees(world: World, server: ModelServer) -> None:
    start = answer(call("workflow", action="start", workflow="deep-interview", title="Something"))
    server.script(start, MAKE, WELL)
    async with talking(world) as (client, session):
        shown = answering(client, "no", "accept")
        await prompt(client, session, "Go")
    assert "Begin the workflow clarify for Something?" in shown[0]["toolCall"]["title"]
    assert "the user does not want a workflow" in came(server)[0]
    assert not (world.project / ".north").exists()


async def test_a_workflow_is_taken_up_listed_and_archived(world: World, server: ModelServer) -> None:
    server.script(WELL, WELL, MAKE, WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start clarify One thing")
        await prompt(client, session, "/work start clarify Another")
        assert "Clarify is active already" in texts(client)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work")
        assert "No workflow is active" in texts(client)
        assert "`one-thing`: clarify, intake. One thing" in texts(client)
        await prompt(client, session, "/work resume one-thing")
        await prompt(client, session, "Write")
        assert "BLOCKED: clarify is active (phase intake)" in json.dumps(came(server))
        assert len(state(world, "one-thing")["conversations"]) == 2
        await prompt(client, session, "/work stop")
        await prompt(client, session, "/work archive one-thing")
        client.updates.clear()
        await prompt(client, session, "/work")
        assert "one-thing" not in texts(client)


@pytest.mark.parametrize("end", [answer(call("workflow", action="stop")), move("abandoned")])
async def test_a_model_lifts_the_hold_only_if_the_user_agrees(world: World, server: ModelServer, end: Any) -> None:
    server.script(end, MAKE, end, MAKE, WELL)
    async with talking(world) as (client, session):
        shown = answering(client, "no", "end", "accept")
        await prompt(client, session, "/work start clarify Something")
    assert "End the workflow clarify in its phase intake?" in shown[0]["toolCall"]["title"]
    told_of = came(server)
    assert "the user does not want the workflow to end" in told_of[0]
    assert "BLOCKED: clarify is active" in told_of[1]
    assert (world.project / "made.txt").exists()


async def test_only_the_last_word_of_the_critic_counts(world: World, server: ModelServer) -> None:
    server.script(
        write("plan", {"goal": "It is made", "steps": [STEP]}),
        move("assess"),
        *challenged("approve"),
        tasks(task("critic", "Attack it")),
        submit({"verdict": "revise", "issues": ["A2?"]}),
        tasks(task("task", "Say it")),
        submit('"verdict": "approve"'),
        move("present"),
        WELL,
    )
    async with talking(world, **{"todo.reminders": False}) as (client, session):
        await prompt(client, session, "/work start plan Something")
    assert "the critic has not approved it" in told(server)


async def test_neither_the_baseline_nor_a_review_of_the_last_change_is_skipped(
    world: World, server: ModelServer
) -> None:
    review = [tasks(task("reviewer", "Review it")), submit({"verdict": "approve", "findings": []})]
    server.script(
        goal("set", statement="It works", criteria=[MADE]),
        move("blocked"),
        move("work"),
        run(CHECK),
        move("work"),
        move("verify"),
        move("review"),
        *review,
        MAKE,
        run(CHECK),
        goal("evidence", id="c1"),
        goal("complete"),
        move("done"),
        *review,
        move("done"),
        WELL,
    )
    async with talking(world) as (client, session):
        answering(client, "run", "accept", "run")
        await prompt(client, session, "/work start ultragoal Something")
    everything = [json.dumps(one[-1]) for one in sent(server)]
    assert any(f"not run yet: {CHECK}" in one for one in everything)
    assert any(
        "the agent reviewer has not done its part in this phase since the last change" in one for one in everything
    )
    assert "The workflow is done." in told(server)


async def test_conversations_that_are_no_list_count_as_none(world: World, server: ModelServer) -> None:
    folder = world.project / ".north/work/old"
    folder.mkdir(parents=True)
    known = {"version": 1, "slug": "old", "workflow": "clarify", "phase": "intake", "conversations": 5}
    (folder / "state.json").write_text(json.dumps(known))
    server.script(WELL, WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work resume old")
        assert len(state(world, "old")["conversations"]) == 1
        await prompt(client, session, "/work stop")
        (folder / "state.json").write_text(json.dumps(known))
        await prompt(client, session, "/work start clarify old")
        assert len(state(world, "old")["conversations"]) == 1


@pytest.mark.parametrize("broken", ["{", '{"history": 1}', "[]"])
async def test_a_broken_state_is_only_looked_at(world: World, server: ModelServer, broken: str) -> None:
    folder = world.project / ".north/work/old"
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(broken)
    (folder / "spec.md").write_text(SPEC)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work resume old")
        await prompt(client, session, "/work archive old")
        await prompt(client, session, "/work")
    assert texts(client).count("can only be looked at") == 3
    assert (folder / "state.json").read_text() == broken
    assert (folder / "spec.md").read_text() == SPEC


async def test_a_folder_that_leads_elsewhere_is_not_used(world: World, server: ModelServer) -> None:
    outside = world.folder / "outside"
    outside.mkdir()
    (world.project / ".north").mkdir()
    (world.project / ".north" / "work").symlink_to(outside)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start clarify Something")
        assert "outside" in texts(client)
    assert list(outside.iterdir()) == []
