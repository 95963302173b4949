"""Makes the JSON Schema of a foreign tool one that every vendor accepts: a vendor that does not understand one tool
refuses the whole request. Pure; what is left out here, the tool's own server still checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from north_lsp.lazy_pattern import lazy_pattern

_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_NAME = lazy_pattern(r"[A-Za-z0-9_.-]{1,64}")
_NUMBERS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_MAX_DEPTH = 12
_MAX_PROPERTIES = 100
_MAX_PARTS = 1000
_MAX_DESCRIPTION = 2000
_MAX_VALUES = 200
_PLAIN = (str, int, float, bool, type(None))


def usable_schema(schema: object) -> dict[str, Any]:
    """Return the schema of an object with what of `schema` makes sense: references are replaced by what they refer to,
    and unknown keywords, types and names are left out."""
    if not isinstance(schema, Mapping):
        return {"type": "object", "properties": {}}
    made = _Maker(schema).make({**schema, "type": "object"}, 0)
    for key in ("anyOf", "enum", "const"):  # not accepted at the top
        made.pop(key, None)
    made.setdefault("properties", {})
    return made


class _Maker:
    def __init__(self, root: Mapping[str, object]) -> None:
        self._root = root
        self._parts = 0

    def make(self, schema: object, depth: int) -> dict[str, Any]:
        self._parts += 1
        schema = self._referred(schema)
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or self._parts > _MAX_PARTS:
            return {}
        made: dict[str, Any] = {}
        if isinstance(text := schema.get("description"), str) and text:
            made["description"] = text[:_MAX_DESCRIPTION]
        known = _kinds(schema)
        if known:
            made["type"] = known[0] if len(known) == 1 else list(dict.fromkeys(known))
        values = schema.get("enum")
        if isinstance(values, list) and values and all(isinstance(one, _PLAIN) for one in values):
            made["enum"] = values[:_MAX_VALUES]
        if "const" in schema and isinstance(schema["const"], _PLAIN):
            made["const"] = schema["const"]
        if isinstance(schema.get("default"), str | int | float | bool):
            made["default"] = schema["default"]
        made |= {key: schema[key] for key in _NUMBERS if type(schema.get(key)) in (int, float)}
        options = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(options, list) and (read := [one for one in (self.make(o, depth + 1) for o in options) if one]):
            made["anyOf"] = read
        if "object" in known or "properties" in schema:
            made |= self._of_object(schema, depth)
        if "array" in known:
            made["items"] = self.make(schema.get("items"), depth + 1)
        return made

    def _of_object(self, schema: Mapping[str, object], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return {}
        names = [name for name in properties if isinstance(name, str) and _NAME.fullmatch(name)][:_MAX_PROPERTIES]
        made: dict[str, Any] = {"properties": {name: self.make(properties[name], depth + 1) for name in names}}
        required = schema.get("required")
        if isinstance(required, list) and (read := [name for name in names if name in required]):
            made["required"] = read
        if schema.get("additionalProperties") is False:
            made["additionalProperties"] = False
        return made

    def _referred(self, schema: object) -> object:
        """Follow a reference within the same document; what refers to itself is cut off by the depth."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, Mapping) or not isinstance(reference := schema.get("$ref"), str):
                return schema
            found: object = self._root if reference.startswith("#/") else None
            for part in reference.removeprefix("#/").split("/"):
                found = found.get(part) if isinstance(found, Mapping) else None
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**found, **beside} if isinstance(found, Mapping) else beside
        return None


def _kinds(schema: Mapping[str, object]) -> list[str]:
    """Return the JSON types that a schema names, without words that are none."""
    match schema:
        case {"type": list(kinds)}:
            return [kind for kind in kinds if isinstance(kind, str) and kind in _TYPES]
        case {"type": str(kind)} if kind in _TYPES:
            return [kind]
        case _:
            return []
