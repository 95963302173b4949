"""How North opens, lists and replaces files on Windows, with a stand-in for Windows' own calls."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from north_lsp.systems.windows.files import DIRECTORY, NOFOLLOW, Files
from tests.systems.native import Native

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stand-in needs Linux")

_READ = os.O_RDONLY | NOFOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW
_CLOUD = 0x9000001A


@pytest.fixture
def native() -> Native:
    return Native()


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def files(native: Native, slept: list[float]) -> Files:
    return Files(native, slept.append)


@pytest.fixture
def folder(files: Files, tmp_path: Path) -> Iterator[int]:
    descriptor = files.open_file(str(tmp_path), os.O_RDONLY | DIRECTORY)
    yield descriptor
    os.close(descriptor)


def _make(files: Files, folder: int, name: str, data: bytes = b"") -> None:
    descriptor = files.open_file(name, _NEW, folder=folder)
    os.write(descriptor, data)
    os.close(descriptor)


def test_a_file_is_made_named_and_removed_in_an_open_folder(files: Files, folder: int, tmp_path: Path) -> None:
    _make(files, folder, "a", b"one")
    files.link_in(folder, "a", "b")
    files.rename_in(folder, "a", "c")
    assert files.status_in(folder, "c").st_size == 3
    assert (tmp_path / "b").read_bytes() == b"one"
    files.unlink_in(folder, "b")
    assert os.listdir(tmp_path) == ["c"]
    with pytest.raises(FileExistsError):
        files.open_file("c", _NEW, folder=folder)
    with pytest.raises(FileNotFoundError):
        files.status_in(folder, "gone")


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a\\b", "a:stream", "nul", "a.", "C:x"])
def test_a_name_in_a_folder_is_one_honest_name(files: Files, folder: int, name: str) -> None:
    for call in (
        lambda: files.open_file(name, _READ, folder=folder),
        lambda: files.status_in(folder, name),
        lambda: files.unlink_in(folder, name),
        lambda: files.make_folder_in(folder, name),
        lambda: files.rename_in(folder, "kept", name),
    ):
        with pytest.raises(OSError, match=r"Invalid|No such file") as failed:
            call()
        assert failed.value.errno in (errno.EINVAL, errno.ENOENT)


def test_a_link_is_not_opened_but_can_be_removed(files: Files, folder: int, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="Too many levels") as failed:
        files.open_file("link", _READ, folder=folder)
    assert failed.value.errno == errno.ELOOP
    assert stat.S_ISLNK(files.status_in(folder, "link").st_mode)
    files.unlink_in(folder, "link")
    assert (tmp_path / "outside").read_text() == "secret"


def test_a_link_to_a_folder_is_not_removed_as_one(files: Files, folder: int, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(NotADirectoryError):
        files.remove_folder_in(folder, "link")
    with pytest.raises(IsADirectoryError):
        files.unlink_in(folder, "real")
    files.remove_folder_in(folder, "real")
    assert os.listdir(tmp_path) == ["link"]


def test_a_path_is_opened_only_where_it_says(files: Files, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"one")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    descriptor = files.open_real(str(tmp_path / "real" / "a"), _READ)
    assert os.read(descriptor, 9) == b"one"
    os.close(descriptor)
    with pytest.raises(OSError, match="Too many levels") as failed:
        files.open_real(str(tmp_path / "link" / "a"), _READ)
    assert failed.value.errno == errno.ELOOP


def test_a_folder_that_becomes_a_link_while_it_is_opened_is_noticed(
    files: Files, native: Native, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_bytes(b"mine")
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "a").write_bytes(b"secret")

    def exchange(name: str) -> None:
        native.before_create = lambda name: None
        (tmp_path / "src").rename(tmp_path / "before")
        (tmp_path / "src").symlink_to(tmp_path / "evil")

    native.before_create = exchange
    with pytest.raises(OSError, match="Too many levels"):
        files.open_real(str(tmp_path / "src" / "a"), _READ)


def test_a_file_in_a_cloud_is_opened_by_whoever_keeps_it(files: Files, native: Native, folder: int) -> None:
    _make(files, folder, "a", b"one")
    native.tags["a"] = _CLOUD
    native.calls.clear()
    descriptor = files.open_file("a", _READ, folder=folder)
    assert native.calls == ["create", "create"]
    assert os.read(descriptor, 9) == b"one"
    os.close(descriptor)


def test_what_another_program_holds_is_tried_again(
    files: Files, native: Native, folder: int, slept: list[float]
) -> None:
    _make(files, folder, "a")
    native.calls.clear()
    native.busy = [303, 32]
    files.rename_in(folder, "a", "b")
    assert native.calls == ["create", "create", "create", "rename"]
    assert len(slept) == 2


def test_a_name_that_cannot_be_given_yet_is_given_a_moment_later(
    files: Files, native: Native, folder: int, tmp_path: Path, slept: list[float]
) -> None:
    _make(files, folder, "a")

    def hold(name: str) -> None:
        native.before_create = lambda name: None
        native.refuse = [5, 5]

    native.before_create = hold
    files.rename_in(folder, "a", "b")
    assert os.listdir(tmp_path) == ["b"]
    assert len(slept) == 2


def test_what_stays_held_is_an_error_after_half_a_second(
    files: Files, native: Native, tmp_path: Path, slept: list[float]
) -> None:
    native.busy = [32] * 20
    with pytest.raises(OSError, match="busy"):
        files.open_file(str(tmp_path / "a"), _NEW)
    assert sum(slept) < 0.5
    assert not (tmp_path / "a").exists()


def test_a_denied_opening_is_an_error_at_once(files: Files, native: Native, tmp_path: Path, slept: list[float]) -> None:
    native.busy = [5]
    with pytest.raises(OSError, match="busy"):
        files.open_file(str(tmp_path / "a"), _NEW)
    assert slept == []


def test_a_folder_lists_links_as_links(files: Files, folder: int, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "file").write_bytes(b"12")
    (tmp_path / "link").symlink_to(tmp_path / "sub")
    with files.scan(folder) as listed:
        found = {one.name: one for one in listed}
    assert sorted(found) == ["file", "link", "sub"]
    kinds = {name: (one.is_dir(follow_symlinks=False), one.is_symlink()) for name, one in found.items()}
    assert kinds == {"file": (False, False), "link": (False, True), "sub": (True, False)}
    assert found["file"].is_file(follow_symlinks=False)
    assert found["file"].stat(follow_symlinks=False).st_size == 2
    assert sorted(files.list_folder(tmp_path)) == ["file", "link", "sub"]
    with pytest.raises(NotADirectoryError):
        files.list_folder(tmp_path / "file")


def test_a_true_path_has_no_links_and_may_end_where_nothing_is(files: Files, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert files.true_path(str(tmp_path / "link")) == str(tmp_path / "real")
    assert files.true_path(str(tmp_path / "link" / "new" / "a")) == str(tmp_path / "real" / "new" / "a")


def test_a_file_that_a_child_is_given_is_held(files: Files, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    descriptor = files.open_real(str(tmp_path / "a"), _READ)
    with files.held(descriptor) as path:
        assert path == str(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "a").write_bytes(b"another")
    with pytest.raises(OSError, match="Too many levels"), files.held(descriptor):
        pass
    os.close(descriptor)


def test_truncating_and_appending_mean_what_they_mean_elsewhere(files: Files, folder: int, tmp_path: Path) -> None:
    _make(files, folder, "a", b"long before")
    descriptor = files.open_file("a", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NOFOLLOW, folder=folder)
    os.write(descriptor, b"new")
    os.close(descriptor)
    assert (tmp_path / "a").read_bytes() == b"new"
