"""What a vendor is sent for one conversation, whole: instructions, tools, messages. A change is seen here before users
pay for it; `NORTH_TEST_WRITE=1` writes the files again, and the difference is read."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_context import write
from tests.end_to_end.test_faults import each_api, opened, prompt, serve
from tests.end_to_end.test_file_blocks import deciding
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Say, Think, answer, call

_FOLDER = Path(__file__).with_name("whole_requests")
_OF_THE_MACHINE = re.compile(r"<environment>.*?</environment>", re.DOTALL)
_IDS = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32,64}\b")


def settled(value: Any, world: World) -> Any:
    """Replace what differs from run to run, or from machine to machine."""
    match value:
        case dict():
            return {key: "<id>" if key == "prompt_cache_key" else settled(one, world) for key, one in value.items()}
        case list():
            return [settled(one, world) for one in value]
        case str():
            text = _OF_THE_MACHINE.sub("<environment>…</environment>", value)
            return _IDS.sub("<id>", text.replace(str(world.project), "/project").replace(str(world.folder), "/world"))
        case _:
            return value


@each_api
async def test_a_request_is_what_it_was(world: World, server: ModelServer, api: str) -> None:
    write(
        world.project,
        {
            "AGENTS.md": "Use tabs.\n",
            ".north/rules/style.md": "---\nglobs: '*.py'\n---\nNames are whole words.\n",
            "greeting.py": 'def greet(name):\n    return f"Hello, {name}!"\n',
        },
    )
    server.script(
        answer(Think("I read it first."), Say("I look."), call("read_file", "toolu_read", path="greeting.py")),
        answer(call("edit_replace_exact", "toolu_edit", path="greeting.py", old="Hello", new="Good day")),
        answer(Say("It says good day now.")),
        answer(Say("You are welcome.")),
    )
    serve(world, api, server.url)
    async with inside(world.environ, "there/m-1") as client:
        session = await opened(client, world)
        deciding(client, "accept")
        assert await prompt(client, session, "Make the greeting formal: @greeting.py") == "end_turn"
        assert await prompt(client, session, "Thanks") == "end_turn"
    told = json.dumps(settled(server.requests[-1].body, world), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    file = _FOLDER / f"{api}.json"
    if os.environ.get("NORTH_TEST_WRITE") == "1":
        _FOLDER.mkdir(exist_ok=True)
        file.write_text(told, encoding="utf-8")
        pytest.fail(f"{file.name} was written: read what has changed, and run the test again")
    assert told.splitlines() == file.read_text("utf-8").splitlines()
