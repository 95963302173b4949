"""Forms and pages: what is asked of which client, and what its answers mean."""

from typing import Any, cast

import pytest

from north_lsp.acp.elicitation import Elicitation
from north_lsp.acp.initialize import Client, read_client
from north_lsp.agent.ports.forms import ChoiceField, Form, FormAnswer, NumberField, Page, SwitchField, TextField, Value
from north_lsp.rpc.messages import METHOD_NOT_FOUND, RpcError
from tests.end_to_end.world import SERVER, World
from tests.support.acp_schema import Oracle
from tests.support.client import raw_client
from tests.support.model_server import ModelServer

FORM = Form(
    "f1",
    "Which parts?",
    (
        TextField("name", "Name", detail="How it is called", most=20),
        ChoiceField("color", "Color", (("r", "Red"), ("g", "Green")), default="g"),
        ChoiceField("parts", "Parts", (("a", "A"), ("b", "B")), several=True, required=False),
        NumberField("count", "Count", whole=True, least=1, most=9, required=False),
        NumberField("ratio", "Ratio", required=False),
        SwitchField("deep", "Deep", required=False, default=False),
    ),
    call_id="c1",
)
FULL = {"name": "x", "color": "r", "parts": ["b", "a"], "count": 3, "ratio": 0.5, "deep": True}


class FakePeer:
    """Answers every request alike, and checks it by the official schema."""

    has_ended = False

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.sent: list[tuple[str, Any]] = []

    async def request(self, method: str, params: Any, *, cancellable: bool = False) -> object:
        Oracle.load().check_request(method, params, "agent")
        assert cancellable
        self.sent.append((method, params))
        if isinstance(self.answer, RpcError):
            raise self.answer
        return self.answer

    async def notify(self, method: str, params: Any) -> None:
        Oracle.load().check_notification(method, params, "agent")
        self.sent.append((method, params))


def asking(answer: object, **announced: bool) -> tuple[Elicitation, FakePeer]:
    peer = FakePeer(answer)
    return Elicitation(cast(Any, peer), {"sessionId": "s1"}, Client(**cast(Any, announced))), peer


async def test_what_was_filled_in_comes_back_typed() -> None:
    one, peer = asking({"action": "accept", "content": {**FULL, "more": 1}}, fills_forms=True)
    values: dict[str, Value] = {"name": "x", "color": "r", "parts": ("b", "a"), "count": 3, "ratio": 0.5, "deep": True}
    assert await one.fill(FORM) == FormAnswer("accepted", values)
    ((_, params),) = peer.sent
    assert (params["mode"], params["toolCallId"], params["message"]) == ("form", "c1", "Which parts?")
    schema = params["requestedSchema"]
    assert schema["required"] == ["name", "color"]
    assert [one["type"] for one in schema["properties"].values()] == [
        "string",
        "string",
        "array",
        "integer",
        "number",
        "boolean",
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", None),
        ("name", 1),
        ("name", "x" * 21),
        ("color", "blue"),
        ("color", ["r"]),
        ("parts", "a"),
        ("parts", ["c"]),
        ("count", 1.5),
        ("count", 10),
        ("count", True),
        ("deep", "yes"),
    ],
)
async def test_an_answer_that_does_not_fit_the_form_is_none(key: str, value: object) -> None:
    one, _ = asking({"action": "accept", "content": FULL | {key: value}}, fills_forms=True)
    answer = await one.fill(FORM)
    assert answer is not None
    assert answer.kind == "cancelled"
    assert answer.problem.startswith(f"{key} ")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"action": "decline"}, "declined"),
        ({"action": "cancel"}, "cancelled"),
        ({"action": "later"}, "cancelled"),
        ({}, "cancelled"),
        (None, "cancelled"),
        (RpcError(-32603, "no"), "cancelled"),
    ],
)
async def test_anything_else_is_a_no_or_no_answer(answer: object, kind: str) -> None:
    one, _ = asking(answer, fills_forms=True, opens_pages=True)
    assert await one.fill(FORM) == FormAnswer(cast(Any, kind))
    assert await one.open(Page("p1", "Sign in", "https://example.com/")) == FormAnswer(cast(Any, kind))


async def test_a_page_is_opened_and_its_end_is_told() -> None:
    one, peer = asking({"action": "accept"}, opens_pages=True)
    page = Page("p1", "Sign in", "https://example.com/")
    assert await one.open(page) == FormAnswer("accepted")
    await one.done(page)
    assert [method for method, _ in peer.sent] == ["elicitation/create", "elicitation/complete"]
    assert peer.sent[0][1]["url"] == "https://example.com/"


async def test_nothing_is_asked_of_a_client_that_announced_nothing_or_knows_no_such_method() -> None:
    one, peer = asking({"action": "accept"})
    page = Page("p1", "Sign in", "https://example.com/")
    assert (await one.fill(FORM), await one.open(page)) == (None, None)
    await one.done(page)
    assert peer.sent == []
    one, peer = asking(RpcError(METHOD_NOT_FOUND, "no"), fills_forms=True)
    assert (await one.fill(FORM), await one.fill(FORM)) == (None, None)
    assert len(peer.sent) == 1


@pytest.mark.parametrize(
    ("elicitation", "forms", "pages"),
    [({"form": {}, "url": {}}, True, True), ({"form": {}}, True, False), ({"form": None}, False, False)],
)
def test_what_a_client_announced_is_read(elicitation: dict[str, Any], forms: bool, pages: bool) -> None:
    client = read_client({"clientCapabilities": {"elicitation": elicitation}})
    assert (client.fills_forms, client.opens_pages) == (forms, pages)


@pytest.mark.parametrize(
    ("answer", "removed"),
    [
        ({"action": "accept", "content": {"answer": "yes"}}, True),
        ({"action": "accept", "content": {"answer": "no"}}, False),
        ({"action": "decline"}, False),
        ({"action": "cancel"}, False),
    ],
)
async def test_a_question_of_norths_own_is_a_form(
    world: World, server: ModelServer, answer: dict[str, Any], removed: bool
) -> None:
    trash = world.data / "conversations" / "trash" / "a1b2c3-20990101T000000Z"
    trash.mkdir(parents=True)
    (trash / "a1b2c3.jsonl").write_text("x" * 1000)
    asked: list[dict[str, Any]] = []

    async def fill(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return answer

    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        client.handlers["elicitation/create"] = fill
        capabilities: dict[str, Any] = {"elicitation": {"form": {}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        text = {"type": "text", "text": "/storage clean"}
        await client.request("session/prompt", {"sessionId": made["sessionId"], "prompt": [text]})
    assert "Remove the trash" in asked[0]["message"]
    assert trash.exists() != removed
