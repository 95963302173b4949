"""What is shown live is what is shown when the conversation is loaded."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.end_to_end.test_faults import configure
from tests.end_to_end.world import make_world
from tests.support.client import RpcFailure
from tests.support.model_server import ModelServer
from tests.support.recorded import (
    COLOR,
    GAP,
    NO_EVAL,
    PLAN,
    RECORDED,
    SETTINGS,
    TODO,
    Stage,
    asked,
    block,
    hunks,
    option,
    replace,
    shell,
    stage,
    stopped,
    tasks,
    texts,
    todo,
)
from tests.support.script import Answer, Call, Cut, Fail, Gate, Say, Stop, StreamError, answer, call, say, think
from tests.support.shown import shown

Verdict = Callable[[dict[str, Any]], dict[str, Any]]


async def live_and_replayed(on: Stage) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    live = shown(on.client.updates)
    await on.ask("session/close")
    on.client.updates.clear()
    await on.ask("session/load", cwd=str(on.world.project), mcpServers=[])
    return live, shown(on.client.updates)


@pytest.mark.parametrize("name", RECORDED)
async def test_a_conversation_looks_the_same_when_it_is_loaded(tmp_path: Path, server: ModelServer, name: str) -> None:
    world = make_world(tmp_path / "world", server.url)
    configure(world, **SETTINGS)
    async with stage(world, server) as on:
        await RECORDED[name](on)
        live, replayed = await live_and_replayed(on)
    assert replayed == live


async def test_what_was_merged_with_a_change_meanwhile_is_shown_as_it_was_written(
    tmp_path: Path, server: ModelServer
) -> None:
    world = make_world(tmp_path / "world", server.url)
    async with stage(world, server) as on:
        on.write("many.py", FILE)
        on.verdicts = [verdict("late")]
        edit = replace("many.py", "ITEM = 1", "X")
        await on.say("Go", answers=(answer(call("read_file", path="many.py")), answer(edit), answer(say("Done."))))
        live, replayed = await live_and_replayed(on)
    (diff,) = next(row["content"] for row in live if row.get("name") == "edit_replace_exact")
    assert diff["newText"].endswith("# later\n")
    assert replayed == live


async def test_that_it_was_stopped_and_waited_is_there_when_it_is_loaded(tmp_path: Path, server: ModelServer) -> None:
    world = make_world(tmp_path / "world", server.url)
    configure(world, **SETTINGS)
    server.may_refuse = True
    async with stage(world, server) as on:
        busy = answer(Fail(529, "overloaded_error", "overloaded"))
        await on.say("Anybody?", answers=(busy, busy, answer(say("I am."))))
        on.server.script(answer(Say("At last", 1), Gate("here")))
        await cancelled(on)
        on.server.drop()
        live, replayed = await live_and_replayed(on)
    waits = [
        row["_meta"]["north"]["retry"]["kind"] for row in replayed if str(row.get("toolCallId")).startswith("retry-")
    ]
    assert set(waits) == {"overloaded"}
    stops = [row["notice"]["title"] for row in replayed if "notice" in row]
    assert stops == ["Stopped."]
    assert replayed == live


async def test_goals_and_workflows_look_the_same_when_the_conversation_is_loaded(
    tmp_path: Path, server: ModelServer
) -> None:
    world = make_world(tmp_path / "world", server.url)
    configure(world, **SETTINGS)
    goals, work = ([answer(call(name, **one)) for one in rows] for name, rows in (("goal", GOALS), ("workflow", WORK)))
    async with stage(world, server) as on:
        await on.say("/goal set # It works\n- said: `echo hi`\n- it is tidy")
        on.verdicts = [verdict("accept")]
        made = answer(call("edit_create_file", path="one.txt", content="a\n"))
        await on.say(
            "Go", answers=(goals[0], answer(shell("echo hi")), *goals[1:], made, goals[3], answer(say("Well.")))
        )
        await on.say("/goal confirm c2")
        await on.say("/work start clarify it --auto", answers=(*work[2:5], answer(say("Well."))))
        await on.say("/work stop")
        await on.say("Again", answers=(work[1], work[3], work[5], answer(say("Well."))))
        live, replayed = await live_and_replayed(on)
    titles = [row.get("title") for row in live]
    assert "Goal: 2 of 2 criteria met, complete" in titles
    assert replayed == live


# -- any conversation --------------------------------------------------------------------------------------------------

FILE = "".join(f"ITEM = {number}\n{GAP}" for number in range(4))
LITTLE = st.sampled_from(["", "a\n", "a\nb\n", "no end", "ü\n"])
NAMES = st.sampled_from(["many.py", "one.txt", "../out.txt", "new/two.txt"])
RENAME = st.builds(lambda: replace("many.py", "ITEM", "X", 4))
GOALS: list[dict[str, Any]] = [
    {"action": "set", "statement": "It works", "criteria": [{"text": "said", "command": "echo hi"}, {"text": "tidy"}]},
    {"action": "evidence", "id": "c1"},
    {"action": "evidence", "id": "c2", "text": "seen"},
    {"action": "complete"},
]
WORK: list[dict[str, Any]] = [
    {"action": "start", "workflow": "clarify", "title": "It"},
    {"action": "start", "workflow": "ultragoal", "title": "It"},
    {"action": "move", "to": "explore"},
    {"action": "move", "to": "baseline"},
    {"action": "write", "document": "unknowns", "content": "[]"},
    {"action": "stop"},
]
PARTS = st.one_of(
    st.builds(say, st.sampled_from(["Words. ", "<b>", "one\ntwo\n", "🙂"]), st.integers(1, 3)),
    st.builds(think, st.sampled_from(["hm", "a\nb"])),
    st.builds(lambda old: replace("many.py", old, "X"), st.sampled_from(["ITEM = 1", "ITEM = 2", "nowhere"])),
    RENAME,
    RENAME,
    RENAME,
    st.builds(lambda path, text: call("edit_create_file", path=path, content=text), NAMES, LITTLE),
    st.builds(lambda path: call("read_file", path=path), NAMES),
    st.builds(lambda path: call("edit_delete_file", path=path), NAMES),
    st.builds(shell, st.sampled_from(["echo hi", "false", "seq 1 90", "echo x > one.txt", "cat nothing"])),
    st.builds(lambda path, text, end: say(block(path, text, end=end), 4), NAMES, LITTLE, st.booleans()),
    st.just(call("no_such_tool", a=1)),
    st.just(call("shell_run", command="echo up; exit 3", background=True)),
    st.builds(todo, st.sampled_from([TODO, {"op": "done", "task": "a"}, {"op": "start", "task": "?"}])),
    st.just(asked(COLOR)),
    st.just(call("write_plan", content=PLAN)),
    st.just(call("exit_plan_mode", summary="So.")),
    st.builds(lambda change: call("goal", **change), st.sampled_from(GOALS)),
    st.builds(lambda wanted: call("workflow", **wanted), st.sampled_from(WORK)),
)
TASKS = st.builds(lambda agent: tasks({"agent": agent, "prompt": "Do it"}), st.sampled_from(["task", "explore", "?"]))
ENDS = st.sampled_from([(), (), (), (Cut(),), (Stop("max_tokens"),), (StreamError("overloaded_error", "busy"),)])
ANSWERS = st.one_of(
    st.builds(lambda parts, end: answer(*parts, *end), st.lists(PARTS, min_size=1, max_size=4), ENDS),
    st.builds(lambda parts, end: answer(*parts, *end), st.lists(PARTS, min_size=1, max_size=4), ENDS),
    st.builds(answer, TASKS),
    st.just(answer(call("submit_result", result="Done.", summary="It is done."))),
    st.just(answer(Fail(529, "overloaded_error", "overloaded"))),
    st.just(answer(Fail(400, "invalid_request_error", "no"))),
)
VERDICTS = st.sampled_from(["accept", "h1", "h2", "h1 h3", "h1 h3", "none", "mine", "late", "reject", "stop"])
PROMPTS = st.sampled_from(
    [
        "Go",
        "Go",
        "Go",
        "Go",
        "!echo mine",
        "!!false",
        "/checkpoint here",
        "/undo",
        "/plan on",
        "/plan off",
        "/todo done a",
        "/redo",
        "/goal set # It works\n- said: `echo hi`",
        "/goal drop",
        "/work start clarify it",
        "/work stop",
        "/x",
        "/summarize --keep-last 1",
        "/summarize --keep-last 0",
    ]
)
TURNS = st.lists(
    st.tuples(PROMPTS, st.lists(ANSWERS, max_size=3), st.lists(VERDICTS, max_size=4), st.booleans()),
    min_size=1,
    max_size=3,
)


def change_meanwhile(params: dict[str, Any]) -> None:
    """The file is changed while its edit is looked at, in lines that the edit leaves alone."""
    for diff in params["toolCall"]["content"]:
        if diff["type"] == "diff" and (path := Path(diff["path"])).is_file():
            path.write_text(path.read_text() + "# later\n")


def verdict(name: str) -> Verdict:
    def chosen(params: dict[str, Any]) -> dict[str, Any]:
        is_edit = any(one["optionId"] == "accept" for one in params["options"])
        match name:
            case "stop":
                return stopped(params)
            case _ if not is_edit and not any(one["optionId"] == "run" for one in params["options"]):
                return option(params["options"][0]["optionId"])(params)  # a question of the model's, or a plan
            case "reject":
                return option("reject" if is_edit else "deny", comment="no")(params)
            case _ if not is_edit or name == "accept":
                return option("accept" if is_edit else "run")(params)
            case "late":
                change_meanwhile(params)
                return option("accept")(params)
            case "mine":
                return texts(lambda text: text + "mine\n")(params)
            case _:
                return hunks(*name.split())(params)

    return chosen


async def cancelled(on: Stage) -> None:
    """Cancelled where the model is held, if it comes to that."""
    request = await on.start("Go")
    ended = asyncio.ensure_future(on.client.answer(request))
    said = asyncio.ensure_future(on.client.wait_update(lambda update: "At last" in str(update.get("content"))))
    await asyncio.wait([ended, said], return_when=asyncio.FIRST_COMPLETED)
    await on.client.notify("session/cancel", {"sessionId": on.session})
    said.cancel()
    with suppress(RpcFailure):
        await ended


def has_work_done(one: Answer) -> bool:
    """Tell whether an agent would be held in the model's place."""
    return any(isinstance(part, Call) and part.name == "task" for part in one.parts)


async def play(folder: Path, turns: list[tuple[str, list[Answer], list[str], bool]]) -> None:
    with ModelServer() as server:
        server.may_refuse = True
        world = make_world(folder / "world", server.url)
        configure(world, **SETTINGS)
        async with stage(world, server) as on:
            on.write(".north/rules/stops.md", NO_EVAL.replace("eval\\(", "no end").format("scope: tool"))
            on.write(".north/rules/later.md", NO_EVAL.replace("eval\\(", "one").format("interrupt: false"))
            for typed, answers, verdicts, stops in turns:
                on.write("many.py", FILE)
                on.verdicts = [verdict(name) for name in verdicts]
                is_cancelled = stops and typed == "Go" and not any(map(has_work_done, answers))
                held = [answer(Say("At last", 1), Gate("here"))] if is_cancelled else []
                on.server.script(
                    answer(call("read_file", path="many.py")), *answers, *held, *[answer(Say("Done."))] * 20
                )
                if is_cancelled:
                    await cancelled(on)
                else:
                    await on.say(typed)
                on.server.drop()
            live, replayed = await live_and_replayed(on)
    assert replayed == live


@settings(max_examples=25)
@given(TURNS)
def test_any_conversation_looks_the_same_when_it_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[str, list[Answer], list[str], bool]]
) -> None:
    asyncio.run(play(tmp_path_factory.mktemp("any"), turns))
