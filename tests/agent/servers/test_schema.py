"""Schemas of foreign tools: whatever a server sends, what models get is a schema that vendors accept."""

import json
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.servers.schema import usable_schema
from north_lsp.providers.adapters.strict import strict_schema

WORDS = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "$ref",
        "anyOf",
        "enum",
        "required",
        "const",
        "#/properties/a",
        "object",
        "array",
        "a",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=6),
    max_leaves=30,
)


def test_what_makes_sense_is_kept_and_references_are_followed() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "where": {"$ref": "#/$defs/Where", "description": "a place"},
            "how many": {"type": "integer"},
            "kind": {"type": ["string", "null"], "enum": ["a", "b"], "pattern": "(?<bad"},
            "rows": {"type": "array", "items": {"type": "int"}},
        },
        "required": ["where", "how many", "nothing"],
        "$defs": {"Where": {"type": "object", "properties": {"in": {"$ref": "#/$defs/Where"}}}},
        "oneOf": [{"required": ["kind"]}],
    }
    made = usable_schema(schema)
    assert set(made) == {"type", "properties", "required"}
    assert list(made["properties"]) == ["where", "kind", "rows"]
    assert made["properties"]["kind"] == {"type": ["string", "null"], "enum": ["a", "b"]}
    assert made["properties"]["rows"] == {"type": "array", "items": {}}
    assert made["properties"]["where"]["description"] == "a place"
    assert made["required"] == ["where"]
    assert "$ref" not in json.dumps(made)


@given(VALUES)
def test_any_schema_becomes_a_valid_one(schema: Any) -> None:
    made = usable_schema(schema)
    jsonschema.Draft202012Validator.check_schema(made)
    assert made["type"] == "object"
    assert "$ref" not in made
    jsonschema.Draft202012Validator.check_schema(strict_schema(made))


def test_a_schema_that_refers_to_itself_everywhere_stays_small() -> None:
    itself: dict[str, object] = {"type": "object", "properties": {name: {"$ref": "#/x"} for name in "abcdefgh"}}
    assert len(json.dumps(usable_schema({**itself, "x": itself}))) < 200_000
