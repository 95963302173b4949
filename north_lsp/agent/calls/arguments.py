"""Repairs harmless mismatches in a call's arguments before they are checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from north_lsp.tools.edit.argument_coercion import decoded


def repair_arguments(
    arguments: Mapping[str, object], schema: Mapping[str, object]
) -> tuple[dict[str, object], list[str]]:
    """Return the arguments in the form that the schema asks for, and the names of the fields that were changed: a
    single value becomes a list, and a list or an object that came as JSON text is parsed."""
    properties = schema.get("properties")
    fixed, changed = dict(arguments), list[str]()
    for name, described in properties.items() if isinstance(properties, Mapping) else ():
        if name not in fixed or not isinstance(described, Mapping):
            continue
        value = _fitting(fixed[name], _types(described))
        if value is not fixed[name]:
            fixed[name] = value
            changed.append(name)
    return fixed, changed


def _types(described: Mapping[str, object]) -> frozenset[str]:
    """Return the JSON types that a field accepts; empty where the schema does not say."""
    options = described.get("anyOf")
    if isinstance(options, list):
        parts = [_types(option) for option in options if isinstance(option, Mapping)]
        return frozenset().union(*parts) if all(parts) else frozenset()
    if "$ref" in described:
        return frozenset({"object"})
    match described:
        case {"type": str(kind)}:
            return frozenset({kind})
        case _:
            return frozenset()


def _fitting(value: object, types: frozenset[str]) -> object:
    wanted = types - {"null"}
    if isinstance(value, str) and wanted and wanted <= {"array", "object"}:
        parsed = decoded(value)
        if (isinstance(parsed, list) and "array" in wanted) or (isinstance(parsed, dict) and "object" in wanted):
            return parsed
    if wanted == {"array"} and value is not None and not isinstance(value, list | tuple):
        return [value]
    return value
