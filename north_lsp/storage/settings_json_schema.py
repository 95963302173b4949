"""The JSON Schema of the settings file, made from the declarations, for editors that complete and check the file. It
loads pydantic, so nothing that is needed before a conversation opens may import it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from north_lsp.storage.setting import Declared, declared
from north_lsp.storage.settings import Settings

_DRAFT = "http://json-schema.org/draft-07/schema#"  # VS Code warns about later ones


def json_schema() -> dict[str, object]:
    """Return the schema of the whole file. VS Code knows `allowComments` and `allowTrailingCommas`; to others they mean
    nothing."""
    rows = declared(Settings)
    names = {name: key for key, row in rows.items() for name in (key, *row.setting.aliases)}
    whole = _object(names)
    return {
        "$schema": _DRAFT,
        "title": "North's settings",
        "allowComments": True,
        "allowTrailingCommas": True,
        **whole,
        "properties": {"$schema": {"type": "string"}, **whole["properties"]},
        "definitions": {key: {"description": described(row), **value_schema(row)} for key, row in rows.items()},
    }


def described(row: Declared) -> str:
    """Describe a setting, and say so if it takes effect only at the next start."""
    return row.setting.text + (" A change takes effect when North is restarted." if row.setting.restart else "")


def value_schema(row: Declared) -> dict[str, object]:
    """Return the schema of what is written for a setting, with its default if it has one."""
    setting = row.setting
    if setting.schema is not None:
        schema = dict(setting.schema)
    else:
        kind: Any = (
            Annotated[row.kind, Field(ge=setting.low, le=setting.high)] if row.kind in (int, float) else row.kind
        )
        schema = TypeAdapter(kind).json_schema()
        if setting.or_zero:
            schema = {"anyOf": [schema, {"const": 0}]}
    if setting.default is not None:
        schema["default"] = json.loads(json.dumps(setting.default))
    return schema


def _object(names: Mapping[str, str]) -> dict[str, Any]:
    """Make the schema of an object that has keys by these names, in one piece or nested at any of their dots."""
    groups: dict[str, dict[str, str]] = {}
    for name, key in names.items():
        parts = name.split(".")
        for size in range(1, len(parts)):
            groups.setdefault(".".join(parts[:size]), {})[".".join(parts[size:])] = key
    properties = {name: {"$ref": f"#/definitions/{key}"} for name, key in names.items()}
    nested = {group: _object(inner) for group, inner in groups.items()}
    return {"type": "object", "additionalProperties": False, "properties": {**properties, **nested}}
