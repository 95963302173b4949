"""Commands written in Python: what they may say and ask, whose they are, and what becomes of their mistakes."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_context import notices, write
from tests.end_to_end.test_faults import prompt, sent, texts
from tests.end_to_end.test_mcp import questions
from tests.end_to_end.test_queue import start
from tests.end_to_end.test_templates import offered
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer
from tests.support.selecting import selected

HEAD = 'COMMAND = {"name": "ticket", "description": "Fetch a ticket", "usage": "/ticket <number>"}\n'
ASKS = """
async def run(ctx, args):
    await ctx.notify(f"Looking for {args} in {ctx.cwd.name}, {ctx.mode}, {ctx.model}")
    which = await ctx.choose("Which part?", [("all", "All of it"), ("none", "Nothing")])
    if which == "all":
        return f"Ticket {args} of {len(await ctx.entries())} entries: !touch made.txt @json/tool.py"
"""


def deciding(client: RawAcpClient, *choices: str) -> None:
    left = list(choices)

    async def decide(params: dict[str, Any]) -> dict[str, Any]:
        return selected(params, left.pop(0))

    client.handlers["session/request_permission"] = decide


async def test_what_a_command_returns_takes_its_place(world: World, server: ModelServer) -> None:
    write(world.folder / "config", {"commands/ticket.py": f"{HEAD}{ASKS}"})
    server.script(answer(Say("Read.")))
    async with conversation(world) as (client, session):
        deciding(client, "allow_once", "reject_once")
        assert await prompt(client, session, "/ticket 17 b") == "end_turn"
        assert offered(client)["ticket"] == "Fetch a ticket (user)"
        assert await prompt(client, session, "/ticket 18") == "end_turn"
        told = "\n".join(notices(client))
    assert "Looking for 17 b in project, agent, anthropic/" in told
    assert [one["toolCall"]["title"] for one in questions(client)] == ["Which part?"] * 2
    (said,) = [text for role, text in sent(server)[0] if role == "user"]
    assert said.startswith("Ticket 17 b of ")
    assert said.endswith("entries: !touch made.txt @json/tool.py")


async def test_a_command_may_declare_types_as_any_module_does(world: World, server: ModelServer) -> None:
    types = "from dataclasses import dataclass\n@dataclass\nclass Ticket:\n    number: int\n"
    run = "def run(ctx, args):\n    return str(Ticket(int(args))) + str(Ticket.__annotations__['number'] is int)\n"
    write(world.folder / "config", {"commands/ticket.py": f"{HEAD}{types}{run}"})
    server.script(answer(Say("Read.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "/ticket 17") == "end_turn"
    assert [text for role, text in sent(server)[0] if role == "user"] == ["Ticket(number=17)True"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("def run(ctx, args):\n    raise ValueError('no such ticket')", "has failed (ValueError: no such ticket)"),
        ("raise SystemExit(3)\ndef run(ctx, args): pass", "has failed (SystemExit: 3)"),
        ("def run(ctx, args):\n    return 3", "returned int"),
        ("async def run(ctx, args):\n    import north_none", "No module named 'north_none'"),
        ("def run(ctx):\n    pass", "has failed (TypeError"),
    ],
)
async def test_what_fails_is_told_and_nothing_is_sent(world: World, server: ModelServer, body: str, told: str) -> None:
    write(world.folder / "config", {"commands/ticket.py": f"{HEAD}{body}\n"})
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "/ticket 17") == "end_turn"
        assert told in texts(client)
        assert await prompt(client, session, "/help ticket") == "end_turn"
        assert "`/ticket <number>`: Fetch a ticket" in texts(client)
    assert server.requests == []


async def test_one_that_hangs_is_cancelled(world: World, server: ModelServer) -> None:
    body = (
        "async def run(ctx, args):\n    await ctx.notify('Here')\n    import threading\n    threading.Event().wait()\n"
    )
    write(world.folder / "config", {"commands/ticket.py": f"{HEAD}{body}"})
    async with conversation(world) as (client, session):
        running = await start(client, session, "/ticket 17")
        await client.wait_update(lambda update: "Here" in json.dumps(update))
        await client.notify("session/cancel", {"sessionId": session})
        await client.answer(running)
        assert "/ticket was cancelled" in texts(client)


async def test_one_of_a_project_runs_once_it_is_trusted_and_was_looked_at(world: World, server: ModelServer) -> None:
    made = world.project / "made.txt"
    runs = f"{HEAD}open({str(made)!r}, 'a').write('x')\ndef run(ctx, args):\n    pass\n"
    write(world.project, {".north/commands/ticket.py": runs})
    async with conversation(world) as (client, session):
        await prompt(client, session, "/skills")
        assert "it runs only in a workspace that you trust" in "\n".join(notices(client))
        deciding(client, "reject_once")
        await prompt(client, session, "/ticket 1")
        assert questions(client)[-1]["toolCall"]["title"].startswith("There is no command /ticket")
        await prompt(client, session, "/trust on")
        deciding(client, "reject_once", "allow_once", "allow_always")
        await prompt(client, session, "/ticket 2")
        assert not made.exists()
        asked = questions(client)[-1]["toolCall"]
        assert asked["title"] == "Run .north/commands/ticket.py of this project, with all of your rights?"
        assert HEAD.strip() in json.dumps(asked["content"]).replace('\\\\"', '"').replace('\\"', '"')
        for _ in range(3):
            await prompt(client, session, "/ticket 3")
        assert made.read_text() == "xxx"
        count = len(questions(client))
        write(world.project, {".north/commands/ticket.py": f"{runs}# changed\n"})
        deciding(client, "reject_once", "reject_once")
        await prompt(client, session, "/ticket 4")
        assert len(questions(client)) == count + 1
        await prompt(client, session, "/trust off")
        await prompt(client, session, "/ticket 5")
    assert made.read_text() == "xxx"
