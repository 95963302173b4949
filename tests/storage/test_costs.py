"""The totals of all models, with several processes that add to them at once."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from north_lsp.storage.costs import Costs, Spent
from north_lsp.storage.locations import Locations


def spent(model: str, cost: float, tokens: int = 10) -> list[Spent]:
    return [Spent(model, tokens, 2, 5, 1, cost)]


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    return Locations.from_environment(
        {f"NORTH_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    )


def test_requests_add_up_by_model_and_day(locations: Locations) -> None:
    costs = Costs(locations)
    assert costs.read() == {"allTimeCostUsd": 0.0, "byModel": {}, "byDay": {}}
    day = datetime(2026, 1, 2, tzinfo=UTC)
    costs.add(spent("one", 0.25), day)
    costs.add(spent("one", 0.25), day)
    costs.add(spent("two", 0.5, -5), day + timedelta(days=1))
    found = costs.read()
    assert found["allTimeCostUsd"] == 1.0
    assert found["byDay"] == {"2026-01-02": 0.5, "2026-01-03": 0.5}
    assert found["byModel"]["one"] == {
        "inputTokens": 20,
        "outputTokens": 4,
        "cacheReadTokens": 10,
        "cacheWriteTokens": 2,
        "requests": 2,
        "costUsd": 0.5,
    }
    assert found["byModel"]["two"]["inputTokens"] == 0


def test_only_ninety_days_are_kept(locations: Locations) -> None:
    costs = Costs(locations)
    day = datetime(2026, 1, 1, tzinfo=UTC)
    for days in range(100):
        costs.add(spent("one", 1.0), day + timedelta(days=days))
    assert len(costs.read()["byDay"]) == 90
    assert costs.read()["allTimeCostUsd"] == 100.0


ADD = """
import sys
from north_lsp.storage.costs import Costs, Spent
from north_lsp.storage.locations import Locations
import os
costs = Costs(Locations.from_environment(os.environ))
for _ in range(25):
    costs.add([Spent("one", 1, 0, 0, 0, 0.5)])
"""


def test_no_request_of_another_process_is_lost(locations: Locations) -> None:
    names = {"CONFIG": locations.config, "DATA": locations.data, "STATE": locations.state}
    environ = {f"NORTH_{name}_DIR": str(path) for name, path in names.items()}
    processes = [subprocess.Popen([sys.executable, "-c", ADD], env=environ) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0, 0, 0, 0]
    found = Costs(locations).read()
    assert found["byModel"]["one"]["requests"] == 100
    assert found["allTimeCostUsd"] == 50.0


@pytest.mark.parametrize("content", ["{", "[]", '{"byModel": 3}', '{"byModel": {"one": 1}}'])
def test_a_file_that_cannot_be_read_is_put_aside(locations: Locations, content: str) -> None:
    locations.data.mkdir(parents=True)
    path = locations.data / "costs.json"
    path.write_text(content)
    costs = Costs(locations)
    assert costs.read()["allTimeCostUsd"] == 0.0
    aside = costs.add(spent("one", 1.0))
    assert aside is not None
    assert aside.read_text() == content
    assert costs.read()["allTimeCostUsd"] == 1.0
    assert costs.add(spent("one", 1.0)) is None


def test_what_a_newer_version_added_stays(locations: Locations) -> None:
    locations.data.mkdir(parents=True)
    path = locations.data / "costs.json"
    path.write_text(json.dumps({"allTimeCostUsd": 2, "byModel": {"one": {"new": "field"}}, "more": [1]}))
    Costs(locations).add(spent("one", 1.0))
    found = json.loads(path.read_text())
    assert found["more"] == [1]
    assert found["byModel"]["one"]["new"] == "field"
    assert found["allTimeCostUsd"] == 3
