"""What only Linux and macOS have works there, and says on Windows that it is not there."""

import errno
import os
import runpy
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from north_lsp import unix
from north_lsp.cli import main as command_line

CALLS: list[Callable[[], object]] = [
    lambda: unix.lock(0),
    lambda: unix.change_mode(0, 0o600),
    lambda: unix.change_owner(0, 0, 0),
    lambda: unix.read_at(0, 1, 0),
    lambda: unix.write_at(0, b"", 0),
    lambda: unix.set_blocking(0, blocking=True),
    lambda: unix.signal_group(2**30, 0),
    lambda: unix.make_fifo("never", 0o600),
    unix.open_terminal,
    lambda: unix.count_unread(0, bytearray(4)),
    lambda: unix.poll_for_changes(0),
    unix.user,
]


@pytest.mark.parametrize("call", range(len(CALLS)))
def test_on_windows_a_call_says_that_it_is_not_there(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        with pytest.raises(OSError, match=r"there is no .* on win32") as failure:
            CALLS[call]()
    assert failure.value.errno == errno.ENOTSUP


def test_flags_of_windows_open_bytes_that_no_child_inherits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "O_NOINHERIT", 0x80, raising=False)
    monkeypatch.setattr(os, "O_BINARY", 0x8000, raising=False)
    monkeypatch.setenv("COMPUTERNAME", "DESK")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        there = runpy.run_path(unix.__file__)
        assert there["machine_name"]() == "DESK"
    assert there["CLOEXEC"] == 0x8080
    assert (there["DIRECTORY"], there["NOFOLLOW"], there["NONBLOCK"]) == (0, 0, 0)
    assert there["SIGKILL"] == signal.SIGTERM


def test_a_lock_keeps_others_out_until_it_is_closed(tmp_path: Path) -> None:
    one, other = (os.open(tmp_path, os.O_RDONLY | unix.DIRECTORY | unix.CLOEXEC) for _ in range(2))
    unix.lock(one)
    for shared in (False, True):
        with pytest.raises(BlockingIOError):
            unix.lock(other, shared=shared)
    os.close(one)
    unix.lock(other, wait=True)
    os.close(other)


def test_shared_locks_keep_each_other_company(tmp_path: Path) -> None:
    descriptors = [os.open(tmp_path, os.O_RDONLY | unix.DIRECTORY | unix.CLOEXEC) for _ in range(2)]
    for descriptor in descriptors:
        unix.lock(descriptor, wait=True, shared=True)
    for descriptor in descriptors:
        os.close(descriptor)


def test_on_windows_the_command_line_says_where_north_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "_SYSTEM", "win32")
    assert command_line.main(["acp"]) != 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "north-lsp: North does not run on Windows itself: install it in WSL, and start it there\n"
