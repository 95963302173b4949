"""Looking calls that follow each other can be folded by a client."""

from typing import Any

from north_lsp.acp.groups import ReadGroups
from north_lsp.agent.ports.events import AnswerDelta, CallEnded, CallNamed, CallRunning, Event, ThoughtDelta, UserSaid
from north_lsp.vocabulary import Kind


def group_of(groups: ReadGroups, event: Event, update: dict[str, Any] | None = None) -> object:
    (marked,) = groups.mark(event, [update or {}])
    return marked.get("_meta", {}).get("north", {}).get("group")


def named(id: str, kind: Kind = "read") -> CallNamed:
    return CallNamed(id, "some_tool", kind, "title")


def test_neighbors_share_the_id_of_the_first() -> None:
    groups = ReadGroups()
    assert [group_of(groups, named(id)) for id in ("a", "b")] == ["a", "a"]
    assert group_of(groups, CallRunning("b")) == "a"
    assert group_of(groups, ThoughtDelta("m", "hm")) is None
    assert group_of(groups, named("c", "search")) == "a"
    assert group_of(groups, CallEnded("a", "t", True, "")) == "a"
    assert group_of(groups, AnswerDelta("m", " \n")) is None
    assert group_of(groups, named("d")) == "a"


def test_words_and_other_calls_end_a_group() -> None:
    for between in (UserSaid("m", "x"), AnswerDelta("m", "So"), named("e", "edit"), named("e", "execute")):
        groups = ReadGroups()
        assert group_of(groups, named("a")) == "a"
        assert group_of(groups, between) is None
        assert group_of(groups, named("b")) == "b"
        assert group_of(groups, CallEnded("a", "t", True, "")) == "a"


def test_what_else_is_said_of_a_call_stays() -> None:
    groups = ReadGroups()
    group_of(groups, named("a"))
    update = {"x": 1, "_meta": {"other": 2, "north": {"truncation": {}}}}
    (marked,) = groups.mark(CallEnded("a", "t", True, ""), [update])
    assert marked == {"x": 1, "_meta": {"other": 2, "north": {"truncation": {}, "group": "a"}}}
