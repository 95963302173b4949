"""The requests that Anthropic's Messages API refuses."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.rules.common import Complaints, Object, Refusal, first, picture_problem, twice

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_THINKING = ("thinking", "redacted_thinking")
_LEAST_BUDGET = 1024
_MOST_MARKS = 4
_TOP = ("oneOf", "allOf", "anyOf")


def refusal(body: Object) -> Refusal | None:
    return first(_complaints(body))


def error_body(refused: Refusal) -> bytes:
    error = {"type": "invalid_request_error", "message": refused.message}
    return json.dumps({"type": "error", "error": error, "request_id": "req_1"}).encode()


def _complaints(body: Object) -> Complaints:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield Refusal("model: Field required")
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or limit < 1:
        yield Refusal("max_tokens: Input should be greater than or equal to 1")
    messages = body.get("messages") or []
    if not messages:
        yield Refusal("messages: at least one message is required")
        return
    yield from _tools(body.get("tools") or [])
    yield from _marks(body)
    for index, block in enumerate(body["system"] if isinstance(body.get("system"), list) else []):
        yield from _text(block, f"system.{index}")
    if body.get("system") in ("", []):
        yield Refusal("system: text content blocks must be non-empty")
    turns = _turns(messages)
    yield from _roles(messages, turns)
    yield from _pairs(turns)
    thinking = (body.get("thinking") or {}).get("type") not in (None, "disabled")
    if thinking:
        yield from _thinking(body, turns)
    if turns[-1][0] == "assistant":
        yield from _last(turns[-1][1], len(messages) - 1)


def _blocks(message: Object) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def _turns(messages: Sequence[Object]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the turns as the model gets them: adjacent messages of one role are one turn."""
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for message in messages:
        if turns and turns[-1][0] == message.get("role"):
            turns[-1][1].extend(_blocks(message))
        else:
            turns.append((str(message.get("role")), _blocks(message)))
    return turns


def _roles(messages: Sequence[Object], turns: Sequence[tuple[str, list[dict[str, Any]]]]) -> Complaints:
    for index, message in enumerate(messages):
        role, place = message.get("role"), f"messages.{index}"
        if role not in ("user", "assistant"):
            yield Refusal(f"{place}.role: Input should be 'user' or 'assistant'")
        blocks = _blocks(message)
        if not blocks and not (role == "assistant" and index == len(messages) - 1):
            yield Refusal(
                f"{place}: all messages must have non-empty content except for the optional final assistant message"
            )
        for at, block in enumerate(blocks):
            yield from _block(block, str(role), f"{place}.content.{at}")
    if turns[0][0] != "user":
        yield Refusal('messages: first message must use the "user" role')


def _block(block: Object, role: str, place: str) -> Complaints:
    match block.get("type"):
        case "text":
            yield from _text(block, place)
        case "image" if role == "user":
            source = block.get("source") or {}
            problem = picture_problem(source.get("media_type"), source.get("data"), _PICTURES)
            if source.get("type") != "base64" or problem:
                yield Refusal(f"{place}.image.source.base64: {problem or 'not of type base64'}")
        case "tool_use" if role == "assistant":
            if _ID.fullmatch(str(block.get("id") or "")) is None:
                yield Refusal(f"{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            if _TOOL_NAME.fullmatch(str(block.get("name") or "")) is None:
                yield Refusal(f"{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
            if not isinstance(block.get("input"), dict):
                yield Refusal(f"{place}.tool_use.input: Input should be a valid dictionary")
        case "tool_result" if role == "user":
            content = block.get("content")
            inner = content if isinstance(content, list) else []
            for at, part in enumerate(inner):
                if part.get("type") not in ("text", "image", "document", "search_result"):
                    yield Refusal(f"{place}.tool_result.content.{at}: Input tag '{part.get('type')}' is not expected")
                yield from _block(part, role, f"{place}.tool_result.content.{at}")
            if block.get("is_error") is True and any(part.get("type") != "text" for part in inner):
                yield Refusal(f"{place}.tool_result: all content must be type `text` if `is_error` is true")
        case "thinking" if role == "assistant":
            if not isinstance(block.get("signature"), str) or not block["signature"]:
                yield Refusal(f"{place}.thinking.signature: Field required")
            elif block["signature"].startswith("{"):
                yield Refusal(f"{place}: Invalid `signature` in `thinking` block")
        case "redacted_thinking" if role == "assistant":
            if not isinstance(block.get("data"), str) or not block["data"]:
                yield Refusal(f"{place}.redacted_thinking.data: Field required")
        case kind:
            yield Refusal(f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags")


def _text(block: Object, place: str) -> Complaints:
    text = block.get("text")
    if not isinstance(text, str):
        yield Refusal(f"{place}.text: Input should be a valid string")
    elif not text:
        kind = "cache_control cannot be set for empty text blocks" if "cache_control" in block else ""
        yield Refusal(f"{place}: {kind or 'text content blocks must be non-empty'}")
    elif not text.strip():
        yield Refusal(f"{place}: text content blocks must contain non-whitespace text")


def _pairs(turns: Sequence[tuple[str, list[dict[str, Any]]]]) -> Complaints:
    ids = [str(block.get("id")) for _, blocks in turns for block in blocks if block.get("type") == "tool_use"]
    if twice(ids) is not None:
        yield Refusal("messages: `tool_use` ids must be unique")
    for index, (role, blocks) in enumerate(turns):
        if role != "user":
            continue
        before = [block["id"] for block in turns[index - 1][1] if block.get("type") == "tool_use"] if index else []
        given = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
        for id in given:
            if id not in before:
                yield Refusal(
                    f"messages.{index}.content: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each "
                    "`tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
        if len(set(given)) != len(given):
            yield Refusal(
                f"messages.{index}: each tool_use must have a single result. Found multiple `tool_result` blocks"
            )
    for index, (role, blocks) in enumerate(turns):
        calls = [block["id"] for block in blocks if block.get("type") == "tool_use"] if role == "assistant" else []
        behind = turns[index + 1][1] if index + 1 < len(turns) else []
        leading = list(_leading_results(behind))
        open_calls = [id for id in calls if id not in leading]
        if open_calls:
            yield Refusal(
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(open_calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )


def _leading_results(blocks: Sequence[Object]) -> Iterator[object]:
    for block in blocks:
        if block.get("type") != "tool_result":
            return
        yield block.get("tool_use_id")


def _thinking(body: Object, turns: Sequence[tuple[str, list[dict[str, Any]]]]) -> Complaints:
    budget = body["thinking"].get("budget_tokens")
    if body["thinking"].get("type") == "enabled":
        if not isinstance(budget, int) or budget < _LEAST_BUDGET:
            yield Refusal("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        elif budget >= body["max_tokens"]:
            yield Refusal("`max_tokens` must be greater than `thinking.budget_tokens`")
    if body.get("temperature", 1) != 1:
        yield Refusal("`temperature` may only be set to 1 when thinking is enabled")
    if "top_k" in body or body.get("top_p", 1) < 0.95:
        yield Refusal("`top_k` must be unset and `top_p` at least 0.95 when thinking is enabled")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield Refusal("Thinking may not be enabled when tool_choice forces tool use.")
    index, last = max(
        ((at, blocks) for at, (role, blocks) in enumerate(turns) if role == "assistant"), default=(0, None)
    )
    if last is None or not last:
        return
    is_last, goes_on = index == len(turns) - 1, any(block.get("type") == "tool_use" for block in last)
    if (is_last or goes_on) and last[0].get("type") not in _THINKING:
        # For a tool loop, the vendor checks how it began.
        begin = _loop_begin(turns, index)
        if is_last or turns[begin][1][0].get("type") not in _THINKING:
            yield Refusal(
                f"messages.{begin}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{last[0].get('type')}`. When `thinking` is enabled, a final `assistant` message must start with a "
                "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
            )


def _loop_begin(turns: Sequence[tuple[str, list[dict[str, Any]]]], index: int) -> int:
    """Return the index of the answer that began the tool loop which `index` belongs to: only results lie between."""
    while index >= 2 and all(block.get("type") == "tool_result" for block in turns[index - 1][1]):
        index -= 2
    return index


def _last(blocks: Sequence[Object], index: int) -> Complaints:
    if not blocks:
        return
    last = blocks[-1]
    if last.get("type") in _THINKING:
        yield Refusal(f"messages.{index}: The final block in an assistant message cannot be `thinking`.")
    if last.get("type") == "text" and str(last.get("text")) != str(last.get("text")).rstrip():
        yield Refusal("messages: final assistant content cannot end with trailing whitespace")


def _tools(tools: Sequence[Object]) -> Complaints:
    if twice(str(tool.get("name")) for tool in tools) is not None:
        yield Refusal("tools: Tool names must be unique.")
    for index, tool in enumerate(tools):
        place = f"tools.{index}.custom"
        if _TOOL_NAME.fullmatch(str(tool.get("name") or "")) is None:
            yield Refusal(f"{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield Refusal(f"{place}.input_schema.type: Input should be 'object'")
            continue
        if any(key in schema for key in _TOP):
            yield Refusal(
                f"{place}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            )
        for name in schema.get("properties") or {}:
            if _PROPERTY.fullmatch(name) is None:
                yield Refusal(f"{place}.input_schema.properties: Property keys should match '^[a-zA-Z0-9_.-]{{1,64}}$'")
        if tool.get("strict") is True and schema.get("additionalProperties") is not False:
            yield Refusal(f"{place}: For 'object' type, 'additionalProperties' must be explicitly set to false")


def _marks(body: Object) -> Complaints:
    """Check cache marks in the vendor's order: what is cached for an hour must come before what is cached for
    minutes."""
    system = body.get("system")
    blocks = [*(body.get("tools") or []), *(system if isinstance(system, list) else [])]
    blocks += [block for message in body.get("messages") or [] for block in _blocks(message)]
    marks = [block["cache_control"] for block in blocks if block.get("cache_control")]
    marks += [body["cache_control"]] if body.get("cache_control") else []
    if len(marks) > _MOST_MARKS:
        yield Refusal(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    for mark in marks:
        if mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
            yield Refusal("cache_control: Input should be {'type': 'ephemeral'} with a ttl of '5m' or '1h'")
    lasting = [mark.get("ttl", "5m") == "1h" for mark in marks]
    if lasting != sorted(lasting, reverse=True):
        yield Refusal("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
    for block in blocks:
        if block.get("cache_control") and block.get("type") in _THINKING:
            yield Refusal("cache_control cannot be set for thinking blocks")
