"""What models of each maker are sent through Amazon Bedrock's Converse: what Bedrock accepts, and what Amazon's own
client would send."""

import base64
import json
from importlib import import_module
from typing import Any

import pytest

from north_lsp.providers.adapters.bedrock_converse import request_body
from north_lsp.providers.base import (
    AssistantMessage,
    Image,
    Message,
    ModelRequest,
    Reasoning,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from north_lsp.providers.compat import Compat
from tests.support.rules.check import check_http

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "us.amazon.nova-2-lite-v1:0"
OTHER = "openai.gpt-oss-120b-1:0"
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
TOOLS = [ToolSpec("read_file", "Reads.", SCHEMA)]
POINT = {"cachePoint": {"type": "default"}}
PNG = Image("image/png", "iVBORw0KGgo=")
PICTURE = {"image": {"format": "png", "source": {"bytes": PNG.data}}}
CALLS = AssistantMessage((ToolCall("1", "read_file", {}), ToolCall("2", "read_file", {})), model="m-1")
RESULTS = (ToolResult("1", "read_file", "one", False, (PNG,)), ToolResult("2", "read_file", "no", True, (PNG,)))


THINKS = Reasoning(2000)


def request(*messages: Message, reasoning: Reasoning = THINKS, tools: bool = True) -> ModelRequest:
    asked = messages or (UserMessage("Question"),)
    return ModelRequest("m-1", "Be good.", asked, TOOLS if tools else [], 8000, "conversation-1", reasoning)


def sent_to(wire_id: str, one: ModelRequest, compat: Compat | None = None) -> dict[str, Any]:
    """What a model would be sent; Bedrock would accept it."""
    body = request_body(one, wire_id, compat)
    refused = check_http(f"/model/{wire_id}/converse-stream", body)
    assert refused is None, refused
    return body


@pytest.mark.parametrize("wire_id", [CLAUDE, NOVA, OTHER])
def test_amazons_own_client_would_send_the_same(wire_id: str) -> None:
    session = pytest.importorskip("botocore.session").get_session()
    serialize, validate = import_module("botocore.serialize"), import_module("botocore.validate")
    service = session.get_service_model("bedrock-runtime")
    operation = service.operation_model("ConverseStream")
    thought = (Thinking("hm", "signature"), Thinking("", redacted='{"bedrock":"aGlkZGVu"}'), *CALLS.blocks)
    history = (UserMessage("Look", (PNG,)), AssistantMessage(thought, model="m-1"), *RESULTS, UserMessage("And?"))
    for reasoning in (Reasoning(2000), Reasoning(effort="low")):
        body = sent_to(wire_id, request(*history, reasoning=reasoning))
        params = {"modelId": wire_id, **_as_python(body)}
        report = validate.ParamValidator().validate(params, operation.input_shape)
        assert not report.has_errors(), report.generate_report()
        written = serialize.create_serializer(service.metadata["protocol"]).serialize_to_request(params, operation)
        assert json.loads(written["body"]) == body
        assert written["url_path"] == f"/model/{wire_id.replace(':', '%3A')}/converse-stream"


def _as_python(value: Any) -> Any:
    """A request for Amazon's client, which wants bytes where base64 is sent."""
    match value:
        case dict():
            return {
                key: base64.b64decode(one) if key in ("bytes", "redactedContent") else _as_python(one)
                for key, one in value.items()
            }
        case list():
            return [_as_python(one) for one in value]
        case _:
            return value


def test_what_another_model_or_another_api_has_thought_is_not_sent() -> None:
    blocks = (
        Thinking("unsigned"),
        Thinking("google's", '{"google":"call","signature":"x"}'),
        Thinking("", redacted="the form of Anthropic's own API"),
        Text("So."),
    )
    for message in (
        AssistantMessage(blocks, model="m-1"),
        AssistantMessage((Thinking("hm", "s"), Thinking("", redacted='{"bedrock":"aGk="}'), Text("So.")), model="m-2"),
    ):
        body = sent_to(CLAUDE, request(UserMessage("a"), message, UserMessage("b")))
        assert body["messages"][1] == {"role": "assistant", "content": [{"text": "So."}]}


def test_neighbors_of_one_role_are_one_message_and_nothing_is_blank() -> None:
    history: list[Message] = [
        UserMessage(" \n"),
        AssistantMessage((Text(" "),), model="m-1"),
        UserMessage("One"),
        AssistantMessage((Text("a"),), model="m-1"),
        AssistantMessage((Text("b"), ToolCall("1", "read_file", {})), model="m-1"),
        ToolResult("1", "read_file", "", False),
        UserMessage("Two"),
    ]
    result = {"toolResult": {"toolUseId": "1", "content": [{"text": "[empty]"}], "status": "success"}}
    assert sent_to(CLAUDE, request(*history, reasoning=Reasoning()))["messages"] == [
        {"role": "user", "content": [{"text": "[empty]"}, {"text": "One"}]},
        {
            "role": "assistant",
            "content": [
                {"text": "a"},
                {"text": "b"},
                {"toolUse": {"toolUseId": "1", "name": "read_file", "input": {}}},
            ],
        },
        {"role": "user", "content": [result, {"text": "Two"}, POINT]},
    ]


def test_pictures_of_results_stand_where_the_model_takes_them() -> None:
    history = (UserMessage("q"), CALLS, *RESULTS)
    within = sent_to(CLAUDE, request(*history, reasoning=Reasoning()))["messages"][-1]["content"]
    assert within[0]["toolResult"]["content"] == [{"text": "one"}, PICTURE]
    assert within[1]["toolResult"] == {"toolUseId": "2", "content": [{"text": "no"}], "status": "error"}
    first, second, *behind = sent_to(OTHER, request(*history))["messages"][-1]["content"]
    assert first["toolResult"] == {"toolUseId": "1", "content": [{"text": "one"}]}
    assert second["toolResult"] == {"toolUseId": "2", "content": [{"text": "no"}]}
    assert behind == [PICTURE]


def test_a_kind_of_picture_that_bedrock_does_not_take_is_told() -> None:
    body = sent_to(CLAUDE, request(UserMessage("q", (Image("image/bmp", "Qk0="), PNG))))
    picture, told, words, _ = body["messages"][0]["content"]
    assert (picture, words) == (PICTURE, {"text": "q"})
    assert "image omitted" in told["text"]


def test_a_message_has_no_more_pictures_than_bedrock_takes() -> None:
    body = sent_to(CLAUDE, request(UserMessage("q", (PNG,) * 15), UserMessage("r", (PNG,) * 15)))
    (message,) = body["messages"]
    assert message["content"].count(PICTURE) == 20
    assert "image omitted" in message["content"][21]["text"]


def test_ids_and_names_are_within_the_vendors_pattern() -> None:
    strange = AssistantMessage((ToolCall("call|ä" * 20, "read file/ü" * 9, {}),), model="m-2")
    asked = request(UserMessage("q"), strange, ToolResult("call|ä" * 20, "x", "one", False), reasoning=Reasoning())
    _, said, result = sent_to(CLAUDE, asked)["messages"]
    assert said["content"][0]["toolUse"]["toolUseId"] == result["content"][0]["toolResult"]["toolUseId"]


def test_calls_of_a_conversation_without_tools_are_declared() -> None:
    asked = request(UserMessage("q"), CALLS, *RESULTS, UserMessage("Summarize."), tools=False)
    (tool,) = sent_to(CLAUDE, asked)["toolConfig"]["tools"]
    assert tool["toolSpec"]["name"] == "read_file"
    assert "toolConfig" not in sent_to(CLAUDE, request(tools=False))


@pytest.mark.parametrize(
    ("wire_id", "reasoning", "fields"),
    [
        (CLAUDE, Reasoning(), {}),
        (CLAUDE, Reasoning(500), {}),
        (CLAUDE, Reasoning(8000), {}),  # as much as the whole answer may have
        (CLAUDE, Reasoning(2000), {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
        (CLAUDE, Reasoning(effort="high"), {}),
        (NOVA, Reasoning(2000), {}),
        (
            NOVA,
            Reasoning(effort="low"),
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}},
        ),
        (NOVA, Reasoning(effort="none"), {}),
        (OTHER, Reasoning(effort="medium"), {"reasoning_effort": "most"}),
        (OTHER, Reasoning(2000), {}),
    ],
)
def test_thinking_in_the_makers_words(wire_id: str, reasoning: Reasoning, fields: dict[str, object]) -> None:
    body = sent_to(wire_id, request(reasoning=reasoning), Compat(reasoning_effort_map={"medium": "most"}))
    assert body.get("additionalModelRequestFields", {}) == fields


def test_schemas_for_amazons_models_have_no_references() -> None:
    option = {"type": "object", "properties": {"of": {"$ref": "#/$defs/Option"}, "name": {"type": "string"}}}
    options = {"type": "array", "items": {"$ref": "#/$defs/Option", "description": "One."}}
    schema = {
        "type": "object",
        "properties": {"options": options},
        "required": ["options"],
        "$defs": {"Option": option},
    }
    asked = ModelRequest("m-1", "s", [UserMessage("q")], [ToolSpec("ask", "", schema)], 4000)
    (nova,), (claude,) = (sent_to(one, asked)["toolConfig"]["tools"] for one in (NOVA, CLAUDE))
    assert claude["toolSpec"]["inputSchema"]["json"] == schema
    inner = {"type": "object", "properties": {"of": {}, "name": {"type": "string"}}, "description": "One."}
    assert nova["toolSpec"]["inputSchema"]["json"] == {
        "type": "object",
        "properties": {"options": {"type": "array", "items": inner}},
        "required": ["options"],
    }


def test_amazons_models_refuse_a_limit_while_they_think_most() -> None:
    assert "inferenceConfig" not in sent_to(NOVA, request(reasoning=Reasoning(effort="high")))
    assert "inferenceConfig" in sent_to(NOVA, request(reasoning=Reasoning(effort="medium")))


def test_claude_does_not_think_in_a_loop_that_began_without() -> None:
    history = (UserMessage("q"), CALLS, *RESULTS)
    assert "additionalModelRequestFields" not in sent_to(CLAUDE, request(*history))
    said = AssistantMessage((Text("So."),), model="m-1")
    assert "additionalModelRequestFields" in sent_to(CLAUDE, request(*history, said, UserMessage("And?")))


@pytest.mark.parametrize(
    ("wire_id", "flag", "caches"),
    [(CLAUDE, None, True), (NOVA, None, True), (OTHER, None, False), (CLAUDE, False, False), ("m-1", None, False)],
)
def test_prompts_are_cached_where_the_model_can(wire_id: str, flag: bool | None, caches: bool) -> None:
    body = sent_to(wire_id, request(), Compat(supports_cache_points=flag))
    assert (POINT in body["system"]) == (POINT in body["messages"][-1]["content"]) == caches


def test_an_arn_tells_its_maker_by_the_id_in_the_catalog() -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
    asked = ModelRequest("claude-sonnet-4-5", "s", [UserMessage("q")], [], 4000)
    assert POINT in request_body(asked, arn)["system"]
    assert POINT not in request_body(asked, OTHER)["system"]
