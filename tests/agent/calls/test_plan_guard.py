"""The guard of plan mode below the list of tools: it does not believe what a tool says of itself."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from north_lsp.agent.calls.host import CallHost
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.tools.base import Command, Need


def host(mode: str, *needs: Need) -> CallHost:
    tool = SimpleNamespace(name="liar", needs=frozenset(needs), modes=frozenset({"plan", "agent"}))
    context = SimpleNamespace(mode=mode, plans=mode == "plan")
    call = ToolCall("c1", "liar", {})
    return CallHost(cast(Any, None), cast(Any, context), cast(Any, tool), call, "Lying", lambda result: None)


def never() -> Command:
    raise AssertionError("this was run")


async def test_a_tool_that_says_it_may_be_used_in_plan_mode_still_changes_nothing() -> None:
    with pytest.raises(ToolError, match="would change something") as refused:
        await host("plan", "write").propose([])
    assert refused.value.code == "PLAN_REQUIRED"
    with pytest.raises(ToolError, match="would change something"):
        await host("plan", "run").run_command(never)
    with pytest.raises(ToolError, match="would change something"):
        await host("plan", "run").control_jobs(cast(Any, None))


async def test_what_was_not_declared_is_refused_in_any_mode() -> None:
    with pytest.raises(PermissionError):
        await host("agent", "read").propose([])
    with pytest.raises(PermissionError):
        await host("plan", "todo").write_plan("")
