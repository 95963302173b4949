"""The requests that Google's generateContent refuses."""

import json
import re
from collections.abc import Sequence

from tests.support.rules.common import Complaints, Object, Refusal, first, picture_problem, twice

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_PICTURES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_BUDGETS = {"flash-lite": (512, 24_576, True), "flash": (0, 24_576, True), "pro": (128, 32_768, False)}


def refusal(body: Object, model: str) -> Refusal | None:
    return first(_complaints(body, model))


def error_body(refused: Refusal) -> bytes:
    error = {"code": 400, "message": refused.message, "status": "INVALID_ARGUMENT"}
    return json.dumps({"error": error}).encode()


def _complaints(body: Object, model: str) -> Complaints:
    contents = body.get("contents")
    if not contents:
        yield Refusal("* GenerateContentRequest.contents: contents is not specified\n")
        return
    if "systemInstruction" in body:
        yield from _parts(body["systemInstruction"], "GenerateContentRequest.system_instruction")
    yield from _tools(body.get("tools") or [])
    yield from _config(body.get("generationConfig") or {}, model)
    for index, content in enumerate(contents):
        if content.get("role") not in ("user", "model"):
            yield Refusal("Please use a valid role: user, model.")
        yield from _parts(content, f"GenerateContentRequest.contents[{index}]")
    yield from _turns(contents)
    if contents[-1].get("role") != "user":
        yield Refusal("Please ensure that multiturn requests end with a user role or a function response.")
    if "gemini-3" in model:
        yield from _signatures(contents)


def _parts(content: Object, place: str) -> Complaints:
    parts = content.get("parts")
    if not parts:
        yield Refusal(f"* {place}.parts: contents.parts must not be empty.\n")
        return
    for index, part in enumerate(parts):
        where = f"{place}.parts[{index}]"
        kinds = {"text", "functionCall", "functionResponse", "inlineData"} & part.keys()
        if len(kinds) != 1:
            yield Refusal(f"* {where}.data: required oneof field 'data' must have one initialized field\n")
            continue
        match kinds.pop():
            case "text" if not isinstance(part["text"], str):
                yield Refusal(f"Invalid value at '{where}.text' (TYPE_STRING)")
            case "text" if not part["text"] and not part.get("thoughtSignature"):
                yield Refusal("Unable to submit request because it must have a text parameter.")
            case "inlineData":
                yield from _picture(part["inlineData"])
            case "functionCall" | "functionResponse" as key:
                yield from _function(part[key], key, where)
            case _:
                pass


def _function(function: Object, key: str, where: str) -> Complaints:
    if not function.get("name"):
        yield Refusal(f"* {where}.{key}.name: Name cannot be empty.\n")
    elif _NAME.fullmatch(str(function["name"])) is None:
        yield Refusal(f"Invalid function name: {function['name']}")
    value = function.get("args" if key == "functionCall" else "response")
    if not isinstance(value, dict) and not (key == "functionCall" and value is None):
        yield Refusal(f"Invalid value at '{where}.{key}' (type.googleapis.com/google.protobuf.Struct)")
    for inner in function.get("parts") or ():
        yield from _picture(inner.get("inlineData") or {})


def _picture(data: Object) -> Complaints:
    if problem := picture_problem(data.get("mimeType"), data.get("data"), _PICTURES):
        yield Refusal(f"Unsupported MIME type: {data.get('mimeType')} ({problem})")


def _turns(contents: Sequence[Object]) -> Complaints:
    for index, content in enumerate(contents):
        before = contents[index - 1] if index else None
        calls, results = _count(content, "functionCall"), _count(content, "functionResponse")
        due = _count(before, "functionCall") if before is not None else 0
        if calls and (before is None or before.get("role") != "user"):
            yield Refusal(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
        if results and not due:
            yield Refusal("Please ensure that function response turn comes immediately after a function call turn.")
        if (due or results) and due != results:
            yield Refusal(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        if due and before is not None:
            names = [part["functionCall"].get("name") for part in before["parts"] if "functionCall" in part]
            given = [part["functionResponse"].get("name") for part in content["parts"] if "functionResponse" in part]
            if sorted(map(str, names)) != sorted(map(str, given)):
                yield Refusal("Please ensure that the function responses have the names of the function calls.")
    if _count(contents[-1], "functionCall"):
        yield Refusal("Please ensure that function call turns are followed by a function response turn.")


def _count(content: Object | None, key: str) -> int:
    return sum(key in part for part in (content or {}).get("parts") or ())


def _signatures(contents: Sequence[Object]) -> Complaints:
    """Check that, in the current turn, the first call of each answer is signed."""
    asked = [
        index
        for index, content in enumerate(contents)
        if content.get("role") == "user" and any("text" in part for part in content["parts"])
    ]
    for content in contents[max(asked, default=-1) + 1 :]:
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            name = calls[0]["functionCall"].get("name")
            yield Refusal(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{name}`."
            )


def _config(config: Object, model: str) -> Complaints:
    limit = config.get("maxOutputTokens")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        yield Refusal("max_output_tokens must be positive.")
    budget = (config.get("thinkingConfig") or {}).get("thinkingBudget")
    known = next((row for word, row in _BUDGETS.items() if word in model.lower()), None)
    if budget is None or known is None or budget == -1:
        return
    least, most, may_be_off = known
    if not (least <= budget <= most) and not (may_be_off and budget == 0):
        yield Refusal(
            f"The thinking budget {budget} is invalid. Please choose a value between {least} and {most}."
            if budget
            else "Budget 0 is invalid. This model only works in thinking mode."
        )


def _tools(tools: Sequence[Object]) -> Complaints:
    declared = [one for tool in tools for one in tool.get("functionDeclarations") or ()]
    if (name := twice(str(one.get("name")) for one in declared)) is not None:
        yield Refusal(f"Duplicate function declaration found: {name}")
    for index, one in enumerate(declared):
        if _NAME.fullmatch(str(one.get("name") or "")) is None:
            yield Refusal(
                f"* GenerateContentRequest.tools[0].function_declarations[{index}].name: Invalid function name. Must "
                "start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots "
                "(.), colons (:), or dashes (-), with a maximum length of 64.\n"
            )
        if "parameters" in one and "parametersJsonSchema" in one:
            yield Refusal("parameters and parameters_json_schema are mutually exclusive")
        schema = one.get("parametersJsonSchema", one.get("parameters"))
        if schema is not None and (not isinstance(schema, dict) or schema.get("type") not in ("object", "OBJECT")):
            yield Refusal(f"functionDeclaration parameters schema should be of type OBJECT: {one.get('name')}")
