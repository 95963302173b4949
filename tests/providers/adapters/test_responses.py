"""OpenAI's Responses API with the real SDK against a server that streams the real format."""

import json

import pytest

from north_lsp.providers.adapters.openai_responses import request_body
from north_lsp.providers.base import (
    AssistantMessage,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    Message,
    ModelRequest,
    Reasoning,
    StreamEvent,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from tests.providers.adapters.vendors import RESPONSES, ask
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, raw, say, stop, think, usage

TOOLS = [ToolSpec("read_file", "Reads.", {"type": "object", "properties": {}})]


def request(*messages: Message, effort: str | None = "medium") -> ModelRequest:
    return ModelRequest("gpt-5", "Be good.", messages, TOOLS, 9000, "conversation-1", Reasoning(effort=effort))


async def events_of(server: ModelServer, one: ModelRequest | None = None) -> list[StreamEvent]:
    return await ask(RESPONSES.make(server.url), one or request(UserMessage("Question")))


def sse(*events: dict[str, object]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


async def test_text_reasoning_and_parallel_calls_in_order(server: ModelServer) -> None:
    server.script(
        answer(
            think("Let me see."),
            say("I read. "),
            call("read_file", "c1", path="a.py", startLine=3),
            call("list_root", "c2"),
            usage(input=10, output=5, cache_read=30, cache_write=2),
        )
    )
    events = await events_of(server)
    done = events[-1]
    assert isinstance(done, Done)
    assert done.reason == "toolUse"
    thought, text, *calls = done.message.blocks
    assert isinstance(thought, Thinking)
    assert thought.thinking == "Let me see."
    assert json.loads(thought.signature or "") == {
        "type": "reasoning",
        "id": "rs_1_0",
        "summary": [{"type": "summary_text", "text": "Let me see."}],
        "encrypted_content": "signature",
    }
    assert text == Text("I read. ")
    assert calls == [
        ToolCall("c1|fc_c1_1_2", "read_file", {"path": "a.py", "startLine": 3}),
        ToolCall("c2|fc_c2_1_3", "list_root", {}),
    ]
    # The vendor's input has the cached tokens in it; ours only what costs the full price.
    assert done.message.usage == Usage(10, 5, 30, 2)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "I read. "
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == "Let me see."
    assert [event.name for event in events if isinstance(event, CallStart)] == ["read_file", "list_root"]
    assert "".join(event.json for event in events if isinstance(event, CallDelta) and event.index == 3) == "{}"
    assert [event.index for event in events if isinstance(event, BlockEnd)] == [0, 1, 2, 3]


async def test_what_is_sent_is_what_the_vendor_expects(server: ModelServer) -> None:
    server.script(answer(think("hm"), call("read_file", "c1", path="a")), answer(say("ok")))
    first = request(UserMessage("First"))
    done = (await events_of(server, first))[-1]
    assert isinstance(done, Done)
    own = AssistantMessage(done.message.blocks, model="gpt-5")
    result = ToolResult("c1|fc_c1_1_1", "read_file", "one", False)
    await events_of(server, request(UserMessage("First"), own, result))
    before, body = (one.body for one in server.requests)
    assert server.requests[0].path == "/v1/responses"
    headers = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert headers["user-agent"].startswith("north-lsp/")
    assert (body["store"], body["stream"]) == (False, True)
    assert body["prompt_cache_key"] == "conversation-1"
    assert body["reasoning"] == {"effort": "medium", "summary": "auto"}
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["instructions"] == "Be good."
    assert body["tools"] == [
        {
            "type": "function",
            "name": "read_file",
            "description": "Reads.",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]
    user, reasoning, used, output = body["input"]
    assert user == {"role": "user", "content": [{"type": "input_text", "text": "First"}]}
    assert reasoning["encrypted_content"] == "signature"
    assert used == {
        "type": "function_call",
        "call_id": "c1",
        "id": "fc_c1_1_1",
        "name": "read_file",
        "arguments": '{"path":"a"}',
    }
    assert output == {"type": "function_call_output", "call_id": "c1", "output": "one"}
    # The whole request before is the beginning of this one.
    assert body["input"][: len(before["input"])] == before["input"]
    assert {**body, "input": None} == {**before, "input": None}


def test_what_another_model_thought_is_left_out() -> None:
    thought = Thinking("hm", json.dumps({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}))
    foreign = AssistantMessage((thought, Thinking("signed", "sig"), ToolCall("c1|fc_1", "t", {})), model="gpt-4")
    body = request_body(request(foreign))
    assert body["input"] == [{"type": "function_call", "call_id": "c1", "name": "t", "arguments": "{}"}]
    assert "reasoning" not in request_body(request(effort=None))


@pytest.mark.parametrize(("word", "reason"), [("max_output_tokens", "length"), ("content_filter", "refusal")])
async def test_an_incomplete_response(server: ModelServer, word: str, reason: str) -> None:
    server.script(answer(say("x"), stop(word)))
    done = (await events_of(server))[-1]
    assert isinstance(done, Done)
    assert done.reason == reason
    assert done.message.text == "x"


async def test_arguments_that_come_only_when_they_are_done(server: ModelServer) -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read_file", "arguments": ""}
    body = sse(
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.function_call_arguments.done", "item_id": "fc_1", "arguments": '{"path": "a"}'},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"status": "completed"}},
    )
    server.script(answer(raw(body)))
    done = (await events_of(server))[-1]
    assert isinstance(done, Done)
    assert done.message.calls == (ToolCall("c1|fc_1", "read_file", {"path": "a"}),)


async def test_items_that_come_only_with_the_end(server: ModelServer) -> None:
    message = {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "all at once"}]}
    server.script(
        answer(raw(sse({"type": "response.completed", "response": {"status": "completed", "output": [message]}})))
    )
    events = await events_of(server)
    assert isinstance(events[-1], Done)
    assert events[-1].message.text == "all at once"
    assert TextDelta(0, "all at once") in events


async def test_a_refusal_is_text(server: ModelServer) -> None:
    message = {"type": "message", "id": "m1", "content": []}
    body = sse(
        {"type": "response.output_item.added", "output_index": 0, "item": message},
        {"type": "response.refusal.delta", "output_index": 0, "item_id": "m1", "delta": "I cannot."},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": {"status": "completed"}},
    )
    server.script(answer(raw(body)))
    done = (await events_of(server))[-1]
    assert isinstance(done, Done)
    assert done.message.text == "I cannot."
