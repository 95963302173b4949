"""What is kept of a conversation and what is pruned: never between a call and its result."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.compaction.cut import Cut, cut_before_last, find_cut
from north_lsp.agent.compaction.limits import Limits, limits_of
from north_lsp.agent.compaction.pruning import prunable
from north_lsp.agent.log.compactions import CompactionEntry, PrunedEntry
from north_lsp.agent.log.context import context_of, replaced_by
from north_lsp.agent.log.entries import Entry, Logged
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry, Words
from north_lsp.agent.log.results import ResultDetails, ResultEntry
from north_lsp.agent.log.transcript import messages_of
from north_lsp.providers.base import (
    AssistantMessage,
    ModelRequest,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.storage.compaction_settings import CompactionSettings
from tests.support.guard.judging import complaints

MODEL = next(model for model in load_catalog(Path("/nowhere"), {}).models if model.id == "claude-sonnet-4-5-20250929")
LIMITS = Limits(threshold=800, tail=100, longest_tail=200, longest_step=400, protected_output=150, least_saving=100)
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}


def prompt(text: str) -> PromptEntry:
    return PromptEntry(Content((Words(text),)))


def calling(*ids: str, tool: str = "shell_run") -> AnswerEntry:
    calls = tuple(ToolCall(id, tool, {"command": "ls"}) for id in ids)
    return AnswerEntry(Content((Text("I look."), *calls)), MODEL.provider.id, MODEL.id, stop_reason="toolUse")


def said(text: str) -> AnswerEntry:
    return AnswerEntry(Content((Text(text),)), MODEL.provider.id, MODEL.id, stop_reason="stop")


def result(call_id: str, tool: str = "shell_run", text: str = "output") -> ResultEntry:
    return ResultEntry(call_id, tool, Content((Text(text),)), ResultDetails())


def path_of(*entries: Entry) -> list[Logged]:
    return [Logged(f"e{index}", f"e{index - 1}" if index else None, "", entry) for index, entry in enumerate(entries)]


TURNS = (prompt("a"), calling("1"), result("1"), said("b"), prompt("c"), calling("2", "3"), result("2"), result("3"))


def test_as_much_as_fits_is_kept_and_a_cut_within_a_turn_splits_it() -> None:
    path = path_of(*TURNS, said("d"))
    whole = find_cut(path, [50] * 3 + [150, 10, 10, 40, 30, 10], LIMITS)
    assert whole == Cut(path[:4], [], "e4")
    split = find_cut(path, [50] * 3 + [150, 150, 10, 40, 30, 10], LIMITS)
    assert split is not None
    assert [one.id for one in split.history] == ["e0", "e1", "e2", "e3"]
    assert [one.id for one in split.turn] == ["e4"]
    assert split.first_kept == "e5"


def test_the_last_step_stays_as_long_as_a_step_may_be() -> None:
    path = path_of(*TURNS)
    kept = find_cut(path, [50, 50, 50, 50, 50, 10, 200, 100], LIMITS)
    assert kept is not None
    assert (kept.first_kept, [one.id for one in kept.turn]) == ("e5", ["e4"])
    gone = find_cut(path, [50, 50, 50, 50, 50, 10, 300, 200], LIMITS)
    assert gone is not None
    assert gone.first_kept is None


def test_where_nothing_is_old_nothing_is_replaced() -> None:
    assert find_cut(path_of(*TURNS), [10] * 8, LIMITS) is None
    assert find_cut(path_of(prompt("a")), [5_000], LIMITS) is None
    assert find_cut([], [], LIMITS) is None
    assert cut_before_last(path_of(*TURNS), 10) is None
    cut = cut_before_last(path_of(*TURNS), 1)
    assert cut is not None
    assert cut.first_kept == "e5"


def test_results_that_are_old_and_not_read_from_files_are_pruned() -> None:
    entries = (calling("1", "2", "3", "4"), result("1"), result("2", "read_file"), result("3"), result("4"))
    path = path_of(*entries)
    assert prunable(path, [10, 300, 300, 120, 100], LIMITS) == {"e1": 300, "e3": 120}
    assert prunable(path, [10, 99, 300, 60, 100], LIMITS) == {}
    pruned = Logged("p", "e4", "", PrunedEntry({"e1": 300, "e3": 0}))
    texts = [one.text for one in messages_of([*path, pruned], MODEL) if isinstance(one, ToolResult)]
    assert texts == ["[older output removed, about 300 tokens]", "output", "[older output removed]", "output"]


def test_limits_follow_the_window() -> None:
    limits = limits_of(MODEL, CompactionSettings())
    assert (limits.threshold, limits.tail, limits.protected_output) == (183_616, 20_000, 40_000)


# -- any conversation --------------------------------------------------------------------------------------------------

STEPS = st.lists(st.sampled_from(["prompt", "say", "call", "calls", "compact", "compact", "prune"]), max_size=30)


@given(STEPS, st.integers(0, 1_000_000))
def test_whatever_is_summarized_and_pruned_requests_are_valid(steps: list[str], seed: int) -> None:
    chance = random.Random(seed)
    path = path_of(prompt("begin"), said("yes"))
    tools = tuple(ToolSpec(name, "Does it.", SCHEMA) for name in ("read_file", "shell_run"))

    def add(entry: Entry, id: str = "") -> None:
        path.append(Logged(id or f"e{len(path)}", path[-1].id, "", entry))

    for step in steps:
        context = context_of(path)
        sizes = [chance.choice([5, 20, 60, 150, 500]) for _ in context]
        match step:
            case "prompt":
                add(prompt("more"))
                add(said("well"))
            case "say":
                add(said("hm"))
            case "call" | "calls":
                ids = [f"c{len(path)}-{number}" for number in range(1 if step == "call" else 3)]
                tool = chance.choice(["shell_run", "read_file"])
                add(calling(*ids, tool=tool))
                for id in ids:
                    add(result(id, tool))
            case "prune":
                if found := prunable(context, sizes, LIMITS):
                    add(PrunedEntry(found))
            case _:
                cut = find_cut(context, sizes, LIMITS) if chance.random() < 0.5 else cut_before_last(context, 2)
                if cut is not None:
                    id = f"e{len(path)}"
                    before = [one.id for one in context_of(path) if not isinstance(one.entry, CompactionEntry)]
                    add(CompactionEntry("All of it.", cut.first_kept or id), id)
                    replaced = [one.id for one in replaced_by(path, id)]
                    after = [one.id for one in context_of(path)[1:]]
                    assert [*replaced, *after] == before
        messages = messages_of(path, MODEL)
        called = [call.id for one in messages if isinstance(one, AssistantMessage) for call in one.calls]
        assert called == [one.call_id for one in messages if isinstance(one, ToolResult)]
        request = ModelRequest(MODEL.id, "You help.", [*messages, UserMessage("And now?")], tools, 1000)
        assert list(complaints(request)) == []


@pytest.mark.parametrize("kept", ["", "nowhere", "e9"])
def test_a_summary_that_names_nothing_on_the_path_replaces_all_before_it(kept: str) -> None:
    path = path_of(prompt("a"), said("b"), CompactionEntry("All of it.", kept), prompt("c"))
    assert [one.id for one in context_of(path)] == ["e2", "e3"]


def test_the_settings_move_the_limits() -> None:
    limits = limits_of(MODEL, CompactionSettings(reserve_tokens=40_000, keep_recent_tokens=5_000))
    assert (limits.threshold, limits.tail) == (160_000, 5_000)
    assert limits_of(MODEL, CompactionSettings(reserve_tokens=150_000)).threshold == 150_000  # a quarter at most
