"""Chat, edit, create, command and cancel with clients of many habits; and what they are asked, in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_file_blocks import shown_calls
from tests.end_to_end.world import World
from tests.support.foreign import Habits, foreign
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, gate, say

HABITS = {
    "plain": Habits(),
    "empty for a missing file": Habits(missing="empty"),
    "null for a missing file": Habits(missing="null"),
    "a final newline": Habits(remakes=lambda text: text.rstrip("\n") + "\n"),
    "formats on write": Habits(remakes=lambda text: text.replace("=", " = ")),
    "one key for a kind": Habits(by_kind=True),
    "answers with the kind": Habits(answers_kind=True),
    "authenticates first": Habits(authenticates=True),
    "answers late": Habits(delay=0.15),
    "writes to its buffer alone": Habits(saves=False),
    "reads only": Habits(writes=False),
    "writes only": Habits(reads=False),
    "nothing but a chat": Habits(reads=False, writes=False),
    "never confirms a write": Habits(ignores=frozenset({"fs/write_text_file"})),
}


@pytest.mark.parametrize("name", [name for name in HABITS if name != "never confirms a write"])
async def test_a_whole_conversation(world: World, server: ModelServer, name: str) -> None:
    (world.project / "a.py").write_text("x=1\n")
    server.script(
        answer(say("Hello.")),
        answer(call("read_file", path="a.py")),
        answer(call("edit_replace_exact", path="a.py", old="x=1", new="x=2")),
        answer(call("edit_create_file", path="new.py", content="y=1\n")),
        answer(call("shell_run", command="cat a.py; echo ran")),
        answer(say("Done.")),
        answer(say("going", chunks=1), gate("never")),
    )
    async with foreign(world, HABITS[name]) as client:
        assert (await client.prompt("Hi"))["stopReason"] == "end_turn"
        assert (await client.prompt("Work"))["stopReason"] == "end_turn"
        assert "Hello." in client.said()
        assert "Done." in client.said()
        saved = (world.project / "a.py").read_text()
        if name == "writes to its buffer alone":
            assert saved == "x=1\n"
            assert client.buffers[world.project / "a.py"] == "x=2\n"
            assert "not saved" in json.dumps(client.questions[-1])
        else:
            assert saved.replace(" ", "") == "x=2\n"
        assert (world.project / "new.py").read_text().replace(" ", "") == "y=1\n"
        assert "ran" in json.dumps(server.requests[-1].body["messages"])
        running = await client.raw.start_request(
            "session/prompt", {"sessionId": client.session, "prompt": [{"type": "text", "text": "Go on"}]}
        )
        await client.raw.wait_update(lambda update: "going" in json.dumps(update))
        await client.raw.notify("session/cancel", {"sessionId": client.session})
        assert (await client.raw.answer(running))["stopReason"] == "cancelled"


def options(question: dict[str, Any]) -> dict[str, str]:
    """The names of the options by their kinds, of which there is one each."""
    kinds = [option["kind"] for option in question["options"]]
    assert len(set(kinds)) == len(kinds)
    return {option["kind"]: option["name"] for option in question["options"]}


async def test_a_client_that_does_not_know_north_gets_one_option_of_a_kind(world: World, server: ModelServer) -> None:
    async with foreign(world, Habits(by_kind=True, capabilities={"terminal": True})) as client:
        client.presses = ["allow_always", "allow_once", "allow_always"]
        for command in ("touch a", "touch b", "touch c"):
            server.script(answer(call("shell_run", command=command)))
        create = {"path": "d.txt", "content": "d\n"}
        server.script(answer(call("edit_create_file", **create)), answer(say("ok")))
        await client.prompt("Go")
        assert [options(question) for question in client.questions[:3]] == [
            {"allow_once": "Run", "allow_always": "Always run this command", "reject_once": "Deny"}
        ] * 3
        assert options(client.questions[3]) == {
            "allow_once": "Accept",
            "allow_always": "Accept this and all later edits in this project",
            "reject_once": "Reject",
        }
        listed = await client.raw.request("_north/permissions/list", {"sessionId": client.session})
        allowed = [row["allows"] for row in listed["permissions"]]
        assert len(allowed) == 2
        assert "touch a" in allowed[0]
        assert "touch c" in allowed[1]
        assert "scope" not in json.dumps(client.questions)


async def test_what_was_decided_by_kind_is_shown_alike_when_it_is_loaded(world: World, server: ModelServer) -> None:
    async with foreign(world, Habits(answers_kind=True)) as client:
        for command in ("touch a", "touch b", "touch c", "touch c"):
            server.script(answer(call("shell_run", command=command)))
        for path in ("d.txt", "e.txt"):
            server.script(answer(call("edit_create_file", path=path, content="d\n")))
        server.script(answer(say("ok")))
        client.presses = ["allow_once", "reject_once", "allow_always", "allow_once", "reject_once"]
        await client.prompt("Go")
        assert client.presses == []
        made = {path.name for path in world.project.iterdir()} & {"a", "b", "c", "d.txt", "e.txt"}
        assert made == {"a", "c", "d.txt"}
        live = shown_calls(client.raw)
        session = {"sessionId": client.session}
        await client.raw.request("session/close", session)
        client.raw.updates.clear()
        where = {"cwd": str(world.project), "mcpServers": []}
        await client.raw.request("session/load", session | where)
        assert shown_calls(client.raw) == live
        assert [status for _, status in live].count("failed") == 2


async def test_a_client_that_knows_north_gets_all_of_them_with_their_scope(world: World, server: ModelServer) -> None:
    async with foreign(world, Habits(capabilities={"terminal": True, "_meta": {"north": {}}})) as client:
        server.script(answer(call("shell_run", command="git status")), answer(say("ok")))
        await client.prompt("Go")
        (question,) = client.questions
        scopes = {one["optionId"]: one.get("_meta", {}).get("north", {}).get("scope") for one in question["options"]}
        assert list(scopes) == ["run", "terminal", "always", "rule", "all", "deny"]
        assert scopes["run"] is scopes["deny"] is None
        assert scopes["always"] == "exactly this command, in this project"
        assert "git" in str(scopes["rule"])
        assert str(scopes["all"]).startswith("every command in this project")
        assert question["_meta"]["north"]["question"] == {"kind": "command", "text": 'Run "git status"?'}


@pytest.mark.parametrize("chosen", ["all", "rule", "terminal", "session", "", "ALLOW", "allow_always", "run"])
async def test_an_option_that_was_not_offered_refuses(world: World, server: ModelServer, chosen: str) -> None:
    async with foreign(world) as client:
        client.presses = [chosen if chosen != "allow_always" else "always "]
        server.script(answer(call("shell_run", command="touch made")), answer(say("ok")))
        await client.prompt("Go")
        assert not (world.project / "made").exists()
        listed = await client.raw.request("_north/permissions/list", {"sessionId": client.session})
        assert listed["permissions"] == []


KNOWING = Habits(capabilities={"_meta": {"north": {}}})
SHAPES: list[tuple[str, dict[str, Any], str, str]] = [
    ("edit_delete_file", {"path": "gone.txt"}, "Delete gone.txt (3 lines)", "delete"),
    ("edit_delete_file", {"path": "bin.dat"}, "Delete bin.dat (a file that is not text)", "delete"),
    ("edit_delete_file", {"path": "empty"}, "Delete the folder empty", "delete"),
    ("edit_move_file", {"from": "gone.txt", "to": "there.txt"}, "Move gone.txt to there.txt", "move"),
    ("edit_create_file", {"path": "new.txt", "content": "a\n"}, "Create new.txt (1 line)", "edit"),
    ("edit_create_file", {"path": "deep/in/new.txt", "content": "a\n"}, "Create deep/in/new.txt (1 line)", "edit"),
]


@pytest.mark.parametrize("knows", [False, True])
@pytest.mark.parametrize(("tool", "arguments", "words", "kind"), SHAPES)
async def test_every_edit_is_asked_about_in_words(
    world: World, server: ModelServer, tool: str, arguments: dict[str, Any], words: str, kind: str, knows: bool
) -> None:
    (world.project / "gone.txt").write_text("1\n2\n3\n")
    (world.project / "bin.dat").write_bytes(b"\0\1\2")
    (world.project / "empty").mkdir()
    async with foreign(world, KNOWING if knows else Habits()) as client:
        server.script(answer(call(tool, **arguments)), answer(say("ok")))
        await client.prompt("Go")
        (question,) = client.questions
        asked = question["_meta"]["north"]["question"] if knows else None
        assert asked == ({"kind": "edit", "text": f"{words}?"} if knows else None)
        assert question["toolCall"]["kind"] == kind
        if kind != "edit" or not knows:
            assert question["toolCall"]["title"] == words
        if kind != "edit":
            assert [part for part in question["toolCall"]["content"] if part["type"] == "content"]
        named = str(arguments.get("path", arguments.get("from")))
        assert (Path(named).name if knows else named) in question["toolCall"]["title"]


async def test_a_batch_names_its_files(world: World, server: ModelServer) -> None:
    for name in ("a.txt", "b.txt"):
        (world.project / name).write_text("one\n")
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": "a.txt", "old": "one", "new": "1"}},
        {"tool": "edit_delete_file", "args": {"path": "b.txt"}},
        {"tool": "edit_create_file", "args": {"path": "c.txt", "content": "c\n"}},
    ]
    async with foreign(world) as client:
        server.script(answer(call("read_file", path="a.txt")), answer(call("edit_apply_batch", edits=edits)))
        server.script(answer(say("ok")))
        await client.prompt("Go")
        (question,) = client.questions
        assert question["toolCall"]["title"] == "Edit a.txt; delete b.txt; create c.txt (+2/-2)"


@pytest.mark.parametrize("habits", [Habits(by_kind=True), KNOWING])
async def test_the_question_about_a_limit_is_no_command(world: World, server: ModelServer, habits: Habits) -> None:
    (world.folder / "config" / "config.json").write_text('{"cost.sessionLimitUsd": 0.0000001}')
    async with foreign(world, habits) as client:
        server.script(answer(say("one")), answer(say("two")))
        await client.prompt("Go")
        client.presses = ["reject_once"]
        await client.prompt("Go on")
        (question,) = client.questions
        names = options(question)
        assert [*names] == ["allow_once", "allow_always", "reject_once"]
        assert names["allow_once"] == "Continue this turn"
        assert names["allow_always"].startswith("Raise the limit to")
        ids = [option["optionId"] for option in question["options"]]
        assert ids == (["continue", "raise", "end"] if habits is KNOWING else [*names])
        assert question["toolCall"]["title"].endswith("Continue?")
        asked = question.get("_meta", {}).get("north", {}).get("question")
        assert asked == ({"kind": "choice", "text": question["toolCall"]["title"]} if habits is KNOWING else None)


async def test_a_choice_among_many_is_confirmed_by_a_client_with_one_key_for_a_kind(
    world: World, server: ModelServer
) -> None:
    async with foreign(world, Habits(by_kind=True)) as client:
        client.presses = ["allow_once", "reject_once"]
        await client.prompt("/provider add")
        first, second = client.questions
        assert len(first["options"]) > 3
        assert second["toolCall"]["title"].startswith(first["toolCall"]["title"])
        assert first["options"][-2]["name"] in second["toolCall"]["title"]
        assert options(second) == {"allow_once": f"Yes: {first['options'][-2]['name']}", "reject_once": "No"}
    assert not (world.folder / "config" / "models.yml").exists()


@pytest.mark.parametrize("knows", [False, True])
async def test_the_first_title_says_what_is_run_or_read(world: World, server: ModelServer, knows: bool) -> None:
    """For clients that show that one only; one that knows North sees a call as soon as it is named."""
    capabilities: dict[str, Any] = {"_meta": {"north": {}}} if knows else {}
    (world.project / "a.py").write_text("x=1\n")
    async with foreign(world, Habits(capabilities=capabilities)) as client:
        server.script(
            answer(call("read_file", path="a.py")),
            answer(call("shell_run", command="echo hello", description="greets")),
            answer(call("edit_replace_exact", path="a.py", old="x=1", new="x=2")),
            answer(say("ok")),
        )
        await client.prompt("Go")
        calls = [params["update"] for params in client.raw.updates if params["update"].get("toolCallId")]
        first = {update["toolCallId"]: update for update in reversed(calls)}
        assert all(update["sessionUpdate"] == "tool_call" for update in first.values())
        titles = [update["title"] for update in calls if update["sessionUpdate"] == "tool_call"]
        named = ["Reading a.py", "Running echo hello", "Editing a.py"]
        assert titles == (["Reading …", "Running …", "Editing …"] if knows else named)
        assert len(first) == len(titles)


async def test_a_call_that_is_cancelled_before_it_has_a_title_is_named_and_ended(
    world: World, server: ModelServer
) -> None:
    async with foreign(world) as client:
        server.script(answer(say("well", chunks=1), call("shell_run", command="echo hello"), gate("never")))
        running = await client.raw.start_request(
            "session/prompt", {"sessionId": client.session, "prompt": [{"type": "text", "text": "Go"}]}
        )
        await client.raw.wait_update(lambda update: "well" in json.dumps(update))
        await client.raw.notify("session/cancel", {"sessionId": client.session})
        assert (await client.raw.answer(running))["stopReason"] == "cancelled"
        calls = [params["update"] for params in client.raw.updates if params["update"].get("toolCallId")]
        assert [update["sessionUpdate"] for update in calls[:1]] in ([], ["tool_call"])
        assert not calls or calls[-1]["status"] == "failed"


async def test_an_edit_is_where_its_first_changed_line_is(world: World, server: ModelServer) -> None:
    (world.project / "a.py").write_text("".join(f"x{number} = {number}\n" for number in range(1, 9)))
    edit = call("edit_replace_exact", path="a.py", old="x6 = 6", new="x6 = 7")
    create = call("edit_create_file", path="b.py", content="y\n")
    server.script(answer(call("read_file", path="a.py")), answer(edit), answer(create), answer(say("Done.")))
    async with foreign(world) as client:
        await client.prompt("Work")
        asked = [question["toolCall"]["locations"] for question in client.questions]
        updates = [params["update"] for params in client.raw.updates]
        read, *ended = [update["locations"] for update in updates if update.get("status") == "completed"]
    a, b = ([{"path": str(world.project / name), "line": line}] for name, line in (("a.py", 6), ("b.py", 1)))
    assert asked == ended == [a, b]
    assert read != a
