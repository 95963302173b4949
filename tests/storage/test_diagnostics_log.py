import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from north_lsp.storage import diagnostics_log
from north_lsp.storage.diagnostics_log import DiagnosticsLog
from north_lsp.storage.locations import Locations

Child = Callable[..., Any]


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_event_is_one_line_in_the_format(store: Locations) -> None:
    log = DiagnosticsLog(store)
    log.event("info", "tool_call_complete", sessionId="a1b2c3", turn=1, toolName="search_text", ok=True, name="n")
    log.close()
    (record,) = records(store.log_file)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record.pop("timestamp"))
    assert record == {
        "level": "info",
        "event": "tool_call_complete",
        "data": {"toolName": "search_text", "ok": True, "name": "n"},
        "sessionId": "a1b2c3",
        "turn": 1,
        "pid": os.getpid(),
    }
    assert stat.S_IMODE(store.log_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.state.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("level", "kept"),
    [("debug", "debug info warn error"), ("info", "info warn error"), ("error", "error"), ("?", "info warn error")],
)
def test_only_what_is_at_or_above_the_level_is_kept(store: Locations, level: str, kept: str) -> None:
    log = DiagnosticsLog(store, level)
    for each in ("debug", "info", "warn", "error"):
        log.event(each, "x")
    log.close()
    assert [record["level"] for record in records(store.log_file)] == kept.split()


def test_without_events_there_is_no_file_and_no_thread(store: Locations) -> None:
    DiagnosticsLog(store).close()
    assert not store.state.exists()


def test_the_home_directory_is_shown_as_a_tilde(store: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    log = DiagnosticsLog(store)
    log.event("info", "x", a=Path("/home/u/p"), b=["at /home/u/p/f.py:3", "/home/u"], c="/home/user /x/home/u")
    log.close()
    assert records(store.log_file)[0]["data"] == {
        "a": "~/p",
        "b": ["at ~/p/f.py:3", "~"],
        "c": "/home/user /x/home/u",
    }


def test_any_value_can_be_logged_and_long_ones_are_cut(store: Locations) -> None:
    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError

    endless: list[Any] = []
    endless.append(endless)
    log = DiagnosticsLog(store, "debug")
    log.event("debug", "x", a=Hostile(), b=endless, c=float("nan"), d="\ud800", e="e" * 1000, f={1: (b"secret",)})
    log.close()
    data = records(store.log_file)[0]["data"]
    assert (data["a"], data["c"], data["d"], data["f"]) == ("<Hostile>", None, "\ufffd", {"1": ["<bytes>"]})
    assert data["e"] == "e" * 499 + "…"


def test_full_files_are_shifted_and_the_oldest_dropped(store: Locations) -> None:
    log = DiagnosticsLog(store, max_bytes=1000, files=3)
    for number in range(60):
        log.event("info", "x", number=number, text="t" * 50)
    log.close()
    files = [store.log_file.with_name(name) for name in ("north.log.2", "north.log.1", "north.log")]
    assert sorted(path.name for path in store.state.iterdir() if path.is_file()) == sorted(f.name for f in files)
    numbers = [record["data"]["number"] for path in files for record in records(path)]
    assert numbers == list(range(60 - len(numbers), 60))
    assert all(path.stat().st_size <= 1000 for path in files)


def test_several_processes_share_the_files_without_losing_a_line(store: Locations, child: Child) -> None:
    processes = [
        child(f"""
from north_lsp.storage.diagnostics_log import DiagnosticsLog
log = DiagnosticsLog(store, max_bytes=4000, files=100)
for number in range(100):
    log.event("info", "{name}", number=number)
log.close()
""")
        for name in ("one", "two", "three")
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    found = [
        (record["event"], record["data"]["number"])
        for path in store.state.glob("north.log*")
        for record in records(path)
    ]
    assert len(found) == 300
    assert len(set(found)) == 300


def test_a_full_queue_drops_debug_first_and_says_so(store: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics_log, "MAX_QUEUED", 4)
    log = DiagnosticsLog(store, "debug")
    with log._changed:  # the writer waits for this, so the queue fills
        for number in range(3):
            log.event("debug", "minor", number=number)
        for number in range(4):
            log.event("info", "major", number=number)
        log.event("debug", "minor", number=3)
        log.event("error", "major", number=4)
    log.close()
    found = [(record["event"], record["data"]) for record in records(store.log_file)]
    assert found == [*(("major", {"number": number}) for number in range(4)), ("log_dropped", {"n": 5})]


def test_a_log_that_cannot_be_written_harms_nobody(store: Locations) -> None:
    store.state.write_text("a file where the directory should be")
    log = DiagnosticsLog(store)
    log.event("error", "x")
    log.close()
    log.event("error", "after the end")
    log.close()
    assert store.state.read_text() == "a file where the directory should be"


def test_a_crash_report_is_a_file_of_its_own_without_secrets(store: Locations) -> None:
    log = DiagnosticsLog(store, "error")
    paths = [log.report_crash("Traceback: OPENAI_API_KEY=abcdefgh \ud800") for _ in range(25)]
    log.close()
    written = sorted(store.crashes.iterdir())
    assert [path for path in paths if path is not None] == written
    assert len(written) == diagnostics_log.MAX_REPORTS
    assert written[0].read_text() == "Traceback: OPENAI_API_KEY=[masked] \ufffd"
    assert stat.S_IMODE(written[0].stat().st_mode) == 0o600
    assert log.report_crash("later") is None


def test_what_may_have_contents_has_no_secrets(store: Locations) -> None:
    log = DiagnosticsLog(store, "debug")
    log.event(
        "debug", "x", command="curl -H 'Authorization: Bearer abcdefghijkl'", apiKey="abc", deep=[{"a": "GH_TOKEN=x1"}]
    )
    log.event("info", "x", inputTokens=5)
    log.close()
    debug, info = records(store.log_file)
    assert debug["data"] == {
        "command": "curl -H 'Authorization: [masked] [masked]'",
        "apiKey": "[masked]",
        "deep": [{"a": "GH_TOKEN=[masked]"}],
    }
    assert info["data"] == {"inputTokens": 5}


def test_an_observer_gets_every_event_whatever_its_level(store: Locations) -> None:
    log, seen = DiagnosticsLog(store, "error"), list[tuple[str, dict[str, object]]]()
    log.observer = lambda name, data: seen.append((name, dict(data)))
    log.event("debug", "x", a=1)
    log.close()
    assert seen == [("x", {"a": 1})]
    assert not store.log_file.exists()
