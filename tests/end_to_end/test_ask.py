"""Questions of models: as choices, as one form, in plain LSP; unanswered, late, and after a kill."""

import json
from typing import Any, cast

import pytest

from tests.end_to_end.editors import PlainEditor, Question, plain_editor
from tests.end_to_end.left import NORTH, asked, client_of, load, new_session, question
from tests.end_to_end.test_faults import configure, opened, prompt, sent
from tests.end_to_end.test_left_turns import results, statuses
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Say, answer, call

COLOR = {
    "id": "color",
    "question": "Which color?",
    "options": [{"label": "Red", "description": "like fire"}, {"label": "Green"}],
    "recommended": 1,
}
PARTS = {"id": "parts", "question": "Which parts?", "multi": True, "options": [{"label": x} for x in ("A", "B", "C")]}
NAME = {"id": "name", "question": "What name?"}


def ask(*questions: dict[str, Any]) -> Answer:
    return answer(call("ask", questions=list(questions)))


def answering(client: RawAcpClient, *outcomes: tuple[str, str] | str | None) -> list[dict[str, Any]]:
    """Answer the questions in order: with an option's id, an id and a comment, or by closing it (None)."""
    shown: list[dict[str, Any]] = []

    async def answer(params: dict[str, Any]) -> dict[str, Any]:
        outcome = outcomes[len(shown)]
        shown.append(params)
        if outcome is None:
            return {"outcome": {"outcome": "cancelled"}}
        id, comment = outcome if isinstance(outcome, tuple) else (outcome, "")
        said = {"_meta": {"north": {"comment": comment}}} if comment else {}
        return {"outcome": {"outcome": "selected", "optionId": id}, **said}

    client.handlers["session/request_permission"] = answer
    return shown


def told(server: ModelServer) -> str:
    (result,) = results(server)[-1:]
    return str(result["content"])


async def test_a_question_is_a_choice_with_the_recommended_option_marked(world: World, server: ModelServer) -> None:
    server.script(ask(COLOR), answer(Say("Green it is.")))
    async with inside(world.environ) as client:
        shown = answering(client, "1")
        assert await prompt(client, await opened(client, world), "Paint it") == "end_turn"
    (params,) = shown
    assert params["toolCall"]["title"] == "Which color?"
    rows = [one["update"] for one in client.updates if one["update"].get("toolCallId")]
    assert {one["toolCallId"] for one in rows} == {params["toolCall"]["toolCallId"]}  # no other call is left open
    assert "Red: like fire" in params["toolCall"]["content"][0]["content"]["text"]
    options = [(one["name"], one["kind"]) for one in params["options"]]
    assert options == [
        ("Red", "allow_once"),
        ("Green (recommended)", "allow_once"),
        ("Other (type your own)", "reject_once"),
    ]
    assert told(server) == "Chosen: Green"
    assert statuses(world) == ["answered"]


@pytest.mark.parametrize("knows", [False, True], ids=["another", "knows North"])
async def test_a_question_that_no_call_asks_ends_for_a_client_that_takes_it_for_a_call(
    world: World, server: ModelServer, knows: bool
) -> None:
    async with client_of(world, **NORTH if knows else {}) as client:
        session = await new_session(client, world)
        shown = answering(client, *(("reset", "keep") if knows else ("allow_once", "reject_once")), None)
        for _ in range(3):
            await prompt(client, session, "/costs reset")
    calls = [one["toolCall"]["toolCallId"] for one in shown]
    rows = [one["update"] for one in client.updates if one["update"].get("toolCallId") in calls]
    ends = [*zip(calls, ("completed", "failed", "failed"), strict=True)]
    assert [(row["toolCallId"], row["status"]) for row in rows] == ends * (not knows)


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (("own", "  Blue, please "), "Own answer: Blue, please"),
        ("own", "their next message is the answer"),
        (None, "The user closed the question without an answer"),
    ],
)
async def test_an_own_answer_and_none_are_told_and_the_turn_goes_on(
    world: World, server: ModelServer, outcome: Any, says: str
) -> None:
    server.script(ask(COLOR), answer(Say("I see.")))
    async with inside(world.environ) as client:
        answering(client, outcome)
        assert await prompt(client, await opened(client, world), "Paint it") == "end_turn"
    assert says in told(server)


async def test_several_questions_are_asked_one_after_the_other(world: World, server: ModelServer) -> None:
    server.script(ask(COLOR, PARTS), answer(Say("Good.")))
    async with inside(world.environ) as client:
        shown = answering(client, "0", "2", "0", "2", "1", "done")
        await prompt(client, await opened(client, world), "Paint it")
    assert shown[0]["toolCall"]["title"] == "Which color? (1 of 2)"
    assert [one["name"] for one in shown[3]["options"]][:4] == ["✓ A", "B", "✓ C", "Done (2 chosen)"]
    assert told(server) == "Answers:\n- color: Chosen: Red\n- parts: Chosen: A, B"


def filling(client: RawAcpClient, made: dict[str, Any]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []

    async def fill(params: dict[str, Any]) -> dict[str, Any]:
        shown.append(params)
        return made

    client.handlers["elicitation/create"] = fill
    return shown


async def test_a_client_with_forms_gets_all_questions_at_once(world: World, server: ModelServer) -> None:
    server.script(ask(COLOR, PARTS, NAME), answer(Say("Good.")))
    async with inside(world.environ, capabilities={"elicitation": {"form": {}}}) as client:
        content = {"q0_own": "Blue", "q0": "0", "q1": ["2", "0"], "q1_own": "and D", "q2_own": "Bob"}
        shown = filling(client, {"action": "accept", "content": content})
        await prompt(client, await opened(client, world), "Paint it")
    (params,) = shown
    properties = params["requestedSchema"]["properties"]
    assert properties["q0"]["default"] == "1"
    assert [one["title"] for one in properties["q0"]["oneOf"]] == ["Red: like fire", "Green (recommended)"]
    assert properties["q1"]["type"] == "array"
    assert told(server) == (
        "Answers:\n- color: Own answer: Blue\n- parts: Chosen: A, C; Own answer: and D\n- name: Own answer: Bob"
    )


@pytest.mark.parametrize("action", ["decline", "cancel", "nonsense"])
async def test_a_form_that_is_not_filled_in_is_told(world: World, server: ModelServer, action: str) -> None:
    server.script(ask(COLOR), answer(Say("Well.")))
    async with inside(world.environ, capabilities={"elicitation": {"form": {}}}) as client:
        filling(client, {"action": action})
        assert await prompt(client, await opened(client, world), "Paint it") == "end_turn"
    assert json.loads(told(server))["data"]["answered"] is False


async def test_a_question_that_nobody_answers_in_time_takes_what_is_recommended_and_says_so(
    world: World, server: ModelServer
) -> None:
    configure(world, **{"ask.timeout": 1})
    server.script(ask(COLOR, NAME), answer(Say("Good.")))
    async with inside(world.environ) as client:
        asked(client)
        assert await prompt(client, await opened(client, world), "Paint it") == "end_turn"
    assert "color: Chosen: Green (nobody answered in time: this was chosen automatically)" in told(server)
    assert "name: no answer (nobody answered in time" in told(server)


async def test_what_was_answered_in_time_counts_and_no_option_is_chosen_that_nobody_recommends(
    world: World, server: ModelServer
) -> None:
    configure(world, **{"ask.timeout": 2})
    server.script(ask(COLOR, PARTS, NAME), answer(Say("Good.")))
    async with inside(world.environ) as client:
        shown: list[dict[str, Any]] = []

        async def first_only(params: dict[str, Any]) -> dict[str, Any] | None:
            shown.append(params)
            return {"outcome": {"outcome": "selected", "optionId": "0"}} if len(shown) == 1 else None

        client.handlers["session/request_permission"] = first_only
        assert await prompt(client, await opened(client, world), "Paint it") == "end_turn"
    late = "no answer (nobody answered in time: this was chosen automatically)"
    assert told(server) == f"Answers:\n- color: Chosen: Red\n- parts: {late}\n- name: {late}"


async def test_what_was_ticked_in_time_counts(world: World, server: ModelServer) -> None:
    configure(world, **{"ask.timeout": 2})
    server.script(ask(COLOR, PARTS, NAME), answer(Say("Good.")))
    async with inside(world.environ) as client:
        ticks = iter(["0", "2", "1", "0", "1"])  # the last one takes B out again

        async def tick(params: dict[str, Any]) -> dict[str, Any] | None:
            option = next(ticks, None)
            return None if option is None else {"outcome": {"outcome": "selected", "optionId": option}}

        client.handlers["session/request_permission"] = tick
        assert await prompt(client, await opened(client, world), "Paint it") == "end_turn"
    assert told(server).splitlines() == [
        "Answers:",
        "- color: Chosen: Red",
        "- parts: Chosen: A, C (time ran out before the user had finished choosing)",
        "- name: no answer (nobody answered in time: this was chosen automatically)",
    ]


@pytest.mark.parametrize(
    ("questions", "says"),
    [
        ([], "ask at least one"),
        ([COLOR, COLOR], "the same id"),
        ([COLOR | {"options": [{"label": "A"}, {"label": "A "}]}], "the same label"),
    ],
)
async def test_questions_that_make_no_sense_are_refused(
    world: World, server: ModelServer, questions: list[Any], says: str
) -> None:
    server.script(ask(*questions), answer(Say("Well.")))
    async with inside(world.environ) as client:
        shown = answering(client)
        await prompt(client, await opened(client, world), "Paint it")
    assert shown == []
    assert says in told(server)


async def test_where_nobody_can_be_asked_the_model_is_told(world: World, server: ModelServer) -> None:
    server.script(ask(COLOR), answer(Say("Red, then.")))
    async with inside(world.environ, north={"hasUI": False}) as client:
        shown = answering(client)
        await prompt(client, await opened(client, world), "Paint it")
    assert shown == []
    assert "UNAVAILABLE" in told(server)


async def test_a_cancelled_turn_ends_with_its_question(world: World, server: ModelServer) -> None:
    server.script(ask(COLOR), answer(Say("Again.")))
    async with conversation(world) as (client, session):
        asked(client)
        request = await client.start_request(
            "session/prompt", {"sessionId": session, "prompt": text_blocks("Paint it")}
        )
        await question(client)
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(request))["stopReason"] == "cancelled"
        await prompt(client, session, "Go on")
    assert "cancelled" in json.dumps(sent(server)[-1])


async def test_a_question_survives_a_kill(world: World, server: ModelServer) -> None:
    server.script(ask(COLOR), answer(Say("Good.")))
    async with client_of(world, **NORTH) as client:
        asked(client)
        session = await new_session(client, world)
        await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Paint it")})
        await question(client)
        client.process.kill()
        await client.wait_exit()
    async with client_of(world, **NORTH) as client:
        assert (await load(client, world, session))["unfinished"] == {"reason": "review"}
        shown = answering(client, "0")
        assert await client.request("_north/turn/resume", {"sessionId": session}) == {"stopReason": "end_turn"}
        assert [one["toolCall"]["title"] for one in shown] == ["Which color?"]
    assert told(server) == "Chosen: Red"
    assert statuses(world) == ["superseded", "answered"]


class Picking(PlainEditor):
    """Picks the option with the next title."""

    async def choose(self, question: Question) -> tuple[str, str] | None:
        self.questions.append(question)
        title = self.choices.pop(0)
        return title, title


async def test_a_plain_lsp_client_is_asked_by_message(world: World, server: ModelServer, monkeypatch: Any) -> None:
    monkeypatch.setattr("tests.end_to_end.editors.PlainEditor", Picking)
    server.script(ask(COLOR), answer(Say("Good.")))
    async with plain_editor(world) as editor:
        cast(list[str], editor.choices).append("Red")
        await editor.prompt("Paint it")
        (shown,) = editor.questions
        assert shown.text.startswith("Which color?")
        assert shown.options == ["Other (type your own)", "Red", "Green (recommended)"]
    assert told(server) == "Chosen: Red"
