"""Google's generateContent API against a server that streams the real format."""

import json
from dataclasses import replace
from typing import Any

import pytest

from north_lsp.providers.adapters.google import GoogleProvider, request_body
from north_lsp.providers.base import (
    AssistantMessage,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    Failed,
    Image,
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
from tests.providers.adapters.vendors import GOOGLE, ask, connection
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, fail, raw, say, stop, think, usage

TOOLS = [ToolSpec("read_file", "Reads.", {"type": "object", "properties": {}})]


def request(*messages: Message, budget: int = 8192, model: str = "m-1") -> ModelRequest:
    return ModelRequest(model, "Be good.", messages, TOOLS, 9000, "conversation-1", Reasoning(budget))


async def events_of(server: ModelServer, one: ModelRequest | None = None) -> list[StreamEvent]:
    return await ask(GOOGLE.make(server.url), one or request(UserMessage("Question")))


def sse(*objects: dict[str, Any]) -> bytes:
    return b"".join(f"data: {json.dumps(one)}\n\n".encode() for one in objects)


def frame(*parts: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    return {"candidates": [candidate | ({"finishReason": reason} if reason else {})], **more}


async def test_thinking_text_and_calls_in_order(server: ModelServer) -> None:
    script = (think("Let me see."), say("I read. "), call("read_file", path="a.py"), call("list_root"))
    server.script(answer(*script, usage(input=10, output=5, cache_read=30)))
    events = await events_of(server)
    done = events[-1]
    assert isinstance(done, Done)
    assert done.reason == "toolUse"
    thought, text, signed, *calls = done.message.blocks
    assert (thought, text) == (Thinking("Let me see."), Text("I read. "))
    assert isinstance(signed, Thinking)
    assert (signed.thinking, json.loads(signed.signature or "")["signature"]) == ("", "signed-read_file")
    assert [(one.name, one.arguments) for one in calls if isinstance(one, ToolCall)] == [
        ("read_file", {"path": "a.py"}),
        ("list_root", {}),
    ]
    assert len({one.id for one in done.message.calls}) == 2
    assert all(one.id for one in done.message.calls)
    assert done.message.usage == Usage(10, 5, 30)
    # A call comes whole: its start, its arguments in one piece, its end.
    about = [event for event in events if isinstance(event, CallStart | CallDelta) and event.index == 3]
    assert about == [CallStart(3, done.message.calls[0].id, "read_file"), CallDelta(3, '{"path":"a.py"}')]
    assert sorted(event.index for event in events if isinstance(event, BlockEnd)) == [0, 1, 2, 3, 4]


async def test_what_is_sent_is_what_the_vendor_expects(server: ModelServer) -> None:
    server.script(answer(think("hm"), call("read_file", path="a")), answer(say("ok")))
    done = (await events_of(server, request(UserMessage("First"))))[-1]
    assert isinstance(done, Done)
    own = AssistantMessage(done.message.blocks, model="m-1")
    result = ToolResult(done.message.calls[0].id, "read_file", "one", False)
    await events_of(server, request(UserMessage("First"), own, result))
    before, after = server.requests
    assert before.path == "/v1beta/models/m-1:streamGenerateContent?alt=sse"
    headers = {name.lower(): value for name, value in before.headers.items()}
    assert headers["x-goog-api-key"] == "key"
    assert "authorization" not in headers
    assert headers["user-agent"].startswith("north-lsp/")
    assert before.body["systemInstruction"] == {"parts": [{"text": "Be good."}]}
    assert before.body["generationConfig"] == {"maxOutputTokens": 9000}  # nothing is known of this model's thinking
    declared = {"name": "read_file", "description": "Reads.", "parametersJsonSchema": TOOLS[0].schema}
    assert before.body["tools"] == [{"functionDeclarations": [declared]}]
    assert after.body["contents"] == [
        {"role": "user", "parts": [{"text": "First"}]},
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "read_file", "args": {"path": "a"}}, "thoughtSignature": "signed-read_file"}
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "one"}}}],
        },
    ]
    assert after.raw.startswith(before.raw.removesuffix(b"]}"))  # what was sent before stands at the beginning


async def test_a_signed_text_goes_back_signed(server: ModelServer) -> None:
    server.script(
        answer(raw(sse(frame({"text": "Hello"}), frame({"text": "", "thoughtSignature": "abc"}, reason="STOP"))))
    )
    done = (await events_of(server))[-1]
    assert isinstance(done, Done)
    assert done.message.text == "Hello"
    own = AssistantMessage(done.message.blocks, model="m-1")
    sent = request_body(request(UserMessage("a"), own, UserMessage("b")), "m-1", True)["contents"][1]
    assert sent["parts"] == [{"text": "Hello"}, {"text": "", "thoughtSignature": "abc"}]


@pytest.mark.parametrize(
    ("wire_id", "signature"),
    [("gemini-3-pro", "skip_thought_signature_validator"), ("gemini-2.5-pro", None)],
)
def test_calls_of_another_model_are_marked_as_unsigned(wire_id: str, signature: str | None) -> None:
    calls = (Thinking("x", "anthropic's"), ToolCall("1", "a", {}), ToolCall("2", "b", {}))
    foreign = AssistantMessage(calls, model="claude")
    results = [ToolResult("1", "a", "one", False), ToolResult("2", "b", "no", True)]
    body = request_body(request(UserMessage("q"), foreign, *results), wire_id, False)
    first, second = body["contents"][1]["parts"]
    assert first.get("thoughtSignature") == signature
    assert "thoughtSignature" not in second
    responses = [part["functionResponse"]["response"] for part in body["contents"][2]["parts"]]
    assert responses == [{"output": "one"}, {"error": "no"}]
    assert "thinkingConfig" not in body["generationConfig"]


@pytest.mark.parametrize(
    ("wire_id", "budget", "sent"),
    [
        ("gemini-2.5-flash", 0, {"thinkingBudget": 0}),
        ("gemini-pro-latest", 0, {"thinkingBudget": 128}),
        ("gemini-flash-latest", 32_768, {"thinkingBudget": 24_576, "includeThoughts": True}),
        ("gemini-2.5-pro", 40_000, {"thinkingBudget": 32_768, "includeThoughts": True}),
        ("another", 1024, {"thinkingBudget": 1024, "includeThoughts": True}),
    ],
)
def test_thinking_within_what_a_model_takes(wire_id: str, budget: int, sent: dict[str, object]) -> None:
    body = request_body(request(UserMessage("q"), budget=budget), wire_id, True)
    assert body["generationConfig"]["thinkingConfig"] == sent


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refusal"),
        ("PROHIBITED_CONTENT", "refusal"),
        ("NEW", "stop"),
    ],
)
async def test_reasons_to_stop(server: ModelServer, word: str, reason: str) -> None:
    server.script(answer(say("Hi"), stop(word)))
    done = (await events_of(server))[-1]
    assert isinstance(done, Done)
    assert done.reason == reason


async def test_a_prompt_that_is_refused(server: ModelServer) -> None:
    server.script(answer(raw(sse({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}))))
    done = (await events_of(server))[-1]
    assert isinstance(done, Done)
    assert (done.reason, done.message.blocks) == ("refusal", ())


async def test_a_malformed_call_is_asked_for_again(server: ModelServer) -> None:
    server.script(answer(say("Hi"), stop("MALFORMED_FUNCTION_CALL")))
    failed = (await events_of(server))[-1]
    assert isinstance(failed, Failed)
    assert failed.retryable
    assert "MALFORMED_FUNCTION_CALL" in failed.message
    assert failed.partial.text == "Hi"


async def test_errors_in_the_vendors_form(server: ModelServer) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    body = {"error": {"code": 429, "message": "Too fast", "status": "RESOURCE_EXHAUSTED", "details": details}}
    server.script(
        answer(raw(json.dumps([body]).encode(), "application/json", 429)),
        answer(fail(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")),
        answer(
            fail(
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            )
        ),
    )
    limited, key, overflow = [(await events_of(server))[-1] for _ in range(3)]
    assert isinstance(limited, Failed)
    assert (limited.kind, limited.retry_after_ms) == ("rate_limit", 34_500)
    assert isinstance(key, Failed)
    assert key.kind == "auth"
    assert "check the key in SOME_KEY" in key.message
    assert isinstance(overflow, Failed)
    assert overflow.kind == "context_overflow"


async def test_a_server_without_key(server: ModelServer) -> None:
    server.script(answer(say("Hi")))
    await ask(GoogleProvider(replace(connection(f"{server.url}/v1beta"), secret=None)))
    assert "x-goog-api-key" not in {name.lower() for name in server.requests[0].headers}


@pytest.mark.parametrize(("wire_id", "within"), [("gemini-3-pro", True), ("gemini-2.5-flash", False)])
def test_pictures_of_results_are_sent(wire_id: str, within: bool) -> None:
    calls = AssistantMessage((ToolCall("1", "read_file", {}), ToolCall("2", "read_file", {})), model="m-1")
    shown = ToolResult("1", "read_file", "a picture", False, (Image("image/png", "aGVsbG8="),))
    messages: list[Message] = [UserMessage("q"), calls, shown, ToolResult("2", "read_file", "words", False)]
    [*_, results] = request_body(request(*messages), wire_id, False)["contents"]
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}}
    first = {"name": "read_file", "response": {"output": "a picture"}}
    last = {"functionResponse": {"name": "read_file", "response": {"output": "words"}}}
    if within:
        assert results["parts"] == [{"functionResponse": first | {"parts": [picture]}}, last]
    else:
        assert results["parts"] == [{"functionResponse": first}, picture, last]


@pytest.mark.parametrize(
    ("quota", "delay", "kind"),
    [
        ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "26s", "rate_limit"),
        ("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "26s", "quota_exhausted"),
        ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", None, "quota_exhausted"),
    ],
)
async def test_a_limit_of_a_minute_passes_and_one_of_a_day_does_not(
    server: ModelServer, quota: str, delay: str | None, kind: str
) -> None:
    details: list[object] = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]}
    ]
    if delay is not None:
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
    text = "You exceeded your current quota, please check your plan and billing details."
    body = {"error": {"code": 429, "message": text, "status": "RESOURCE_EXHAUSTED", "details": details}}
    server.script(answer(raw(json.dumps(body).encode(), "application/json", 429)))
    failed = (await ask(GOOGLE.make(server.url)))[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable) == (kind, kind == "rate_limit")
    assert failed.retry_after_ms == (26_000 if delay else None)
