"""A snapshot leads to the same beginning as the whole log, whatever came before it and comes after it."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.storage import log_snapshot
from north_lsp.storage.locations import Locations
from north_lsp.storage.log_snapshot import (
    Snapshot,
    keep_snapshot,
    read_beginning,
    read_snapshot,
    read_with,
    snapshot_path,
    take_snapshot,
)
from north_lsp.storage.log_state import read_state
from tests.agent.log.test_foreign_logs import LOG, ODD, changed
from tests.storage.log_lines import STEPS, does_more_than_go_on, entry, lines_of, log, note, path, update


@settings(max_examples=300)
@given(steps=STEPS, at=st.integers(0, 25), most=st.integers(1, 12))
def test_the_beginning_is_that_of_the_whole_log(steps: list[tuple[str, int]], at: int, most: int) -> None:
    lines = lines_of(steps)
    snapshot = take_snapshot(BytesIO(log(*lines[:at])))
    assert snapshot is not None
    data = log(*lines)
    state = read_with(snapshot, BytesIO(data), most)
    if state is not None:
        assert state.active_path() == path(data)[:most]
        assert state.header == {key: value for key, value in read_state(data).header.items() if key != "roots"}
        assert not state.warnings
    if not does_more_than_go_on(steps[at:]):
        assert state is not None


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 500), ODD), max_size=3))
def test_of_any_log_there_is_the_beginning_or_none(changes: list[tuple[int, Any]]) -> None:
    data = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in changed(LOG, changes))
    snapshot = take_snapshot(BytesIO(data))
    state = read_with(snapshot, BytesIO(data), 5) if snapshot is not None else None
    assert state is None or state.active_path() == path(data)[:5]


def test_what_was_appended_counts() -> None:
    before = [entry(1, None), entry(2, 1), note(3, "leaf_moved", leafId="00000001"), entry(4, 1)]
    snapshot = take_snapshot(BytesIO(log(*before)))
    assert snapshot is not None
    after = [update(5, 1, "reject"), entry(6, 4), note(7, "title_changed", title="t")]
    state = read_with(snapshot, BytesIO(log(*before, *after)), 9)
    assert state is not None
    assert [one["id"] for one in state.active_path()] == ["00000001", "00000004", "00000006"]
    assert state.active_path()[0]["status"] == "reject"


@pytest.mark.parametrize(
    "data",
    [
        log(entry(1, None), entry(9, 1)),
        log(entry(1, None)),
        log(entry(1, None), entry(2, 1), note(3, "leaf_moved", leafId="00000001")),
        log(entry(1, None), entry(2, 1), entry(3, 1)),
        log(entry(1, None), entry(2, 1)) + b'{"type":"review"',
        log(entry(1, None), entry(2, 1), note(3, "session_moved", repoHash="1" * 16)),
        log(entry(1, None), entry(2, 1), note(1, "title_changed", title="again")),
        b"",
    ],
    ids=[
        "another log",
        "a shorter one",
        "a move",
        "a branch",
        "a cut line",
        "another folder",
        "an id twice",
        "nothing",
    ],
)
def test_it_counts_for_its_log_alone_and_while_that_goes_on(data: bytes) -> None:
    snapshot = take_snapshot(BytesIO(log(entry(1, None), entry(2, 1))))
    assert snapshot is not None
    assert read_with(snapshot, BytesIO(data), 9) is None


@pytest.mark.parametrize("lines", [((0, 20),), ((5, 10),), ((100, 1 << 40),), ((1 << 40, 9),)])
def test_places_that_are_not_lines_lead_nowhere(lines: tuple[tuple[int, int], ...]) -> None:
    data = log(entry(1, None), entry(2, 1))
    real = take_snapshot(BytesIO(data))
    assert real is not None
    assert read_with(Snapshot(real.log_bytes, real.tail, real.leaf, lines), BytesIO(data), 9) is None


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(log_snapshot, "LEAST_BYTES", 100)
    store = Locations(tmp_path, tmp_path, tmp_path)
    store.conversations.mkdir(parents=True)
    return store.conversations / "a1b2c3.jsonl"


def test_a_long_log_with_branches_begins_by_its_snapshot(stored: Path) -> None:
    data = log(entry(1, None), entry(2, 1), note(3, "leaf_moved", leafId="00000001"), entry(4, 1))
    stored.write_bytes(data)
    assert read_beginning(stored, 9) is None
    assert keep_snapshot(stored)
    state = read_beginning(stored, 9)
    assert state is not None
    assert state.active_path() == path(data)
    assert snapshot_path(stored).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"version": 2}', b'{"version": 1, "lines": [[-1, 2]]}'])
def test_without_one_that_can_be_read_the_log_is_looked_at(stored: Path, content: bytes) -> None:
    data = log(entry(1, None), entry(2, 1))
    stored.write_bytes(data)
    snapshot_path(stored).write_bytes(content)
    assert read_snapshot(snapshot_path(stored)) is None
    state = read_beginning(stored, 9)
    assert state is not None
    assert state.active_path() == path(data)


def test_a_log_that_has_none_any_more_loses_the_old_one(stored: Path) -> None:
    stored.write_bytes(log(entry(1, None), entry(2, 1)))
    assert keep_snapshot(stored)
    stored.write_bytes(log(entry(1, None), entry(2, 7)))
    assert not keep_snapshot(stored)
    assert not snapshot_path(stored).exists()
