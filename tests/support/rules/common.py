"""Rules that several vendors share."""

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

Object = Mapping[str, Any]
_SIGNATURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8"}


@dataclass(frozen=True)
class Refusal:
    """A server's refusal; `param` is where the mistake is."""

    message: str
    param: str | None = None


Complaints = Iterator[Refusal]


def first(complaints: Complaints) -> Refusal | None:
    return next(complaints, None)


def twice(values: Iterable[str]) -> str | None:
    """Return a value that occurs more than once, None if there is none."""
    return next((value for value, number in Counter(values).items() if number > 1), None)


def picture_problem(media_type: object, data: object, allowed: Iterable[str]) -> str | None:
    """Return what is wrong with a picture: its type, its base64, or that the two do not match. None if nothing is."""
    kinds = list(allowed)
    if media_type not in kinds:
        return f"Input should be one of {', '.join(map(repr, kinds))}"
    if not isinstance(data, str) or not data:
        return "the image is empty"
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "the image is not valid base64"
    begins = _SIGNATURES.get(str(media_type))
    if begins is not None and not raw.startswith(begins):
        return f"the image was specified using the {media_type} media type, but appears to be another one"
    return None


def openai_body(refused: Refusal) -> bytes:
    error = {
        "message": refused.message,
        "type": "invalid_request_error",
        "param": refused.param,
        "code": "invalid_value",
    }
    return json.dumps({"error": error}).encode()


OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
OPENAI_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TOP = ("oneOf", "anyOf", "allOf", "enum", "not")
_STRICT_UNKNOWN = frozenset({"allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else", "oneOf"})
_STRICT_KEYS = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"})
_STRICT_KEYS |= {"$ref", "$defs", "definitions", "description", "title", "pattern", "format", "multipleOf"}
_STRICT_KEYS |= {"maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "minItems", "maxItems"}


def openai_tool(name: object, schema: object, strict: object, param: str) -> Complaints:
    """Check one tool by the rules of both of OpenAI's APIs."""
    if not isinstance(name, str) or OPENAI_NAME.fullmatch(name) is None:
        yield Refusal(
            f"Invalid '{param}.name': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
            f"{param}.name",
        )
    begin = f"Invalid schema for function '{name}': "
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        kind = schema.get("type") if isinstance(schema, Mapping) else None
        yield Refusal(f"{begin}schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'.", param)
        return
    if any(key in schema for key in _TOP):
        yield Refusal(
            f"{begin}schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top "
            "level.",
            param,
        )
    if "properties" not in schema:
        yield Refusal(f"{begin}In context=(), object schema missing properties", param)
    if strict is True:
        yield from (Refusal(begin + problem, param) for problem in _known_problems(json.dumps(schema)))


@cache
def _known_problems(schema: str) -> tuple[str, ...]:
    """Return the problems of a schema that is given as JSON: the same tools are in request after request."""
    return tuple(strict_problems(json.loads(schema), ()))


def strict_problems(schema: object, place: tuple[str, ...]) -> Iterator[str]:
    """Yield why a schema cannot be strict: all properties must be required, and there may be no others."""
    if not isinstance(schema, Mapping):
        return
    where = f"In context={place}, "
    for key in schema:
        if key in _STRICT_UNKNOWN or key not in _STRICT_KEYS:
            yield f"{where}'{key}' is not permitted."
    if "$ref" in schema and len(schema) > 1:
        beside = next(key for key in schema if key != "$ref")
        yield f"{where}$ref cannot have keywords {{'{beside}'}}."
    kinds = schema.get("type")
    if not ({"type", "anyOf", "$ref", "enum", "const"} & schema.keys()):
        yield f"{where}schema must have a 'type' key."
    if kinds == "object" or (isinstance(kinds, list) and "object" in kinds) or "properties" in schema:
        if schema.get("additionalProperties") is not False:
            yield f"{where}'additionalProperties' is required to be supplied and to be false."
        properties = schema.get("properties") or {}
        missing = [key for key in properties if key not in (schema.get("required") or ())]
        if missing:
            yield (
                f"{where}'required' is required to be supplied and to be an array including every key in properties. "
                f"Missing '{missing[0]}'."
            )
        for key, inner in properties.items():
            yield from strict_problems(inner, (*place, "properties", key))
    if (kinds == "array" or (isinstance(kinds, list) and "array" in kinds)) and "items" not in schema:
        yield f"{where}array schema missing items."
    yield from strict_problems(schema.get("items"), (*place, "items"))
    for index, inner in enumerate(schema.get("anyOf") or ()):
        yield from strict_problems(inner, (*place, "anyOf", str(index)))
    for key, inner in (schema.get("$defs") or {}).items():
        yield from strict_problems(inner, (*place, "$defs", key))


def data_url_problem(url: object) -> str | None:
    """Return what is wrong with a picture as a data URL, None if nothing is."""
    found = re.fullmatch(r"data:([^;,]*);base64,(.*)", url, re.DOTALL) if isinstance(url, str) else None
    if found is None:
        return "Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,...')"
    return picture_problem(found[1], found[2], OPENAI_PICTURES)


def as_json_object(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False
