"""Chat Completions with the real SDK: the real format, and what servers make of it."""

import json
import re
from typing import Any

import pytest

from north_lsp.providers.adapters.openai_chat import ChatProvider, request_body
from north_lsp.providers.base import (
    AssistantMessage,
    BlockEnd,
    CallStart,
    Done,
    Failed,
    Message,
    ModelRequest,
    Reasoning,
    StreamEvent,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from north_lsp.providers.compat import Compat, compat_for
from tests.providers.adapters.vendors import CHAT, ask, connection
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, fail, raw, say, stop, think, usage

TOOLS = [ToolSpec("read_file", "Reads.", {"type": "object", "properties": {}})]
COUNTS = {"prompt_tokens": 40, "completion_tokens": 5}
LOCAL = "http://127.0.0.1:8000/v1"
CALLED = AssistantMessage((Thinking("hm"), ToolCall("call_abcdefghijk", "read_file", {"path": "a"})), model="m-1")
RESULT = ToolResult("call_abcdefghijk", "read_file", "one", False)


def request(*messages: Message, effort: str | None = None, budget: int = 0) -> ModelRequest:
    return ModelRequest("m-1", "Be good.", messages, TOOLS, 9000, "c1", Reasoning(budget, effort))


def body(one: ModelRequest, address: str = LOCAL, *, model: str = "m-1", **flags: Any) -> dict[str, Any]:
    return request_body(one, compat_for(address, flags), address, model, True)


async def events_of(server: ModelServer, *chunks: dict[str, Any], done: bool = True) -> list[StreamEvent]:
    data = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)
    server.script(answer(raw(data + (b"data: [DONE]\n\n" if done else b""))))
    return await ask(CHAT.make(server.url))


async def done_of(server: ModelServer, *chunks: dict[str, Any], done: bool = True) -> Done:
    last = (await events_of(server, *chunks, done=done))[-1]
    assert isinstance(last, Done), last
    return last


def delta(reason: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": reason}]}


def piece(arguments: object = None, **fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name",) if key in fields}
    return delta(tool_calls=[fields | {"function": function | ({} if arguments is None else {"arguments": arguments})}])


# -- what is sent -----------------------------------------------------------------------------------------------------


async def test_the_usual_form(server: ModelServer) -> None:
    server.script(
        answer(
            think("Let me see."),
            say("I read. "),
            call("read_file", "c1", path="a.py"),
            call("list_root", "c2"),
            usage(input=10, output=5, cache_read=30),
        ),
        answer(say("ok")),
    )
    first = request(UserMessage("First"))
    events = await ask(CHAT.make(server.url), first)
    done = events[-1]
    assert isinstance(done, Done)
    assert done.reason == "toolUse"
    assert done.message.blocks == (
        Thinking("Let me see."),
        Text("I read. "),
        ToolCall("c1", "read_file", {"path": "a.py"}),
        ToolCall("c2", "list_root", {}),
    )
    assert done.message.usage == Usage(10, 5, 30, 0)
    assert [event.index for event in events if isinstance(event, BlockEnd)] == [0, 1, 2, 3]
    results = [ToolResult(id, "read_file", "x", False) for id in ("c1", "c2")]
    await ask(CHAT.make(server.url), request(UserMessage("First"), done.message, *results))
    before, after = (one.body for one in server.requests)
    assert server.requests[0].path == "/v1/chat/completions"
    assert before["stream_options"] == {"include_usage": True}
    assert before["max_tokens"] == 9000
    assert [message["role"] for message in after["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert after["messages"][: len(before["messages"])] == before["messages"]
    assert {**after, "messages": None} == {**before, "messages": None}
    assert after["messages"][2]["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "read_file", "arguments": '{"path":"a.py"}'},
    }


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, {"max_tokens": 9000, "stream_options": {"include_usage": True}}),
        ({"supports_usage_in_streaming": False}, {"stream_options": None}),
        ({"max_tokens_field": "max_completion_tokens"}, {"max_completion_tokens": 9000, "max_tokens": None}),
        ({"supports_store": True}, {"store": False}),
        ({"supports_reasoning_effort": True}, {"reasoning_effort": "high"}),
        ({"supports_reasoning_effort": True, "reasoning_effort_map": {"high": "max"}}, {"reasoning_effort": "max"}),
        ({"thinking_format": "openrouter"}, {"reasoning": {"effort": "high"}}),
        ({"thinking_format": "zai"}, {"thinking": {"type": "enabled"}}),
        ({"thinking_format": "qwen"}, {"enable_thinking": True}),
        ({"thinking_format": "qwen-chat-template"}, {"chat_template_kwargs": {"enable_thinking": True}}),
        ({"extra_body": {"top_k": 3}}, {"top_k": 3}),
        ({"open_router_routing": {"only": ["x"]}}, {"provider": None}),  # only for that host
    ],
)
def test_flags_of_the_request(flags: dict[str, Any], expected: dict[str, Any]) -> None:
    sent = body(request(UserMessage("Q"), effort="high"), **flags)
    assert {key: sent.get(key) for key in expected} == expected


def test_what_is_known_of_hosts() -> None:
    one = request(UserMessage("Q"), effort="high")
    openai = body(one, "https://api.openai.com/v1")
    assert openai["messages"][0]["role"] == "developer"
    assert (openai["max_completion_tokens"], openai["store"], openai["reasoning_effort"]) == (9000, False, "high")
    assert openai["prompt_cache_key"] == "c1"
    router = body(one, "https://openrouter.ai/api/v1", model="anthropic/claude", open_router_routing={"order": ["a"]})
    assert router["provider"] == {"order": ["a"]}
    assert router["cache_control"] == {"type": "ephemeral"}
    mistral = body(request(UserMessage("Q"), CALLED, RESULT), "https://api.mistral.ai/v1")
    assert len(mistral["messages"][2]["tool_calls"][0]["id"]) == 9
    assert mistral["messages"][3]["tool_call_id"] == mistral["messages"][2]["tool_calls"][0]["id"]


def test_flags_of_the_messages() -> None:
    history = (UserMessage("Q"), CALLED, RESULT, UserMessage("R"))

    def messages(**flags: Any) -> list[dict[str, Any]]:
        return list(body(request(*history), **flags)["messages"])

    plain = messages()
    assert [one["role"] for one in plain] == ["system", "user", "assistant", "tool", "user"]
    assert plain[2]["content"] is None
    assert "reasoning_content" not in plain[2]
    assert "name" not in plain[3]
    assert messages(requires_tool_result_name=True)[3]["name"] == "read_file"
    assert messages(requires_assistant_after_tool_result=True)[4]["role"] == "assistant"
    assert messages(requires_assistant_content_for_tool_calls=True)[2]["content"]
    assert messages(requires_thinking_as_text=True)[2]["content"] == "<thinking>\nhm\n</thinking>"
    kept = messages(requires_reasoning_content_for_tool_calls=True, reasoning_content_field="reasoning")
    assert kept[2]["reasoning"] == "hm"


@pytest.mark.parametrize(
    ("complaint", "flags", "gone", "there"),
    [
        ("Unknown parameter: 'stream_options'", {}, "stream_options", None),
        (
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            {},
            "max_tokens",
            "max_completion_tokens",
        ),
        ("Unrecognized request argument supplied: store", {"supports_store": True}, "store", None),
        ("reasoning_effort is not supported", {"supports_reasoning_effort": True}, "reasoning_effort", None),
    ],
)
async def test_a_parameter_that_the_server_does_not_know_is_left_out(
    server: ModelServer, complaint: str, flags: dict[str, Any], gone: str, there: str | None
) -> None:
    server.script(answer(fail(400, "invalid_request_error", complaint)), answer(say("ok")), answer(say("again")))
    noted: list[str] = []
    provider = ChatProvider(connection(f"{server.url}/v1"), compat=Compat(**flags), reasons=True, note=noted.append)
    one = request(UserMessage("Q"), effort="high")
    assert isinstance([event async for event in provider.stream(one)][-1], Done)
    assert isinstance((await ask(provider, one))[-1], Done)
    first, second, third = (known.body for known in server.requests)
    assert gone in first
    assert gone not in second
    assert gone not in third  # it is remembered
    assert there is None or there in second
    (advice,) = noted
    assert re.search(r"set compat \{\w+: \w+\} in models\.yml", advice)


async def test_a_server_that_refuses_every_form_is_asked_no_more(server: ModelServer) -> None:
    complaint = "unknown parameter: max_tokens or max_completion_tokens or stream_options"
    server.script(*[answer(fail(400, "x", complaint))] * 4)
    assert isinstance((await ask(CHAT.make(server.url)))[-1], Failed)
    assert len(server.requests) <= 4


# -- what comes back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "reasoning_text"])
async def test_reasoning_by_any_name(server: ModelServer, key: str) -> None:
    done = await done_of(server, delta(**{key: "hm "}), delta(**{key: "ok"}), delta(content="yes"), delta("stop"))
    assert done.message.blocks == (Thinking("hm ok"), Text("yes"))


async def test_reasoning_that_comes_twice_is_taken_once(server: ModelServer) -> None:
    done = await done_of(server, delta(reasoning_content="hm", reasoning="hm"), delta("stop", content="yes"))
    assert done.message.blocks == (Thinking("hm"), Text("yes"))


async def test_content_in_parts(server: ModelServer) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]
    done = await done_of(server, delta(content=parts), delta("stop"))
    assert done.message.blocks == (Thinking("hm"), Text("yes"))


@pytest.mark.parametrize(
    "chunks",
    [
        [piece('{"path"', index=0, id="a", name="f"), piece(': "x"}', index=0), piece("{}", index=1, id="b", name="g")],
        [piece('{"path": "x"}', id="a", name="f"), piece("{}", id="b", name="g")],
        [piece('{"path"', id="a", name="f"), piece(': "x"}'), piece("{}", id="b", name="g")],
        [piece('{"path"', index=0, id="a", name="f"), piece("{}", index=1, id="b", name="g"), piece(': "x"}', index=0)],
        [
            piece('{"path"', index=0, id="a", name="f"),
            piece(': "x"}', index=0, id="a", name="f"),
            piece("{", index=0, id="b", name="g"),
            piece("}", index=0),
        ],
        [piece({"path": "x"}, index=0, id="a", name="f"), piece({}, index=1, id="b", name="g")],
        [piece('{"path": ', index=0, id="a"), piece('"x"}', index=0, name="f"), piece("", index=1, id="b", name="g")],
    ],
    ids=["usual", "no index", "only the first has an id", "interleaved", "one index", "objects", "late name"],
)
async def test_calls_however_they_are_cut(server: ModelServer, chunks: list[dict[str, Any]]) -> None:
    events = await events_of(server, *chunks, delta("tool_calls"))
    done = events[-1]
    assert isinstance(done, Done)
    assert done.message.calls == (ToolCall("a", "f", {"path": "x"}), ToolCall("b", "g", {}))
    assert [event.name for event in events if isinstance(event, CallStart)] == ["f", "g"]


async def test_calls_without_ids_get_some_that_are_free(server: ModelServer) -> None:
    data = [piece("{}", index=0, name="f"), piece("{}", index=1, name="g"), delta("stop")]
    stream = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in data)
    server.script(answer(raw(stream)))
    done = (await ask(CHAT.make(server.url)))[-1]
    assert isinstance(done, Done)
    assert done.reason == "toolUse"  # whatever the server calls it
    assert len({call.id for call in done.message.calls if call.id}) == 2


@pytest.mark.parametrize(
    "chunk",
    [
        {
            "choices": [],
            "usage": {"prompt_tokens": 40, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 30}},
        },
        {"choices": [{"delta": {}, "usage": COUNTS | {"cached_tokens": 30}}]},
        {"usage": COUNTS | {"prompt_cache_hit_tokens": 30}},
        {
            "x_groq": {
                "usage": {"prompt_tokens": 40, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 30}}
            }
        },
    ],
    ids=["last chunk", "in the choice", "cache hits", "groq"],
)
async def test_usage_wherever_it_stands(server: ModelServer, chunk: dict[str, Any]) -> None:
    done = await done_of(server, delta("stop", content="x"), chunk)
    assert done.message.usage == Usage(10, 5, 30)


async def test_a_missing_finish_reason(server: ModelServer) -> None:
    done = await done_of(server, delta(content="x"))
    assert (done.reason, done.message.text) == ("stop", "x")
    done = await done_of(server, piece("{}", index=0, id="a", name="f"))
    assert done.reason == "toolUse"
    failed = (await events_of(server, delta(content="x"), done=False))[-1]
    assert isinstance(failed, Failed)


@pytest.mark.parametrize(
    ("word", "reason"), [("stop", "stop"), ("length", "length"), ("content_filter", "refusal"), ("eos", "stop")]
)
async def test_stop_reasons(server: ModelServer, word: str, reason: str) -> None:
    server.script(answer(say("x"), stop(word)))
    done = (await ask(CHAT.make(server.url)))[-1]
    assert isinstance(done, Done)
    assert done.reason == reason


async def test_a_call_cut_by_the_output_limit_is_not_run(server: ModelServer) -> None:
    done = await done_of(server, piece('{"path": "a', index=0, id="a", name="f"), delta("length"))
    assert done.reason == "length"
    assert done.message.calls[0].problem


async def test_an_upstream_error_in_the_choice(server: ModelServer) -> None:
    error = {"code": 502, "message": "upstream is down", "metadata": {"raw": "bad gateway"}}
    events = await events_of(server, {"error": error, "choices": [{"delta": {}, "finish_reason": "error"}]})
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable) == ("overloaded", True)
    assert "upstream is down: bad gateway" in failed.message
