"""Contents that are kept are whole, and on the disk before they have their names."""

import errno
import hashlib
import os
import threading
from pathlib import Path

import pytest

from north_lsp import systems
from north_lsp.storage import files
from north_lsp.storage.blobs import Blobs

CONTENTS = {hashlib.sha256(data).hexdigest(): data for data in (f"content {number}".encode() for number in range(150))}


def test_many_are_on_the_disk_before_one_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: set[int] = set()
    real_sync, real_replace = os.fsync, systems.replace

    def fsync(descriptor: int) -> None:
        real_sync(descriptor)
        synced.add(os.fstat(descriptor).st_ino)

    def replace(old: Path, new: Path) -> None:
        assert os.stat(old).st_ino in synced
        real_replace(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(systems, "replace", replace)
    blobs = Blobs(tmp_path / "blobs")
    blobs.keep(CONTENTS)
    assert {name: blobs.find(name) for name in CONTENTS} == CONTENTS
    assert {path.name for path in (tmp_path / "blobs").iterdir()} == CONTENTS.keys()
    assert os.stat(tmp_path / "blobs").st_ino in synced


def test_of_those_that_cannot_be_brought_to_the_disk_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        Blobs(tmp_path / "blobs").keep(CONTENTS)
    assert list((tmp_path / "blobs").iterdir()) == []


@pytest.mark.parametrize("has_threads", [True, False])
def test_what_goes_wrong_with_each_of_many_files_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_threads: bool
) -> None:
    if not has_threads:

        def no_start(self: object) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", no_start)
    opened = [os.open(tmp_path / str(number), os.O_CREAT | os.O_WRONLY) for number in range(60)]
    os.close(opened[7])
    errors = files.sync_all(opened)
    for at, descriptor in enumerate(opened):
        if at != 7:
            os.close(descriptor)
    assert [at for at, error in enumerate(errors) if error is not None] == [7]
    assert files.sync_all([]) == []
