"""The limit for the end of a connection."""

import json
import threading

import pytest

from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.server import ending
from north_lsp.server.ending import Ending
from north_lsp.storage.diagnostics_log import DiagnosticsLog
from north_lsp.storage.locations import Locations
from tests.storage.conftest import store

__all__ = ["store"]


def events(store: Locations) -> list[tuple[str, dict[str, object]]]:
    rows = [json.loads(line) for line in store.log_file.read_text().splitlines()]
    return [(row["event"], row["data"]) for row in rows]


def test_what_hangs_ends_with_the_process_and_is_named(store: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "LONGEST_SECONDS", 0)
    codes, ended = list[int](), threading.Event()

    def exit(code: int) -> None:
        codes.append(code)
        ended.set()

    one = Ending(exit)
    one.connected(Diagnostics(DiagnosticsLog(store)))
    one.begin("SIGTERM", 143)
    assert ended.wait(20)
    assert codes == [143]
    ((event, data),) = events(store)
    assert (event, data["step"]) == ("shutdown_cut", "sessions")


def test_a_connection_that_shares_its_process_never_ends_it(store: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "LONGEST_SECONDS", 0)
    one, before = Ending(), threading.active_count()
    one.connected(Diagnostics(DiagnosticsLog(store)))
    one.begin("client gone", 0)
    one.hurry()
    assert threading.active_count() == before
    one.log_exit()
    ((event, data),) = events(store)
    assert (event, data["reason"]) == ("app_exit", "client gone")
