"""What counts of all that several tools' folders hold: the order of sources, names, and sources that fail."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from north_lsp.errors import Problem
from north_lsp.storage.kinds import SOURCES, Kind, Level, Loader, SourceId

LEVELS: tuple[Level, ...] = ("project", "user")


@dataclass(frozen=True)
class Thing:
    """An item of a kind that only this test has."""

    id: int
    name: str
    source: SourceId
    level: Level
    why: str = ""


class Things(Kind[Thing]):
    title = "Things"

    def name(self, item: Thing) -> str:
        return item.name

    def source(self, item: Thing) -> SourceId:
        return item.source

    def level(self, item: Thing) -> Level:
        return item.level

    def shown(self, item: Thing) -> str:
        return str(item.id)

    def called(self, item: Thing) -> str:
        return f"thing:{item.name}"


things = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from([*SOURCES]), st.sampled_from(LEVELS), st.sampled_from(["", "broken"])
    ),
    max_size=12,
).map(lambda rows: [Thing(id, *row) for id, row in enumerate(rows)])


def loader(things: list[Thing], fails_at: int | None = None) -> Loader[Thing]:
    def load() -> Iterator[Thing | str]:
        for at, one in enumerate(things):
            if at == fails_at:
                raise RuntimeError("no such luck")
            yield one
            yield f"{one.id} is odd"

    return Loader(things[0].source if things else "north", load)


def stronger(one: Thing, other: Thing) -> bool:
    """Tell by the words of the specification whether an item goes before another, both found in order of their ids."""
    if one.source != other.source:
        mine, theirs = SOURCES[one.source].priority, SOURCES[other.source].priority
        return mine > theirs or (mine == theirs and [*SOURCES].index(one.source) < [*SOURCES].index(other.source))
    if one.level != other.level:
        return one.level == "project"
    return one.id < other.id


@given(things, st.sets(st.sampled_from(["thing:a", "thing:b", "skill:c"])))
def test_of_one_name_the_strongest_that_can_be_used_counts_and_nothing_is_lost(
    found: list[Thing], disabled: set[str]
) -> None:
    loaded = Things(disabled).load([loader([one]) for one in found])
    assert sorted(one.id for one in loaded.all) == [one.id for one in found]
    for before, after in zip(loaded.all, loaded.all[1:], strict=False):
        assert stronger(before, after)
    usable = [one for one in found if not one.why and f"thing:{one.name}" not in disabled]
    expected = {one.id for one in usable if not any(two.name == one.name and stronger(two, one) for two in usable)}
    assert {one.id for one in loaded.used} == expected == {one.id for one in loaded.all if not one.why}
    winners = {one.name: one for one in loaded.used}
    assert {one.id for one in loaded.shadowed} == {one.id for one in usable} - expected
    for one in loaded.shadowed:
        assert one.why == f"shadowed by {winners[one.name].id}"
        assert one in loaded.all
    assert sorted(loaded.problems) == sorted(f"{one.id} is odd" for one in found)


@given(st.lists(things, max_size=4), st.integers(0, 3), st.integers(0, 12))
def test_a_source_that_fails_costs_no_other_anything_and_is_told_of(
    sources: list[list[Thing]], broken: int, fails_at: int
) -> None:
    loaders = [loader(found, fails_at if at == broken else None) for at, found in enumerate(sources)]
    loaded = Things().load(loaders)
    does_fail = broken < len(sources) and fails_at < len(sources[broken])
    rest = [one for at, found in enumerate(sources) for one in (found[:fails_at] if at == broken else found)]
    whole = Things().settled(rest)
    assert (loaded.all, loaded.used, loaded.shadowed) == (whole.all, whole.used, whole.shadowed)
    told = [one for one in loaded.problems if "no such luck" in one]
    assert len(told) == does_fail
    assert all(isinstance(one, Problem) and one.startswith("Things of ") for one in told)


def test_a_source_that_fails_at_once_is_told_of_by_its_name() -> None:
    def load() -> list[Thing]:
        raise KeyError("x")

    loaded = Things().load([Loader("claude", load), Loader("north", partial(list, [Thing(1, "a", "north", "user")]))])
    assert [one.id for one in loaded.used] == [1]
    assert loaded.problems[0].startswith("Things of Claude Code cannot all be read (KeyError: 'x', test_kinds.py:")


class Apart(Things):
    """Things of odd and of even numbers never meet, and one source is weaker than elsewhere."""

    def meets(self, item: Thing, other: Thing) -> bool:
        return item.id % 2 == other.id % 2

    def priority(self, source: SourceId) -> int:
        return 1 if source == "claude" else super().priority(source)


def test_a_kind_may_say_which_of_one_name_meet_and_that_a_source_is_weaker() -> None:
    sources: tuple[Literal["claude", "opencode", "builtin"], ...] = ("claude", "opencode", "builtin")
    found = [Thing(id, "a", source, "user") for id, source in zip((1, 2, 3), sources, strict=True)]
    loaded = Apart().settled(found)
    assert [(one.id, one.why) for one in loaded.all] == [(2, ""), (1, ""), (3, "shadowed by 1")]
