"""Run on its own: kills servers at random instants of scripted turns, and checks what the next one has.

    python -m tests.endurance.kills_of_turns COUNT [SEED]

Every character that a client had received must be there, every prompt whose turn had begun, every queued prompt that
was accepted (in the conversation or offered again, once), and each call that a model is told of must have exactly one
result. A question that waited is asked again, and nothing is written or run before it is answered. The next request, in
copies of the conversation, must keep the rules of each vendor (`rules/`); so must those of the turns, which ask models
of all APIs.
Prints what it did as JSON; anything missing is an AssertionError.
"""

import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.end_to_end.world import SERVER, World, make_world
from tests.support.client import RawAcpClient, raw_client
from tests.support.guard import take_refusals
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Answer, Say, Think, answer, call

_ROUNDS_OF_ONE = 10
_SHOWN = ("agent_message_chunk", "agent_thought_chunk")
_MODELS = {
    "messages/m": ("anthropic-messages", ""),
    "responses/m": ("openai-responses", "/v1"),
    "chat/m": ("openai-completions", "/v1"),
    "google/gemini-3-m": ("google-generative-ai", "/v1beta"),
}
"""A model of each API, and what stands behind the server's address."""
_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "é😀", ""]


@dataclass
class Known:
    """What one session's client knows: texts by message and kind, prompts that were begun, queued prompts accepted."""

    session: str = ""
    shown: dict[tuple[str, str], str] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    asked: str | None = None
    """The call whose question the client had got, and not answered."""


def text_by_message(client: RawAcpClient) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for row in client.updates:
        update = row["update"]
        if update["sessionUpdate"] in _SHOWN and not update.get("messageId", "notice").startswith("notice"):
            key = (update["messageId"], update["sessionUpdate"])
            found[key] = found.get(key, "") + update["content"]["text"]
    return found


def some_answers(chance: random.Random) -> list[Answer]:
    """Return the answers of a turn: thoughts, texts and calls, and a final text."""
    answers = []
    for _ in range(chance.randint(0, 2)):
        calls = [call("read_file", path="json/decoder.py", startLine=chance.randint(1, 300)), call("list_root")]
        if chance.random() < 0.3:
            wanted = call("edit_create_file", path=f"new/{chance.randrange(10**9)}.txt", content="new\n")
            calls = [chance.choice((wanted, call("shell_run", command="touch made; rm -rf nothing")))]
        parts: list[Any] = [Think(prose(chance, 30)), Say(prose(chance, 60), chance.randint(1, 40))]
        answers.append(answer(*chance.sample(parts, chance.randint(0, 2)), *calls[: chance.randint(1, 2)]))
    return [*answers, answer(Think(prose(chance, 40)), Say(prose(chance, 500), chance.randint(1, 300)))]


def prose(chance: random.Random, most: int) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(chance.randint(1, most)))


async def one_life(
    world: World, server: ModelServer, chance: random.Random, known: Known, counts: Counter[str]
) -> None:
    """Load the conversation, check it, begin a turn, and kill the server somewhere in it."""
    where = {"cwd": str(world.project), "mcpServers": []}
    async with raw_client([*SERVER, "acp"], world.environ, world.project, check=False) as client:
        client.handlers["session/request_permission"] = _never
        announced = {"_meta": {"north": {"resumesTurns": True}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": announced})
        if not known.session:
            known.session = (await client.request("session/new", where))["sessionId"]
        else:
            opened = await client.request("session/load", {"sessionId": known.session, **where})
            north = opened.get("_meta", {}).get("north", {})
            look(client, known, [row["text"] for row in north.get("queued", [])])
            await ask_all(client, server, known.session, where)
            counts["asked all"] += 1
            assert not (world.project / "made").exists()
            assert not (world.project / "new").exists()
            if known.asked is not None:
                await ask_again(client, known, north, chance, counts)
        client.updates.clear()
        server.requests.clear()
        server._answers.clear()
        server.script(*some_answers(chance), *some_answers(chance), *some_answers(chance))
        model = chance.choice(list(_MODELS))
        await choose(client, known.session, "model", model)
        await choose(client, known.session, "thought_level", chance.choice(("off", "high")))
        counts[model] += 1
        text = f"prompt {counts['killed']}"
        prompt = await client.start_request("session/prompt", params(known.session, text))
        wanted = chance.randint(0, 14)
        later: list[tuple[str, int]] = []
        if chance.random() < 0.5:
            for number in range(chance.randint(1, 2)):
                words = f"later {counts['killed']}.{number}"
                later.append((words, await client.start_request("_north/followUp", params(known.session, words))))
        try:
            await asyncio.wait_for(some_updates(client, prompt, wanted), PATIENCE)
            await asyncio.sleep(chance.uniform(0, 0.02))
        finally:
            client.process.kill()
            await client.wait_exit()
    fresh = text_by_message(client)
    known.shown |= fresh
    known.asked = question_of(client, prompt)
    for words, request in later:
        if any(message.get("id") == request and "result" in message for _, message in client.transcript):
            known.accepted.append(words)
    known.begun += [text] if fresh else []
    ended = any(message.get("id") == prompt and "method" not in message for _, message in client.transcript)
    counts["killed"] += 1
    counts["in a turn"] += not ended
    counts["characters"] += sum(map(len, fresh.values()))
    counts["accepted"] += len(later)
    for sent in server.requests:
        if sent.path.endswith("/messages"):
            pairs(sent.body)
        counts["requests"] += 1
    assert not server.refused, server.refused


async def ask_all(client: RawAcpClient, server: ModelServer, session: str, where: dict[str, Any]) -> None:
    """Go on with a copy of the conversation for each API."""
    for model in _MODELS:
        copy = (await client.request("session/fork", {"sessionId": session, **where}))["sessionId"]
        await choose(client, copy, "model", model)
        server._answers.clear()
        server.script(answer(Say("Fine.")))
        ended = await client.request("session/prompt", params(copy, "Go on"))
        assert ended["stopReason"] == "end_turn", (model, ended)
        assert not server.refused, server.refused
        await client.request("session/delete", {"sessionId": copy})


async def choose(client: RawAcpClient, session: str, option: str, value: str) -> None:
    chosen = {"sessionId": session, "configId": option, "value": value}
    await client.request("session/set_config_option", chosen)


def serve(world: World, url: str) -> None:
    """Have the models of all APIs, and every piece of an answer stored and shown at once."""
    providers = {
        name.partition("/")[0]: {
            "baseUrl": url + path,
            "api": api,
            "apiKey": "sk-test-0123456789",
            "models": [{"id": name.partition("/")[2], "reasoning": True}],
        }
        for name, (api, path) in _MODELS.items()
    }
    (world.folder / "config" / "models.json").write_text(json.dumps({"providers": providers}))
    (world.folder / "config" / "config.json").write_text('{"stream.flushMs": 10}')


async def _never(params: dict[str, Any]) -> None:
    """Leave a question unanswered."""


def question_of(client: RawAcpClient, prompt: int) -> str | None:
    """Return the call of the question of this prompt that waits."""
    sent = next(index for index, (_, message) in enumerate(client.transcript) if message.get("id") == prompt)
    asked = [
        message["params"]["toolCall"]["toolCallId"]
        for _, message in client.transcript[sent:]
        if message.get("method") == "session/request_permission"
    ]
    ended = any(message.get("id") == prompt and "method" not in message for _, message in client.transcript)
    return asked[-1] if asked and not ended else None


async def ask_again(
    client: RawAcpClient, known: Known, north: dict[str, Any], chance: random.Random, counts: Counter[str]
) -> None:
    """Go on with the turn half of the time: the same question comes; the other half, the next prompt gives it up."""
    assert north.get("unfinished") == {"reason": "review"}, known.asked
    counts["questions"] += 1
    if chance.random() < 0.5:
        await client.start_request("_north/turn/resume", {"sessionId": known.session})
        again = await client.wait(lambda message: message.get("method") == "session/request_permission")
        assert again["params"]["toolCall"]["toolCallId"] == known.asked
        await client.notify("session/cancel", {"sessionId": known.session})
        await client.wait_update(
            lambda update: update.get("status") == "failed" and update["toolCallId"] == known.asked
        )
    known.asked = None


def params(session: str, text: str) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


async def some_updates(client: RawAcpClient, prompt: int, wanted: int) -> None:
    """Wait until this many updates have arrived, or the turn has ended."""

    def enough() -> bool:
        answered = any(message.get("id") == prompt and "method" not in message for _, message in client.transcript)
        return len(client.updates) >= wanted or answered or question_of(client, prompt) is not None

    async with client._news:
        await client._news.wait_for(enough)


def look(client: RawAcpClient, known: Known, queued: list[str]) -> None:
    there = text_by_message(client)
    for key, text in known.shown.items():
        assert there.get(key, "").startswith(text), f"lost of {key}: {text!r}, there is {there.get(key)!r}"
    users = [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "user_message_chunk"]
    said = "\n".join(update["content"]["text"] for update in users).split("\n")
    for text in known.begun:
        assert said.count(text) == 1, f"{text!r} appears {said.count(text)} times"
    for words in known.accepted:
        assert said.count(words) + queued.count(words) == 1, f"{words!r} appears {said.count(words)} times, {queued}"
    known.accepted = [words for words in known.accepted if words not in queued]  # offered to the user again
    known.begun += [words for words in known.accepted if words in said]
    known.accepted.clear()


def pairs(body: dict[str, Any]) -> None:
    parts = [part for one in body["messages"] for part in one["content"] if isinstance(part, dict)]
    asked = [part["id"] for part in parts if part["type"] == "tool_use"]
    told = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
    assert asked == told, (asked, told)
    assert len(set(asked)) == len(asked)


async def campaign(folder: Path, count: int, seed: int) -> dict[str, int]:
    chance, counts = random.Random(seed), Counter[str]()
    with ModelServer() as server:
        server._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that are killed hang up
        world, known = make_world(folder, server.url), Known()
        serve(world, server.url)
        while counts["killed"] < count:
            if counts["killed"] % _ROUNDS_OF_ONE == 0:
                known = Known()
                counts["conversations"] += 1
            await one_life(world, server, chance, known, counts)
        server.unexpected.clear()
    return dict(counts)


def main() -> None:
    from tests.conftest import REFUSED, warm_server

    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
    sys.stderr.write(f"seed {seed}\n")
    with warm_server(), tempfile.TemporaryDirectory() as folder:
        done = asyncio.run(campaign(Path(folder) / "world", count, seed))
    refused = take_refusals(REFUSED)
    assert not refused, f"the vendors would have refused: {refused}"
    sys.stdout.write(json.dumps(done) + "\n")


if __name__ == "__main__":
    main()
