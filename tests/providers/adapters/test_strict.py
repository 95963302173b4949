"""Strict tools: every tool's schema as OpenAI takes it, and what comes back in the tool's own form."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from north_lsp.providers.adapters.openai_chat import ChatProvider
from north_lsp.providers.adapters.openai_responses import ResponsesProvider
from north_lsp.providers.adapters.strict import as_asked, strict_schema
from north_lsp.providers.base import Done, ModelRequest, ToolSpec, UserMessage
from north_lsp.providers.compat import compat_for
from north_lsp.tools.builtin import builtin_tools
from north_lsp.tools.registry import Registry
from tests.providers.adapters.vendors import ask, connection
from tests.support.model_server import ModelServer
from tests.support.rules.common import openai_tool
from tests.support.script import answer, call

TOOLS = {tool.name: Registry.spec(tool) for tool in builtin_tools("patch").tools()}
FREE = {"type": "object", "additionalProperties": True}
ODD: dict[str, Mapping[str, Any]] = {
    "nothing said": {},
    "anything": {"properties": {"a": {}}},
    "free": {"properties": {"a": FREE | {"description": "Its fields."}}, "required": ["a"]},
    "one of": {"properties": {"a": {"oneOf": [{"type": "string"}, FREE]}}},
    "all of": {"properties": {"a": {"allOf": [{"$ref": "#/$defs/A"}]}}, "$defs": {"A": {"type": "string"}}},
    "referred": {
        "properties": {"a": {"$ref": "#/$defs/A", "description": "x", "default": {}}},
        "$defs": {"A": {"properties": {"next": {"$ref": "#/$defs/A"}, "n": {"type": "integer", "minimum": 1}}}},
    },
    "lists": {"properties": {"a": {"type": "array"}, "b": {"type": ["array", "null"], "items": {"type": "string"}}}},
    "values": {"properties": {"a": {"enum": ["x", 1]}, "b": {"const": "y"}, "c": {"type": "string", "enum": ["z"]}}},
}
"""Schemas as an extension may have them."""


def problems(schema: Mapping[str, Any]) -> list[str]:
    return [problem.message for problem in openai_tool("tool", schema, True, "tools[0]")]


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_every_tool_can_be_strict(name: str) -> None:
    assert problems(strict_schema(TOOLS[name].schema)) == []


@pytest.mark.parametrize("name", ODD)
def test_any_schema_can_be_strict(name: str) -> None:
    assert problems(strict_schema({"type": "object"} | dict(ODD[name]))) == []


def test_the_rules_refuse_schemas_as_they_are() -> None:
    assert problems(TOOLS["read_file"].schema)


def test_what_is_optional_may_be_null_and_says_what_it_is_then() -> None:
    properties = strict_schema(TOOLS["find_files"].schema)["properties"]
    assert properties["pattern"]["type"] == "string"
    assert properties["limit"] == {"description": "At most 500. null: 50.", "type": ["integer", "null"]}
    assert properties["type"]["enum"] == ["file", "dir", None]


def test_null_is_not_given_and_text_is_an_object_again() -> None:
    batch = TOOLS["edit_apply_batch"].schema
    args = {"path": "a.py", "content": "x"}
    strict = {"edits": [{"tool": "edit_create_file", "args": json.dumps(args)}]}
    assert as_asked(strict, batch) == {"edits": [{"tool": "edit_create_file", "args": args}]}
    search = {"query": "x", "lineRange": {"start": 1, "end": 2}, "regex": None, "path": None}
    assert as_asked(search, TOOLS["search_text"].schema) == {"query": "x", "lineRange": {"start": 1, "end": 2}}
    # What is no JSON, or asked for, is for the tool to complain about.
    assert as_asked({"edits": [{"tool": None, "args": "{"}]}, batch) == {"edits": [{"tool": None, "args": "{"}]}
    assert as_asked({"query": None, "unknown": None}, TOOLS["search_text"].schema) == {"query": None, "unknown": None}


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_strict_call_is_one_like_any_other(server: ModelServer, api: str) -> None:
    """The server refuses a request whose schemas are not strict."""
    flags = {"supports_strict_mode": True, "tool_strict_mode": "all_strict"}
    url = f"{server.url}/v1"
    provider = (
        ChatProvider(connection(url), compat=compat_for(url, flags))
        if api == "chat"
        else ResponsesProvider(connection(url), strict_tools=True)
    )
    specs: list[ToolSpec] = list(TOOLS.values())
    server.script(answer(call("read_file", path="a.py", startLine=None, lineNumbers=None)))
    events = await ask(provider, ModelRequest("m-1", "s", [UserMessage("Look")], specs, 4000, "c"))
    assert isinstance(events[-1], Done), events[-1]
    assert [one.arguments for one in events[-1].message.calls] == [{"path": "a.py"}]
    (sent,) = server.requests
    assert all((tool.get("function") or tool)["strict"] is True for tool in sent.body["tools"])
