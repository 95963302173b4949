"""What North asks of the system that it runs on, tried on the one that runs the tests."""

import os
import sys
from pathlib import Path

import pytest

from north_lsp import systems


def test_a_lock_keeps_others_out_until_it_is_closed(tmp_path: Path) -> None:
    one = systems.lock_folder(tmp_path)
    for shared in (False, True):
        with pytest.raises(BlockingIOError):
            systems.lock_folder(tmp_path, shared=shared)
    os.close(one)
    os.close(systems.lock_folder(tmp_path, wait=True))


def test_shared_locks_keep_each_other_company(tmp_path: Path) -> None:
    descriptors = [systems.lock_folder(tmp_path, wait=True, shared=True) for _ in range(2)]
    for descriptor in descriptors:
        os.close(descriptor)


def test_a_lock_is_told_from_that_of_a_folder_of_the_same_name(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    descriptor = systems.lock_folder(folder)
    assert systems.is_locked_by(folder, descriptor)
    folder.rename(tmp_path / "b")
    assert not systems.is_locked_by(folder, descriptor)
    folder.mkdir()
    assert not systems.is_locked_by(folder, descriptor)
    os.close(descriptor)


def test_a_process_that_has_ended_is_not_alive() -> None:
    tree = systems.start_tree([sys.executable, "-c", "input()"], stdin=-1)
    with tree.process as process:
        assert systems.is_alive(process.pid)
        tree.end()
        assert process.wait() != 0
    assert not systems.is_alive(process.pid)
