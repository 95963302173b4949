import errno
import fcntl
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from north_lsp.errors import ToolError
from north_lsp.workspace.apply import apply as applying
from north_lsp.workspace.apply import placing
from north_lsp.workspace.apply.apply import apply, write
from north_lsp.workspace.apply.atomic_exchange import exchange_names
from north_lsp.workspace.edit.diff import make_change, make_deletion, make_folder_change
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import FileChange, TextEncoding


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "repo"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_bytes(b"one\r\ntwo\n")
    (root / "b.py").write_bytes(b"b\n")
    (root.parent / "outside").mkdir()
    return root


def change(root: Path, relative: str, old: str | None, new: str, form: TextEncoding | None = None) -> FileChange:
    return make_change(root / relative, relative, old, new, form or TextEncoding())


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def fails(root: Path, *changes: FileChange, code: str = "STALE") -> ToolError:
    """Apply, expect an error, and nothing else to have happened."""
    before, names = files(root.parent), sorted(os.walk(root.parent))
    with pytest.raises(ToolError) as caught:
        apply(changes, Roots.of(root))
    assert caught.value.code == code
    assert files(root.parent) == before
    assert sorted(os.walk(root.parent)) == names
    return caught.value


def test_all_changes_are_written_and_nothing_is_left_behind(repo: Path) -> None:
    apply(
        [
            change(repo, "src/a.py", "one\r\ntwo\n", "one\r\n2\n"),
            change(repo, "new/deep/c.txt", None, "ü", TextEncoding("utf-16-le", b"\xff\xfe")),
        ],
        Roots.of(repo),
    )
    assert files(repo) == {
        "src/a.py": b"one\r\n2\n",
        "b.py": b"b\n",
        "new/deep/c.txt": b"\xff\xfe\xfc\0",
    }


def test_the_mode_stays_and_new_files_get_the_usual_one(repo: Path) -> None:
    (repo / "b.py").chmod(0o754)
    script = FileChange(
        repo / "run", "run", "create", None, "#!/bin/sh\n", TextEncoding(), (), 1, 0, make_executable=True
    )
    old = os.umask(0o027)
    try:
        apply([change(repo, "b.py", "b\n", "c\n"), change(repo, "n", None, "n"), script], Roots.of(repo))
    finally:
        os.umask(old)
    modes = [stat.S_IMODE((repo / name).stat().st_mode) for name in ("b.py", "n", "run")]
    assert modes == [0o754, 0o640, 0o750]


def test_a_hard_link_elsewhere_keeps_its_contents(repo: Path) -> None:
    os.link(repo / "b.py", repo.parent / "outside" / "b")
    apply([change(repo, "b.py", "b\n", "c\n")], Roots.of(repo))
    assert (repo.parent / "outside" / "b").read_bytes() == b"b\n"
    assert (repo / "b.py").stat().st_nlink == 1


def test_nothing_is_written_if_one_target_is_stale(repo: Path) -> None:
    good = change(repo, "b.py", "b\n", "c\n")
    made = change(repo, "x/y/z", None, "new")
    error = fails(repo, good, made, change(repo, "src/a.py", "one\ntwo\n", "x"))
    assert "src/a.py has changed" in error.message
    assert "was deleted" in fails(repo, good, change(repo, "gone.py", "x", "y")).message
    assert "no longer exists" in fails(repo, good, change(repo, "gone/x.py", "x", "y")).message
    assert "was created" in fails(repo, good, change(repo, "src/a.py", None, "y")).message


def test_a_longer_file_is_stale(repo: Path) -> None:
    old = change(repo, "b.py", "b\n", "c\n")
    (repo / "b.py").write_bytes(b"b\nmore\n")
    fails(repo, old)


@pytest.mark.parametrize("name", ["src/a.py", "src/new.py", "src/new/deep.py"])
def test_a_folder_swapped_for_a_link_is_not_followed(repo: Path, name: str) -> None:
    resolved = Roots.of(repo).resolve(name)
    (repo / "src").rename(repo.parent / "outside" / "src")
    (repo / "src").symlink_to("../outside/src")
    old = "one\r\ntwo\n" if name == "src/a.py" else None
    fails(repo, make_change(resolved.path, resolved.relative, old, "evil", TextEncoding()))


def test_a_target_swapped_for_a_link_is_not_followed(repo: Path) -> None:
    (repo.parent / "outside" / "t").write_bytes(b"b\n")
    (repo / "b.py").unlink()
    (repo / "b.py").symlink_to("../outside/t")
    fails(repo, change(repo, "b.py", "b\n", "evil"))
    (repo / "dangling").symlink_to("../outside/new")
    fails(repo, change(repo, "dangling", None, "evil"))


def test_a_target_that_is_no_file_any_more_is_stale(repo: Path) -> None:
    (repo / "b.py").unlink()
    os.mkfifo(repo / "b.py")
    assert "named pipe" in fails(repo, change(repo, "b.py", "b\n", "c")).message
    fails(repo, change(repo, "src", "b\n", "c"))
    fails(repo, change(repo, "src", None, "c"))
    fails(repo, change(repo, "src/a.py/x", None, "c"))


def test_a_folder_moved_away_in_between_is_noticed(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = placing.verify

    def move_then_verify(target: placing.Target) -> None:
        if (repo / "src").is_dir():
            (repo / "src").rename(repo.parent / "outside" / "src")
            (repo / "src").mkdir()
        real(target)

    monkeypatch.setattr(applying, "verify", move_then_verify)
    with pytest.raises(ToolError, match="another folder") as caught:
        apply([change(repo, "src/a.py", "one\r\ntwo\n", "evil")], Roots.of(repo))
    assert caught.value.code == "STALE"
    assert files(repo.parent) == {"outside/src/a.py": b"one\r\ntwo\n", "repo/b.py": b"b\n"}


def test_paths_outside_and_protected_ones_are_refused(repo: Path) -> None:
    fails(repo, change(repo.parent, "outside/x", None, "x"), code="OUTSIDE_WORKSPACE")
    fails(repo, change(repo, "../outside/x", None, "x"), code="OUTSIDE_WORKSPACE")
    fails(repo, change(repo.parent, "repo-evil/x", None, "x"), code="OUTSIDE_WORKSPACE")
    for name in (".git/hooks/pre-commit", ".GIT/config", "src/.git/x", ".north/allowlist.json"):
        fails(repo, change(repo, name, None, "x"), code="DENIED")
    fails(repo, change(repo, "b.py", "b\n", "c"), change(repo, "b.py", "b\n", "d"), code="INVALID_INPUT")
    fails(repo, change(repo, "b.py", "b\n", "€", TextEncoding("latin-1")), code="INVALID_INPUT")
    fails(repo, change(repo, "n" * 300, None, "x"), code="IO_ERROR")


def test_long_names_leave_room_for_the_temporary(repo: Path) -> None:
    name = "é" * 127
    apply([change(repo, name, None, "x")], Roots.of(repo))
    assert (repo / name).read_text() == "x"


Syscall = Callable[..., object]


def failing_at(call: Syscall, number: int, code: int) -> Syscall:
    """A system call that fails the `number`-th time."""
    made = 0

    def wrapped(*args: object, **named: object) -> object:
        nonlocal made
        made += 1
        if made == number:
            raise OSError(code, os.strerror(code))
        return call(*args, **named)

    return wrapped


def no_exchange(*args: object) -> bool:
    return False


@pytest.mark.parametrize("name", ["fsync", "exchange_names", "replace", "fchmod", "mkdir", "link"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_failure_at_any_step_puts_everything_back(
    repo: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    changes = [
        change(repo, "b.py", "b\n", "c\n"),
        change(repo, "x/new", None, "new"),
        change(repo, "src/a.py", "one\r\ntwo\n", "2"),
        change(repo, "y/z/new", None, "new"),
    ]
    calls = {"fchmod": 2, "replace": 2, "exchange_names": 2}
    if number > calls.get(name, 3):
        return
    if name == "replace":
        monkeypatch.setattr(placing, "exchange_names", no_exchange)
    room = placing if name == "exchange_names" else os
    monkeypatch.setattr(room, name, failing_at(getattr(room, name), number, errno.ENOSPC))
    error = fails(repo, *changes, code="IO_ERROR")
    assert "No space left" in error.message
    assert error.details["errno"] == "ENOSPC"


def test_all_new_contents_are_on_the_disk_before_one_is_in_place(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(100):
        (repo / f"f{number}").write_bytes(b"old")
    changes = [change(repo, f"f{number}", "old", "new") for number in range(100)]
    synced: set[int] = set()
    real_sync, real_exchange = os.fsync, exchange_names

    def fsync(descriptor: int) -> None:
        real_sync(descriptor)
        synced.add(os.fstat(descriptor).st_ino)

    def exchange(temporary: str, name: str, folder: int) -> bool:
        waiting = {path.stat().st_ino for path in repo.iterdir() if path.name.endswith(".tmp")}
        old = {path.stat().st_ino for path in repo.iterdir() if path.name.endswith(".old")}
        assert waiting - old <= synced
        return real_exchange(temporary, name, folder)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(placing, "exchange_names", exchange)
    apply(changes, Roots.of(repo))
    assert {(repo / f"f{number}").read_bytes() for number in range(100)} == {b"new"}
    assert repo.stat().st_ino in synced


@pytest.mark.parametrize("number", [1, 50, 64, 65, 100])
def test_contents_that_cannot_be_brought_to_the_disk_are_put_nowhere(
    repo: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    changes = [change(repo, f"f{number:03}", None, "new") for number in range(100)]
    monkeypatch.setattr(os, "fsync", failing_at(os.fsync, number, errno.EIO))
    opened = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    error = fails(repo, *changes, code="IO_ERROR")
    assert error.details["errno"] == "EIO"
    if opened:
        assert len(os.listdir("/proc/self/fd")) == opened


def test_file_systems_without_links_work_too(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*args: object, **named: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(placing, "exchange_names", no_exchange)
    apply([change(repo, "b.py", "b\n", "c\n"), change(repo, "n", None, "new")], Roots.of(repo))
    assert files(repo) == {"b.py": b"c\n", "n": b"new", "src/a.py": b"one\r\ntwo\n"}
    real = os.replace
    monkeypatch.setattr(os, "replace", failing_at(real, 2, errno.EIO))
    fails(repo, change(repo, "b.py", "c\n", "d\n"), change(repo, "src/a.py", "one\r\ntwo\n", "2"), code="IO_ERROR")


def test_what_could_not_be_put_back_is_named(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "exchange_names", no_exchange)
    real, made = os.replace, 0

    def once(*args: object, **named: object) -> None:
        nonlocal made
        made += 1
        if made > 1:
            raise OSError(errno.EIO, "broken")
        real(*args, **named)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(os, "replace", once)
    changes = [change(repo, "b.py", "b\n", "c\n"), change(repo, "src/a.py", "one\r\ntwo\n", "2")]
    with pytest.raises(ToolError, match=r"they are changed: b\.py") as caught:
        apply(changes, Roots.of(repo))
    assert caught.value.details == {"changed": ["b.py"]}


# -- at the last moment ------------------------------------------------------------------------------------------------


def at_the_last_moment(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Somebody else acts when everything has been checked and the first name is about to be taken."""
    waiting = [act]

    def before(real: Syscall) -> Syscall:
        def call(*args: object, **named: object) -> object:
            if waiting:
                waiting.pop()()
            return real(*args, **named)

        return call

    monkeypatch.setattr(placing, "exchange_names", before(exchange_names))
    monkeypatch.setattr(os, "rename", before(os.rename))


def replaced(path: Path, text: str) -> None:
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


@pytest.mark.parametrize("how", [replaced, Path.write_text])
@pytest.mark.parametrize("new", ["c\n", None])
def test_what_is_written_at_the_last_moment_is_not_lost(
    repo: Path, monkeypatch: pytest.MonkeyPatch, how: Callable[[Path, str], object], new: str | None
) -> None:
    wanted = [
        change(repo, "b.py", "b\n", new)
        if new is not None
        else make_deletion(repo / "b.py", "b.py", "b\n", TextEncoding()),
        change(repo, "src/a.py", "one\r\ntwo\n", "2"),
    ]
    at_the_last_moment(monkeypatch, lambda: how(repo / "b.py", "theirs\n"))
    with pytest.raises(ToolError, match=r"b\.py has changed"):
        apply(wanted, Roots.of(repo))
    assert files(repo) == {"b.py": b"theirs\n", "src/a.py": b"one\r\ntwo\n"}


@pytest.mark.parametrize("new", ["c\n", None])
def test_a_file_deleted_at_the_last_moment_stays_deleted(
    repo: Path, monkeypatch: pytest.MonkeyPatch, new: str | None
) -> None:
    one = (
        make_deletion(repo / "b.py", "b.py", "b\n", TextEncoding()) if new is None else change(repo, "b.py", "b\n", new)
    )
    at_the_last_moment(monkeypatch, (repo / "b.py").unlink)
    with pytest.raises(ToolError, match=r"b\.py was deleted") as caught:
        apply([one, change(repo, "src/a.py", "one\r\ntwo\n", "2")], Roots.of(repo))
    assert caught.value.code == "STALE"
    assert files(repo) == {"src/a.py": b"one\r\ntwo\n"}


def test_what_is_put_into_a_folder_at_the_last_moment_keeps_it(repo: Path) -> None:
    (repo / "empty").mkdir()
    wanted = [make_folder_change(repo / "empty", "empty", "delete"), change(repo, "b.py", "b\n", "c\n")]
    written = write(wanted, Roots.of(repo))
    (repo / "empty/theirs").write_text("theirs")
    assert written.keep() == ("empty",)
    assert files(repo) == {"b.py": b"c\n", "empty/theirs": b"theirs", "src/a.py": b"one\r\ntwo\n"}


def test_folders_are_put_back_with_the_files_when_something_fails(repo: Path) -> None:
    (repo / "empty").mkdir()
    (repo / "full").mkdir()
    (repo / "full/x").write_text("x")
    made = make_folder_change(repo / "x/y", "x/y", "create", 0o700)
    gone = make_folder_change(repo / "empty", "empty", "delete")
    fails(repo, made, gone, change(repo, "x/y/z", None, "z"), change(repo, "b.py", "other\n", "c"))
    fails(repo, made, gone, make_folder_change(repo / "full", "full", "delete"), change(repo, "b.py", "b\n", "c"))
    fails(repo, made, make_folder_change(repo / "src", "src", "create"))
    fails(repo, make_folder_change(repo / ".git", ".git", "create"), code="DENIED")
    fails(repo, make_folder_change(repo, ".", "delete"), code="OUTSIDE_WORKSPACE")
    fails(repo, make_folder_change(repo.parent / "outside", "outside", "delete"), code="OUTSIDE_WORKSPACE")
    (repo / "link").symlink_to(repo.parent / "outside")
    fails(repo, make_folder_change(repo / "link", "link", "delete"))
    fails(repo, make_folder_change(repo / "link/new", "link/new", "create"))
    written = write([made, gone, change(repo, "x/y/z", None, "z")], Roots.of(repo))
    assert (repo / "x/y").stat().st_mode & 0o777 == 0o700
    written.take_back()
    assert not (repo / "x").exists()
    assert (repo / "empty").is_dir()


def test_a_link_swapped_in_at_the_last_moment_is_not_followed(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = repo.parent / "outside.txt"
    outside.write_text("b\n")

    def swap() -> None:
        (repo / "b.py").unlink()
        (repo / "b.py").symlink_to(outside)

    at_the_last_moment(monkeypatch, swap)
    with pytest.raises(ToolError, match="was replaced"):
        apply([change(repo, "b.py", "b\n", "c\n")], Roots.of(repo))
    assert outside.read_text() == "b\n"
    assert (repo / "b.py").is_symlink()


def test_several_writers_of_one_file_lose_nothing(repo: Path) -> None:
    path = repo / "b.py"
    path.write_text("")
    done: list[str] = []

    def add(name: str) -> None:
        for number in range(12):
            while True:
                old = path.read_text()
                try:
                    apply([change(repo, "b.py", old, f"{old}{name} {number}\n")], Roots.of(repo))
                except ToolError as error:
                    if error.code != "STALE":
                        raise
                else:
                    done.append(f"{name} {number}")
                    break

    threads = [threading.Thread(target=add, args=[name]) for name in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path.read_text().splitlines()) == sorted(done)
    assert len(done) == 36


def test_no_other_process_writes_while_names_are_exchanged(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journals = repo.parent / "journals"
    seen: list[bool] = []

    def is_free() -> bool:
        descriptor = os.open(journals, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True

    def watched(name: str) -> None:
        real = getattr(placing, name)

        def call(*args: object) -> None:
            seen.append(is_free())
            real(*args)

        monkeypatch.setattr(placing, name, call)

    watched("_swap_in")
    watched("_put_back")
    written = write([change(repo, "b.py", "b\n", "c\n")], Roots.of(repo), journals)
    assert seen == [False]
    assert is_free()
    written.take_back()
    assert seen == [False, False]
    assert is_free()
    assert (repo / "b.py").read_text() == "b\n"
