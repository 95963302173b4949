"""The tree of a conversation as rows."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.log.entries import Logged, logged_from_json
from north_lsp.agent.log.tree import Row, find_filter, tree_rows
from north_lsp.vocabulary import TREE_FILTERS


def entry(id: str, parent: str | None, **payload: Any) -> Logged:
    return logged_from_json({"id": id, "parentId": parent, "timestamp": "t", **payload})


def said(id: str, parent: str | None, text: str, role: str = "user", **more: Any) -> Logged:
    message = {"role": role, "content": [{"type": "text", "text": text}], **more}
    return entry(id, parent, type="message", message=message)


def calls(id: str, parent: str | None, stop: str = "toolUse", **arguments: Any) -> Logged:
    call = {"type": "tool_call", "id": f"call-{id}", "name": "read_file", "arguments": arguments}
    return entry(id, parent, type="message", message={"role": "assistant", "content": [call], "stopReason": stop})


def result(id: str, parent: str | None, title: str) -> Logged:
    message = {"role": "toolResult", "toolCallId": "c", "toolName": "read_file", "content": []}
    return entry(id, parent, type="message", message=message | {"details": {"title": title}})


def path_to(entries: Iterable[Logged], leaf: str) -> list[Logged]:
    known = {one.id: one for one in entries}
    path = [known[leaf]]
    while (parent := path[0].parent) is not None:
        path.insert(0, known[parent])
    return path


def shown(rows: Iterable[Row]) -> list[str]:
    return [f"{'  ' * row.depth}{row.id}{'*' if row.is_here else '+' if row.is_on_path else ''}" for row in rows]


TWO = [
    entry("mode", None, type="mode_change", mode="ask"),
    said("p1", "mode", "Rename foo"),
    calls("a1", "p1", path="src/a.py"),
    entry("review", "a1", type="review", kind="write", toolCallId="c", request={"title": "Edit a.py", "files": []}),
    result("r1", "review", "Reading a.py"),
    said("a2", "r1", "Done.", "assistant"),
    said("p2", "a2", "And bar"),
    said("a3", "p2", "Bar, too.", "assistant"),
    said("p2b", "a2", "And baz instead"),
    said("a3b", "p2b", "Baz it is.", "assistant"),
]


def test_branches_are_indented_the_active_one_first() -> None:
    rows = tree_rows(TWO, path_to(TWO, "a3b"), {"a2": "renamed"})
    assert shown(rows) == ["p1+", "r1+", "a2+", "  p2b+", "  a3b*", "  p2", "  a3"]
    assert [row.text for row in rows[:3]] == ["Rename foo", "Reading a.py", "Done."]
    assert [(row.kind, row.role) for row in rows[:2]] == [("message", "user"), ("message", "toolResult")]
    assert [row.parent for row in rows] == [None, "p1", "r1", "a2", "p2b", "a2", "p2"]
    assert [row.label for row in rows if row.label] == ["renamed"]


def test_the_filters() -> None:
    path = path_to(TWO, "a3")
    assert shown(tree_rows(TWO, path, {}, "no-tools")) == ["p1+", "a2+", "  p2+", "  a3*", "  p2b", "  a3b"]
    assert shown(tree_rows(TWO, path, {}, "user-only")) == ["p1+", "  p2*", "  p2b"]
    assert shown(tree_rows(TWO, path, {"p2b": "x", "a1": "y"}, "labeled-only")) == ["a1*", "p2b"]
    assert len(tree_rows(TWO, path, {}, "all")) == len(TWO)
    with pytest.raises(ValueError, match="the filters are default, no-tools, user-only, labeled-only, all"):
        find_filter("most")
    assert [find_filter(name) for name in TREE_FILTERS] == list(TREE_FILTERS)


def test_an_answer_of_calls_alone_is_shown_where_it_failed_or_is_the_last() -> None:
    entries = [said("p", None, "Go"), calls("a", "p"), calls("b", "a", "aborted"), calls("c", "b")]
    assert shown(tree_rows(entries, entries, {})) == ["p+", "b+", "c*"]


def test_several_roots_stand_side_by_side() -> None:
    entries = [
        said("p", None, "One"),
        said("a", "p", "Yes", "assistant"),
        said("q", None, "Two"),
        said("x", "lost", "?"),
    ]
    assert shown(tree_rows(entries, [entries[2]], {})) == ["  q*", "  p", "  a", "  x"]
    assert shown(tree_rows(entries, [], {})) == ["  p", "  a", "  q", "  x"]


def test_all_words_of_the_query_have_to_be_found_somewhere() -> None:
    path = path_to(TWO, "a3")
    assert [row.id for row in tree_rows(TWO, path, {}, "all", "SRC/A read_file")] == ["a1"]
    assert [row.id for row in tree_rows(TWO, path, {"a3b": "Better"}, query="better baz")] == ["a3b"]
    assert [row.id for row in tree_rows(TWO, path, {}, query="assistant too")] == ["a3"]
    assert tree_rows(TWO, path, {}, query="bar nothing") == []


def test_norths_own_prompts_and_unknown_kinds() -> None:
    entries = [
        said("n", None, "[North] Go on", attribution="north"),
        entry("c", "n", type="custom", customType="note", data={}),
        entry("s", "c", type="branch_summary", summary="What was tried"),
    ]
    assert shown(tree_rows(entries, entries, {})) == ["s*"]
    assert [row.text for row in tree_rows(entries, entries, {}, "all", "note")] == ["note"]
    assert [row.text for row in tree_rows(entries, entries, {}, query="tried")] == ["What was tried"]


def test_long_and_hidden_characters_make_one_safe_line() -> None:
    entries = [said("p", None, "one\n\ntwo \u202e " + "x" * 300)]
    (row,) = tree_rows(entries, entries, {})
    assert row.text.startswith("one two <U+202E> xxx")
    assert len(row.text) == 120


@given(st.lists(st.integers(-3, 30), max_size=30), st.integers(0, 40))
def test_whatever_the_parents_are_each_entry_stands_there_once(parents: list[int], leaf: int) -> None:
    """Also of a log with cycles and missing parents."""
    entries = [said(str(at), str(parent) if parent >= 0 else None, f"{at}") for at, parent in enumerate(parents)]
    path = entries[leaf : leaf + 1]
    rows = tree_rows(entries, path, {}, "all")
    assert sorted(row.id for row in rows) == sorted(one.id for one in entries)
    assert [row.id for row in rows if row.is_here] == [one.id for one in path]
    seen: set[str | None] = {None}
    for row in rows:
        assert row.parent in seen
        seen.add(row.id)
