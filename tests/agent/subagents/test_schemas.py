"""Which results fit a schema, of either kind."""

import pytest

from north_lsp.agent.subagents.schemas import as_json_schema, violations

_ROW = {"properties": {"file": {"type": "string"}}, "optionalProperties": {"line": {"type": "uint32"}}}
_JTD = {"properties": {"verdict": {"enum": ["yes", "no"]}, "rows": {"elements": _ROW}}}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"verdict": "yes", "rows": [{"file": "a.py", "line": 3}]}, []),
        ({"verdict": "maybe", "rows": []}, ["result.verdict: must be one of yes, no"]),
        ({"verdict": "no"}, ["result.rows: is missing"]),
        (
            {"verdict": "no", "rows": [{"line": 1.5}]},
            ["result.rows[0].file: is missing", "result.rows[0].line: must be integer"],
        ),
        ([], ["result: must be object"]),
    ],
)
def test_a_type_definition_is_converted(value: object, says: list[str]) -> None:
    assert violations(value, as_json_schema(_JTD)) == says


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, 3, True),
        ({"type": ["string", "null"]}, None, 1),
        ({"const": 1}, 1, 2),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 1}, ["a"], ["a", "b"]),
        ({"type": "object", "additionalProperties": False}, {}, {"a": 1}),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, 1.5, None),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, "x", 1),
        ({"type": "number", "minimum": 1, "maximum": 2}, 1, 3),
        ({"values": {"type": "boolean"}}, {"a": True}, {"a": 1}),
        ({"type": "float64", "nullable": True}, None, "x"),
        ({"discriminator": "kind", "mapping": {"a": {"properties": {}}}}, {"kind": "a"}, {"kind": "b"}),
    ],
)
def test_a_value_fits_or_does_not(schema: dict[str, object], good: object, bad: object) -> None:
    assert violations(good, as_json_schema(schema)) == []
    assert violations(bad, as_json_schema(schema))


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"$ref": "#/a", "a": {"$ref": "#/a"}}
    assert violations({}, schema) == []
    deep: dict[str, object] = {"properties": {}}
    deep["properties"] = {"a": deep}
    value: dict[str, object] = {}
    value["a"] = value
    assert violations(value, {"type": "object", **deep}) != []


@pytest.mark.parametrize("key", ["anyOf", "allOf"])
def test_a_check_has_a_limited_number_of_steps(key: str) -> None:
    levels: dict[str, object] = {str(level): {key: [{"$ref": f"#/$defs/{level - 1}"}] * 6} for level in range(1, 7)}
    ends: dict[str, object] = {"not": {}} if key == "allOf" else {"type": "string"}
    schema = {"$ref": "#/$defs/6", "$defs": levels | {"0": ends}}
    assert "more than 10,000 steps" in violations(1, schema)[-1]


def test_the_steps_are_enough_for_a_long_result() -> None:
    row = {"type": "object", "properties": {"file": {"type": "string"}, "line": {"type": "integer"}}}
    rows = [{"file": "a.py", "line": 1}] * 2000
    assert violations(rows, {"type": "array", "items": row}) == []
