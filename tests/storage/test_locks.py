import fcntl
from pathlib import Path

import pytest

from north_lsp.storage.locks import FileLock, LockHeld, try_lock


def test_a_lock_is_held_once_and_free_after_release(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    lock = try_lock(path)
    assert isinstance(lock, FileLock)
    assert isinstance(try_lock(path), LockHeld)
    lock.release(remove=True)
    assert not path.exists()
    again = try_lock(path)
    assert isinstance(again, FileLock)
    again.release(remove=False)
    assert path.exists()


def test_a_lock_on_a_file_that_was_just_removed_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.lock"
    real = fcntl.flock
    tries: list[int] = []

    def flock(fd: int, operation: int) -> None:
        tries.append(fd)
        if len(tries) == 1:
            path.unlink()  # its holder releases it between our opening and our locking
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    lock = try_lock(path)
    assert isinstance(lock, FileLock)
    assert len(tries) == 2
    assert isinstance(try_lock(path), LockHeld)
    lock.release(remove=True)


@pytest.mark.parametrize("content", [b"", b"{torn", b"[]", b'{"pid":"x","host":3}'])
def test_an_owner_that_cannot_be_read_is_still_an_owner(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.lock"
    lock = try_lock(path)
    path.write_bytes(content)
    held = try_lock(path)
    assert held == LockHeld(None, None)
    assert str(held) == "process (unknown)"
    assert isinstance(lock, FileLock)
    lock.release(remove=True)


def test_a_file_that_the_disk_does_not_let_go_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.lock"
    lock = try_lock(path)
    assert isinstance(lock, FileLock)

    def unlink(self: Path, missing_ok: bool = False) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(Path, "unlink", unlink)
        lock.release(remove=True)
    assert path.read_bytes() == b""
    again = try_lock(path)
    assert isinstance(again, FileLock)
    again.release(remove=True)
    assert not path.exists()
