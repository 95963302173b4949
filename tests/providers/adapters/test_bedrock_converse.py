"""Amazon Bedrock's Converse API against a server that streams the real format, and held to Amazon's own description of
the API."""

import asyncio
import base64
import json
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from north_lsp.providers.adapters import anthropic
from north_lsp.providers.adapters.bedrock_converse import ConverseProvider, request_body
from north_lsp.providers.adapters.failures import Endpoint
from north_lsp.providers.adapters.http import HeaderRules, make_client
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
    Timeouts,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from north_lsp.providers.compat import Compat
from tests.providers.adapters.test_message_cache import grown
from tests.providers.adapters.vendors import ask
from tests.support.bedrock_format import CONTENT_TYPE
from tests.support.converse_format import event, stream
from tests.support.model_server import ModelServer
from tests.support.rules.check import check_http
from tests.support.script import answer, call, fail, gate, raw, say, stop, stream_error, think, usage

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


def made(server: ModelServer, wire_id: str = CLAUDE, **more: Any) -> ConverseProvider:
    endpoint = Endpoint("The Server", server.url, "SOME_KEY")
    http = make_client(HeaderRules(), Timeouts(), {})
    return ConverseProvider("key", server.url, endpoint=endpoint, wire_id=wire_id, http=http, **more)


async def last_of(server: ModelServer, wire_id: str = CLAUDE) -> StreamEvent:
    return (await ask(made(server, wire_id), request()))[-1]


def sent_to(wire_id: str, one: ModelRequest, compat: Compat | None = None) -> dict[str, Any]:
    """What a model would be sent; Bedrock would accept it."""
    body = request_body(one, wire_id, compat)
    refused = check_http(f"/model/{wire_id}/converse-stream", body)
    assert refused is None, refused
    return body


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


@pytest.mark.parametrize("wire_id", [CLAUDE, NOVA, OTHER])
def test_amazons_own_client_would_send_the_same(wire_id: str) -> None:
    session = pytest.importorskip("botocore.session").get_session()
    from botocore.serialize import create_serializer
    from botocore.validate import ParamValidator

    service = session.get_service_model("bedrock-runtime")
    operation = service.operation_model("ConverseStream")
    thought = (Thinking("hm", "signature"), Thinking("", redacted='{"bedrock":"aGlkZGVu"}'), *CALLS.blocks)
    history = (UserMessage("Look", (PNG,)), AssistantMessage(thought, model="m-1"), *RESULTS, UserMessage("And?"))
    for reasoning in (Reasoning(2000), Reasoning(effort="low")):
        body = sent_to(wire_id, request(*history, reasoning=reasoning))
        params = {"modelId": wire_id, **_as_python(body)}
        report = ParamValidator().validate(params, operation.input_shape)
        assert not report.has_errors(), report.generate_report()
        written = create_serializer(service.metadata["protocol"]).serialize_to_request(params, operation)
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


def test_amazons_own_client_reads_the_scripted_streams() -> None:
    pytest.importorskip("botocore")
    from botocore.eventstream import EventStreamBuffer

    buffer = EventStreamBuffer()
    for piece in stream(answer(think("hm"), say("Hi"), call("read_file", "t1")), {}):
        assert isinstance(piece, bytes)
        buffer.add_data(piece)
    names = [one.headers[":event-type"] for one in buffer]
    assert names[0] == "messageStart"
    assert names[-2:] == ["messageStop", "metadata"]
    assert names.count("contentBlockStart") == 1
    assert names.count("contentBlockStop") == 3


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
        (CLAUDE, Reasoning(effort="high"), {"outputConfig": {"effort": "high"}}),
        (NOVA, Reasoning(2000), {}),
        (
            NOVA,
            Reasoning(effort="low"),
            {"additionalModelRequestFields": {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}},
        ),
        (NOVA, Reasoning(effort="none"), {}),
        (OTHER, Reasoning(effort="medium"), {"additionalModelRequestFields": {"reasoning_effort": "most"}}),
        (OTHER, Reasoning(2000), {}),
    ],
)
def test_thinking_in_the_makers_words(wire_id: str, reasoning: Reasoning, fields: dict[str, object]) -> None:
    body = sent_to(wire_id, request(reasoning=reasoning), Compat(reasoning_effort_map={"medium": "most"}))
    assert {key: body[key] for key in ("additionalModelRequestFields", "outputConfig") if key in body} == fields


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
    await ask(made(server, extra_body=extra), request())
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
