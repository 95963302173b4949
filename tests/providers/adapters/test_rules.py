"""The rules that scripted servers hold requests to: of each, one request that is refused and one that passes."""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.rules.check import check_http

PNG = "iVBORw0KGgo="
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
STRICT = SCHEMA | {"required": ["path"], "additionalProperties": False}
Body = dict[str, Any]

ANTHROPIC: Body = {
    "model": "claude",
    "max_tokens": 4000,
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "cache_control": {"type": "ephemeral"},
    "system": [{"type": "text", "text": "Be good.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "read_file", "description": "Reads.", "input_schema": SCHEMA}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "t1", "name": "read_file", "input": {}},
                {"type": "tool_use", "id": "t2", "name": "read_file", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [
                        {"type": "text", "text": "one"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "t2", "content": "two", "is_error": True},
            ],
        },
    ],
}
RESPONSES: Body = {
    "model": "gpt",
    "store": False,
    "max_output_tokens": 4000,
    "tools": [{"type": "function", "name": "read_file", "parameters": STRICT, "strict": True}],
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read_file", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}],
        },
    ],
}
CHAT: Body = {
    "model": "gpt",
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 4000,
    "tools": [{"type": "function", "function": {"name": "read_file", "parameters": STRICT, "strict": True}}],
    "messages": [
        {"role": "system", "content": "Be good."},
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]},
    ],
}
GOOGLE: Body = {
    "generationConfig": {"maxOutputTokens": 4000, "thinkingConfig": {"thinkingBudget": 1000}},
    "tools": [{"functionDeclarations": [{"name": "read_file", "parametersJsonSchema": SCHEMA}]}],
    "contents": [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {}}, "thoughtSignature": "s"}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read_file", "response": {"output": "one"}}},
                {"inlineData": {"mimeType": "image/png", "data": PNG}},
            ],
        },
    ],
}
CONVERSE: Body = {
    "inferenceConfig": {"maxTokens": 4000},
    "system": [{"text": "Be good."}, {"cachePoint": {"type": "default"}}],
    "toolConfig": {
        "tools": [{"toolSpec": {"name": "read_file", "description": "Reads.", "inputSchema": {"json": SCHEMA}}}]
    },
    "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}},
    "messages": [
        {"role": "user", "content": [{"text": "Look."}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                {"toolUse": {"toolUseId": "t1", "name": "read_file", "input": {}}},
                {"toolUse": {"toolUseId": "t2", "name": "read_file", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "t1",
                        "content": [{"text": "one"}, {"image": {"format": "png", "source": {"bytes": PNG}}}],
                        "status": "success",
                    }
                },
                {"toolResult": {"toolUseId": "t2", "content": [{"text": "two"}], "status": "error"}},
                {"cachePoint": {"type": "default"}},
            ],
        },
    ],
}
BODIES = {
    "/v1/messages": ANTHROPIC,
    "/v1/responses": RESPONSES,
    "/v1/chat/completions": CHAT,
    "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse": GOOGLE,
    "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse-stream": CONVERSE,
}
MESSAGES, RESPONSE_ITEMS, COMPLETIONS, GENERATE, TO_CLAUDE = BODIES
Change = Callable[[Body], object]


def put(*path: str | int, **fields: object) -> Change:
    """Sets fields of the object at a path."""

    def change(body: Body) -> None:
        at(body, *path).update(fields)

    return change


def drop(*path: str | int) -> Change:
    def change(body: Body) -> None:
        del at(body, *path[:-1])[path[-1]]

    return change


def add(*path: str | int, item: object, place: int | None = None) -> Change:
    def change(body: Body) -> None:
        there = at(body, *path)
        there.insert(len(there) if place is None else place, copy.deepcopy(item))

    return change


def at(body: Any, *path: str | int) -> Any:
    for key in path:
        body = body[key]
    return body


def both(*changes: Change) -> Change:
    def change(body: Body) -> None:
        for one in changes:
            one(body)

    return change


def said(text: str) -> Mapping[str, object]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


CONTENT = ("messages", 1, "content")
NO_THINKING = both(drop("thinking"), drop(*CONTENT, 0))
SPEC = ("toolConfig", "tools", 0, "toolSpec")
RESULT = ("messages", 2, "content", 0, "toolResult")
POINT = {"cachePoint": {"type": "default"}}
SCHEMA_AT = ("tools", 0, "parameters", "properties")
REFUSED: list[tuple[str, Change, str]] = [
    (MESSAGES, put(messages=[]), "at least one message"),
    (MESSAGES, put(max_tokens=0), "max_tokens"),
    (MESSAGES, put("messages", 0, role="system"), "Input should be 'user' or 'assistant'"),
    (MESSAGES, put("messages", 0, content=[]), "must have non-empty content"),
    (MESSAGES, put("messages", 0, "content", 0, text=""), "must be non-empty"),
    (MESSAGES, put("messages", 0, "content", 0, text=" \n"), "non-whitespace"),
    (MESSAGES, put("system", 0, text=""), "empty text blocks"),
    (MESSAGES, drop("messages", 0), 'first message must use the "user" role'),
    (MESSAGES, drop("messages", 2), "were found without `tool_result` blocks immediately after: t1, t2"),
    (MESSAGES, drop("messages", 2, "content", 1), "without `tool_result` blocks immediately after: t2"),
    (MESSAGES, add("messages", 2, "content", item={"type": "text", "text": "x"}, place=0), "immediately after: t1, t2"),
    (MESSAGES, put("messages", 2, "content", 0, tool_use_id="t9"), "unexpected `tool_use_id`"),
    (MESSAGES, put("messages", 2, "content", 1, tool_use_id="t1"), "a single result"),
    (MESSAGES, put(*CONTENT, 2, id="t1"), "ids must be unique"),
    (MESSAGES, put(*CONTENT, 1, id="t|1"), "^[a-zA-Z0-9_-]+$"),
    (MESSAGES, put(*CONTENT, 1, name="read file"), "tool_use.name"),
    (MESSAGES, put(*CONTENT, 1, input="{}"), "valid dictionary"),
    (MESSAGES, put(*CONTENT, 0, signature=""), "signature: Field required"),
    (MESSAGES, put(*CONTENT, 0, signature='{"google": 1}'), "Invalid `signature`"),
    (MESSAGES, drop(*CONTENT, 0), "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
    (MESSAGES, add("messages", item=said("so")), "Expected `thinking` or `redacted_thinking`, but found `text`"),
    (MESSAGES, both(NO_THINKING, add("messages", item=said("so "))), "trailing whitespace"),
    (
        MESSAGES,
        add("messages", item={"role": "assistant", "content": ANTHROPIC["messages"][1]["content"][:1]}),
        "cannot be `thinking`",
    ),
    (MESSAGES, put("thinking", budget_tokens=1000), "greater than or equal to 1024"),
    (MESSAGES, put("thinking", budget_tokens=4000), "`max_tokens` must be greater"),
    (MESSAGES, put(temperature=0.2), "`temperature` may only be set to 1"),
    (MESSAGES, put(top_k=5), "`top_k` must be unset"),
    (MESSAGES, put(tool_choice={"type": "any"}), "tool_choice forces tool use"),
    (MESSAGES, put("tools", 0, name="read file"), "tools.0.custom.name"),
    (MESSAGES, put("tools", 0, name="a" * 129), "tools.0.custom.name"),
    (MESSAGES, add("tools", item=ANTHROPIC["tools"][0]), "Tool names must be unique"),
    (MESSAGES, put("tools", 0, input_schema={}), "input_schema.type"),
    (MESSAGES, put("tools", 0, input_schema=SCHEMA | {"anyOf": []}), "at the top level"),
    (MESSAGES, put("tools", 0, "input_schema", properties={"a b": {}}), "Property keys"),
    (MESSAGES, put("tools", 0, strict=True), "'additionalProperties' must be explicitly set to false"),
    (
        MESSAGES,
        both(*(put("messages", 2, "content", at, cache_control={"type": "ephemeral"}) for at in range(2)),
             put("tools", 0, cache_control={"type": "ephemeral"})),
        "A maximum of 4 blocks with cache_control may be provided. Found 5",
    ),
    (MESSAGES, put(cache_control={"type": "ephemeral", "ttl": "1h"}), "must not come after a ttl='5m'"),
    (MESSAGES, put(cache_control={"type": "for ever"}), "cache_control: Input should be"),
    (MESSAGES, put(*CONTENT, 0, cache_control={"type": "ephemeral"}), "cannot be set for thinking blocks"),
    (MESSAGES, put("messages", 2, "content", 0, is_error=True), "must be type `text` if `is_error` is true"),
    (MESSAGES, put("messages", 2, "content", 0, "content", 1, "source", media_type="image/bmp"), "'image/jpeg'"),
    (MESSAGES, put("messages", 2, "content", 0, "content", 1, "source", data="%%"), "not valid base64"),
    (MESSAGES, put("messages", 2, "content", 0, "content", 1, "source", data="AAAA"), "appears to be another one"),
    (MESSAGES, put("messages", 0, "content", 0, type="tool_use"), "does not match any of the expected tags"),
    (RESPONSE_ITEMS, put(input=[]), "must be provided"),
    (RESPONSE_ITEMS, put(max_output_tokens=5), "Expected a value >= 16"),
    (RESPONSE_ITEMS, put(prompt_cache_key="x" * 65), "maximum length 64"),
    (RESPONSE_ITEMS, drop("input", 3), "No tool output found for function call c1"),
    (RESPONSE_ITEMS, both(drop("input", 2), drop("input", 1)), "No tool call found for function call output"),
    (RESPONSE_ITEMS, add("input", item=RESPONSES["input"][3]), "Duplicate function_call_output"),
    (RESPONSE_ITEMS, both(add("input", item=RESPONSES["input"][2] | {"id": "fc_2"})), "Duplicate 'call_id': c1"),
    (RESPONSE_ITEMS, add("input", item=RESPONSES["input"][1], place=1), "Duplicate item found with id rs_1"),
    (RESPONSE_ITEMS, both(drop("input", 3), drop("input", 2)), "without its required following item"),
    (RESPONSE_ITEMS, drop("input", 1, "encrypted_content"), "Items are not persisted"),
    (RESPONSE_ITEMS, drop("input", 1, "summary"), "input[1].summary"),
    (RESPONSE_ITEMS, put("input", 1, content=[{}]), "maximum length 0"),
    (RESPONSE_ITEMS, put("input", 2, id="x"), "begins with 'fc'"),
    (RESPONSE_ITEMS, put("input", 2, id="fc" * 40), "maximum length 64"),
    (RESPONSE_ITEMS, put("input", 2, call_id=""), "empty string"),
    (RESPONSE_ITEMS, put("input", 2, call_id="c" * 65), "maximum length 64"),
    (RESPONSE_ITEMS, put("input", 2, arguments="[]"), "expected a JSON object"),
    (RESPONSE_ITEMS, put("input", 0, content=[{"type": "output_text", "text": "x"}]), "are: input_text"),
    (RESPONSE_ITEMS, put("input", 0, role="model"), "Invalid value: 'model'"),
    (RESPONSE_ITEMS, put("input", 3, "output", 0, image_url="http://x/y.png"), "data URL"),
    (RESPONSE_ITEMS, put("input", 3, output=None), "expected a string or a list"),
    (RESPONSE_ITEMS, put("tools", 0, name="a" * 65), "does not match pattern"),
    (RESPONSE_ITEMS, put("tools", 0, parameters={}), "got 'type: \"None\"'"),
    (RESPONSE_ITEMS, put("tools", 0, parameters=STRICT | {"anyOf": []}), "at the top level"),
    (RESPONSE_ITEMS, put("tools", 0, parameters=SCHEMA), "'additionalProperties' is required"),
    (RESPONSE_ITEMS, put("tools", 0, "parameters", required=[]), "Missing 'path'"),
    (RESPONSE_ITEMS, put(*SCHEMA_AT, path={"type": "number", "minLength": 1}), "minLength"),
    (RESPONSE_ITEMS, put("tools", 0, "parameters", "properties", path={}), "must have a 'type' key"),
    (RESPONSE_ITEMS, put(*SCHEMA_AT, path={"type": "number", "default": 1}), "default"),
    (RESPONSE_ITEMS, put(*SCHEMA_AT, path={"$ref": "#/$defs/A", "description": "x"}), "$ref cannot have keywords"),
    (RESPONSE_ITEMS, put("tools", 0, "parameters", "properties", path={"type": "array"}), "missing items"),
    (COMPLETIONS, put(messages=[]), "is too short"),
    (COMPLETIONS, put(tools=[]), "is too short"),
    (COMPLETIONS, put(max_completion_tokens=5), "at the same time"),
    (COMPLETIONS, put(max_tokens=0), "Expected a value >= 1"),
    (COMPLETIONS, put(stream=False), "only allowed when 'stream' is enabled"),
    (COMPLETIONS, put("messages", 1, role="model"), "is not one of"),
    (COMPLETIONS, put("messages", 1, content=None), "expected a string, got null"),
    (COMPLETIONS, put("messages", 1, content=[]), "empty array"),
    (COMPLETIONS, put("messages", 2, tool_calls=[]), "empty array"),
    (COMPLETIONS, put("messages", 1, tool_calls=[]), "'tool_calls' was unexpected"),
    (COMPLETIONS, drop("messages", 3), "did not have response messages: c1"),
    (COMPLETIONS, drop("messages", 2), "must be a response to a preceeding message"),
    (COMPLETIONS, add("messages", item=CHAT["messages"][3], place=3), "Duplicate value for 'tool_call_id'"),
    (COMPLETIONS, put("messages", 2, "tool_calls", 0, id="c" * 41), "maximum length 40"),
    (COMPLETIONS, put("messages", 2, "tool_calls", 0, id=""), "Missing required parameter"),
    (COMPLETIONS, put("messages", 2, "tool_calls", 0, "function", name="a b"), "does not match pattern"),
    (COMPLETIONS, put("messages", 2, "tool_calls", 0, "function", arguments={}), "function.arguments"),
    (COMPLETIONS, put("messages", 3, content=CHAT["messages"][4]["content"]), "Supported values are: ('text',)"),
    (COMPLETIONS, put("messages", 4, "content", 0, image_url={"url": "data:image/bmp;base64,AAAA"}), "image_url"),
    (COMPLETIONS, put("tools", 0, "function", parameters=SCHEMA), "'additionalProperties' is required"),
    (COMPLETIONS, add("messages", item={"role": "user", "content": "Again."}, place=1), "roles must alternate"),
    (GENERATE, put(contents=[]), "contents is not specified"),
    (GENERATE, put("contents", 0, role="assistant"), "valid role: user, model"),
    (GENERATE, put("contents", 0, parts=[]), "must not be empty"),
    (GENERATE, put("contents", 0, parts=[{}]), "must have one initialized field"),
    (GENERATE, put("contents", 0, parts=[{"text": ""}]), "must have a text parameter"),
    (GENERATE, drop("contents", 0), "comes immediately after a user turn"),
    (GENERATE, drop("contents", 1), "comes immediately after a function call turn"),
    (GENERATE, add("contents", 1, "parts", item=GOOGLE["contents"][1]["parts"][0]), "number of function call"),
    (GENERATE, put("contents", 2, "parts", 0, functionResponse={"name": "x", "response": {}}), "names of the function"),
    (GENERATE, drop("contents", 2), "followed by a function response turn"),
    (GENERATE, add("contents", item={"role": "model", "parts": [{"text": "so"}]}), "end with a user role"),
    (GENERATE, drop("contents", 1, "parts", 0, "thoughtSignature"), "missing a thought_signature"),
    (GENERATE, put("contents", 1, "parts", 0, "functionCall", name=""), "Name cannot be empty"),
    (GENERATE, put("contents", 1, "parts", 0, "functionCall", args="{}"), "protobuf.Struct"),
    (GENERATE, put("contents", 2, "parts", 1, inlineData={"mimeType": "image/gif", "data": "R0lGODlh"}), "Unsupported"),
    (GENERATE, put("generationConfig", maxOutputTokens=0), "must be positive"),
    (GENERATE, put("generationConfig", "thinkingConfig", thinkingBudget=0), "only works in thinking mode"),
    (GENERATE, put("generationConfig", "thinkingConfig", thinkingBudget=99_999), "between 128 and 32768"),
    (GENERATE, put("tools", 0, "functionDeclarations", 0, name="1st"), "Must start with a letter"),
    (GENERATE, add("tools", 0, "functionDeclarations", item={"name": "read_file"}), "Duplicate function declaration"),
    (GENERATE, put("tools", 0, "functionDeclarations", 0, parametersJsonSchema={}), "of type OBJECT"),
    (TO_CLAUDE, put(model="claude"), "extraneous key [model]"),
    (TO_CLAUDE, put("inferenceConfig", maxTokens=0), "inferenceConfig.maxTokens"),
    (TO_CLAUDE, put(messages=[]), "must start with a user message"),
    (TO_CLAUDE, drop("messages", 0), "must start with a user message"),
    (TO_CLAUDE, add("messages", item={"role": "user", "content": [{"text": "x"}]}), "must alternate"),
    (TO_CLAUDE, put("messages", 0, content=[]), "is empty"),
    (TO_CLAUDE, put("messages", 0, content=[{"text": " "}]), "is blank"),
    (TO_CLAUDE, put("system", 0, text=""), "is blank"),
    (TO_CLAUDE, put("messages", 0, content=[{"text": "x", "image": {}}]), "The format of the value at"),
    (TO_CLAUDE, put("messages", 0, content=[{"image": {"format": "bmp", "source": {"bytes": PNG}}}]), "image"),
    (TO_CLAUDE, put("messages", 0, content=[CONVERSE["messages"][2]["content"][0]["toolResult"]["content"][1]] * 21),
     "more than 20 images"),
    (TO_CLAUDE, put("messages", 0, content=CONVERSE["messages"][1]["content"][:1]), "User messages cannot contain"),
    (TO_CLAUDE, put(*CONTENT, 1, toolUse={"toolUseId": "a|b", "name": "x", "input": {}}), "toolUse.toolUseId"),
    (TO_CLAUDE, put(*CONTENT, 1, toolUse={"toolUseId": "t1", "name": "x", "input": "{}"}), "toolUse.input"),
    (TO_CLAUDE, put(*CONTENT, 0, reasoningContent={"reasoningText": {"text": "hm"}}), "not signed"),
    (TO_CLAUDE, put(*CONTENT, 0, reasoningContent={"redactedContent": "{}"}), "not base64"),
    (TO_CLAUDE, put(*RESULT, content=[]), "cannot be empty"),
    (TO_CLAUDE, put(*RESULT, content=[{"text": ""}]), "is blank"),
    (TO_CLAUDE, drop("messages", 2, "content", 1), "for the following Ids: t2"),
    (TO_CLAUDE, drop(*CONTENT, 2), "exceeds the number of toolUse blocks"),
    (TO_CLAUDE, drop("messages", 2), "Expected toolResult blocks at messages.2"),
    (TO_CLAUDE, drop("toolConfig"), "The toolConfig field must be defined"),
    (TO_CLAUDE, put("toolConfig", tools=[]), "toolConfig.tools"),
    (TO_CLAUDE, add("toolConfig", "tools", item=CONVERSE["toolConfig"]["tools"][0]), "twice"),
    (TO_CLAUDE, put(*SPEC, name="a b"), "toolSpec.name"),
    (TO_CLAUDE, put(*SPEC, description=""), "toolSpec.description"),
    (TO_CLAUDE, put(*SPEC, inputSchema={"json": {}}), "must be one of the following: object"),
    (TO_CLAUDE, add(*CONTENT, item=POINT, place=1), "after reasoning block"),
    (TO_CLAUDE, add("messages", 0, "content", item=POINT, place=0), "nothing available to cache"),
    (TO_CLAUDE, put("messages", 0, content=[{"text": "x"}, POINT, {"text": "y"}, POINT, {"text": "z"}, POINT]),
     "at most 4 cache points"),
    (TO_CLAUDE, drop(*CONTENT, 0), "Expected `thinking` or `redacted_thinking`"),
    (TO_CLAUDE, put("messages", 2, "content", 1, toolResult=CONVERSE["messages"][2]["content"][0]["toolResult"]
     | {"toolUseId": "t2", "status": "error"}), "must be type `text` if `is_error` is true"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "change", "words"),
    [
        ("openai.gpt-oss-120b-1:0", put(messages=CONVERSE["messages"][:1]), "allow prompt caching"),
        ("openai.gpt-oss-120b-1:0", put("messages", 2, content=CONVERSE["messages"][2]["content"][:2]), "status field"),
        ("us.amazon.nova-pro-v1:0", put(), "key [thinking]"),
        ("us.amazon.nova-pro-v1:0", put(*SPEC, inputSchema={"json": STRICT}), "only type, properties and required"),
    ],
)
def test_on_bedrock_it_depends_on_the_models_maker(model: str, change: Change, words: str) -> None:
    body = copy.deepcopy(CONVERSE)
    change(body)
    refused = check_http(f"/model/{model}/converse-stream", body)
    assert refused is not None
    assert words in refused.message


@pytest.mark.parametrize("path", BODIES)
def test_a_good_request_passes(path: str) -> None:
    assert check_http(path, BODIES[path]) is None


@pytest.mark.parametrize(("path", "change", "words"), REFUSED, ids=[f"{one[0]} {one[2]}"[:90] for one in REFUSED])
def test_a_bad_one_is_refused_in_the_vendors_words(path: str, change: Change, words: str) -> None:
    body = copy.deepcopy(BODIES[path])
    change(body)
    refused = check_http(path, body)
    assert refused is not None
    assert words in refused.message
    told = json.loads(refused.body)
    error = told.get("error", told)  # Amazon's has the message alone
    assert error["message"] == refused.message


PASSES: list[tuple[str, Change]] = [
    (MESSAGES, add("messages", 2, "content", item={"type": "text", "text": "Go on."})),
    (MESSAGES, add("messages", item={"role": "user", "content": "Go on."})),
    (MESSAGES, both(NO_THINKING, add("messages", item=said("so")))),
    (MESSAGES, put(*CONTENT, 0, type="redacted_thinking", data="x")),
    (RESPONSE_ITEMS, add("input", item={"role": "user", "content": "Go on."})),
    (RESPONSE_ITEMS, put("tools", 0, strict=False, parameters=SCHEMA)),
    (RESPONSE_ITEMS, drop("input", 2, "id")),
    (COMPLETIONS, add("messages", item={"role": "user", "content": "Go on."})),
    (COMPLETIONS, drop("messages", 4)),
    (GENERATE, add("contents", item={"role": "user", "parts": [{"text": "Go on."}]})),
    (GENERATE, add("contents", 1, "parts", item={"text": "", "thoughtSignature": "s"}, place=0)),
    (TO_CLAUDE, add("messages", 2, "content", item={"text": "Go on."})),
    (TO_CLAUDE, put(*CONTENT, 0, reasoningContent={"redactedContent": PNG})),
]


@pytest.mark.parametrize(("path", "change"), PASSES)
def test_what_is_allowed_passes(path: str, change: Change) -> None:
    body = copy.deepcopy(BODIES[path])
    change(body)
    refused = check_http(path, body)
    assert refused is None, refused
