"""What is spent counts from the moment on in which it is known, also while the file is being written."""

import threading
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp.agent.costs.recorder import CostRecorder
from north_lsp.providers.base import Usage
from north_lsp.providers.catalog.catalog import catalog
from north_lsp.storage.costs import Costs, Spent
from north_lsp.storage.locations import Locations

USAGE = Usage(input=1_000_000)


class Held(Costs):
    """Writes when the test lets it."""

    begun, may_go_on, fails = threading.Event(), threading.Event(), False

    def add_and_read(self, spent: Iterable[Spent], now: datetime | None = None) -> tuple[Path | None, dict[str, Any]]:
        self.begun.set()
        assert self.may_go_on.wait(30)
        if self.fails:
            raise OSError(28, "No space left on device")
        return super().add_and_read(spent, now)


async def test_nothing_is_missing_while_it_is_written(tmp_path: Path) -> None:
    model = catalog().find("haiku-4-5")
    costs = Held(Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state"))
    async with anyio.create_task_group() as background:
        recorder = CostRecorder(costs, background)
        await recorder.look()
        for fails, price in ((True, 1.0), (False, 2.0)):
            costs.begun.clear()
            costs.may_go_on.clear()
            costs.fails = fails
            recorder.record(model, USAGE)
            assert recorder.all_time() == price
            await anyio.to_thread.run_sync(costs.begun.wait, 30)
            assert recorder.all_time() == price
            costs.may_go_on.set()
            await recorder.finish()
            assert (recorder.take_problem() is not None) == fails
            assert recorder.take_problem() is None  # told once
            assert recorder.not_stored() == ((1, "No space left on device") if fails else None)
        assert recorder.all_time() == 2.0
    assert costs.read()["allTimeCostUsd"] == 2.0
