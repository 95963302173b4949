"""The requests that OpenAI's Responses API refuses."""

from collections import Counter
from collections.abc import Sequence

from tests.support.rules.common import (
    Complaints,
    Object,
    Refusal,
    as_json_object,
    data_url_problem,
    first,
    openai_body,
    openai_tool,
    twice,
)

error_body = openai_body
_PREFIXES = {"reasoning": "rs", "function_call": "fc", "message": "msg"}
_LONGEST = 64
_LEAST_OUTPUT = 16


def refusal(body: Object) -> Refusal | None:
    return first(_complaints(body))


def _complaints(body: Object) -> Complaints:
    if not body.get("model"):
        yield Refusal("Missing required parameter: 'model'.", "model")
    limit = body.get("max_output_tokens")
    if limit is not None and (not isinstance(limit, int) or limit < _LEAST_OUTPUT):
        yield Refusal(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got "
            f"{limit} instead.",
            "max_output_tokens",
        )
    if len(body.get("prompt_cache_key") or "") > _LONGEST:
        yield Refusal("Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64")
    items = body.get("input")
    if not items:
        yield Refusal('One of "input" or "previous_response_id" or \'prompt\' must be provided.', "input")
        return
    tools = body.get("tools") or []
    for index, tool in enumerate(tools):
        # If nothing is said, tools are strict.
        strict = tool.get("strict", True) is not False
        yield from openai_tool(tool.get("name"), tool.get("parameters"), strict, f"tools[{index}]")
    if (name := twice(str(tool.get("name")) for tool in tools)) is not None:
        yield Refusal(f"Invalid 'tools': the name '{name}' is there more than once", "tools")
    if isinstance(items, list):
        stored = body.get("store", True) is not False
        for index, item in enumerate(items):
            yield from _item(item, f"input[{index}]", stored)
        yield from _pairs(items)
        yield from _reasoning(items)


def _item(item: Object, place: str, stored: bool) -> Complaints:
    kind = item.get("type") or ("message" if "role" in item else None)
    id = item.get("id")
    if id is not None:
        begin = _PREFIXES.get(str(kind), "")
        if not isinstance(id, str) or not id.startswith(begin):
            yield Refusal(f"Invalid '{place}.id': '{id}'. Expected an ID that begins with '{begin}'.", f"{place}.id")
        elif len(id) > _LONGEST:
            yield Refusal(f"Invalid '{place}.id': string too long. Expected a string with maximum length 64.", place)
    match kind:
        case "message":
            yield from _message(item, place)
        case "function_call":
            yield from _call_id(item, place)
            if not item.get("name"):
                yield Refusal(f"Invalid '{place}.name': empty string.", f"{place}.name")
            if not as_json_object(item.get("arguments")):
                yield Refusal(f"Invalid '{place}.arguments': expected a JSON object", f"{place}.arguments")
        case "function_call_output":
            yield from _call_id(item, place)
            output = item.get("output")
            if isinstance(output, list):
                for at, part in enumerate(output):
                    yield from _part(part, ("input_text", "input_image", "input_file"), f"{place}.output[{at}]")
            elif not isinstance(output, str):
                yield Refusal(f"Invalid type for '{place}.output': expected a string or a list", f"{place}.output")
        case "reasoning":
            if not isinstance(item.get("summary"), list):
                yield Refusal(f"Missing required parameter: '{place}.summary'.", f"{place}.summary")
            if not id:
                yield Refusal(f"Invalid '{place}.id': ''. Expected an ID that begins with 'rs'.", f"{place}.id")
            if item.get("content"):
                yield Refusal(f"Invalid '{place}.content': array too long. Expected an array with maximum length 0")
            if not stored and not item.get("encrypted_content"):
                yield Refusal(
                    f"Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again "
                    "with `store` set to true, or remove this item from your input."
                )
        case _:
            yield Refusal(f"Invalid value: '{kind}'. Supported values are the types of items.", f"{place}.type")


def _call_id(item: Object, place: str) -> Complaints:
    id = item.get("call_id")
    if not isinstance(id, str) or not id:
        yield Refusal(f"Invalid '{place}.call_id': empty string.", f"{place}.call_id")
    elif len(id) > _LONGEST:
        yield Refusal(
            f"Invalid '{place}.call_id': string too long. Expected a string with maximum length 64, but got a string "
            f"with length {len(id)} instead.",
            f"{place}.call_id",
        )


def _message(item: Object, place: str) -> Complaints:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        yield Refusal(f"Invalid value: '{role}'.", f"{place}.role")
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        yield Refusal(f"Invalid type for '{place}.content': expected a string or a list", f"{place}.content")
        return
    wanted = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image", "input_file")
    for at, part in enumerate(content):
        yield from _part(part, wanted, f"{place}.content[{at}]")


def _part(part: Object, wanted: Sequence[str], place: str) -> Complaints:
    kind = part.get("type")
    if kind not in wanted:
        yield Refusal(f"Invalid value: '{kind}'. Supported values are: {', '.join(wanted)}.", place)
    if kind in ("input_text", "output_text") and not isinstance(part.get("text"), str):
        yield Refusal(f"Missing required parameter: '{place}.text'.", place)
    if kind == "input_image" and (problem := data_url_problem(part.get("image_url"))):
        yield Refusal(f"Invalid '{place}.image_url'. {problem}.", place)


def _pairs(items: Sequence[Object]) -> Complaints:
    calls = Counter(item.get("call_id") for item in items if item.get("type") == "function_call")
    outputs = Counter(item.get("call_id") for item in items if item.get("type") == "function_call_output")
    begun: set[object] = set()
    for index, item in enumerate(items):
        id = item.get("call_id")
        if item.get("type") == "function_call":
            begun.add(id)
        elif item.get("type") == "function_call_output" and id not in begun:
            yield Refusal(f"No tool call found for function call output with call_id {id}.", f"input[{index}]")
    for id, number in calls.items():
        if not outputs[id]:
            yield Refusal(f"No tool output found for function call {id}.", "input")
        if number > 1:
            yield Refusal(f"Duplicate 'call_id': {id}", "input")
        if outputs[id] > 1:
            yield Refusal(f"Duplicate function_call_output for call_id {id}", "input")
    if (double := twice(str(item["id"]) for item in items if item.get("id"))) is not None:
        yield Refusal(f"Duplicate item found with id {double}. Remove duplicate items from your input and try again.")


def _reasoning(items: Sequence[Object]) -> Complaints:
    for index, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        behind = items[index + 1] if index + 1 < len(items) else {}
        follows = behind.get("type") in ("function_call", "reasoning") or behind.get("role") == "assistant"
        if not follows:
            yield Refusal(
                f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
            )
