"""OpenAI's strict tools: schemas in the subset of JSON Schema that is accepted there, and the arguments that come back.
Pure.

In a strict schema every property is required and there are no others. An optional property may be null instead; an
object with unknown properties is sent as JSON text. Restrictions beyond a value's type are checked by North itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from north_lsp.providers.base import ToolCall, ToolSpec
from north_lsp.providers.json_values import read_arguments

Schema = Mapping[str, Any]
_KEPT = ("description", "enum", "const", "$ref")
_REFERRED = ("$defs", "definitions")
_AS_TEXT = "A JSON object, as a string."
_ANYTHING = "Any JSON value, as a string."


def strict_schema(schema: Schema) -> dict[str, Any]:
    """Return what is sent in place of a tool's schema."""
    definitions = {
        key: {name: _strict(one) for name, one in schema[key].items()} for key in _REFERRED if schema.get(key)
    }
    return _object(schema) | definitions


def as_asked(arguments: Mapping[str, object], schema: Schema) -> dict[str, object]:
    """Return the arguments of a strict call in the form of the tool's own schema: null for an optional one is
    dropped."""
    return _given(arguments, schema, schema)


def schemas_of(tools: Sequence[ToolSpec]) -> dict[str, Schema]:
    """Return the tools' schemas by name, as `called` needs them."""
    return {tool.name: tool.schema for tool in tools}


def called(call: ToolCall, schemas: Mapping[str, Schema]) -> ToolCall:
    """Return a call of one of these tools as if it had not been strict, any other call unchanged."""
    schema = schemas.get(call.name)
    return call if schema is None else replace(call, arguments=as_asked(call.arguments, schema))


# -- to the model -----------------------------------------------------------------------------------------------------


def _strict(schema: object) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        return {"type": "string", "description": _ANYTHING}
    if _is_text(schema):
        words = _AS_TEXT if schema.get("type") == "object" else _ANYTHING
        return {"type": "string", "description": f"{schema.get('description', '')} {words}".strip()}
    if "properties" in schema:
        return _object(schema)
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if options := _options(schema):
        return {key: kept[key] for key in ("description",) if key in kept} | {
            "anyOf": [_strict(one) for one in options]
        }
    if "$ref" in schema:  # allows no sibling keys
        alone = {"$ref": schema["$ref"]}
        return {"description": kept["description"], "anyOf": [alone]} if "description" in kept else alone
    if "type" in schema:
        kept["type"] = schema["type"]
    if "array" in _types(schema):
        kept["items"] = _strict(schema.get("items"))
    return kept


def _object(schema: Schema) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    described = {key: schema[key] for key in ("description",) if key in schema}
    return described | {
        "type": "object",
        "properties": {name: _strict(one) if name in required else _or_null(one) for name, one in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def _or_null(schema: object) -> dict[str, Any]:
    """Return the schema of an optional property. Its description then states the default."""
    strict = _strict(schema)
    if isinstance(schema, Mapping) and schema.get("default") not in (None, ""):
        words = f"null: {json.dumps(schema['default'], ensure_ascii=False)}."
        strict["description"] = f"{strict.get('description', '')} {words}".strip()
    described = {key: strict.pop(key) for key in ("description",) if key in strict}
    kind = strict.get("type")
    if isinstance(kind, str) and kind != "object" and "const" not in strict:
        values = {"enum": [*strict["enum"], None]} if "enum" in strict else {}
        return described | strict | {"type": [kind, "null"]} | values
    if isinstance(kind, list) and "null" in kind:
        return described | strict
    options = [one for one in strict["anyOf"] if one != {"type": "null"}] if "anyOf" in strict else [strict]
    return described | {"anyOf": [*options, {"type": "null"}]}


def _options(schema: Schema) -> Sequence[object]:
    """Return the alternatives of a union, none if it is not one."""
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return list(schema[key])
    return ()


def _types(schema: Schema) -> Sequence[object]:
    kind = schema.get("type")
    return kind if isinstance(kind, list) else [kind]


def _is_text(schema: Schema) -> bool:
    """Return whether a value is sent as JSON text, because no strict schema can describe it."""
    if "properties" in schema:
        return False
    says = {"anyOf", "oneOf", "$ref", "enum", "const"} & schema.keys()
    return "object" in _types(schema) or not (says or "type" in schema)


# -- from the model ---------------------------------------------------------------------------------------------------


def _given(arguments: Mapping[str, object], schema: Schema, root: Schema) -> dict[str, object]:
    required = schema.get("required") or ()
    properties = schema.get("properties") or {}
    return {
        name: _value(value, properties.get(name), root)
        for name, value in arguments.items()
        if value is not None or name in required or name not in properties
    }


def _value(value: object, schema: object, root: Schema) -> object:
    if not isinstance(schema, Mapping):
        return value
    if isinstance(reference := schema.get("$ref"), str):
        return _value(value, _referred(reference, root), root)
    if isinstance(value, str) and _is_text(schema):
        return _read(value)
    if isinstance(value, dict) and "properties" in schema:
        return _given(value, schema, root)
    if isinstance(value, list):
        return [_value(one, schema.get("items"), root) for one in value]
    return value


def _referred(reference: str, root: Schema) -> object:
    found: object = root
    for name in reference.removeprefix("#/").split("/"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _read(text: str) -> object:
    """Parse JSON text. Invalid text is returned unchanged, and the tool reports what is wrong with it."""
    try:
        return read_arguments(text)
    except ValueError:
        return text
