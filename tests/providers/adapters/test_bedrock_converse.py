"""Amazon Bedrock's Converse API against a server that streams the real format."""

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import anyio
import pytest

from north_lsp.providers.adapters import anthropic
from north_lsp.providers.adapters.bedrock_converse import ConverseProvider
from north_lsp.providers.base import (
    AssistantMessage,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    Failed,
    ModelRequest,
    StreamEvent,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from north_lsp.providers.orphans import orphaned_call
from tests.providers.adapters.test_converse_request import CLAUDE, OTHER, POINT, SCHEMA, request, sent_to
from tests.providers.adapters.test_message_cache import grown
from tests.providers.adapters.vendors import ask, connection
from tests.support.bedrock_format import CONTENT_TYPE
from tests.support.converse_format import event, stream
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, fail, gate, raw, say, stop, stream_error, think, usage


def made(server: ModelServer, wire_id: str = CLAUDE, **more: Any) -> ConverseProvider:
    return ConverseProvider(replace(connection(server.url), wire_id=wire_id), **more)


async def last_of(server: ModelServer, wire_id: str = CLAUDE) -> StreamEvent:
    return (await ask(made(server, wire_id), request()))[-1]


async def test_thinking_text_and_calls_in_order(server: ModelServer) -> None:
    script = (think("Let me see."), say("I read. "), call("read_file", "t1", path="a.py"), call("list_root", "t1"))
    server.script(answer(*script, usage(input=10, output=5, cache_read=30, cache_write=7)))
    events = await ask(made(server), request())
    done = events[-1]
    assert isinstance(done, Done)
    assert done.reason == "toolUse"
    thought, text, *calls = done.message.blocks
    assert (thought, text) == (Thinking("Let me see.", "signature"), Text("I read. "))
    assert [(one.name, one.arguments) for one in calls if isinstance(one, ToolCall)] == [
        ("read_file", {"path": "a.py"}),
        ("list_root", {}),
    ]
    assert len({one.id for one in done.message.calls}) == 2
    assert done.message.usage == Usage(10, 5, 30, 7)
    about = [one for one in events if isinstance(one, CallStart | CallDelta) and one.index == 2]
    assert about[0] == CallStart(2, "t1", "read_file")
    assert json.loads("".join(one.json for one in about if isinstance(one, CallDelta))) == {"path": "a.py"}
    assert [one.index for one in events if isinstance(one, BlockEnd)] == [0, 1, 2, 3]


async def test_what_is_sent_is_what_the_vendor_expects(server: ModelServer) -> None:
    server.script(answer(think("hm"), call("read_file", "t1", path="a")), answer(say("ok")))
    provider = made(server)
    done = [one async for one in provider.stream(request(UserMessage("First")))][-1]
    assert isinstance(done, Done)
    own = AssistantMessage(done.message.blocks, model="m-1")
    await ask(provider, request(UserMessage("First"), own, ToolResult("t1", "read_file", "one", False)))
    before, after = server.requests
    assert before.path == f"/model/{CLAUDE}/converse-stream"
    headers = {name.lower(): value for name, value in before.headers.items()}
    assert headers["authorization"] == "Bearer key"
    assert headers["user-agent"].startswith("north-lsp/")
    assert before.body == {
        "inferenceConfig": {"maxTokens": 8000},
        "system": [{"text": "Be good."}, POINT],
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "read_file", "description": "Reads.", "inputSchema": {"json": SCHEMA}}}]
        },
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        "messages": [{"role": "user", "content": [{"text": "First"}, POINT]}],
    }
    assert after.body["messages"] == [
        {"role": "user", "content": [{"text": "First"}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "signature"}}},
                {"toolUse": {"toolUseId": "t1", "name": "read_file", "input": {"path": "a"}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "t1", "content": [{"text": "one"}], "status": "success"}},
                POINT,
            ],
        },
    ]


def test_amazons_own_client_reads_the_scripted_streams() -> None:
    buffer = pytest.importorskip("botocore.eventstream").EventStreamBuffer()
    for piece in stream(answer(think("hm"), say("Hi"), call("read_file", "t1")), {}):
        assert isinstance(piece, bytes)
        buffer.add_data(piece)
    names = [one.headers[":event-type"] for one in buffer]
    assert names[0] == "messageStart"
    assert names[-2:] == ["messageStop", "metadata"]
    assert names.count("contentBlockStart") == 1
    assert names.count("contentBlockStop") == 3


async def test_hidden_thinking_goes_back_to_its_model_and_to_bedrock_alone(server: ModelServer) -> None:
    delta = {"contentBlockIndex": 0, "delta": {"reasoningContent": {"redactedContent": "aGlkZGVu"}}}
    stopped = event("contentBlockStop", {"contentBlockIndex": 0}) + event("messageStop", {"stopReason": "end_turn"})
    text = event("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "Hi"}})
    server.script(answer(raw(event("contentBlockDelta", delta) + text + stopped, CONTENT_TYPE)))
    done = await last_of(server)
    assert isinstance(done, Done)
    own = AssistantMessage(done.message.blocks, model="m-1")
    asked = request(UserMessage("a"), own, UserMessage("b"))
    hidden, said = sent_to(CLAUDE, asked)["messages"][1]["content"]
    assert hidden == {"reasoningContent": {"redactedContent": "aGlkZGVu"}}
    assert said == {"text": "Hi"}
    # Anthropic's own API has another form for the same.
    assert anthropic.request_body(asked)["messages"][1]["content"] == [{"type": "text", "text": "Hi"}]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "refusal"),
        ("content_filtered", "refusal"),
        ("something_new", "stop"),
    ],
)
async def test_reasons_to_stop(server: ModelServer, word: str, reason: str) -> None:
    server.script(answer(say("Hi"), stop(word)))
    done = await last_of(server)
    assert isinstance(done, Done)
    assert done.reason == reason


async def test_calls_are_run_also_if_the_model_says_that_its_turn_ended(server: ModelServer) -> None:
    server.script(answer(call("read_file"), stop("end_turn")))
    done = await last_of(server, OTHER)
    assert isinstance(done, Done)
    assert done.reason == "toolUse"


async def test_a_malformed_call_is_asked_for_again(server: ModelServer) -> None:
    server.script(answer(say("Hi"), stop("malformed_tool_use")))
    failed = await last_of(server)
    assert isinstance(failed, Failed)
    assert failed.retryable
    assert "malformed_tool_use" in failed.message
    assert failed.partial.text == "Hi"


@pytest.mark.parametrize(
    ("status", "type", "text", "kind", "step"),
    [
        (429, "ThrottlingException", "Too many tokens, please wait before trying again.", "rate_limit", "wait"),
        (429, "ModelNotReadyException", "Model is not ready for inference.", "rate_limit", "wait"),
        (424, "ModelErrorException", "The system encountered an unexpected error.", "overloaded", "try again"),
        (408, "ModelTimeoutException", "Model has timed out.", "overloaded", "try again"),
        (503, "ServiceUnavailableException", "Bedrock is unable to process your request.", "overloaded", "try again"),
        (403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", "auth",
         "let its credentials call bedrock:InvokeModelWithResponseStream"),
        (403, "ExpiredTokenException", "The security token in the request is expired", "auth", "aws sso login"),
        (403, "UnrecognizedClientException", "The security token is invalid.", "auth", "check the key in SOME_KEY"),
        (400, "ValidationException", "Input is too long for requested model.", "context_overflow", "start a new one"),
        (400, "ValidationException", "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
         "context_overflow", "start a new one"),
        (400, "ValidationException", "The provided model identifier is invalid.", "bad_request", "offers the model"),
        (400, "ValidationException", "Invocation of model ID m with on-demand throughput isn't supported. Retry your "
         "request with the ID or ARN of an inference profile that contains this model.", "bad_request", "wireModelId"),
    ],
)  # fmt: skip
async def test_errors_in_the_vendors_form(
    server: ModelServer, status: int, type: str, text: str, kind: str, step: str
) -> None:
    server.script(answer(fail(status, type, text)))
    failed = await last_of(server)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status) == (kind, status)
    assert text.rstrip(".")[:60] in failed.message
    assert step in failed.message


@pytest.mark.parametrize(
    ("type", "text", "kind"),
    [
        ("internalServerException", "The system encountered an unexpected error.", "overloaded"),
        ("modelStreamErrorException", "Stream error.", "overloaded"),
        ("serviceUnavailableException", "Busy.", "overloaded"),
        ("throttlingException", "Too many tokens, please wait before trying again.", "rate_limit"),
        ("validationException", "Input is too long for requested model.", "context_overflow"),
        ("validationException", "Malformed input request.", "bad_request"),
    ],
)
async def test_exceptions_within_the_stream(server: ModelServer, type: str, text: str, kind: str) -> None:
    server.script(answer(say("Half"), stream_error(type, text)))
    failed = await last_of(server)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.partial.text) == (kind, "Half")
    assert text.rstrip(".") in failed.message


async def test_a_call_without_a_result_is_recognized(server: ModelServer) -> None:
    text = "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_bRX9ftpYK3xO5"
    server.script(answer(fail(400, "ValidationException", text)))
    failed = await last_of(server)
    assert isinstance(failed, Failed)
    assert orphaned_call(failed) == "tooluse_bRX9ftpYK3xO5"


async def test_points_move_on_and_what_was_sent_stays(server: ModelServer) -> None:
    histories = grown()
    server.script(*(answer(say("Hello.")) for _ in histories))
    provider = made(server)
    for messages in histories:
        asked = ModelRequest("m-1", "Be good.", messages, [], 4000, "c")
        assert isinstance([one async for one in provider.stream(asked)][-1], Done)
        body = server.requests[-1].body
        assert body == sent_to(CLAUDE, asked)
        marked = [at for at, one in enumerate(body["messages"]) if POINT in one["content"]]
        assert marked[-1] == len(body["messages"]) - 1
        assert len(marked) == 1 or len(body["messages"][marked[0] + 1]["content"]) > 15  # more than is looked back
    await provider.aclose()


async def test_a_model_that_cannot_cache_is_asked_without(server: ModelServer) -> None:
    text = "You invoked an unsupported model or your request did not allow prompt caching."
    server.script(answer(fail(403, "AccessDeniedException", text)), answer(say("Hi")), answer(say("Ho")))
    notes: list[str] = []
    provider = made(server, note=notes.append)
    for _ in range(2):
        assert isinstance([one async for one in provider.stream(request())][-1], Done)
    await provider.aclose()
    assert [POINT in sent.body["system"] for sent in server.requests] == [True, False, False]
    assert len(notes) == 1
    assert "supportsCachePoints: false" in notes[0]


async def test_further_fields_are_added_to_what_is_there(server: ModelServer) -> None:
    server.script(answer(say("Hi")))
    extra = {"inferenceConfig": {"temperature": 1}, "additionalModelRequestFields": {"top_k": 5}}
    server.may_refuse = True  # Claude takes no top_k while it thinks
    reached = replace(connection(server.url), wire_id=CLAUDE, extra_body=extra)
    await ask(ConverseProvider(reached), request())
    (sent,) = server.requests
    assert sent.body["inferenceConfig"] == {"maxTokens": 8000, "temperature": 1}
    assert sent.body["additionalModelRequestFields"].keys() == {"thinking", "top_k"}


async def test_a_cancel_ends_the_connection(server: ModelServer) -> None:
    server.script(answer(say("Half", 1), gate("never")))
    provider, begun = made(server), anyio.Event()

    async def listen() -> None:
        async with aclosing(provider.stream(request())) as events:
            async for _ in events:
                begun.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await begun.wait()
        tasks.cancel_scope.cancel()
    await asyncio.to_thread(server.wait_disconnect)
    await provider.aclose()
