"""The beginning of a log is what the whole log says it is, or there is none."""

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from north_lsp.storage.log_head import read_head
from north_lsp.storage.records import encode
from tests.agent.log.test_foreign_logs import LOG, ODD, changed
from tests.storage.log_lines import HEADER, STEPS, does_more_than_go_on, entry, lines_of, log, note, path, update


def test_the_first_entries_are_as_all_lines_leave_them() -> None:
    data = log(
        entry(1, None),
        entry(2, 1),
        update(3, 1),
        note(4, "title_changed", title="t"),
        entry(5, 2),
        update(6, 2, "reject"),
        note(7, "roots_changed", roots=["/further"]),
    )
    for most in (1, 2, 3, 9):
        head = read_head(BytesIO(data), most)
        assert head is not None
        assert head.active_path() == path(data)[:most]
    assert [one["status"] for one in path(data)[:2]] == ["accept", "reject"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"no log\n",
        log(entry(1, None), entry(2, 1))[:-1],
        log(entry(1, None), entry(2, 1))[:-3] + b"\n",
        log(entry(1, None)) + b'{"type":"review","id":"2"\n' + encode(entry(3, 1)),
        log(entry(1, None)) + b"\n" + encode(entry(3, 1)),
        log(entry(1, None), entry(2, 1), entry(3, 1)),
        log(entry(1, None), entry(2, None)),
        log(entry(1, None), entry(1, 1)),
        log(entry(1, 7)),
        log(entry(1, None), entry(2, 1), note(3, "leaf_moved", leafId="00000001")),
        log(entry(1, None), note(3, "session_moved", repoHash="1" * 16)),
        log(entry(1, None), note(3, "unknown_note")),
        log(entry(1, None, "unknown_entry")),
        log(entry(1, None), note(3, "entry_updated", patch={"status": "accept"})),
        encode(HEADER | {"version": 5}) + encode(entry(1, None)),
        encode({"type": "session", "version": 3}) + encode(entry(1, None)),
        encode(HEADER) + b'{"id":"1","type":"review","parentId":null,"timestamp":"x"}\n',
    ],
)
def test_where_it_is_not_certain_there_is_no_head(data: bytes) -> None:
    assert read_head(BytesIO(data), 9) is None


@settings(max_examples=300)
@given(steps=STEPS, most=st.integers(1, 12), cut=st.one_of(st.none(), st.integers(0, 3000)))
@example(steps=[("entry", 0), ("entry", 0), ("update", 0), ("entry", 0)], most=2, cut=None)
def test_a_head_is_the_beginning_of_the_path_whatever_comes_later(
    steps: list[tuple[str, int]], most: int, cut: int | None
) -> None:
    data = log(*lines_of(steps))[:cut]
    head = read_head(BytesIO(data), most)
    if head is not None:
        assert head.active_path() == path(data)[:most]
    if cut is None and not does_more_than_go_on(steps):
        assert head is not None


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 500), ODD), max_size=3))
def test_a_head_of_any_log_is_the_beginning_of_its_path(changes: list[tuple[int, Any]]) -> None:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in changed(LOG, changes))
    head = read_head(BytesIO(data), 5)
    assert head is None or head.active_path() == path(data)[:5]
