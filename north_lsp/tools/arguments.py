"""The arguments of tools, checked by pydantic.

Importing pydantic takes as long as opening a session, so this module is imported by the modules of tools alone, and
those are loaded when a tool is called (`shipped.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from north_lsp.display import one_line
from north_lsp.errors import ToolError

Model = TypeVar("Model", bound=BaseModel)


class Arguments(BaseModel):
    """Base of every tool's arguments: harmless mismatches are repaired, unknown keys are dropped. What checks them is
    built for the first call."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=False, frozen=True, defer_build=True)


def checked(model: type[Model], given: Mapping[str, object]) -> Model:
    """Return the arguments of a call as their tool gets them. Raises ToolError INVALID_INPUT."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _invalid(error, model, given) from None


def make_schema(model: type[BaseModel]) -> Mapping[str, object]:
    """Make the JSON Schema of a tool's arguments."""
    schema = model.model_json_schema(by_alias=True)
    for part in (schema, *schema.get("$defs", {}).values()):
        _slim(part)
    return schema


def _slim(schema: dict[str, Any]) -> None:
    """Take out of an object's schema what only repeats names, is a docstring, or is said when it matters: a call with
    an unknown argument is told the known ones."""
    schema.pop("additionalProperties", None)
    schema.pop("title", None)
    schema.pop("description", None)
    for value in schema.get("properties", {}).values():
        value.pop("title", None)
        if value.get("default", 0) is None:
            del value["default"]
        options = [option for option in value.get("anyOf", ()) if option.get("type") != "null"]
        if len(options) == 1:  # an optional field: saying "or null" only invites nulls
            del value["anyOf"]
            value.update(options[0])


def _invalid(error: ValidationError, model: type[BaseModel], given: Mapping[str, object]) -> ToolError:
    """Build the error for the first argument that does not fit; unknown names among the given ones go to its hint."""
    first = error.errors(include_url=False, include_context=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "arguments"
    received = "nothing" if first["type"] == "missing" else repr(first.get("input"))[:200]
    names = [info.alias or name for name, info in model.model_fields.items()]
    unknown = [one_line(name, 40) for name in given if name not in names][:10]
    hint = (
        f"there is no argument called {', '.join(unknown)}; the arguments are {', '.join(names)}" if unknown else None
    )
    return ToolError("INVALID_INPUT", f"{field}: {first['msg']} (received {received})", hint, {"field": field})
