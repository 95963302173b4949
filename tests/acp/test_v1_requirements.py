"""What the official compatibility kit asks of version 1 and the other tests of it do not show, and that none of its
requirements is without a test."""

import ast
import base64
from pathlib import Path
from typing import Any

import pytest

from tests.acp.kit_v1 import REQUIREMENTS
from tests.acp.test_conformance import agent, answers, new_session, prompt
from tests.acp.test_v2_requirements import named_in
from tests.end_to_end.world import World, make_world
from tests.support.png import png

_FILES = ("test_conformance.py", "test_v1_requirements.py")
_STOP_REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


def test_every_requirement_of_the_kit_has_a_test() -> None:
    trees = [ast.parse(path.read_text()) for path in map(Path(__file__).with_name, _FILES)]
    tests = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    documented = [ast.get_docstring(node) or "" for node in tests if node.name.startswith("test_")]
    named = set().union(*map(named_in, documented))
    assert named == REQUIREMENTS.keys(), f"without a test, or unknown: {sorted(named ^ REQUIREMENTS.keys())}"


async def test_a_prompt_ends_with_a_known_stop_reason_and_its_updates_are_its_sessions(world: World) -> None:
    """PROMPT-001, PROMPT-002, META-001."""
    async with agent(world) as client:
        session, other = await new_session(client, world), await new_session(client, world)
        await client.wait(lambda message: message.get("params", {}).get("sessionId") == other)
        client.updates.clear()
        words = {"sessionId": session, "prompt": [{"type": "text", "text": "find loads"}]}
        traced = {"traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01", "example.com/x": [1]}
        ended = await client.request("session/prompt", {**words, "_meta": traced})
        assert ended["stopReason"] in _STOP_REASONS
        assert {one["sessionId"] for one in client.updates} == {session}
        assert {one["update"]["sessionUpdate"] for one in client.updates} >= {"tool_call", "agent_message_chunk"}


async def test_lists_are_arrays_and_what_is_gone_is_gone_without_an_error(world: World, tmp_path: Path) -> None:
    """LIST-001, LIST-002, CLOSE-001, DELETE-001, DELETE-002, LOAD-001, LOAD-003, RESUME-001."""
    async with agent(world) as client:
        session = await new_session(client, world)
        await prompt(client, session, "hello")
        assert len((await client.request("session/list", {}))["sessions"]) == 1
        assert await client.request("session/list", {"cwd": str(tmp_path / "nobody")}) == {"sessions": []}
        assert await client.request("session/close", {"sessionId": session}) == {}
        where = {"sessionId": session, "cwd": str(world.project)}
        assert isinstance(await client.request("session/load", {**where, "mcpServers": []}), dict)
        assert await client.request("session/close", {"sessionId": session}) == {}
        assert isinstance(await client.request("session/resume", where), dict)
        for id in (session, session, "nobody-made-it"):
            assert await client.request("session/delete", {"sessionId": id}) == {}


async def test_modes_and_options_are_whole_and_valid(world: World) -> None:
    """MODES-001, MODES-002, CONFIG-001 to 003."""
    async with agent(world) as client:
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        session, modes = made["sessionId"], made["modes"]
        assert modes["currentModeId"] in [mode["id"] for mode in modes["availableModes"]]
        for option in made["configOptions"]:
            assert option["type"] == "select"  # this client has no switches
            assert option["currentValue"] in [choice["value"] for choice in option["options"]]
        another = next(mode["id"] for mode in modes["availableModes"] if mode["id"] != modes["currentModeId"])
        assert await client.request("session/set_mode", {"sessionId": session, "modeId": another}) == {}
        for option in made["configOptions"]:
            choice = option["options"][-1]["value"]
            params = {"sessionId": session, "configId": option["id"], "value": choice}
            told = (await client.request("session/set_config_option", params))["configOptions"]
            assert {one["id"] for one in told} >= {one["id"] for one in made["configOptions"]}
            assert next(one["currentValue"] for one in told if one["id"] == option["id"]) == choice


def resource(data: bytes, name: str, **more: str) -> dict[str, Any]:
    blob = base64.b64encode(data).decode()
    return {"type": "resource", "resource": {"uri": f"file:///elsewhere/{name}", "blob": blob, **more}}


async def test_whatever_content_was_announced_is_accepted(world: World) -> None:
    """PROMPTCAP-001 to 003: embedded resources may be binary, too."""
    async with agent(world) as client:
        (hello,) = [message["result"] for sender, message in client.transcript if sender == "agent"]
        offered = hello["agentCapabilities"]["promptCapabilities"]
        assert offered == {"image": True, "audio": False, "embeddedContext": True}
        session = await new_session(client, world)
        picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png(4, 4)).decode()}
        for block in (
            picture,
            {"type": "resource", "resource": {"uri": "file:///elsewhere/a.py", "text": "x = 1\n"}},
            resource(png(4, 4), "a.png", mimeType="image/png"),
            resource(b"some words", "a.txt", mimeType="text/plain"),
            resource(b"\x00\x01\x02", "a.bin"),
        ):
            assert await prompt(client, session, "hello", block) in _STOP_REASONS


async def test_signing_in_opens_sessions_and_signing_out_is_answered(world: World) -> None:
    """AUTH-001, AUTH-003, AUTH-004, AUTH-005."""
    async with agent(world) as client:
        (hello,) = [message["result"] for sender, message in client.transcript if sender == "agent"]
        ids = [method["id"] for method in hello["authMethods"]]
        assert len(ids) == len(set(ids)) > 0
        assert await new_session(client, world)  # without having signed in
        assert await client.request("authenticate", {"methodId": ids[0]}) == {}
        session = await new_session(client, world)
        assert await client.request("logout", {}) == {}
        assert await prompt(client, session, "hello") == "end_turn"
        assert answers(client, session)
