"""Whatever happens in a conversation, also with agents, MCP servers and pages of the web: each request begins with the
whole one before it, so that caches serve it, is valid by its vendor's rules, and has nothing that is masked."""

import json
import random
from typing import Any

import pytest

from tests.end_to_end.test_faults import APIS, each_api, prompt, serve
from tests.end_to_end.test_mcp import stdio
from tests.end_to_end.test_secrets_campaign import agree
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.narrow_model import is_summary
from tests.support.script import Answer, Cut, Fail, Gate, Part, Say, Stop, Think, answer, call
from tests.support.web_site import Page, Site

LENGTH = dict(zip(APIS, ("max_tokens", "max_output_tokens", "length", "MAX_TOKENS", "max_tokens"), strict=True))
SECRET = "tok-4711-very-secret"
AGENT = "You are the agent"
BUSY = answer(Fail(529, "overloaded_error", "overloaded", {"retry-after-ms": "1"}))


class Life:
    """A conversation and what can happen to it; each happening leaves it idle."""

    def __init__(
        self, client: RawAcpClient, world: World, server: ModelServer, site: Site, api: str, *, thinks: bool
    ) -> None:
        self.client, self.world, self.server, self.api, self.thinks = client, world, server, api, thinks
        self.site = site
        self.session = ""
        self.count = 0

    @property
    def where(self) -> dict[str, Any]:
        return {"cwd": str(self.world.project), "mcpServers": [stdio()]}

    async def open(self) -> None:
        self.session = str((await self.client.request("session/new", self.where))["sessionId"])

    def good(self) -> Answer:
        self.count += 1
        return answer(*([Think(f"Thought {self.count}.")] if self.thinks else []), Say(f"Answer {self.count}."))

    def looking(self) -> Answer:
        return answer(*self.thought(), Say("I look."), call("list_root"), call("read_file", path="no/such.py"))

    async def ask(self, *answers: Answer) -> str:
        self.server.script(*answers)
        return await prompt(self.client, self.session, f"Question {self.count}")

    async def talk(self) -> None:
        await self.ask(self.good())

    async def look(self) -> None:
        await self.ask(self.looking(), self.looking(), self.good())

    async def delegate(self) -> None:
        """An agent looks, in a conversation of its own, and hands in what it found."""
        task = {"agent": "task", "prompt": f"Look for <<$env:S0>>, {self.count}", "id": f"look-{self.count}"}
        found = answer(*self.thought(), call("submit_result", result="It is <<$env:S0>>.", summary="Found."))
        asked = answer(*self.thought(), call("task", tasks=[task]))
        assert await self.ask(asked, self.looking(), found, self.good()) == "end_turn"

    async def use_server(self) -> None:
        """A tool of another program, which gets the real value and says it again."""
        asked = answer(*self.thought(), call("mcp_test_echo", text=f"<<$env:S0>> {self.count}"), call("list_root"))
        assert await self.ask(asked, self.good()) == "end_turn"

    async def fetch(self) -> None:
        self.site.pages[f"/{self.count}"] = Page(f"The token is {SECRET}.", "text/plain")
        asked = answer(*self.thought(), call("web_fetch", url=f"{self.site.url}/{self.count}"))
        assert await self.ask(asked, self.good()) == "end_turn"

    def thought(self) -> list[Part]:
        return [Think(f"I should look, {self.count}.")] if self.thinks else []

    async def break_off(self) -> None:
        await self.ask(answer(Say("Half of it"), Cut()), self.good())

    async def fail(self) -> None:
        await self.ask(answer(Fail(400, "invalid_request_error", "temperature is wrong")))

    async def fall_back(self) -> None:
        await self.ask(BUSY, BUSY, self.looking(), self.good())

    async def go_on(self) -> None:
        assert await self.ask(answer(Say("The first part"), Stop(LENGTH[self.api]))) == "max_tokens"
        self.server.script(self.good())
        await prompt(self.client, self.session, "/continue")

    async def interrupted(self, *answers: Answer) -> tuple[int, str]:
        """A prompt whose answer has come to a gate."""
        self.server.script(*answers)
        gate = next(part.name for part in answers[0].parts if isinstance(part, Gate))
        blocks = [{"type": "text", "text": f"Question {self.count}"}]
        asked = await self.client.start_request("session/prompt", {"sessionId": self.session, "prompt": blocks})
        await self.server.reached(gate)
        return asked, gate

    async def steer(self) -> None:
        self.count += 1
        gate = Gate(f"steer {self.count}")
        asked, name = await self.interrupted(answer(Say("I begin."), gate, call("list_root")), self.good())
        words = [{"type": "text", "text": "Look elsewhere"}]
        steered = await self.client.start_request("_north/steer", {"sessionId": self.session, "prompt": words})
        await self.client.wait(lambda message: message.get("method") == "session/update")
        self.server.open(name)
        assert (await self.client.answer(asked))["stopReason"] == "end_turn"
        await self.client.answer(steered)

    async def cancel(self) -> None:
        """After a call has come whole, which never runs."""
        self.count += 1
        asked, _ = await self.interrupted(answer(Say("I begin."), call("list_root"), Gate(f"cancel {self.count}")))
        await self.client.notify("session/cancel", {"sessionId": self.session})
        assert (await self.client.answer(asked))["stopReason"] == "cancelled"

    async def switch(self) -> None:
        model = f"there/m-{self.count % 2 + 1}"
        params = {"sessionId": self.session, "configId": "model", "value": model}
        await self.client.request("session/set_config_option", params)

    async def only_ask(self) -> None:
        """A turn in the mode that only reads, and back."""
        for mode in ("ask", "agent"):
            await self.client.request("session/set_mode", {"sessionId": self.session, "modeId": mode})
            await self.look()

    async def load(self) -> None:
        await self.client.request("session/close", {"sessionId": self.session})
        await self.client.request("session/load", {"sessionId": self.session, **self.where})

    async def summarize(self) -> None:
        """One of the two places where the prefix may change; the other are pruned outputs."""
        self.server.script(*[answer(Say('{"goal": "Ask and answer"}'))] * 2)
        await prompt(self.client, self.session, "/summarize --keep-last 2")
        self.server.drop()

    async def command(self) -> None:
        await prompt(self.client, self.session, "/costs")


def told(body: dict[str, Any]) -> tuple[str, list[str]]:
    """What stands before the conversation, and the conversation's items, each as it was sent; but for the marks of
    caches, which move. On Bedrock neighbors of one role are one message, so the items are its blocks."""
    items = body.get("messages") or body.get("contents") or body["input"]
    system = body.get("system") or body.get("instructions") or body.get("systemInstruction")
    if "toolConfig" in body:
        items = [[message["role"], block] for message in items for block in message["content"]]
    tools = body.get("tools") or body["toolConfig"]
    return json.dumps(without_marks([system, tools])), [json.dumps(without_marks(item)) for item in items]


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_marks(each) for key, each in value.items() if key != "cache_control"}
    return [without_marks(each) for each in value] if isinstance(value, list) else value


@pytest.mark.usefixtures("without_proxies")
@each_api
@pytest.mark.parametrize("seed", range(2))
async def test_each_request_begins_with_the_whole_one_before(
    world: World, server: ModelServer, site: Site, api: str, seed: int
) -> None:
    thinks = seed % 2 == 1
    chains = {"there/m-1": ["there/m-2"], "there/m-2": ["there/m-1"]}
    retry = {"baseDelayMs": 8, "requestMaxRetries": 0, "streamMaxRetries": 0, "maxRetries": 1, "fallbackChains": chains}
    settings = {"retry": retry, "mcp.startupWaitMs": 60_000}
    (world.folder / "config" / "config.json").write_text(json.dumps(settings))
    (world.project / ".env").write_text(f"SERVICE_TOKEN={SECRET}\n")
    serve(world, api, server.url, "m-1", "m-2")
    async with inside(world.environ, "there/m-1") as client:
        client.handlers["session/request_permission"] = agree
        life = Life(client, world, server, site, api, thinks=thinks)
        await life.open()
        happenings = [life.talk, life.look, life.break_off, life.fail, life.fall_back, life.go_on, life.steer]
        happenings += [life.cancel, life.switch, life.load, life.command, life.summarize]
        happenings += [life.delegate, life.use_server, life.fetch, life.only_ask]
        order = [*happenings, *happenings]
        random.Random(seed).shuffle(order)
        for happening in (life.talk, life.fetch, *order, life.talk):  # the secret has its number before models say it
            await happening()
    # What another model has thought or signed is not sent, so each model has a chain of its own.
    signs = thinks or api in ("openai-responses", "google-generative-ai")
    before: dict[str, list[str]] = {}
    heads: dict[tuple[str, bool], str] = {}  # the two modes have tools of their own
    grown = agents = 0
    for request in server.requests:
        assert SECRET not in request.raw.decode()
        if is_summary(request.body):
            before = {key: [] for key in before}
            continue
        chain = str(request.body.get("model") or request.path) if signs else ""
        fixed, items = told(request.body)
        if AGENT in fixed or AGENT in items[0]:
            agents += 1
            continue
        assert heads.setdefault((chain, '"edit_' in fixed), fixed) == fixed
        assert items[: len(before.get(chain, []))] == before.get(chain, []), [one.__name__ for one in order]
        before[chain] = items
        grown += 1
    assert grown > 20
    assert {changes for _, changes in heads} == {True, False}
    assert agents == 4
    assert len(site.asked) == 3
    sent = "".join(request.raw.decode() for request in server.requests)
    for words in ("echo: <<$env:S0>>", "The token is <<$env:S0>>", "It is <<$env:S0>>."):
        assert words in sent
