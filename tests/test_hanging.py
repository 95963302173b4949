"""A test that hangs can be understood from what it prints."""

import asyncio
import faulthandler
import signal
import time
from typing import Any, cast

import pytest

from tests.support.hanging import Ending, watched


async def _inner(told: asyncio.Event) -> None:
    await told.wait()


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="Windows has no such signal")
async def test_a_test_that_takes_too_long_tells_where_its_tasks_wait(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = asyncio.Event()
    wrote: list[str] = []

    class Written:
        def write(self, text: str) -> None:
            wrote.append(text)
            asyncio.get_running_loop().call_soon_threadsafe(told.set)

        def flush(self) -> None: ...

    with capsys.disabled():
        monkeypatch.setattr("sys.stderr", cast(Any, Written()))
        with watched(request.node, 0.01):
            await asyncio.create_task(_inner(told), name="the one that waits")
    text = "".join(wrote)
    assert f"{request.node.nodeid} has not ended after 0 seconds" in text
    assert "the one that waits\n" in text
    assert "_inner" in text
    assert "Event.wait" in text


def test_tests_that_follow_each_other_closely_share_what_would_end_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    begun: list[float] = []
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now)
        patch.setattr(faulthandler, "dump_traceback_later", lambda seconds, **_: begun.append(now + seconds))
        patch.setattr(faulthandler, "cancel_dump_traceback_later", lambda: None)
        ending, never = Ending(300), Ending(0)
        for seconds in (0, 10, 29, 31, 40):
            now = 1000.0 + seconds
            ending.test_begins()
            never.test_begins()
        ending.was_called_off()
        now = 1041.0
        ending.test_begins()
        ending.close()
        never.close()
    assert begun == [1300, 1331, 1341]
