"""Every tool that looks can be cancelled while its work is under way on a thread: at once, not when the thread ends."""

import importlib
import struct
import threading
import zipfile
from typing import Any

import anyio
import pytest

from north_lsp.errors import ToolError
from north_lsp.workspace.pagination import stream_part
from tests.support.patience import PATIENCE
from tests.tools.conftest import CANCELLABLE, Desk

LARGE = 21 * 1024 * 1024


@pytest.mark.parametrize(("module", "work", "tool", "arguments"), CANCELLABLE)
async def test_a_tool_is_cancelled_in_the_middle(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, module: str, work: str, tool: str, arguments: dict[str, Any]
) -> None:
    desk.write({"a.py": "def f(): pass\n" * 3, "README.md": "x", "a.png": b"\x89PNG" + struct.pack(">II", 1, 1)})
    with (desk.root / "large.txt").open("wb") as file:
        file.truncate(LARGE)
        file.write(b"text" * 3000)
    with zipfile.ZipFile(desk.root / "a.zip", "w") as archive:
        archive.writestr("a", "x")
    desk.artifacts.add("t", "text")
    started, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> object:
        started.set()
        go_on.wait()
        ended.set()
        raise ToolError("CANCELLED", "too late")

    monkeypatch.setattr(importlib.import_module(f"north_lsp.{module}"), work, slow)
    over = False

    async def run() -> None:
        nonlocal over
        try:
            await desk.output(tool, **arguments)
        finally:
            over = True

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            with anyio.fail_after(PATIENCE):
                while not started.is_set():
                    assert not over, "it ended without that work"
                    await anyio.sleep(0.001)
            tasks.cancel_scope.cancel()
        assert over
        assert not ended.is_set()
    finally:
        go_on.set()


def test_nobody_reads_a_large_file_to_its_end_for_nothing(desk: Desk) -> None:
    path = desk.root / "large"
    path.write_bytes(b"line\n" * 1_000_000)
    asked = 0

    def over() -> bool:
        nonlocal asked
        asked += 1
        return asked == 2

    with pytest.raises(ToolError) as caught:
        stream_part(path, 1, 2, should_stop=over)
    assert (caught.value.code, asked) == ("CANCELLED", 2)
