"""With very many tools, the rarely used ones are told by name only."""

import gc
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, cast
from weakref import ref

import pytest

from north_lsp.agent.calls.tool_search import ToolSearch
from north_lsp.agent.log.log import Log
from north_lsp.errors import ToolError
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.locations import Locations
from north_lsp.tools.base import DescribedTool, Host, Output, R, descriptions
from north_lsp.tools.builtin import builtin_tools
from north_lsp.tools.registry import Registry
from north_lsp.tools.support.discovery import DiscoveringRegistry, Discovery
from north_lsp.tools.support.ranking import ranked, tokenize
from north_lsp.workspace.workspace import Workspace


def names(registry: Registry) -> set[str]:
    return {spec.name for spec in registry.specs("agent")}


class OfServer(DescribedTool):
    """A tool of a server."""

    kind = "other"
    needs = frozenset({"network"})
    modes = frozenset({"agent"})
    discoverable = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.schema = {"type": "object"}
        self.description = f"Does {name}."

    def title(self, args: dict[str, Any]) -> str:
        return self.name

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        raise AssertionError("is not called")


RARE = {
    "ast_search", "calc", "detect_languages", "enter_plan_mode", "find_blocks", "get_line_count", "goal", "hotfiles",
    "read_readme", "undo_edit", "workflow",
}  # fmt: skip


def test_a_conversation_leaves_nothing_behind_in_what_is_kept_of_tools() -> None:
    sizes = set()
    for _ in range(3):
        DiscoveringRegistry(builtin_tools(), Discovery(0)).specs("agent")
        sizes.add(descriptions.cache_info().currsize)
    assert len(sizes) == 1


def test_rare_tools_are_told_by_name_and_those_of_servers_when_there_are_many() -> None:
    tools = builtin_tools()
    few, many = (tools.joined([OfServer(f"mcp_s_{number}") for number in range(most)]) for most in (2, 100))
    assert names(DiscoveringRegistry(few, Discovery(0))) == names(few)
    assert names(DiscoveringRegistry(few, Discovery(len(names(few)) - len(RARE)))) == names(few) - RARE | {
        "search_tools"
    }
    assert names(DiscoveringRegistry(few, Discovery(len(names(few)) - len(RARE) - 1))) == names(tools) - RARE | {
        "search_tools"
    }
    assert names(DiscoveringRegistry(many, Discovery(40))) == names(tools) - RARE | {"search_tools"}
    long = OfServer("mcp_s_long")
    long.description = "x" * 100_000
    assert names(DiscoveringRegistry(few.joined([long]), Discovery(40))) == names(tools) - RARE | {"search_tools"}


def test_tools_that_are_made_for_each_turn_are_not_kept() -> None:
    registry = DiscoveringRegistry(builtin_tools(), Discovery(1))
    assert registry.specs("agent")
    made = ref(registry.listed("search_tools"))
    del registry
    gc.collect()
    assert made() is None


def test_what_is_not_offered_is_not_found() -> None:
    discovery = Discovery(40)
    hidden = builtin_tools()
    DiscoveringRegistry(hidden, discovery)
    assert [one.name for one in discovery.find("edit_rename_symbol", 1)] != ["edit_rename_symbol"]
    DiscoveringRegistry(hidden.offering("edit_rename_symbol"), discovery)
    assert [one.name for one in discovery.find("edit_rename_symbol", 1)] == ["edit_rename_symbol"]


class LookingHost:
    def __init__(self, tools: Registry) -> None:
        self.find_tools = tools.search

    async def look(self, work: Callable[[], Awaitable[object]]) -> object:
        return await work()


async def search_tools(tools: Registry, query: str) -> dict[str, Any]:
    tool, args = tools.check("search_tools", {"query": query, "limit": 1}, "ask")
    output = await tool.invoke(args, cast(Any, None), cast(Any, LookingHost(tools)))
    assert isinstance(output, Output)
    assert isinstance(output.data, dict)
    return output.data


async def test_what_is_looked_up_is_described_from_then_on() -> None:
    noted: list[list[str]] = []

    def note(found: Iterable[str]) -> None:
        noted.append(list(found))

    discovery = Discovery(10, note=note)
    tools = DiscoveringRegistry(builtin_tools(), discovery)
    before = tools.specs("agent")
    assert {"ast_search", "hotfiles"} & names(tools) == set()
    search = next(spec for spec in before if spec.name == "search_tools")
    assert search.description.endswith(", ".join(sorted(RARE)))
    assert tools.specs("agent") == before
    data = await search_tools(tools, "files that change often")
    assert [row["name"] for row in data["tools"]] == ["hotfiles"]
    assert "limit" in data["tools"][0]["parameters"]["properties"]
    assert noted == [["hotfiles"]]
    assert "hotfiles" in names(tools)
    assert "hotfiles" not in next(spec for spec in tools.specs("agent") if spec.name == "search_tools").description
    with pytest.raises(ToolError, match="no tool fits"):
        await search_tools(tools, "quantum")
    await search_tools(tools, "hotfiles")
    assert noted == [["hotfiles"]]


@pytest.mark.parametrize("threshold", [5, 0])
def test_a_conversation_remembers_what_it_looked_up(tmp_path: Path, threshold: int) -> None:
    store = Locations.from_environment({"NORTH_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path)})
    conversation = Conversation.create(
        store, repo_root=Path("/p"), repo_hash="h", cwd=Path("/p"), model="m", client=None, north_version="1"
    )

    def tools_of(conversation: Conversation) -> Registry:
        return ToolSearch(Log(conversation)).offered(builtin_tools(), threshold)

    conversation.append("message", message={"role": "user", "content": [{"type": "text", "text": "hello"}]})
    found = tools_of(conversation).search("ast_search", 1)
    assert [one.name for one in found] == (["ast_search"] if threshold == 5 else [])
    conversation.sync()
    conversation.close()
    again = Conversation.open(store, conversation.id)
    tools = tools_of(again)
    assert "ast_search" in names(tools)
    assert ("hotfiles" in names(tools)) == (threshold == 0)
    again.close()


def test_ranking() -> None:
    assert tokenize("readFile get_HTTPCode2") == ["read", "file", "get", "http", "code", "2"]
    texts = {"a": "reads a file", "b": "writes a file, a whole file", "c": "sends mail"}
    assert ranked("file", texts) == ["b", "a"]
    assert ranked("read the FILE", texts)[0] == "b"
    assert ranked("reads file", texts)[0] == "a"
    assert ranked("nothing here", texts) == []
    assert ranked("", {}) == []
