"""Anthropic's provider with the real SDK against a server that streams the real format."""

from dataclasses import replace

import pytest

from north_lsp.providers.adapters.anthropic import AnthropicProvider
from north_lsp.providers.base import (
    AssistantMessage,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    Failed,
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
from tests.providers.adapters.vendors import connection
from tests.support.model_server import ModelServer
from tests.support.script import (
    Part,
    answer,
    call,
    cut,
    fail,
    malformed,
    say,
    stop,
    stream_error,
    think,
    usage,
)

QUESTION: list[Message] = [UserMessage("Question")]


async def ask(
    server: ModelServer,
    messages: list[Message],
    tools: list[ToolSpec] | None = None,
    reasoning: Reasoning = Reasoning(),  # noqa: B008 - frozen
) -> list[StreamEvent]:
    provider = AnthropicProvider(connection(server.url))
    request = ModelRequest("claude-test", "Be good.", messages, tools or [], 4000, "c", reasoning)
    try:
        return [event async for event in provider.stream(request)]
    finally:
        await provider.aclose()


async def end(server: ModelServer, *parts: Part) -> Done | Failed:
    server.script(answer(*parts))
    last = (await ask(server, QUESTION))[-1]
    assert isinstance(last, Done | Failed)
    return last


async def test_text_thinking_and_parallel_calls_in_order(server: ModelServer) -> None:
    server.script(
        answer(
            think("Let me see."),
            say("I read. "),
            call("read_file", "t1", path="a.py", startLine=3),
            call("list_root", "t2"),
            usage(input=10, output=5, cache_read=3, cache_write=2),
        )
    )
    events = await ask(server, QUESTION)
    done = events[-1]
    assert isinstance(done, Done)
    assert done.reason == "toolUse"
    assert done.message.blocks == (
        Thinking("Let me see.", "signature"),
        Text("I read. "),
        ToolCall("t1", "read_file", {"path": "a.py", "startLine": 3}),
        ToolCall("t2", "list_root", {}),
    )
    assert done.message.usage == Usage(10, 5, 3, 2)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "I read. "
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == "Let me see."
    assert [event.name for event in events if isinstance(event, CallStart)] == ["read_file", "list_root"]
    assert any(isinstance(event, CallDelta) for event in events)
    assert [event.index for event in events if isinstance(event, BlockEnd)] == [0, 1, 2, 3]


async def test_what_is_sent_is_what_the_vendor_expects(server: ModelServer) -> None:
    server.script(answer(say("ok")))
    tools = [ToolSpec("read_file", "Reads.", {"type": "object", "properties": {}})]
    calls = (ToolCall("t1", "read_file", {"path": "a"}), ToolCall("t2", "read_file", {"path": "b"}))
    history: list[Message] = [
        UserMessage("First"),
        AssistantMessage((Thinking("hm", "sig"), Thinking("unsigned"), Text("  "), *calls)),
        ToolResult("t1", "read_file", "one", False),
        ToolResult("t2", "read_file", "two", True),
        UserMessage("Second"),
    ]
    await ask(server, history, tools)
    request = server.requests[0]
    assert request.path == "/v1/messages"
    assert request.body["stream"] is True
    assert request.body["system"] == [{"type": "text", "text": "Be good.", "cache_control": {"type": "ephemeral"}}]
    assert request.body["cache_control"] == {"type": "ephemeral"}
    assert request.body["tools"][0]["input_schema"] == {"type": "object", "properties": {}}
    first, assistant, results, second = request.body["messages"]
    assert (first["role"], second["role"]) == ("user", "user")
    assert assistant["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}},
        {"type": "tool_use", "id": "t2", "name": "read_file", "input": {"path": "b"}},
    ]
    assert [(part["tool_use_id"], part["is_error"]) for part in results["content"]] == [("t1", False), ("t2", True)]


@pytest.mark.parametrize(
    ("word", "reason"),
    [("end_turn", "stop"), ("max_tokens", "length"), ("refusal", "refusal"), ("something_new", "stop")],
)
async def test_stop_reasons(server: ModelServer, word: str, reason: str) -> None:
    done = await end(server, say("x"), stop(word))
    assert isinstance(done, Done)
    assert done.reason == reason


@pytest.mark.parametrize(
    ("status", "type", "kind", "retryable"),
    [
        (400, "invalid_request_error", "bad_request", False),
        (401, "authentication_error", "auth", False),
        (403, "permission_error", "auth", False),
        (404, "not_found_error", "bad_request", False),
        (413, "request_too_large", "bad_request", False),
    ],
)
async def test_an_error_answer_says_what_happened(
    server: ModelServer, status: int, type: str, kind: str, retryable: bool
) -> None:
    failed = await end(server, fail(status, type, "the reason"))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status, failed.retryable) == (kind, status, retryable)
    assert "the reason" in failed.message
    assert "\n" not in failed.message


async def test_a_prompt_that_is_too_long_is_its_own_kind(server: ModelServer) -> None:
    failed = await end(server, fail(400, "invalid_request_error", "prompt is too long: 250000 tokens"))
    assert isinstance(failed, Failed)
    assert failed.kind == "context_overflow"


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ([say("half of"), stream_error("overloaded_error", "Overloaded")], "overloaded"),
        ([say("half of the text"), cut()], "network"),
        ([call("read_file", path="a.py"), cut()], "network"),
        ([say("half of"), malformed(b"data: {broken\n\n" * 21)], "network"),
    ],
)
async def test_a_stream_that_breaks_keeps_what_had_arrived(server: ModelServer, parts: list[Part], kind: str) -> None:
    failed = await end(server, *parts)
    assert isinstance(failed, Failed)
    assert failed.kind == kind
    assert failed.retryable
    assert failed.partial.blocks
    assert failed.partial.stop_reason == "error"


async def test_a_few_broken_lines_are_skipped(server: ModelServer) -> None:
    done = await end(server, say("whole "), malformed(b"event: x\ndata: {broken\n\n: a comment\n\n" * 20), say("text"))
    assert isinstance(done, Done)
    assert done.message.text == "whole text"


async def test_thinking_is_asked_for_and_comes_back_signed(server: ModelServer) -> None:
    server.script(answer(say("ok")), answer(say("ok")), answer(say("ok")))
    mine: list[Message] = [
        UserMessage("First"),
        AssistantMessage(
            (Thinking("hm", "sig"), Thinking("", redacted="blob"), ToolCall("t|1", "read_file", {})),
            model="claude-test",
        ),
        ToolResult("t|1", "read_file", "one", False),
    ]
    await ask(server, mine, reasoning=Reasoning(budget=2000))
    other = [replace(one, model="gpt") if isinstance(one, AssistantMessage) else one for one in mine]
    await ask(server, other, reasoning=Reasoning(budget=2000))
    over: list[Message] = [*other, AssistantMessage((Text("Read."),), model="gpt"), UserMessage("Second")]
    await ask(server, over, reasoning=Reasoning(budget=2000))
    first, foreign, later = (request.body for request in server.requests)
    assert first["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    thought, hidden, used = first["messages"][1]["content"]
    assert thought == {"type": "thinking", "thinking": "hm", "signature": "sig"}
    assert hidden == {"type": "redacted_thinking", "data": "blob"}
    assert used["id"] == first["messages"][2]["content"][0]["tool_use_id"]
    assert "|" not in used["id"]
    # Another model's thinking cannot be read, and its tool loop not be continued with thinking on.
    assert [part["type"] for part in foreign["messages"][1]["content"]] == ["tool_use"]
    assert "thinking" not in foreign
    assert "thinking" in later


async def test_a_pause_of_the_model_is_no_end(server: ModelServer) -> None:
    server.script(answer(say("one "), stop("pause_turn"), usage(input=5, output=2)), answer(say("two"), usage(input=7)))
    events = await ask(server, QUESTION)
    done = events[-1]
    assert isinstance(done, Done)
    assert done.message.blocks == (Text("one "), Text("two"))
    assert done.message.usage.input == 12
    # The vendor refuses an end in white space.
    assert server.requests[1].body["messages"][-1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "one"}],
    }


@pytest.mark.parametrize(("calls", "has_second_breakpoint"), [(3, False), (15, True)])
async def test_what_was_cached_is_found_again(server: ModelServer, calls: int, has_second_breakpoint: bool) -> None:
    """The vendor looks back 20 blocks from a breakpoint: a longer answer needs one where the request before ended."""
    server.script(answer(say("ok")))
    used = tuple(ToolCall(f"t{number}", "read_file", {}) for number in range(calls))
    results = [ToolResult(call.id, "read_file", "x", False) for call in used]
    await ask(server, [*QUESTION, AssistantMessage(used), *results])
    body = server.requests[0].body
    marked = [
        (index, place)
        for index, message in enumerate(body["messages"])
        for place, part in enumerate(message["content"])
        if "cache_control" in part
    ]
    assert marked == ([(0, 0)] if has_second_breakpoint else [])
    assert body["cache_control"] == {"type": "ephemeral"}


async def test_a_server_that_is_not_there(server: ModelServer) -> None:
    provider = AnthropicProvider(connection("http://127.0.0.1:9"))
    events = [event async for event in provider.stream(ModelRequest("m", "s", QUESTION, [], 100))]
    await provider.aclose()
    assert len(events) == 1
    assert isinstance(events[0], Failed)
    assert (events[0].kind, events[0].retryable) == ("network", True)
