"""`/config` and `_north/config/*`: settings in layers, listed with their origin, changed and taken back."""

import json
from pathlib import Path

import pytest

from tests.acp.test_bad_input import ask
from tests.acp.test_conformance import agent as announced
from tests.acp.test_conformance import fails, new_session
from tests.acp.test_models import agent, new
from tests.end_to_end.world import World, make_world
from tests.support.client import RawAcpClient
from tests.support.model_server import ModelServer
from tests.support.script import answer, call


@pytest.fixture
def offline(tmp_path: Path) -> World:
    return make_world(tmp_path / "offline")


async def told(client: RawAcpClient, session: str, text: str) -> str:
    """Run a slash command and return what it says."""
    return "\n".join((await ask(client, session, text))[1])


async def test_a_setting_is_searched_set_shown_with_its_origin_and_taken_back(offline: World) -> None:
    path = offline.folder / "config" / "config.json"
    path.write_text('{\n  // mine\n  "turn": {"maxRequests": 9}\n}\n')
    async with agent(offline) as client:
        session = await new_session(client, offline)
        assert "`turn.maxRequests` = `9` (your own settings)" in await told(client, session, "/config")
        assert "`limits.readLines` = `500`" in await told(client, session, "/config read lines")
        assert "`turn.maxRequests` is set to `7` in your own settings" in await told(
            client, session, "/config turn.maxRequests 7"
        )
        assert path.read_text() == '{\n  // mine\n  "turn": {"maxRequests": 7}\n}\n'
        assert "is set to `5` in this conversation" in await told(
            client, session, "/config turn.maxRequests 5 --session"
        )
        shown = await told(client, session, "/config turn.maxRequests")
        assert "is `5`, from this conversation" in shown
        assert "your own settings: `7`" in shown
        assert "is `7`, from your own settings" in await told(client, session, "/config turn.maxRequests --reset")
        assert "is `200`, from the default" in await told(client, session, "/config turn.maxRequests --reset")
        assert "// mine" in path.read_text()
        assert "maxRequests" not in path.read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("turn.maxRequests many", "must be a whole number, from 1 to 10000"),
        ("turn.maxRequests 0", "must be from 1 to 10000, not 0"),
        ("turn.maxRequest 3", "There is no setting turn.maxRequest 3; did you mean turn.maxRequests?"),
        ("mode.default ask --session", "counts only from the next start"),
        ("mode.default ask --project", "A project cannot set mode.default"),
        ("edits.staleCheck off --project", "only make edits.staleCheck stricter"),
        ("turn.maxRequests 3 --project --session", "only one of"),
        ("turn.maxRequests --project", "There must be a value"),
        ("--all", "The options are `--project`"),
    ],
)
async def test_what_cannot_be_set_is_refused_and_nothing_is_written(offline: World, words: str, why: str) -> None:
    path = offline.folder / "config" / "config.json"
    before = path.read_text()
    async with agent(offline) as client:
        session = await new_session(client, offline)
        assert why in await told(client, session, f"/config {words}")
    assert path.read_text() == before
    assert not (offline.project / ".north" / "settings.json").exists()


async def test_a_secret_is_not_written_from_a_conversation_and_shown_nowhere(offline: World) -> None:
    path = offline.folder / "config" / "config.json"
    path.write_text('{"shell.env": {"A": "hidden-1"}}')
    async with agent(offline) as client:
        session = await new_session(client, offline)
        assert "must not be in a conversation" in await told(client, session, "/config auth.broker.token hidden-2")
        shown = await told(client, session, "/config shell.env")
        rows = await client.request("_north/config/list", {"sessionId": session})
    assert "(not shown)" in shown
    assert "hidden" not in shown + json.dumps(rows)
    assert not any("hidden-2" in log.read_text() for log in (offline.folder / "data").rglob("*.jsonl"))


async def test_the_request_lists_sets_and_resets(offline: World) -> None:
    async with agent(offline) as client:
        session = await new_session(client, offline)
        found = await client.request("_north/config/list", {"sessionId": session, "query": "stale"})
        assert found["settings"][0]["key"] == "edits.staleCheck"
        assert found["settings"][0]["choices"] == ["strict", "warn", "off"]
        assert found["files"]["project"] == str(offline.project / ".north" / "settings.json")
        given = {"sessionId": session, "key": "edits.protected"}
        row = await client.request("_north/config/set", {**given, "value": ["*.sql"], "place": "project"})
        assert (row["value"], row["origin"]) == (["*.sql"], "project")
        row = await client.request("_north/config/set", {**given, "value": ["*.py"]})
        assert row["value"] == ["*.py", "*.sql"]  # a project adds to what its user protects
        row = await client.request("_north/config/reset", {**given, "place": "project"})
        assert (row["value"], row["origin"], row["others"]) == (["*.py"], "user", [])
        assert (await client.request("_north/config/get", {"key": "edits.protected"}))["value"] == ["*.py"]
        for wrong in ({"key": "x", "value": 1}, {"key": "turn.maxRequests", "value": "a"}):
            assert (await fails(client, "_north/config/set", wrong)).code == -32600
        for wrong in ({"key": "turn.maxRequests"}, {"key": "turn.maxRequests", "value": 1, "place": "project"}):
            assert (await fails(client, "_north/config/set", wrong)).code == -32602


async def test_what_a_project_sets_in_vain_is_said(offline: World) -> None:
    async with agent(offline) as client:
        session = await new_session(client, offline)
        said = await told(client, session, "/config limits.readLines 600 --project")
        assert "But `limits.readLines` is `500`, from the default. That takes precedence." in said
        said = await told(client, session, "/config limits.readLines 100 --project")
        assert "It counts from the next prompt on" in said


async def test_a_plain_client_tells_its_own_settings(offline: World) -> None:
    async with agent(offline) as client:
        session = await new_session(client, offline)
        found = await client.request("_north/config/editor", {"settings": {"turn.maxRequests": 4, "turn.x": 1}})
        assert ["turn.x" in problem for problem in found["problems"]] == [True]
        row = await client.request("_north/config/get", {"sessionId": session, "key": "turn.maxRequests"})
        assert (row["value"], row["origin"]) == (4, "editor")
        assert "editor's settings" in await told(client, session, "/config turn.maxRequests 6")


async def test_a_projects_file_counts_at_once_and_a_broken_one_keeps_what_it_said(
    world: World, server: ModelServer
) -> None:
    path = world.project / ".north" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    async with agent(world) as client:
        session, _ = await new(client, world)
        path.write_text('{"turn.maxRequests": 1, "sandbox": "off", "cost.dayLimitUsd": 5}')
        server.script(answer(call("get_line_count", path="json/decoder.py")))
        stopped, texts, _ = await ask(client, session, "Count")
        assert stopped == "max_turn_requests"
        assert any("cost.dayLimitUsd has no effect in a project's file" in text for text in texts)
        path.write_text('{"turn.maxRequests": ')
        server.script(answer(call("get_line_count", path="json/decoder.py")))
        stopped, texts, _ = await ask(client, session, "Count")
        assert stopped == "max_turn_requests"
        assert any("what it said before is used" in text for text in texts)


async def test_a_client_tells_its_settings_with_initialize(offline: World) -> None:
    told_first = {"settings": {"turn": {"maxRequests": 4}}}
    async with announced(offline, _meta={"north": told_first}) as client:
        session = await new_session(client, offline)
        row = await client.request("_north/config/get", {"sessionId": session, "key": "turn.maxRequests"})
        assert (row["value"], row["origin"]) == (4, "editor")


async def test_what_disabled_items_names_is_not_used_and_what_is_wrong_in_it_is_said(offline: World) -> None:
    for path, text in ((".north/rules/off.md", "Not now."), (".north/commands/check.md", "Check it.")):
        (offline.project / path).parent.mkdir(parents=True, exist_ok=True)
        (offline.project / path).write_text(text)
    async with agent(offline) as client:
        session = await new_session(client, offline)
        assert "Not used" not in await told(client, session, "/skills")
        names = '["rule:off", "command:check", "rule:gone", "skill:gone"]'
        await told(client, session, f"/config disabledItems {names}")
        skills, rules = await told(client, session, "/skills"), await told(client, session, "/rules")
        assert "Not used: the setting `disabledItems` names it" in skills
        assert "also names `skill:gone`, which does not exist" in skills
        assert "the setting `disabledItems` names it" in rules
        assert "also names `rule:gone`, which does not exist" in rules
        assert "remove it there" in await told(client, session, "/rules on off")
        assert "There is no command /check" in await told(client, session, "/check")
        refused = await told(client, session, '/config disabledItems ["tool:x"]')
        assert "has item 1, which is not one of rule:<name>, skill:<name>" in refused


async def test_a_rule_is_not_switched_where_the_editor_says_which_are_off(offline: World) -> None:
    (offline.project / ".north" / "rules").mkdir(parents=True, exist_ok=True)
    (offline.project / ".north" / "rules" / "one.md").write_text("Short.")
    async with agent(offline) as client:
        session = await new_session(client, offline)
        await client.request("_north/config/editor", {"settings": {"disabledRules": []}})
        assert "comes from a stronger layer (editor)" in await told(client, session, "/rules off one")


async def test_config_alone_has_a_client_that_hears_of_it_open_its_list(offline: World) -> None:
    async with announced(offline, _meta={"north": {"events": True}}) as client:
        session = await new_session(client, offline)
        await told(client, session, "/config turn.maxRequests")
        await told(client, session, "/config")
        events = [
            message["params"]["event"] for _, message in client.transcript if message.get("method") == "_north/event"
        ]
        assert events.count("settings_wanted") == 1


async def test_what_is_broken_while_nothing_runs_is_said_and_what_was_there_before_holds(offline: World) -> None:
    path = offline.folder / "config" / "config.json"
    path.write_text('{"turn.maxRequests": 9}')
    async with agent(offline) as client:
        session = await new_session(client, offline)
        path.write_text('{"turn.maxRequests": 9')
        await client.wait_update(lambda update: "the settings that it had before are used" in str(update))
        row = await client.request("_north/config/get", {"sessionId": session, "key": "turn.maxRequests"})
        assert (row["value"], row["origin"]) == (9, "user")
