"""A test that hangs can be understood from what it prints."""

import asyncio
import signal
from typing import Any, cast

import pytest

from tests.support.hanging import watched


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
