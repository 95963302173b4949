"""The requests that Amazon Bedrock's Converse refuses: its own rules, and those of the models' makers."""

import base64
import binascii
import json
import re
from collections.abc import Sequence
from typing import Any

from tests.support.rules import anthropic
from tests.support.rules.common import Complaints, Object, Refusal, first, picture_problem, twice

_FIELDS = {"messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields"}
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PICTURES = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
_BLOCKS = {"text", "image", "toolUse", "toolResult", "reasoningContent", "cachePoint"}
_MOST_POINTS, _MOST_PICTURES = 4, 20


def refusal(body: Object, model: str) -> Refusal | None:
    return first(_complaints(body, model.lower()))


def error_body(refused: Refusal) -> bytes:
    return json.dumps({"message": refused.message}).encode()


def _complaints(body: Object, model: str) -> Complaints:
    for name in body.keys() - _FIELDS:
        yield Refusal(f"Malformed input request: extraneous key [{name}] is not permitted")
    limit = (body.get("inferenceConfig") or {}).get("maxTokens")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        yield Refusal("Value at 'inferenceConfig.maxTokens' failed to satisfy constraint: greater than or equal to 1")
    messages = body.get("messages") or []
    if not messages or messages[0].get("role") != "user":
        yield Refusal(
            "A conversation must start with a user message. Try again with a conversation that starts with one."
        )
        return
    is_claude, is_nova = "anthropic." in model or "claude" in model, "amazon.nova" in model
    yield from _content(body.get("system") or [], "system", {"text", "cachePoint"})
    for index, message in enumerate(messages):
        yield from _message(message, index, messages[index - 1] if index else {}, knows_more=is_claude or is_nova)
    yield from _pairs(messages)
    yield from _tools(body, messages, is_nova)
    yield from _points(body, messages, may=is_claude or is_nova)
    if is_claude and (refused := anthropic.refusal(_as_anthropics(body))) is not None:
        yield Refusal(f"The model returned the following errors: {refused.message}")
    if not is_claude and "thinking" in (body.get("additionalModelRequestFields") or {}):
        yield Refusal("The model returned the following errors: extraneous key [thinking] is not permitted")


def _message(message: Object, index: int, before: Object, knows_more: bool) -> Complaints:
    role, content = message.get("role"), message.get("content") or []
    if role not in ("user", "assistant"):
        yield Refusal(f"Value at 'messages.{index}.role' failed to satisfy constraint: [user, assistant]")
    if role == before.get("role"):
        yield Refusal("A conversation must alternate between user and assistant roles.")
    if not content:
        yield Refusal(f"The content field in the Message object at messages.{index} is empty. Add a ContentBlock.")
    yield from _content(content, f"messages.{index}.content", _BLOCKS)
    kinds = [kind for block in content for kind in block]
    if kinds.count("image") > _MOST_PICTURES:
        yield Refusal(f"messages.{index} has more than 20 images")
    if role == "user" and "reasoningContent" in kinds:
        yield Refusal("User messages cannot contain reasoning content. Please remove the reasoning content.")
    if (role == "user" and "toolUse" in kinds) or (role == "assistant" and {"toolResult", "image"} & set(kinds)):
        yield Refusal(f"messages.{index}: this content is not allowed for the role {role}")
    for block in content:
        if "toolResult" in block:
            yield from _result(block["toolResult"], f"messages.{index}.content", knows_more)


def _content(blocks: Sequence[Object], place: str, allowed: set[str]) -> Complaints:
    for at, block in enumerate(blocks):
        if len(block) != 1 or not block.keys() <= allowed:
            yield Refusal(f"The format of the value at {place}.{at} is invalid. Provide a json object for the field.")
            continue
        match block:
            case {"text": text} if not isinstance(text, str) or not text.strip():
                yield Refusal(
                    f"The text field in the ContentBlock object at {place}.{at} is blank. Add text to the text field, "
                    "and try again."
                )
            case {"image": image}:
                kind = _PICTURES.get(image.get("format"))
                if problem := picture_problem(kind, (image.get("source") or {}).get("bytes"), _PICTURES.values()):
                    yield Refusal(f"{place}.{at}.image: {problem}")
            case {"toolUse": call}:
                yield from _call(call, f"{place}.{at}.toolUse")
            case {"reasoningContent": reasoning}:
                yield from _reasoning(reasoning, f"{place}.{at}.reasoningContent")


def _call(call: Object, place: str) -> Complaints:
    for field in ("toolUseId", "name"):
        if _ID.fullmatch(str(call.get(field) or "")) is None:
            yield Refusal(
                f"Value at '{place}.{field}' failed to satisfy constraint: Member must satisfy regular expression "
                "pattern: [a-zA-Z0-9_-]+"
            )
    if not isinstance(call.get("input"), dict):
        yield Refusal(f"The format of the value at {place}.input is invalid. Provide a json object for the field.")


def _reasoning(reasoning: Object, place: str) -> Complaints:
    match reasoning:
        case {"reasoningText": {"text": str(), "signature": str(signature)}}:
            if not signature or signature.startswith("{"):
                yield Refusal(f"{place}: Invalid `signature` in `thinking` block")
        case {"redactedContent": str(data)} if data:
            try:
                base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                yield Refusal(f"{place}.redactedContent: the value is not base64")
        case _:
            yield Refusal(f"{place}: the reasoning is not signed")


def _result(result: Object, place: str, knows_more: bool) -> Complaints:
    content = result.get("content") or []
    if not content:
        yield Refusal(f"The content field at {place}.toolResult cannot be empty")
    yield from _content(content, f"{place}.toolResult.content", {"text", "json", "image"})
    if not knows_more and ("status" in result or any("image" in part for part in content)):
        yield Refusal("This model doesn't support the status field, or an image, in a toolResult")


def _ids(message: Object, kind: str) -> list[Any]:
    return [block[kind].get("toolUseId") for block in message.get("content") or [] if kind in block]


def _pairs(messages: Sequence[Object]) -> Complaints:
    for index, message in enumerate(messages):
        given, due = _ids(message, "toolResult"), _ids(messages[index - 1], "toolUse") if index else []
        if message.get("role") != "user":
            continue
        missing = [id for id in due if id not in given]
        if missing:
            yield Refusal(f"Expected toolResult blocks at messages.{index}.content for the following Ids: {missing[0]}")
        if len(given) > len(due) or set(given) - set(due):
            yield Refusal(
                f"The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of "
                "previous turn."
            )
    if open_calls := _ids(messages[-1], "toolUse"):
        yield Refusal(
            f"Expected toolResult blocks at messages.{len(messages)}.content for the following Ids: {open_calls}"
        )


def _tools(body: Object, messages: Sequence[Object], is_nova: bool) -> Complaints:
    config = body.get("toolConfig")
    if config is None:
        if any(_ids(message, kind) for message in messages for kind in ("toolUse", "toolResult")):
            yield Refusal("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
        return
    specs = [tool["toolSpec"] for tool in config.get("tools") or [] if "toolSpec" in tool]
    if not specs:
        yield Refusal("Value at 'toolConfig.tools' failed to satisfy constraint: length greater than or equal to 1")
    if (name := twice(str(spec.get("name")) for spec in specs)) is not None:
        yield Refusal(f"The toolConfig field contains the tool {name} twice.")
    for index, spec in enumerate(specs):
        place = f"toolConfig.tools.{index}.toolSpec"
        if _ID.fullmatch(str(spec.get("name") or "")) is None:
            yield Refusal(f"Value at '{place}.name' failed to satisfy constraint: pattern: [a-zA-Z0-9_-]+")
        if not spec.get("description"):
            yield Refusal(f"Value at '{place}.description' failed to satisfy constraint: length of at least 1")
        schema = (spec.get("inputSchema") or {}).get("json")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield Refusal(f"The value at {place}.inputSchema.json.type must be one of the following: object.")
        elif is_nova and schema.keys() - {"type", "properties", "required"}:
            yield Refusal(f"{place}: only type, properties and required are supported in the top-level object")


def _points(body: Object, messages: Sequence[Object], may: bool) -> Complaints:
    lists = [body.get("system") or [], *(message.get("content") or [] for message in messages)]
    found = [(blocks, at) for blocks in lists for at, block in enumerate(blocks) if "cachePoint" in block]
    if found and not may:
        yield Refusal("You invoked an unsupported model or your request did not allow prompt caching.")
    if len(found) > _MOST_POINTS:
        yield Refusal(f"You may have at most 4 cache points. Found {len(found)}.")
    for blocks, at in found:
        if blocks[at]["cachePoint"].get("type") != "default":
            yield Refusal("Value at 'cachePoint.type' failed to satisfy constraint: [default]")
        if at == 0 or "cachePoint" in blocks[at - 1]:
            yield Refusal("There is nothing available to cache. Please remove the invalid cache point and try again.")
        elif "reasoningContent" in blocks[at - 1]:
            yield Refusal("Cache point cannot be inserted after reasoning block.")


def _as_anthropics(body: Object) -> dict[str, Any]:
    """Return the request as Bedrock passes it on to Claude."""
    specs = [tool["toolSpec"] for tool in (body.get("toolConfig") or {}).get("tools") or []]
    tools = [{"name": spec.get("name"), "input_schema": spec["inputSchema"].get("json")} for spec in specs]
    messages = [
        {"role": message["role"], "content": [_as_anthropics_block(block) for block in _without_points(message)]}
        for message in body["messages"]
    ]
    limit = (body.get("inferenceConfig") or {}).get("maxTokens", 4096)
    fields = body.get("additionalModelRequestFields") or {}
    return {"model": "m", "max_tokens": limit, "messages": messages, "tools": tools, **fields}


def _without_points(message: Object) -> list[Object]:
    return [block for block in message["content"] if "cachePoint" not in block]


def _as_anthropics_block(block: Object) -> dict[str, Any]:
    match block:
        case {"image": {"format": format, "source": {"bytes": data}}}:
            source = {"type": "base64", "media_type": _PICTURES.get(format), "data": data}
            return {"type": "image", "source": source}
        case {"toolUse": {"toolUseId": id, "name": name, "input": given}}:
            return {"type": "tool_use", "id": id, "name": name, "input": given}
        case {"toolResult": {"toolUseId": id, "content": content} as result}:
            inner = [_as_anthropics_block(part) for part in content]
            is_error = result.get("status") == "error"
            return {"type": "tool_result", "tool_use_id": id, "content": inner, "is_error": is_error}
        case {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}:
            return {"type": "thinking", "thinking": text, "signature": signature}
        case {"reasoningContent": {"redactedContent": data}}:
            return {"type": "redacted_thinking", "data": data}
        case _:
            return {"type": "text", "text": block.get("text")}
