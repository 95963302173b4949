"""Deciding on single hunks, on changed texts and with comments: the extension, against the real process."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Call, answer, call, say

OLD = "".join(f"line {number}\n" for number in range(1, 41))
NEW = OLD.replace("line 3\n", "third\n").replace("line 20\n", "twentieth\n").replace("line 38\n", "last but two\n")
Decide = Callable[[dict[str, Any]], dict[str, Any]]


class Reviewer:
    """`decide` makes `_meta.north` of the answer from the question's params."""

    def __init__(self, decide: Decide, choice: str = "accept") -> None:
        self.decide = decide
        self.choice = choice
        self.questions: list[dict[str, Any]] = []

    async def __call__(self, params: dict[str, Any]) -> dict[str, Any]:
        self.questions.append(params)
        outcome = {"outcome": "selected", "optionId": self.choice}
        return {"outcome": outcome, "_meta": {"north": self.decide(params)}}


@asynccontextmanager
async def session(world: World, reviewer: Reviewer, *, hunks: bool = True) -> AsyncIterator[tuple[RawAcpClient, str]]:
    (world.project / "a.txt").write_text(OLD)
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        client.handlers["session/request_permission"] = reviewer
        capabilities = {"_meta": {"north": {"hunks": hunks}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        yield client, made["sessionId"]


async def turn(client: RawAcpClient, id: str, server: ModelServer, *calls: Call) -> list[Any]:
    server.script(answer(*calls), answer(say("ok")))
    await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": "go"}]})
    content = server.requests[-1].body["messages"][-1]["content"]
    return [json.loads(part["content"]) for part in content]


def edit() -> tuple[Call, Call]:
    return call("read_file", path="a.txt"), call("edit_create_file", path="a.txt", content=NEW, overwrite=True)


def title_of(client: RawAcpClient, call: str) -> str:
    """The last title that the editor got of this call."""
    updates = (params["update"] for params in client.updates)
    return str([one["title"] for one in updates if one.get("toolCallId") == call and "title" in one][-1])


def chosen(*ids: str) -> Decide:
    return lambda params: {"hunks": {params["_meta"]["north"]["files"][0]["path"]: list(ids)}}


async def test_a_client_that_opted_in_is_told_the_hunks(world: World, server: ModelServer) -> None:
    reviewer = Reviewer(chosen("h1", "h2", "h3"))
    async with session(world, reviewer) as (client, id):
        await turn(client, id, server, *edit())
        (file,) = reviewer.questions[0]["_meta"]["north"]["files"]
        assert (file["path"], file["kind"]) == (str(world.project / "a.txt"), "update")
        assert [hunk["id"] for hunk in file["hunks"]] == ["h1", "h2", "h3"]
        assert file["hunks"][1] == {"id": "h2", "oldStart": 17, "oldLines": 7, "newStart": 17, "newLines": 7}
    assert (world.project / "a.txt").read_text() == NEW


async def test_a_client_that_did_not_is_not(world: World, server: ModelServer) -> None:
    reviewer = Reviewer(lambda params: {})
    async with session(world, reviewer, hunks=False) as (client, id):
        await turn(client, id, server, *edit())
        assert list(reviewer.questions[0]["_meta"]["north"]) == ["question"]


async def test_some_hunks_are_applied_and_the_model_knows_which(world: World, server: ModelServer) -> None:
    async with session(world, Reviewer(chosen("h3", "h1"))) as (client, id):
        read, edited = edit()
        _, result = await turn(client, id, server, read, edited)
        assert title_of(client, edited.id) == "Creating a.txt in part (+2/-2)"
    assert (world.project / "a.txt").read_text() == NEW.replace("twentieth", "line 20")
    data = result["data"]
    assert (data["applied"], data["partial"]) == (True, True)
    assert [place.split(" ")[0] for place in data["acceptedHunks"]] == ["a.txt", "a.txt"]
    assert [hunk["header"] for hunk in data["rejectedHunks"]] == ["a.txt @@ -17,7 +17,7 @@"]
    assert "+twentieth\n" in data["rejectedHunks"][0]["text"]
    assert (data["files"][0]["linesAdded"], data["files"][0]["linesRemoved"]) == (2, 2)
    assert data["files"][0]["region"]["content"].startswith("line 1\nline 2\nthird\n")


@pytest.mark.parametrize("meta", [{"hunks": {}}, {"hunks": {"PATH": []}}])
async def test_no_hunk_at_all_is_a_rejection(world: World, server: ModelServer, meta: dict[str, Any]) -> None:
    path = str(world.project / "a.txt")
    named = json.loads(json.dumps(meta).replace("PATH", path))
    async with session(world, Reviewer(lambda params: {**named, "comment": "not like this"})) as (client, id):
        _, result = await turn(client, id, server, *edit())
    assert result["data"] == {"applied": False, "reason": "rejected", "comment": "not like this"}
    assert (world.project / "a.txt").read_text() == OLD


async def test_a_text_that_the_user_changed_is_applied_and_the_model_sees_how(
    world: World, server: ModelServer
) -> None:
    mine = NEW.replace("twentieth", "the twentieth")
    path = str(world.project / "a.txt")
    async with session(world, Reviewer(lambda params: {"texts": {path: mine}, "comment": "articles!"})) as (client, id):
        _, result = await turn(client, id, server, *edit())
    assert (world.project / "a.txt").read_text() == mine
    data = result["data"]
    assert data["comment"] == "articles!"
    (changed,) = data["changedByUser"]
    assert changed["path"] == "a.txt"
    assert "-twentieth\n+the twentieth\n" in changed["diff"]


async def test_a_rejection_carries_the_comment(world: World, server: ModelServer) -> None:
    async with session(world, Reviewer(lambda params: {"comment": "  use a loop  "}, "reject")) as (client, id):
        _, result = await turn(client, id, server, *edit())
    assert result["data"] == {"applied": False, "reason": "rejected", "comment": "use a loop"}


@pytest.mark.parametrize(
    "meta",
    [
        {"hunks": {"PATH": ["h9"]}},
        {"hunks": {"/etc/passwd": []}},
        {"hunks": ["h1"]},
        {"hunks": {"PATH": "h1"}},
        {"texts": {"/etc/passwd": "x"}},
        {"texts": {"PATH": 5}},
        {"texts": []},
    ],
)
async def test_a_malformed_decision_writes_nothing(world: World, server: ModelServer, meta: dict[str, Any]) -> None:
    path = str(world.project / "a.txt")
    named = json.loads(json.dumps(meta).replace("PATH", path))
    async with session(world, Reviewer(lambda params: named)) as (client, id):
        _, result = await turn(client, id, server, *edit())
    assert result["data"] == {"applied": False, "reason": "rejected"}
    assert (world.project / "a.txt").read_text() == OLD


async def test_in_a_batch_every_file_is_decided_for_itself(world: World, server: ModelServer) -> None:
    (world.project / "b.txt").write_text("b\n")
    (world.project / "gone.txt").write_text("gone\n")
    edits = [
        {"tool": "edit_create_file", "args": {"path": "a.txt", "content": NEW, "overwrite": True}},
        {"tool": "edit_create_file", "args": {"path": "new.txt", "content": "new"}},
        {"tool": "edit_move_file", "args": {"from": "b.txt", "to": "deep/c.txt"}},
        {"tool": "edit_delete_file", "args": {"path": "gone.txt"}},
    ]
    root = world.project

    def decide(params: dict[str, Any]) -> dict[str, Any]:
        files = params["_meta"]["north"]["files"]
        kinds = {file["path"]: (file["kind"], len(file["hunks"])) for file in files}
        assert kinds == {
            str(root / "a.txt"): ("update", 3),
            str(root / "new.txt"): ("create", 1),
            str(root / "deep/c.txt"): ("rename", 0),
            str(root / "gone.txt"): ("delete", 1),
        }
        assert next(file["oldPath"] for file in files if file["kind"] == "rename") == str(root / "b.txt")
        return {"hunks": {str(root / "a.txt"): ["h2"], str(root / "deep/c.txt"): [], str(root / "new.txt"): []}}

    reviewer = Reviewer(decide)
    async with session(world, reviewer) as (client, id):
        batch = call("edit_apply_batch", edits=edits)
        _, result = await turn(client, id, server, call("read_file", path="a.txt"), batch)
        assert title_of(client, batch.id) == "Applying 4 edits, without new.txt and gone.txt (+1/-1)"
    shown = reviewer.questions[0]["toolCall"]["content"]
    assert {
        part["path"]: part.get("_meta", {}).get("north", {}).get("kind") for part in shown if part["type"] == "diff"
    } == {
        str(root / "a.txt"): None,
        str(root / "new.txt"): None,
        str(root / "deep/c.txt"): "rename",
        str(root / "gone.txt"): "delete",
    }
    assert (root / "a.txt").read_text() == OLD.replace("line 20", "twentieth")
    assert not (root / "new.txt").exists()
    assert not (root / "b.txt").exists()
    assert (root / "deep/c.txt").read_text() == "b\n"
    assert (root / "gone.txt").exists()
    rejected = [hunk["header"].split(" ")[0] for hunk in result["data"]["rejectedHunks"]]
    assert rejected == ["a.txt", "a.txt", "new.txt", "gone.txt"]
    assert [(file["path"], file.get("action")) for file in result["data"]["files"]] == [
        ("a.txt", None),
        ("deep/c.txt", "rename"),
    ]


async def test_checkpoints_are_listed_shown_undone_and_done_again(world: World, server: ModelServer) -> None:
    path = world.project / "a.txt"
    async with session(world, Reviewer(lambda params: {})) as (client, id):
        await turn(client, id, server, *edit())
        listed = (await client.request("_north/checkpoints/list", {"sessionId": id}))["checkpoints"]
        assert [(row["kind"], [file["undone"] for file in row["files"]]) for row in listed] == [("edit", [False])]
        checkpoint = listed[0]["checkpointId"]
        shown = await client.request("_north/checkpoints/diff", {"sessionId": id, "checkpointId": checkpoint})
        assert "+twentieth\n" in shown["files"][0]["diff"]

        path.write_text(NEW.replace("line 30\n", "thirtieth\n"))
        dry = {"sessionId": id, "steps": 1, "dryRun": True}
        planned = await client.request("_north/checkpoints/restore", dry)
        assert [file["outcome"] for file in planned["files"]] == ["merged"]
        assert "twentieth" in path.read_text()
        await client.request("_north/checkpoints/restore", {"sessionId": id, "checkpointId": checkpoint})
        assert path.read_text() == OLD.replace("line 30\n", "thirtieth\n")
        listed = (await client.request("_north/checkpoints/list", {"sessionId": id}))["checkpoints"]
        assert [(row["kind"], [file["undone"] for file in row["files"]]) for row in listed] == [
            ("edit", [True]),
            ("undo", [False]),
        ]
        await client.request("_north/checkpoints/restore", {"sessionId": id, "redo": 1})
        assert path.read_text() == NEW.replace("line 30\n", "thirtieth\n")

        path.write_text(NEW.replace("twentieth", "the user's own"))
        stuck = await client.request("_north/checkpoints/restore", {"sessionId": id, "turnId": listed[0]["turnId"]})
        assert [file["outcome"] for file in stuck["files"]] == ["conflict"]
        assert "discard" in stuck["files"][0]["detail"]
        assert stuck["changed"] == []
        lost = {"sessionId": id, "turnId": listed[0]["turnId"], "conflicts": "overwrite", "paths": [str(path)]}
        assert (await client.request("_north/checkpoints/restore", lost))["files"][0]["outcome"] == "overwritten"
        assert path.read_text() == OLD

        server.script(answer(say("ok")))
        await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": "go on"}]})
        assert "undid or redid" in json.dumps(server.requests[-1].body["messages"][-1])


async def test_the_comment_reaches_the_model_also_when_nothing_could_be_written(
    world: World, server: ModelServer
) -> None:
    path = world.project / "a.txt"

    def decide(params: dict[str, Any]) -> dict[str, Any]:
        path.write_text(OLD.replace("line 3\n", "theirs\n"))
        return {"comment": "and rename the rest"}

    async with session(world, Reviewer(decide)) as (client, id):
        _, result = await turn(client, id, server, *edit())
    assert result["error"]["code"] == "STALE"
    assert result["error"]["details"]["comment"] == "and rename the rest"


async def test_the_comment_reaches_the_model_after_a_stop(world: World, server: ModelServer) -> None:
    async with session(world, Reviewer(lambda params: {"stop": True, "comment": "wrong file"}, "reject")) as (
        client,
        id,
    ):
        server.script(answer(*edit()), answer(say("ok")))
        ask = {"sessionId": id, "prompt": [{"type": "text", "text": "go"}]}
        assert (await client.request("session/prompt", ask))["stopReason"] == "cancelled"
        await client.request("session/prompt", ask)
    assert "the user stopped here and said: wrong file" in json.dumps(server.requests[-1].body["messages"])


async def test_folders_are_described_in_words_and_the_model_is_told(world: World, server: ModelServer) -> None:
    (world.project / "old/inner").mkdir(parents=True)
    edits = [
        {"tool": "edit_move_file", "args": {"from": "old/inner", "to": "new/inner"}},
        {"tool": "edit_delete_file", "args": {"path": "old"}},
    ]
    reviewer = Reviewer(lambda params: {})
    async with session(world, reviewer) as (client, id):
        (told,) = await turn(client, id, server, call("edit_apply_batch", edits=edits))
        (question,) = reviewer.questions
        words = [part["content"]["text"] for part in question["toolCall"]["content"]]
        assert words == ["Moves the empty folder old/inner to new/inner", "Deletes the empty folder old"]
        rows = [(file["kind"], file["hunks"]) for file in question["_meta"]["north"]["files"]]
        assert rows == [("rename", []), ("delete", [])]
        assert told["data"]["files"] == [
            {"path": "new/inner", "action": "rename", "from": "old/inner", "folder": True},
            {"path": "old", "action": "delete", "folder": True},
        ]
        listed = (await client.request("_north/checkpoints/list", {"sessionId": id}))["checkpoints"]
        assert [file["folder"] for file in listed[0]["files"]] == [True, True]
        restored = await client.request("_north/checkpoints/restore", {"sessionId": id, "steps": 1})
        assert [file["outcome"] for file in restored["files"]] == ["restored"] * 3
        assert (world.project / "old/inner").is_dir()
        assert not (world.project / "new").exists()
        (told,) = await turn(client, id, server, call("edit_delete_file", path="old"))
        assert told["error"]["code"] == "CONFLICT"
        assert "in it: inner" in told["error"]["message"]


async def test_accepting_nothing_for_the_session_switches_nothing_on(world: World, server: ModelServer) -> None:
    reviewer = Reviewer(lambda params: {"hunks": {}, "scope": "session"})
    async with session(world, reviewer) as (client, id):
        _, told = await turn(client, id, server, *edit())
        assert told["data"] == {"applied": False, "reason": "rejected"}
        await turn(client, id, server, edit()[1])
    assert len(reviewer.questions) == 2


def _shown(client: RawAcpClient) -> list[Any]:
    """The differences that finished calls were shown with."""
    ended = [params["update"] for params in client.updates if params["update"].get("status") == "completed"]
    return [part for update in ended for part in update.get("content") or () if part.get("type") == "diff"]


@pytest.mark.parametrize("how", ["hunks", "texts"])
async def test_a_replay_shows_what_was_accepted(world: World, server: ModelServer, how: str) -> None:
    def decide(params: dict[str, Any]) -> dict[str, Any]:
        path = params["_meta"]["north"]["files"][0]["path"]
        return {"hunks": {path: ["h2"]}} if how == "hunks" else {"texts": {path: OLD + "mine\n"}}

    async with session(world, Reviewer(decide)) as (client, id):
        await turn(client, id, server, *edit())
        live = _shown(client)
    now = (world.project / "a.txt").read_text()
    assert [part["newText"] for part in live] == [now]
    assert now not in (OLD, NEW)
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        assert [part["newText"] for part in _shown(client)] == [now]
