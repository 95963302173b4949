"""Checks results against schemas: JSON Schema, and JSON Type Definition, which is converted. Pure; schemas and values
are foreign, so both are looked at to a limited depth and in a limited number of steps, and no expression of theirs is
ever matched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_MAX_DEPTH = 20
_MAX_STEPS = 10_000
_NAMES_A_STEP = 100
_LONGEST = 100
_TYPE = "type"
_MOST = 10
_NUMBERS = frozenset({"int8", "uint8", "int16", "uint16", "int32", "uint32"})
_FLOATS = frozenset({"float32", "float64"})
_TEXTS = frozenset({"string", "timestamp"})
_OF_JTD = frozenset({"elements", "optionalProperties", "values", "discriminator", "mapping"})
_LENGTHS = (("minLength", "maxLength", str, "characters"), ("minItems", "maxItems", list, "items"))


def as_json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema that a schema of either kind means."""
    return _converted(schema, 0) if _is_jtd(schema) else dict(schema)


def violations(value: object, schema: Mapping[str, Any]) -> list[str]:
    """Say what of a value does not fit a JSON Schema; empty if it fits."""
    found: list[str] = []
    try:
        for one in _Check(schema).wrong(value, schema, "result", 0):
            found.append(one)
            if len(found) == _MOST:
                break
    except _TooLong:
        found.append(f"result: checking it takes more than {_MAX_STEPS:,} steps; hand in a smaller one")
    return found


# -- JSON Type Definition ----------------------------------------------------------------------------------------------


def _is_jtd(schema: Mapping[str, Any]) -> bool:
    kind = schema.get(_TYPE)
    named = isinstance(kind, str) and kind in _NUMBERS | _FLOATS | {"timestamp"}
    bare = "type" not in schema and ("properties" in schema or "enum" in schema) and "$ref" not in schema
    return bool(_OF_JTD & schema.keys()) or named or bare


def _converted(schema: object, depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return {}
    made = _form(schema, depth)
    return {"anyOf": [made, {"type": "null"}]} if schema.get("nullable") is True else made


def _form(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    kind = schema.get(_TYPE)
    if isinstance(schema.get("enum"), list):
        return {"type": "string", "enum": list(schema["enum"])}
    if "elements" in schema:
        return {"type": "array", "items": _converted(schema["elements"], depth + 1)}
    if "values" in schema:
        return {"type": "object", "additionalProperties": _converted(schema["values"], depth + 1)}
    if "properties" in schema or "optionalProperties" in schema:
        needed, others = _each(schema.get("properties"), depth), _each(schema.get("optionalProperties"), depth)
        return {"type": "object", "properties": needed | others, "required": [*needed]}
    if isinstance(tag := schema.get("discriminator"), str):
        rows = _each(schema.get("mapping"), depth)
        return {"anyOf": [_tagged(tag, name, row) for name, row in rows.items()]}
    if kind in _NUMBERS:
        return {"type": "integer"}
    if kind in _FLOATS:
        return {"type": "number"}
    return {"type": "string"} if kind in _TEXTS else {"type": "boolean"} if kind == "boolean" else {}


def _each(rows: object, depth: int) -> dict[str, Any]:
    return {str(name): _converted(one, depth + 1) for name, one in rows.items()} if isinstance(rows, Mapping) else {}


def _tagged(tag: str, name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    properties = {tag: {"const": name}, **row.get("properties", {})}
    return {"type": "object", "properties": properties, "required": [tag, *row.get("required", ())]}


# -- JSON Schema -------------------------------------------------------------------------------------------------------


class _TooLong(Exception):
    """A check has taken all of its steps."""


class _Check:
    """The check of one value. `root` is the schema that references lead into."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _MAX_STEPS
        self._found: dict[str, object] = {}

    def _take(self, names: int = 0) -> None:
        """Count a step, more where many names are compared. Raises _TooLong."""
        self._left -= 1 + names // _NAMES_A_STEP
        if self._left < 0:
            raise _TooLong

    def wrong(self, value: object, schema: object, place: str, depth: int) -> Iterator[str]:
        """Yield what does not fit. Raises _TooLong."""
        self._take()
        if depth > _MAX_DEPTH:
            yield f"{place}: nested too deeply"
            return
        schema = self._referred(schema)
        if not isinstance(schema, Mapping):
            return
        kinds = schema.get(_TYPE)
        known = [one for one in (kinds[:_MOST] if isinstance(kinds, list) else [kinds]) if isinstance(one, str)]
        if known and not any(_is(value, kind) for kind in known):
            yield f"{place}: must be {' or '.join(map(_shown, known))}"
            return
        if isinstance(options := schema.get("enum"), list):
            self._take(len(options))
            if value not in options:
                yield f"{place}: must be one of {', '.join(map(_shown, options[:20]))}"
        if "const" in schema and value != schema["const"]:
            yield f"{place}: must be {_shown(schema['const'])}"
        yield from _out_of_bounds(value, schema, place)
        if isinstance(value, Mapping):
            yield from self._wrong_in_object(value, schema, place, depth)
        if isinstance(value, list) and "items" in schema:
            for at, one in enumerate(value):
                yield from self.wrong(one, schema["items"], f"{place}[{at}]", depth + 1)
        for part in schema.get("allOf", ()) if isinstance(schema.get("allOf"), list) else ():
            yield from self.wrong(value, part, place, depth + 1)
        choices = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(choices, list) and choices:
            yield from self._fits_none(value, choices, place, depth)

    def _fits_none(self, value: object, choices: list[Any], place: str, depth: int) -> Iterator[str]:
        first = ""
        for part in choices:
            found = next(self.wrong(value, part, place, depth + 1), None)
            if found is None:
                return
            first = first or found
        yield first if len(choices) == 1 else f"{place}: fits none of {len(choices)} forms ({first})"

    def _wrong_in_object(
        self, value: Mapping[str, Any], schema: Mapping[str, Any], place: str, depth: int
    ) -> Iterator[str]:
        properties = schema.get("properties")
        rows: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        self._take(len(needed) + len(value))
        for name in needed:
            if isinstance(name, str) and name not in value:
                yield f"{place}.{name}: is missing"
        more = schema.get("additionalProperties")
        for name, one in value.items():
            if name in rows:
                yield from self.wrong(one, rows[name], f"{place}.{name}", depth + 1)
            elif more is False:
                yield f"{place}.{name}: is not known"
            elif isinstance(more, Mapping):
                yield from self.wrong(one, more, f"{place}.{name}", depth + 1)

    def _referred(self, schema: object) -> object:
        """Follow references within the same schema."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, Mapping) or not isinstance(reference := schema.get("$ref"), str):
                return schema
            self._take()
            if reference not in self._found:
                self._found[reference] = self._lookup(reference)
            schema = self._found[reference]
        return None

    def _lookup(self, reference: str) -> object:
        found: object = self._root if reference.startswith("#/") else None
        for part in reference.removeprefix("#/").split("/"):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found


def _shown(value: object) -> str:
    return "a certain value" if isinstance(value, Mapping | list) else str(value)[:_LONGEST]


def _out_of_bounds(value: object, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        least, most = schema.get("minimum"), schema.get("maximum")
        if isinstance(least, int | float) and value < least:
            yield f"{place}: must be at least {least}"
        if isinstance(most, int | float) and value > most:
            yield f"{place}: must be at most {most}"
    for low, high, kind, what in _LENGTHS:
        if isinstance(value, kind):
            least, most = schema.get(low), schema.get(high)
            if isinstance(least, int) and len(value) < least:
                yield f"{place}: must have at least {least} {what}"
            if isinstance(most, int) and len(value) > most:
                yield f"{place}: must have at most {most} {what}"


def _is(value: object, kind: str) -> bool:
    match kind:
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "integer":
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return True
