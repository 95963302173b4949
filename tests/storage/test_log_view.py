"""The end of the log, for people."""

import json

import pytest

from north_lsp.storage import log_view
from north_lsp.storage.diagnostics_log import DiagnosticsLog
from north_lsp.storage.locations import Locations
from north_lsp.storage.log_view import last_events


def names(rows: list[str]) -> list[str]:
    return [row.split()[3] for row in rows]


def test_the_last_events_are_shown_one_a_line(store: Locations) -> None:
    assert last_events(store, 5) == []
    log = DiagnosticsLog(store, "debug")
    log.event("info", "app_start", version="0.1.0", client="a client", sessionId="a1b2c3")
    log.event("debug", "detail", n=1)
    log.event("warn", "app_worry", why=None)
    log.close()
    with store.log_file.open("ab") as file:
        file.write(b"not json\n[1]\n")
    rows = last_events(store, 5)
    assert names(rows) == ["app_start", "detail", "app_worry"]
    assert 'info   app_start  version=0.1.0 client="a client" sessionId=a1b2c3 pid=' in rows[0]
    assert "why=null" in rows[2]
    assert names(last_events(store, 1)) == ["app_worry"]
    assert names(last_events(store, 5, "warn")) == ["app_worry"]
    assert names(last_events(store, 5, event="app_")) == ["app_start", "app_worry"]


def test_it_reads_backwards_over_blocks_and_files(store: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_view, "_CHUNK", 37)
    store.state.mkdir()
    rows = [json.dumps({"timestamp": "2026", "level": "info", "event": f"e{number}"}) for number in range(40)]
    store.log_file.with_name("north.log.1").write_text("\n".join(rows[:20]) + "\n")
    store.log_file.write_text("\n".join(rows[20:]))
    assert [row.split()[2] for row in last_events(store, 100)] == [f"e{number}" for number in range(40)]
    assert [row.split()[2] for row in last_events(store, 3)] == ["e37", "e38", "e39"]
