"""The requests that OpenAI's Chat Completions refuse."""

from collections.abc import Sequence
from itertools import pairwise

from tests.support.rules.common import (
    OPENAI_NAME,
    Complaints,
    Object,
    Refusal,
    data_url_problem,
    first,
    openai_body,
    openai_tool,
    twice,
)

error_body = openai_body
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_LONGEST_ID = 40


def refusal(body: Object) -> Refusal | None:
    return first(_complaints(body))


def _complaints(body: Object) -> Complaints:
    if not body.get("model"):
        yield Refusal("you must provide a model parameter")
    messages = body.get("messages")
    if not messages:
        yield Refusal("[] is too short - 'messages'", "messages")
        return
    limits = [key for key in ("max_tokens", "max_completion_tokens") if key in body]
    if len(limits) > 1:
        yield Refusal("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    for key in limits:
        if not isinstance(body[key], int) or body[key] < 1:
            yield Refusal(f"Invalid '{key}': integer below minimum value. Expected a value >= 1.", key)
    if body.get("stream_options") is not None and body.get("stream") is not True:
        yield Refusal("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if body.get("tools") == []:
        yield Refusal("[] is too short - 'tools'", "tools")
    tools = [tool.get("function") or {} for tool in body.get("tools") or []]
    for index, tool in enumerate(tools):
        yield from openai_tool(tool.get("name"), tool.get("parameters"), tool.get("strict"), f"tools[{index}].function")
    if twice(str(tool.get("name")) for tool in tools) is not None:
        yield Refusal("Invalid 'tools': names must be unique", "tools")
    for index, message in enumerate(messages):
        yield from _message(message, f"messages.[{index}]")
    yield from _pairs(messages)
    yield from _turns(messages)


def _message(message: Object, place: str) -> Complaints:
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        yield Refusal(f"'{role}' is not one of {list(_ROLES)} - '{place}.role'", f"{place}.role")
    calls = message.get("tool_calls")
    if calls is not None and role != "assistant":
        yield Refusal(f"Additional properties are not allowed ('tool_calls' was unexpected) - '{place}'", place)
    if calls == []:
        yield Refusal(f"Invalid '{place}.tool_calls': empty array. Expected an array with minimum length 1.", place)
    if content is None and not (role == "assistant" and calls):
        yield Refusal("Invalid value for 'content': expected a string, got null.", f"{place}.content")
    if content == []:
        yield Refusal(f"Invalid '{place}.content': empty array. Expected an array with minimum length 1.", place)
    if isinstance(content, list):
        allowed = ("text", "image_url") if role == "user" else ("text",)
        for at, part in enumerate(content):
            if part.get("type") not in allowed:
                yield Refusal(f"Invalid value: '{part.get('type')}'. Supported values are: {allowed}.", place)
            elif part["type"] == "text" and not isinstance(part.get("text"), str):
                yield Refusal(f"Missing required parameter: '{place}.content[{at}].text'.", place)
            elif part["type"] == "image_url" and (problem := data_url_problem((part["image_url"] or {}).get("url"))):
                yield Refusal(f"Invalid '{place}.content[{at}].image_url'. {problem}", place)
    elif content is not None and not isinstance(content, str):
        yield Refusal(f"Invalid type for '{place}.content'", place)
    for at, call in enumerate(calls or ()):
        yield from _call(call, f"{place}.tool_calls[{at}]")


def _call(call: Object, place: str) -> Complaints:
    id, function = call.get("id"), call.get("function") or {}
    if not isinstance(id, str) or not id:
        yield Refusal(f"Missing required parameter: '{place}.id'.", place)
    elif len(id) > _LONGEST_ID:
        yield Refusal(f"Invalid '{place}.id': string too long. Expected a string with maximum length 40.", place)
    if call.get("type") != "function":
        yield Refusal(f"Invalid value: '{call.get('type')}'. Supported values are: 'function'.", place)
    if OPENAI_NAME.fullmatch(str(function.get("name") or "")) is None:
        yield Refusal(
            f"Invalid '{place}.function.name': string does not match pattern. Expected a string that matches the "
            "pattern '^[a-zA-Z0-9_-]+$'.",
            place,
        )
    if not isinstance(function.get("arguments"), str):
        yield Refusal(f"Missing required parameter: '{place}.function.arguments'.", place)


def _turns(messages: Sequence[Object]) -> Complaints:
    """Check turns by the published templates of Mistral's, Meta's and Google's open models, which their servers
    apply."""
    roles = [message.get("role") for message in messages if not isinstance(message.get("content"), list)]
    for one, other in pairwise(roles):
        if one == other and one in ("user", "assistant"):
            yield Refusal("Conversation roles must alternate user/assistant/user/assistant/...", "messages")


def _pairs(messages: Sequence[Object]) -> Complaints:
    waiting: list[str] = []
    answered: list[str] = []
    for index, message in enumerate([*messages, {}]):
        if message.get("role") == "tool":
            id = str(message.get("tool_call_id"))
            if id in answered:
                yield Refusal(
                    f"Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in messages[{index}].",
                    f"messages.[{index}].tool_call_id",
                )
            elif id not in waiting:
                yield Refusal(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    f"messages.[{index}].role",
                )
            else:
                waiting.remove(id)
                answered.append(id)
            continue
        if waiting:
            yield Refusal(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
                "messages",
            )
        answered = []
        waiting = [str(call.get("id")) for call in message.get("tool_calls") or ()]
        if (double := twice(waiting)) is not None:
            yield Refusal(f"Invalid parameter: Duplicate value for 'tool_call_id' of '{double}'", "messages")
