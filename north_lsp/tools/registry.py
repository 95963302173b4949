"""The tools of a session: their descriptions for the model, and the check of arguments before anything runs."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolSpec
from north_lsp.tools.base import DescribedTool, Tool
from north_lsp.vocabulary import Mode

MAX_ARGUMENT_BYTES = 50 * 1024
_PACKAGE = "north_lsp.tools"


class Arguments(BaseModel):
    """Base of every tool's arguments: harmless mismatches are repaired, unknown keys are dropped. What checks them is
    built for the first call."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=False, frozen=True, defer_build=True)


class Registry:
    """Tools by name; two tools of one name raise ValueError. `hidden` ones are not offered but can be called."""

    def __init__(self, tools: Iterable[Tool], hidden: frozenset[str] = frozenset()) -> None:
        self.hidden = hidden
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name}")
            self._tools[tool.name] = tool
        self._also = {name: tool for tool in self._tools.values() for name in tool.also if name not in self._tools}

    def offering(self, *names: str) -> "Registry":
        """Return a registry of the same tools in which these are not hidden."""
        return Registry(self._tools.values(), self.hidden - {*names}) if self.hidden & {*names} else self

    def joined(self, tools: Sequence[Tool]) -> "Registry":
        """Return a registry that has these tools, too."""
        return Registry([*self._tools.values(), *tools], self.hidden) if tools else self

    def without(self, *names: str) -> "Registry":
        """Return a registry that does not have these tools."""
        if not names:
            return self
        return Registry([tool for tool in self._tools.values() if tool.name not in names], self.hidden)

    def find(self, name: str) -> Tool | None:
        return self._tools.get(name) or self._also.get(name)

    def specs(self, mode: Mode) -> tuple[ToolSpec, ...]:
        """Return what the model may use in a mode, by name, so that requests of one conversation stay identical."""
        tools = sorted(self._tools.values(), key=lambda tool: tool.name)
        return tuple(self.spec(tool) for tool in tools if mode in tool.modes and tool.name not in self.hidden)

    def tools(self) -> tuple[Tool, ...]:
        return tuple(self._tools.values())

    @property
    def has_writers(self) -> bool:
        """Whether any of the tools proposes edits."""
        return any("write" in tool.needs for tool in self._tools.values())

    @staticmethod
    def spec(tool: Tool) -> ToolSpec:
        if isinstance(tool, DescribedTool):
            return ToolSpec(tool.name, tool.description, tool.schema)
        return ToolSpec(tool.name, _description(type(tool)), _schema(tool.args))

    def schema(self, name: str) -> Mapping[str, object]:
        """Return the JSON Schema of a tool's arguments; empty for a tool that does not exist."""
        tool = self.find(name)
        return self.spec(tool).schema if tool is not None else {}

    def check(self, name: str, arguments: Mapping[str, object], mode: Mode) -> tuple[Tool, Any]:
        """Look up the tool and parse its arguments. Raises ToolError before anything has run."""
        tool = self.find(name)
        if tool is None:
            raise ToolError(
                "NOT_FOUND", f"there is no tool called {name!r}", f"available: {', '.join(sorted(self._tools))}"
            )
        if mode == "plan" and mode not in tool.modes:
            raise plan_required(f"{name} is not available in plan mode")
        if mode not in tool.modes:
            raise ToolError(
                "MODE_FORBIDDEN",
                f"{name} is not available in {mode} mode",
                "this mode is read-only; ask the user to switch to agent mode if changes are wanted",
            )
        size = len(json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace"))
        if size > MAX_ARGUMENT_BYTES:
            raise ToolError(
                "TOO_LARGE",
                f"the arguments of {name} are {size} bytes; at most {MAX_ARGUMENT_BYTES} are accepted",
                "write the file in your answer, between <NORTH_FILE> tags, or make several smaller edits"
                if "write" in tool.needs
                else "send less at once",
            )
        if isinstance(tool, DescribedTool):
            return tool, dict(arguments)
        try:
            return tool, tool.args.model_validate(arguments)
        except ValidationError as error:
            raise invalid(error, tool.args, arguments) from None


def plan_required(what: str) -> ToolError:
    """Make the error for what has to wait until a plan is approved."""
    hint = "work out the plan with write_plan, then present it with exit_plan_mode; nothing is changed before that"
    return ToolError("PLAN_REQUIRED", what, hint)


@cache
def _description(kind: type[Tool]) -> str:
    """Read a tool's description for the model: the Markdown file next to the module that names the tool. Cached by the
    tool's class: some tools are made for each turn."""
    owner = next(one for one in kind.__mro__ if "name" in vars(one))
    folder = files(owner.__module__.rpartition(".")[0])
    here = folder.joinpath(f"{kind.name}.{sys.platform}.md")  # what is different on this system
    return (here if here.is_file() else folder.joinpath(f"{kind.name}.md")).read_text("utf-8").strip()


@cache
def _schema(model: type[BaseModel]) -> Mapping[str, object]:
    """Return the JSON Schema of a tool's arguments. All requests share the cached object: it must not be changed."""
    made = _made_before().get(model.__name__) if model.__module__.startswith(f"{_PACKAGE}.") else None
    return make_schema(model) if made is None else made


@cache
def _made_before() -> Mapping[str, Mapping[str, object]]:
    """Read the schemas of North's own tools, which `just generate` makes: making them takes as long as a request."""
    schemas: Mapping[str, Mapping[str, object]] = json.loads(
        files(_PACKAGE).joinpath("schemas.json").read_text("utf-8")
    )
    return schemas


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


def invalid(error: ValidationError, args: type[BaseModel], given: Mapping[str, object]) -> ToolError:
    """Build the error for the first argument that does not fit; unknown names among the given ones go to its hint."""
    first = error.errors(include_url=False, include_context=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "arguments"
    received = "nothing" if first["type"] == "missing" else repr(first.get("input"))[:200]
    names = [info.alias or name for name, info in args.model_fields.items()]
    unknown = [one_line(name, 40) for name in given if name not in names][:10]
    hint = (
        f"there is no argument called {', '.join(unknown)}; the arguments are {', '.join(names)}" if unknown else None
    )
    return ToolError("INVALID_INPUT", f"{field}: {first['msg']} (received {received})", hint, {"field": field})
