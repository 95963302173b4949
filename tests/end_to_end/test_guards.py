"""What North does about an answer while it comes and at its end: edits that cannot apply, answers that are too long,
code that is only shown, inner channels, and models that are out for good."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_faults import GOOD, configure, fail, prompt, sent, texts
from tests.end_to_end.test_file_blocks import block, deciding, shown_calls
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, Stop, answer, call

LONG = "new = 1\n" * 400
READ = answer(call("read_file", path="json/decoder.py"))
MISSING = {"path": "json/decoder.py", "old": "this stands nowhere in it", "new": LONG}


def results(server: ModelServer) -> list[dict[str, Any]]:
    parts = [part for message in server.requests[-1].body["messages"] for part in message["content"]]
    return [json.loads(part["content"]) for part in parts if part["type"] == "tool_result"]


async def test_an_edit_that_cannot_apply_is_not_waited_for(world: World, server: ModelServer) -> None:
    server.script(
        READ, answer(Say("Editing."), call("edit_replace_exact", **MISSING), Gate("never")), answer(Say("Oh."))
    )
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Edit it") == "end_turn"
        assert shown_calls(client)[1:] == [("Editing decoder.py", "failed")]
        server.wait_disconnect()
    result = results(server)[-1]
    assert result["error"]["code"] == "NO_MATCH"
    asked = [
        part
        for message in server.requests[-1].body["messages"]
        for part in message["content"]
        if part["type"] == "tool_use"
    ]
    assert asked[-1]["input"] == {"path": MISSING["path"], "old": MISSING["old"]}


@pytest.mark.parametrize("case", ["off", "after another edit of the file", "it applies"])
async def test_an_edit_that_may_apply_is_waited_for(world: World, server: ModelServer, case: str) -> None:
    configure(world, **{"edits.streamGuard": case != "off"})
    wanted = {**MISSING, "old": "x = 1\n"} if case == "after another edit of the file" else dict(MISSING)
    if case == "it applies":
        wanted["old"] = "class JSONDecodeError(ValueError):"
    calls = [call("edit_replace_exact", **wanted)]
    if case == "after another edit of the file":
        first = {"path": MISSING["path"], "old": "class JSONDecodeError(ValueError):", "new": "x = 1\n"}
        calls.insert(0, call("edit_replace_exact", **first))
    server.script(READ, answer(*calls), answer(Say("Done.")))
    async with conversation(world) as (client, session):
        deciding(client, "accept")
        assert await prompt(client, session, "Edit it") == "end_turn"
    text = (world.project / "json/decoder.py").read_text()
    assert (LONG in text) == (case != "off")
    last = server.requests[-1].body["messages"][3]["content"][-1]
    assert last["input"] == wanted


@pytest.mark.parametrize("knows", [False, True])
async def test_a_title_does_not_wait_for_all_arguments(world: World, server: ModelServer, knows: bool) -> None:
    reading = [call("read_file", path=f"json/{name}.py") for name in ("decoder", "encoder")]
    edit = call("edit_create_file", path="new.py", content=LONG)
    server.script(answer(*reading, edit), answer(Say("Done.")))
    async with conversation(world, knows=knows) as (client, session):
        deciding(client, "reject")
        await prompt(client, session, "Go")
        rows = [params["update"] for params in client.updates if params["update"].get("toolCallId") == edit.id]
        begun = [params["update"] for params in client.updates if params["update"]["sessionUpdate"] == "tool_call"]
    assert "Creating new.py" in [row.get("title") for row in rows[: 2 if knows else 1]]
    assert "rawInput" not in rows[0]
    groups = [row.get("_meta", {}).get("north", {}).get("group") for row in begun]
    assert groups == ([reading[0].id, reading[0].id, None] if knows else [None] * 3)


async def test_an_answer_that_is_cut_off_may_be_continued(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Half of"), Stop("max_tokens")), answer(Say(" it all.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Tell me") == "max_tokens"
        assert "send `/continue` for the rest" in texts(client)
        assert await prompt(client, session, "/continue") == "end_turn"
    assert sent(server)[-1][-1] == ("user", "Continue exactly where you stopped.")


async def test_calls_that_are_cut_off_are_asked_for_three_times(world: World, server: ModelServer) -> None:
    cut = [answer(call("read_file", path=f"json/{number}.py"), Stop("max_tokens")) for number in range(4)]
    server.script(*cut)
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Go") == "max_tokens"
    assert len(server.requests) == 4


async def test_a_turn_has_a_limit_of_requests(world: World, server: ModelServer) -> None:
    configure(world, **{"turn.maxRequests": 2})
    server.script(*[answer(call("read_file", path=f"json/{number}.py")) for number in range(2)])
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Go") == "max_turn_requests"
        assert "ended after 2 requests; send `/continue` to continue" in texts(client)


@pytest.mark.parametrize("on", [True, False])
async def test_code_that_is_only_shown_is_noticed_where_the_user_wants_it(
    world: World, server: ModelServer, on: bool
) -> None:
    configure(world, **{"turn.nudgeUnappliedCode": on})
    shown = answer(Say("I change `json/decoder.py`:\n```python\nx = 1\n```\n"))
    server.script(shown, *([shown] if on else []))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Change it") == "end_turn"
        said = [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "user_message_chunk"]
        assert said == []
    assert len(server.requests) == (2 if on else 1)
    assert ("Nothing was changed" in json.dumps(server.requests[-1].body)) == on


async def test_a_model_that_failed_may_be_out_for_good(world: World, server: ModelServer) -> None:
    chains = {"sonnet-4-5": ["haiku-4-5"]}
    never = {"retry.fallbackRevertPolicy": "never", "retry.requestMaxRetries": 0, "retry.maxRetries": 0}
    configure(world, **{**never, "retry.fallbackChains": chains})
    busy = fail(529, "overloaded_error", "overloaded", retry_after="0")
    server.script(busy, GOOD, GOOD)
    async with conversation(world) as (client, session):
        for _ in range(2):
            assert await prompt(client, session, "Anybody?") == "end_turn"
    models = [request.body["model"] for request in server.requests]
    assert [model.split("-")[1] for model in models] == ["sonnet", "haiku", "haiku"]


async def test_a_file_that_is_too_long_is_kept_aside(world: World, server: ModelServer) -> None:
    text = "".join(f"{number:>1023}\n" for number in range(5 * 1024 + 8))
    server.script(answer(Say(block(text, end=False), chunks=200), Stop("max_tokens")), answer(Say("Oh.")))
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        assert await prompt(client, session, "Write") == "end_turn"
        assert asked == []
        reports = [row for row in client.updates if row["update"].get("status") == "in_progress"]
        assert len(reports) < 60
    told = json.dumps(server.requests[-1].body)
    assert "TOO_LARGE" in told
    assert not (world.project / "new/big.txt").exists()


async def test_a_refusal_takes_the_whole_turn_out(world: World, server: ModelServer) -> None:
    begun = answer(Say(block("line 1\n", end=False)), Stop("max_tokens"))
    server.script(begun, answer(Say("I cannot"), Stop("refusal")), answer(Say("Gladly.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Something bad") == "refusal"
        assert await prompt(client, session, "Something good") == "end_turn"
    assert sent(server)[-1] == [("user", "Something good")]


async def test_an_orphan_stays_out_in_later_turns(world: World, server: ModelServer) -> None:
    orphaned = fail(
        400,
        "invalid_request_error",
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_orphan.",
    )
    reading = call("read_file", "toolu_orphan", path="json/decoder.py")
    server.script(answer(reading), orphaned, GOOD, GOOD)
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Read it") == "end_turn"
        assert await prompt(client, session, "Again") == "end_turn"
    assert len(server.requests) == 4
    assert "toolu_orphan" not in json.dumps(server.requests[-1].body)


async def test_calls_with_traces_of_inner_channels_are_not_run(world: World, server: ModelServer) -> None:
    model = "{id: gpt-test, contextWindow: 100000, maxTokens: 10000}"
    provider = f"{{baseUrl: '{server.url}/v1', api: openai-completions, auth: none, models: [{model}]}}"
    (world.folder / "config" / "models.yml").write_text(f"providers: {{local: {provider}}}\n")
    leaked = {"path": "new.py", "content": "x = 1\nJapgolly to=functions.edit_create_file json\n"}
    clean = {"path": "new.py", "content": "x = 1\n"}
    calls = [call("edit_create_file", **arguments) for arguments in (leaked, leaked, clean)]
    server.script(*map(answer, calls), answer(Say("Done.")))
    async with conversation(world, "--model", "local/gpt-test") as (client, session):
        asked = deciding(client, "accept")
        assert await prompt(client, session, "Make it") == "end_turn"
        assert len(asked) == 1
        assert texts(client).count("keeps leaking internal text") == 1
    assert (world.project / "new.py").read_text() == "x = 1\n"
    told = json.dumps(server.requests[-1].body)
    assert told.count("send the call again with a clean content") == 2
