"""Going back in a conversation: what the model gets next, what becomes of files, what clients are shown, copies."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_faults import each_api, entries, opened, prompt, sent, serve, texts
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Gate, Say, Think, answer, call
from tests.support.selecting import selected

NORTH = {"events": True}


@asynccontextmanager
async def talk(world: World, model: str | None = None) -> AsyncIterator[tuple[RawAcpClient, str]]:
    """A client that knows North and accepts every edit."""

    async def accept(params: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": {"outcome": "selected", "optionId": "accept"}}

    async with inside(world.environ, model, NORTH) as client:
        client.handlers["session/request_permission"] = accept
        yield client, await opened(client, world)


def edit(path: str, old: str, new: str) -> Answer:
    return answer(call("edit_replace_exact", path=path, old=old, new=new))


def write(world: World, name: str, text: str) -> Path:
    path = world.project / name
    path.write_text(text)
    return path


def events(client: RawAcpClient, name: str) -> list[dict[str, Any]]:
    told = [message["params"] for _, message in client.transcript if message.get("method") == "_north/event"]
    return [params for params in told if params["event"] == name]


def prompts(client: RawAcpClient) -> list[str]:
    """The ids of the prompts, as their turns told them."""
    return [event["turnId"] for event in events(client, "turn_start")]


def shown(client: RawAcpClient) -> list[tuple[str, str]]:
    """What a client shows: who said what, since the last reset."""
    lines = [message for sender, message in client.transcript if sender == "agent"]
    resets = [at for at, line in enumerate(lines) if line.get("params", {}).get("event") == "transcript_reset"]
    rows: list[tuple[str, str]] = []
    for line in lines[resets[-1] if resets else 0 :]:
        update = line.get("params", {}).get("update", {})
        kind = str(update.get("sessionUpdate"))
        if kind.endswith("_message_chunk"):
            rows.append((kind.partition("_")[0], update["content"]["text"]))
        elif kind == "tool_call":
            rows.append(("call", update["toolCallId"]))
    return rows


async def rewind(client: RawAcpClient, session: str, entry: str, **more: Any) -> dict[str, Any]:
    return dict(await client.request("_north/sessions/rewind", {"sessionId": session, "entryId": entry, **more}))


async def two_edits(client: RawAcpClient, server: ModelServer, session: str) -> None:
    """Two turns, each with an edit of `a.py`."""
    done = answer(Say("Done."))
    read = answer(call("read_file", path="a.py"))
    server.script(read, edit("a.py", "one", "1"), done, edit("a.py", "two", "2"), done)
    for text in ("Change one", "Change two"):
        assert await prompt(client, session, text) == "end_turn"


TEXT = "one\n" + "#\n" * 9 + "two\n"


async def test_the_model_gets_what_came_before_and_the_new_prompt(world: World, server: ModelServer) -> None:
    write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        before = len(server.requests[2].body["messages"])
        gone = await rewind(client, session, prompts(client)[1])
        assert gone["moved"]
        assert gone["prompt"] == text_blocks("Change two")
        assert gone["unrestored"] == ["a.py"]
        assert shown(client)[0] == ("user", "Change one")
        assert ("user", "Change two") not in shown(client)
        server.script(answer(Say("Right.")))
        assert await prompt(client, session, "Change three") == "end_turn"
        asked = server.requests[-1].body["messages"]
        assert len(asked) == before + 2
        assert "Change two" not in json.dumps(asked)
        (said,) = [text for role, text in sent(server)[-1][-1:] if role == "user"]
        assert said.endswith("Change three")
        assert "The user went back to this point of the conversation; since then, these files changed: a.py" in said
        # The next one is not told again.
        server.script(answer(Say("Right.")))
        await prompt(client, session, "And four")
        assert sent(server)[-1][-1] == ("user", "And four")


async def test_files_go_back_to_how_they_were(world: World, server: ModelServer) -> None:
    path = write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        first, second = prompts(client)
        planned = await rewind(client, session, second, what="both", dryRun=True)
        assert planned["files"] == [{"path": "a.py", "outcome": "restored"}]
        assert path.read_text() == TEXT.replace("one", "1").replace("two", "2")
        gone = await rewind(client, session, second, what="both")
        assert gone["files"] == [{"path": "a.py", "outcome": "restored"}]
        assert "unrestored" not in gone
        assert path.read_text() == TEXT.replace("one", "1")
        server.script(answer(Say("Right.")))
        await prompt(client, session, "Change three")
        assert sent(server)[-1][-1] == ("user", "Change three")  # nothing has changed for the model
        # Forth again, on the branch that was left, and the files with it.
        nodes = (await client.request("_north/sessions/tree", {"sessionId": session}))["nodes"]
        left = [node["id"] for node in nodes if node["text"] == "Done." and not node["onPath"]]
        gone = await rewind(client, session, left[-1], what="both")
        assert gone["moved"]
        assert gone["prompt"] == []
        assert path.read_text() == TEXT.replace("one", "1").replace("two", "2")
        assert ("user", "Change two") in shown(client)
        # Files alone: the conversation stays.
        gone = await rewind(client, session, first, what="files")
        assert not gone["moved"]
        assert path.read_text() == TEXT
        server.script(answer(Say("I see.")))
        await prompt(client, session, "Look")
        assert "undid or redid changes to these files: a.py" in sent(server)[-1][-1][1]


async def test_what_somebody_else_changed_stays_unless_the_user_insists(world: World, server: ModelServer) -> None:
    path, other = write(world, "a.py", TEXT), write(world, "b.py", "b = 1\n")
    async with talk(world) as (client, session):
        done = answer(Say("Done."))
        read = answer(call("read_file", path="a.py"), call("read_file", path="b.py"))
        server.script(read, edit("a.py", "one", "1"), edit("b.py", "1", "2"), done)
        await prompt(client, session, "Change both")
        path.write_text(TEXT.replace("one", "mine"))
        (first,) = prompts(client)
        gone = await rewind(client, session, first, what="both")
        outcomes = {file["path"]: file["outcome"] for file in gone["files"]}
        assert outcomes == {"a.py": "conflict", "b.py": "restored"}
        assert "mine" in path.read_text()
        assert other.read_text() == "b = 1\n"
        gone = await rewind(client, session, first, what="files", conflicts="overwrite")
        assert path.read_text() == TEXT


async def test_it_is_the_same_after_loading_it_elsewhere(world: World, server: ModelServer) -> None:
    write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        chosen = {"sessionId": session, "configId": "model", "value": "anthropic/claude-haiku-4-5-20251001"}
        await client.request("session/set_config_option", chosen)
        await client.request("session/set_mode", {"sessionId": session, "modeId": "ask"})
        await rewind(client, session, prompts(client)[1])
        live = shown(client)
        state = await client.request("_north/state/get", {"sessionId": session})
        assert (state["mode"], state["model"]) == ("ask", chosen["value"])  # what the user chose last stays
        assert state["cost"]["amount"] > 0
    async with inside(world.environ, None, NORTH) as client:
        where = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
        await client.request("session/load", where)
        assert shown(client) == live
        again = await client.request("_north/state/get", {"sessionId": session})
        assert {key: again[key] for key in ("mode", "model", "cost", "messageCount")} == {
            key: state[key] for key in ("mode", "model", "cost", "messageCount")
        }
        server.script(answer(Say("Right.")))
        await prompt(client, session, "Change three")
        assert "since then, these files changed: a.py" in sent(server)[-1][-1][1]
        assert "Change two" not in json.dumps(server.requests[-1].body["messages"])


async def test_what_was_spent_on_a_branch_that_was_left_is_spent(world: World, server: ModelServer) -> None:
    async with talk(world) as (client, session):
        server.script(answer(Say("One.")), answer(Say("Two.")))
        await prompt(client, session, "first")
        await prompt(client, session, "second")
        before = await client.request("_north/state/get", {"sessionId": session})
        await rewind(client, session, prompts(client)[0])
        after = await client.request("_north/state/get", {"sessionId": session})
        assert after["cost"] == before["cost"]
        assert after["context"]["used"] == 0


async def test_the_last_thing_that_the_user_said_is_gone_to_before_and_any_other_is_here(
    world: World, server: ModelServer
) -> None:
    async with talk(world) as (client, session):

        async def leaf() -> tuple[str, str]:
            nodes = (await client.request("_north/sessions/tree", {"sessionId": session}))["nodes"]
            (here,) = [node for node in nodes if node.get("isLeaf")]
            return here["id"], here["role"]

        server.script(answer(Say("Right.")))
        await prompt(client, session, "Go on")
        said, role = await leaf()
        assert role == "assistant"
        told = len(client.transcript)
        gone = await rewind(client, session, said)
        assert (gone["moved"], gone["prompt"]) == (False, [])
        assert not [one for _, one in client.transcript[told:] if "transcript_reset" in json.dumps(one)]
        await prompt(client, session, "!echo mine")
        mine, _ = await leaf()
        assert mine != said
        gone = await rewind(client, session, mine)
        assert (gone["moved"], gone["prompt"]) == (True, text_blocks("!echo mine"))
        assert await leaf() == (said, "assistant")


async def test_a_message_of_an_extension_is_gone_to_before_and_its_text_comes_back(
    world: World, server: ModelServer
) -> None:
    """North writes none, but logs that were imported have them."""
    server.script(answer(Say("One.")), answer(Say("Two.")), answer(Say("Three.")))
    async with talk(world) as (client, session):
        await prompt(client, session, "First")
        leaf = entries(world)[-1]["id"]
    (log,) = world.data.glob("conversations/*.jsonl")
    line = {"type": "custom_message", "id": "c0ffee01", "parentId": leaf, "content": "Deploys are frozen."}
    with log.open("a") as file:
        file.write(json.dumps(line) + "\n")
    async with inside(world.environ, north=NORTH) as client:
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        assert shown(client)[-1] == ("agent", "\n\nDeploys are frozen.\n\n")
        await prompt(client, session, "Second")
        assert "Deploys are frozen." in json.dumps(server.requests[-1].body)
        gone = await rewind(client, session, "c0ffee01")
        assert (gone["moved"], gone["prompt"]) == (True, text_blocks("Deploys are frozen."))
        await prompt(client, session, "Third")
        assert "Deploys are frozen." not in json.dumps(server.requests[-1].body)
        assert "First" in json.dumps(server.requests[-1].body)


async def test_it_is_refused_while_a_turn_runs_and_for_unknown_places(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")), answer(Say("Working"), Gate("here")))
    async with talk(world) as (client, session):
        await prompt(client, session, "first")
        (first,) = prompts(client)
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("second")})
        await server.reached("here")
        where = {"sessionId": session, "cwd": str(world.project)}
        for method, params in (("_north/sessions/rewind", {"entryId": first}), ("session/fork", where)):
            with pytest.raises(RpcFailure, match="a turn is running: wait for it to end, or cancel it") as refused:
                await client.request(method, {"sessionId": session, **params})
            assert refused.value.code == -32600
        # A branch disturbs nothing.
        branched = await client.request("_north/sessions/branch", {"sessionId": session, "entryId": first})
        assert branched["prompt"] == text_blocks("first")
        server.open("here")
        await client.answer(request)
        for params, said in (
            ({"entryId": "lost"}, "there is no entry 'lost' in this conversation"),
            ({"entryId": first, "what": "all"}, "what must be conversation, files or both"),
            ({"entryId": first, "conflicts": "maybe"}, "conflicts must be skip, overwrite or merge"),
        ):
            with pytest.raises(RpcFailure, match=said):
                await client.request("_north/sessions/rewind", {"sessionId": session, **params})
        assert ("user", "first") not in shown(client)  # the client itself showed it: nothing was shown anew


@each_api
async def test_requests_are_valid_wherever_it_goes_on(world: World, server: ModelServer, api: str) -> None:
    """From each entry in turn: in the middle of calls, after thoughts, at the root."""
    write(world, "a.py", TEXT)
    serve(world, api, server.url)
    summarize(world)
    two = answer(Think("Hm."), Say("Both."), call("read_file", path="a.py"), call("find_files", pattern="*.py"))
    server.script(two, edit("a.py", "one", "1"), answer(Say("Done.")))
    async with talk(world, "there/m-1:high") as (client, session):
        await prompt(client, session, "Change one")
        await prompt(client, session, "!echo mine")
        asked = {"sessionId": session, "filter": "all"}
        nodes = (await client.request("_north/sessions/tree", asked))["nodes"]
        assert len(nodes) >= 8
        summaries = 0
        for number, node in enumerate(nodes):
            offered = (await rewind(client, session, node["id"], dryRun=True)).get("offersSummary", False)
            if offered and number % 3:  # also one summary after another, and before any prompt
                server.script(answer(Say(f"Summary {number}.")))
                gone = await rewind(client, session, node["id"], summarize=True)
                assert gone["summarized"]
                summaries += 1
            else:
                gone = await rewind(client, session, node["id"])
                assert "summarized" not in gone
            server.script(answer(Say(f"Answer {number}.")))
            assert await prompt(client, session, f"Question {number}") == "end_turn"
            assert sent(server)[-1][-1][1].endswith(f"Question {number}")
            if gone.get("summarized"):
                assert f"Summary {number}." in json.dumps(server.requests[-1].body)
        assert summaries >= 4
        assert len({node["id"] for node in (await client.request("_north/sessions/tree", asked))["nodes"]}) > len(nodes)


# -- summaries of what is left behind ---------------------------------------------------------------------------------


def summarize(world: World) -> None:
    (world.folder / "config" / "config.json").write_text('{"branchSummary": {"enabled": true}}')


async def test_what_is_left_behind_is_summarized_for_the_model_that_goes_on(world: World, server: ModelServer) -> None:
    write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        (_, second) = prompts(client)
        old = [one for one in entries(world) if "parentId" in one][-1]["id"]
        server.script(answer(Say("Changing **two** did not help.")))
        gone = await rewind(client, session, second, summarize=True, instructions="Name the files")
        assert (gone["moved"], gone["summarized"]) == (True, True)
        asked = server.requests[-1].body
        assert "haiku" in asked["model"]
        assert "tools" not in asked
        words = json.dumps(asked["messages"])
        assert "Programmer: Change two" in words
        assert "edit_replace_exact" in words
        assert "Change one" not in words
        assert "The programmer wants of the summary: Name the files" in words
        (summary,) = [one for one in entries(world) if one["type"] == "branch_summary"]
        assert summary["fromId"] == old
        assert summary["summary"] == "Changing **two** did not help."
        assert summary["details"] == {"modifiedFiles": ["a.py"]}
        (used,) = [one for one in entries(world) if one["type"] == "usage_recorded"]
        assert (used["purpose"], used["cost"] > 0) == ("branch_summary", True)
        assert "**Summary of the branch that was left**" in texts(client)
        live = shown(client)
        assert any("Changing **two** did not help." in text for _, text in live)
        tree = (await client.request("_north/sessions/tree", {"sessionId": session}))["nodes"]
        assert [node["text"] for node in tree if node["kind"] == "branch_summary"] == ["Changing **two** did not help."]
        server.script(answer(Say("Right.")))
        await prompt(client, session, "Change three")
        roles = [(role, text) for role, text in sent(server)[-1]]
        (told,) = [text for role, text in roles if role == "user" and "did not help" in text]
        assert "The user went back to this point" in told
        assert "<modified-files>\na.py\n</modified-files>" in told
        assert roles[-1][1].endswith("Change three")
        assert not any("Change two" in text for _, text in roles)
    async with inside(world.environ, None, NORTH) as client:
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        assert shown(client)[: len(live)] == live
        server.script(answer(Say("Again.")))
        await prompt(client, session, "Go on")
        before, after = (request.body["messages"] for request in server.requests[-2:])
        assert json.dumps(after).startswith(json.dumps(before[:-1])[:-1])


async def test_without_a_summary_nothing_moves(world: World, server: ModelServer) -> None:
    path = write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        (_, second) = prompts(client)
        now, before = path.read_text(), entries(world)
        where = {"sessionId": session, "entryId": second, "what": "both"}
        for params, said in (
            ({"summarize": "yes"}, "summarize must be true or false"),
            ({"instructions": "short"}, "instructions are for a summary"),
        ):
            with pytest.raises(RpcFailure, match=said):
                await client.request("_north/sessions/rewind", {**where, **params})
        server.script(answer(Say(" \n ")))
        with pytest.raises(RpcFailure, match="there is no summary, so the conversation has not moved") as refused:
            await client.request("_north/sessions/rewind", {**where, "summarize": True})
        assert refused.value.code == -32600
        for cancel in ("$/cancel_request", "session/cancel"):
            server.script(answer(Say("Hm"), Gate(cancel)))
            asking = await client.start_request("_north/sessions/rewind", {**where, "summarize": True})
            await server.reached(cancel)
            which: dict[str, Any] = {"requestId": asking} if cancel.startswith("$") else {"sessionId": session}
            await client.notify(cancel, which)
            with pytest.raises(RpcFailure) as refused:
                await client.answer(asking)
            assert refused.value.code == (-32800 if cancel.startswith("$") else -32600)
            server.open(cancel)
        assert path.read_text() == now
        assert [one for one in entries(world) if one["type"] != "usage_recorded"] == before
        # Where nothing was said, there is nothing to summarize, and nothing is asked of a model.
        requests = len(server.requests)
        tree = (await client.request("_north/sessions/tree", {"sessionId": session, "filter": "all"}))["nodes"]
        last = next(node for node in reversed(tree) if node["kind"] == "message")
        await client.request("session/set_mode", {"sessionId": session, "modeId": "ask"})
        gone = await rewind(client, session, last["id"], summarize=True)
        assert (gone["moved"], "summarized" in gone, len(server.requests)) == (True, False, requests)


async def test_no_model_no_summary(world: World) -> None:
    async with inside({**world.environ, "ANTHROPIC_API_KEY": ""}, "offline", NORTH) as client:
        session = await opened(client, world)
        await prompt(client, session, "list files")
        (first,) = prompts(client)
        with pytest.raises(RpcFailure, match="cannot write a summary: choose another model, or go back without one"):
            await rewind(client, session, first, summarize=True)
        assert (await rewind(client, session, first))["moved"]


async def test_a_slash_command_asks_if_the_user_wants_that(world: World, server: ModelServer) -> None:
    summarize(world)
    asked: list[str] = []
    async with conversation(world) as (client, session):

        async def type_(text: str, option: str = "") -> str:
            async def permit(params: dict[str, Any]) -> dict[str, Any]:
                asked.append(params["toolCall"]["title"])
                return selected(params, option)

            client.handlers["session/request_permission"] = permit
            client.updates.clear()
            await prompt(client, session, text)
            return texts(client)

        server.script(*(answer(Say(f"{word}.")) for word in ("One", "Two", "Three")))
        for text in ("first", "second", "third"):
            await prompt(client, session, text)
        assert "The conversation has not moved." in await type_("/rewind 3", "stay")
        assert "The conversation continues from before this prompt" in await type_("/rewind 3", "none")
        server.script(answer(Say("Two was said.")))
        said = await type_("/rewind 2", "summarize")
        assert "**Summary of the branch that was left**\n\nTwo was said." in said
        assert "a summary of what was left behind; you can read it in the chat" in said
        assert len(asked) == 3
        server.script(answer(Say("One was said.")))
        assert "One was said." in await type_("/rewind 1 conversation summarize in one word")
        assert "The programmer wants of the summary: in one word" in json.dumps(server.requests[-1].body["messages"])
        assert "Two was said." in json.dumps(server.requests[-1].body["messages"])
        assert len(asked) == 3
        assert "Files alone leave nothing" in await type_("/rewind 1 files summarize")


async def test_attachments_come_back_with_the_prompt(world: World, server: ModelServer) -> None:
    path = write(world, "a.py", TEXT)
    blocks = [
        *text_blocks("Look at these"),
        {"type": "resource_link", "uri": path.as_uri(), "name": "a.py"},
        {"type": "resource_link", "uri": f"{path.as_uri()}#L1-L3", "name": "a.py"},
        {"type": "resource", "resource": {"uri": "terminal output", "text": "$ make\nfailed\n"}},
    ]
    server.script(answer(Say("Yes.")), answer(Say("Yes.")))
    async with talk(world) as (client, session):
        await client.request("session/prompt", {"sessionId": session, "prompt": blocks})
        gone = await rewind(client, session, prompts(client)[0])
        assert gone["prompt"] == blocks
        (reset,) = events(client, "transcript_reset")
        assert reset["prompt"] == []  # whoever asked has it by the answer
        await client.request("session/prompt", {"sessionId": session, "prompt": gone["prompt"]})
        first, again = (request.body["messages"] for request in server.requests)
        assert first == again


async def test_a_steered_prompt_is_a_place_too(world: World, server: ModelServer) -> None:
    server.script(
        answer(Say("Reading."), Gate("here"), call("read_file", path="json/decoder.py")),
        answer(Say("Only that, then.")),
    )
    async with talk(world) as (client, session):
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Compare")})
        await server.reached("here")
        steer = await client.start_request("_north/steer", {"sessionId": session, "prompt": text_blocks("One only")})
        await client.request("_north/costs/get", {"sessionId": session})
        server.open("here")
        assert await client.answer(steer) == {"delivered": True}
        await client.answer(request)
        (said,) = [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "user_message_chunk"]
        gone = await rewind(client, session, said["messageId"])
        assert gone["prompt"] == text_blocks("One only")
        server.script(answer(Say("Both, then.")))
        await prompt(client, session, "Both")
        assert [role for role, _ in sent(server)[-1]] == ["user", "assistant", "user", "user"]


# -- copies ------------------------------------------------------------------------------------------------------------


async def test_a_fork_goes_on_beside_the_original(world: World, server: ModelServer) -> None:
    write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        told = len(client.updates)
        where = {"cwd": str(world.project), "mcpServers": []}
        copy = await client.request("session/fork", {"sessionId": session, **where})
        assert copy["sessionId"] != session
        assert copy["modes"]["currentModeId"] == "agent"
        await client.wait_update(lambda update: update["sessionUpdate"] == "available_commands_update")
        assert not any("chunk" in row["update"]["sessionUpdate"] for row in client.updates[told:])  # nothing replayed
        server.script(answer(Say("There.")), answer(Say("Here.")))
        await prompt(client, copy["sessionId"], "In the copy")
        await prompt(client, session, "In the original")
        ours, theirs = (json.dumps(request.body["messages"]) for request in server.requests[-2:])
        assert "Change two" in ours
        assert "Change two" in theirs
        assert "In the copy" not in theirs
        rows = (await client.request("session/list"))["sessions"]
        assert {row["sessionId"]: row["title"] for row in rows} == {
            session: "Change one",
            copy["sessionId"]: "Fork: Change one",
        }
        # One that is not open is copied as well.
        await client.request("session/close", {"sessionId": session})
        other = await client.request("session/fork", {"sessionId": session, **where})
        await client.request("session/load", {"sessionId": other["sessionId"], **where})
        assert texts(client).count("Here.") == 2
        with pytest.raises(RpcFailure) as refused:
            await client.request("session/fork", {"sessionId": "nobody", **where})
        assert refused.value.code == -32002


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_fork_for_another_project_goes_on_there(world: World, server: ModelServer, is_open: bool) -> None:
    other = world.folder / "other"
    other.mkdir()
    (other / "only-here.txt").write_text("a")
    async with talk(world) as (client, session):
        server.script(answer(Say("One.")), answer(Say("Two.")), answer(Say("Three.")))
        await prompt(client, session, "first")
        if not is_open:
            await client.request("session/close", {"sessionId": session})
        where = {"cwd": str(other), "mcpServers": []}
        refusal = "open with other folders" if is_open else "is not the project .* `session/fork` copies it"
        with pytest.raises(RpcFailure, match=refusal):
            await client.request("session/load", {"sessionId": session, **where})
        copy = (await client.request("session/fork", {"sessionId": session, **where}))["sessionId"]
        found = await client.request("_north/paths/complete", {"sessionId": copy, "query": "only"})
        assert "only-here.txt" in str(found)
        await prompt(client, copy, "second")
        assert sent(server)[-1] == [("user", "first"), ("assistant", "One."), ("user", "second")]
        assert str(other) in json.dumps(server.requests[-1].body["system"])
        for folder, id in ((other, copy), (world.project, session)):
            rows = (await client.request("session/list", {"cwd": str(folder)}))["sessions"]
            assert [row["sessionId"] for row in rows] == [id]
        if not is_open:
            await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        await prompt(client, session, "third")
        assert [text for role, text in sent(server)[-1] if role == "user"] == ["first", "third"]


async def test_a_fork_that_cannot_be_opened_leaves_nothing(world: World, server: ModelServer) -> None:
    async with talk(world) as (client, session):
        server.script(answer(Say("One.")))
        await prompt(client, session, "first")
        for where in ({"cwd": "/no/such/folder"}, {"cwd": str(world.project), "additionalDirectories": ["relative"]}):
            with pytest.raises(RpcFailure):
                await client.request("session/fork", {"sessionId": session, **where})
        assert len((await client.request("session/list"))["sessions"]) == 1


async def test_a_branch_has_what_came_before_a_prompt(world: World, server: ModelServer) -> None:
    write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        first, second = prompts(client)
        await client.request("_north/sessions/label", {"sessionId": session, "entryId": first, "label": " the\nstart "})
        branched = await client.request("_north/sessions/branch", {"sessionId": session, "entryId": second})
        assert branched["prompt"] == text_blocks("Change two")
        where = {"cwd": str(world.project), "mcpServers": []}
        client.updates.clear()
        await client.request("session/load", {"sessionId": branched["sessionId"], **where})
        assert texts(client) == "Done."
        nodes = (await client.request("_north/sessions/tree", {"sessionId": branched["sessionId"]}))["nodes"]
        assert [node.get("label") for node in nodes if node.get("role") == "user"] == ["the start"]
        server.script(answer(Say("Right.")))
        await prompt(client, branched["sessionId"], "Change three")
        asked = json.dumps(server.requests[-1].body["messages"])
        assert "Change one" in asked
        assert "Change two" not in asked
        empty = await client.request("_north/sessions/branch", {"sessionId": session, "entryId": first})
        await client.request("session/load", {"sessionId": empty["sessionId"], **where})
        server.script(answer(Say("New.")))
        await prompt(client, empty["sessionId"], "Something else")
        assert sent(server)[-1] == [("user", "Something else")]
        answered = next(node["id"] for node in nodes if node.get("role") == "assistant")
        with pytest.raises(RpcFailure, match="a branch begins at one of the user's messages"):
            await client.request("_north/sessions/branch", {"sessionId": session, "entryId": answered})


# -- slash commands, also for clients that know nothing of this --------------------------------------------------------


async def test_slash_commands_do_it_for_every_client(world: World, server: ModelServer) -> None:
    path = write(world, "a.py", TEXT)
    async with conversation(world) as (client, session):

        async def accept(params: dict[str, Any]) -> dict[str, Any]:
            return selected(params, "accept")

        client.handlers["session/request_permission"] = accept
        await two_edits(client, server, session)

        async def type_(text: str) -> str:
            client.updates.clear()
            assert await prompt(client, session, text) == "end_turn"
            return texts(client)

        listed = await type_("/rewind")
        assert "1. Change one\n2. Change two\n" in listed
        assert "is labeled **before the second**" in await type_("/label before the second")
        tree = await type_("/tree no-tools")
        assert "you: Change two" in tree
        assert "[before the second]" in tree
        assert "There is no prompt 7: there are 2" in await type_("/rewind 7")
        assert "A label has at most 60 characters" in await type_(f"/label {'x' * 61}")
        assert "Usage: `/rewind [number]" in await type_("/rewind 2 everything")
        gone = await type_("/rewind 2 both")
        assert "The conversation continues from before this prompt" in gone
        assert "- `a.py`: restored" in gone
        assert "```\nChange two\n```" in gone
        assert path.read_text() == TEXT.replace("one", "1")
        updates = [row["update"]["sessionUpdate"] for row in client.updates]
        assert "user_message_chunk" not in updates  # what it has shown cannot be taken back
        server.script(answer(Say("Right.")))
        await type_("Change three")
        assert [text for role, text in sent(server)[-1] if role == "user" and text.startswith("Change")] == [
            "Change one",
            "Change three",
        ]
        assert "No entry" not in await type_("/label")
        for text, relation in (("/branch 2", "branch"), ("/fork", "fork")):
            said = await type_(text)
            (id,) = [
                header["id"]
                for header in entries(world)
                if header.get("parentSession", {}).get("relation") == relation and f"`{header['id']}`" in said
            ]
            await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        assert "You have not said anything yet" in await _in_a_new_one(client, world, "/rewind")


async def _in_a_new_one(client: RawAcpClient, world: World, text: str) -> str:
    session = await opened(client, world)
    client.updates.clear()
    await prompt(client, session, text)
    return texts(client)


async def test_clients_that_know_north_show_it_anew_and_open_copies(world: World, server: ModelServer) -> None:
    async with talk(world) as (client, session):
        server.script(answer(Say("One.")), answer(Say("Two.")))
        await prompt(client, session, "first")
        await prompt(client, session, "second")
        await prompt(client, session, "/rewind 2")
        (reset,) = events(client, "transcript_reset")
        assert reset["prompt"] == text_blocks("second")
        rows = shown(client)
        assert [text for who, text in rows if who == "user"] == ["first", "/rewind 2"]
        assert rows[-1][1].startswith("The conversation continues from before this prompt")
        await prompt(client, session, "/branch 1")
        assert "so it is listed once it has one" in texts(client)
        assert "is among the conversations" not in texts(client)
        await prompt(client, session, "/fork")
        assert "is among the conversations of this project" in texts(client)
        branched, forked = events(client, "conversation_copied")
        assert (branched["relation"], branched["prompt"]) == ("branch", text_blocks("first"))
        assert (forked["relation"], forked["prompt"]) == ("fork", [])
        assert forked["sessionId"] == session
        assert forked["conversationId"] != session
