"""What is opened lies where it was decided to be, whatever happens to the names meanwhile."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from north_lsp.errors import ToolError
from north_lsp.workspace import opening
from north_lsp.workspace.apply.atomic_exchange import exchange_names
from north_lsp.workspace.files.ignore import IgnoreRules, walk
from north_lsp.workspace.files.listing import list_root
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.formats.pictures import load_picture, load_whole_picture
from north_lsp.workspace.opening import open_folder, open_in_steps, open_real, open_regular
from north_lsp.workspace.pagination import stream_part
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.search.ripgrep import find_ripgrep
from north_lsp.workspace.text import read_text
from tests.support.searching import search

_TRIES = 1500


@pytest.fixture(params=[open_real, open_in_steps])
def opener(request: pytest.FixtureRequest) -> Callable[[str, int], int]:
    found: Callable[[str, int], int] = request.param
    return found


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


@contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Two names of a folder exchanged in a tight loop; the loop runs when this begins."""
    ended, begun = threading.Event(), threading.Event()
    folder = os.open(one.parent, os.O_RDONLY | os.O_DIRECTORY)

    def swap() -> None:
        while not ended.is_set():
            exchange_names(one.name, other.name, folder)
            begun.set()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        begun.wait()
        yield
    finally:
        ended.set()
        thread.join()
        os.close(folder)


def test_a_link_in_any_place_ends_the_opening(base: Path, opener: Callable[[str, int], int]) -> None:
    (base / "in" / "deep").mkdir(parents=True)
    (base / "in" / "deep" / "a").write_text("a")
    (base / "in" / "last").symlink_to("deep/a")
    (base / "way").symlink_to("in")
    os.close(opener(str(base / "in/deep/a"), opening.READ))
    for name in ("in/last", "way/deep/a", "way", "in/deep/../../way/deep/a"):
        with pytest.raises(OSError):
            opener(str(base / name), opening.READ)
    for magic in (f"/proc/self/root{base}/in/deep/a", "/proc/self/cwd", "/dev/fd/0", "/proc/self/fd/0"):
        with pytest.raises(OSError):
            opener(magic, opening.READ)
    os.close(opener("/", opening.FOLDER))


def test_nothing_but_a_regular_file_is_opened_and_nothing_is_waited_for(base: Path) -> None:
    os.mkfifo(base / "pipe")
    (base / "file").touch()
    (base / "link").symlink_to("file")
    os.close(open_regular(base / "file")[0])
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(os.path.relpath(base / "s"))
        for path in (base, base / "pipe", base / "link", base / "s", Path("/dev/null"), Path("/dev/zero")):
            with pytest.raises(ToolError) as caught:
                open_regular(path)
            assert caught.value.code == "INVALID_INPUT"
    for name in ("missing", "file/x"):
        with pytest.raises(ToolError) as caught:
            open_regular(base / name)
        assert caught.value.code == "NOT_FOUND"


@pytest.fixture
def maze(base: Path) -> Path:
    """A project in which `way` is a folder, and `other` leads out, to the same names with other contents."""
    (base / "repo" / "way").mkdir(parents=True)
    (base / "outside").mkdir()
    (base / "repo" / "way" / "a").write_text("inside needle\n")
    (base / "outside" / "a").write_text("outside needle\n")
    (base / "outside" / "b").write_text("outside needle\n")
    (base / "repo" / "other").symlink_to("../outside")
    return base / "repo"


def _content(maze: Path) -> str:
    return read_text(Roots.of(maze).resolve("way/a").path).text


def _part(maze: Path) -> str:
    return "".join(stream_part(Roots.of(maze).resolve("way/a").path, 1, None).lines)


def _picture(maze: Path) -> str:
    return str(load_picture(Roots.of(maze).resolve("way/a").path)).replace("models take", "")


def _found(maze: Path) -> str:
    return str(search(Roots.of(maze), "needle").matches)


def _walked(maze: Path) -> str:
    return str([entry.relative for entry in walk(maze, IgnoreRules.of(maze))]).replace("/b'", "outside")


def _listed(maze: Path) -> str:
    return str(Trees.of(Roots.of(maze)).tree(maze).listing().files).replace("/b'", "outside")


def _entries(maze: Path) -> str:
    with open_folder(maze / "way") as folder:
        return str(os.listdir(folder)).replace("'b'", "outside")


def _top(maze: Path) -> str:
    return str(list_root(maze / "way", IgnoreRules.of(maze / "way"))).replace("'b'", "outside")


@pytest.mark.parametrize("read", [_content, _part, _picture, _found, _walked, _listed, _entries, _top])
def test_a_folder_exchanged_with_a_link_never_leads_out(maze: Path, read: Callable[[Path], str]) -> None:
    with swapping(maze / "way", maze / "other"):
        for _ in range(_TRIES):
            with suppress(ToolError, OSError):
                assert "outside" not in read(maze)


def test_what_ripgrep_counts_behind_a_link_is_not_told(maze: Path) -> None:
    binary = find_ripgrep()
    assert binary is not None
    for number in range(3):
        (maze / "way" / f"more{number}").write_text("needle\n")
        (maze.parent / "outside" / f"more{number}").write_text("needle\nneedle\n")
    with swapping(maze / "way", maze / "other"):
        for _ in range(60):
            counts = search(Roots.of(maze), "needle", limit=0, ripgrep=binary).counts
            assert set(counts.values()) <= {1}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are listed there")
def test_a_folder_or_a_pipe_with_a_picture_s_name_leaves_no_descriptor_open(tmp_path: Path) -> None:
    place = Path(os.path.realpath(tmp_path))
    (place / "a.png").mkdir()
    os.mkfifo(place / "b.png")
    before = len(os.listdir("/proc/self/fd"))
    for name in ("a.png", "b.png"):
        with pytest.raises(OSError, match="it is not a file"):
            load_whole_picture(place / name)
    assert len(os.listdir("/proc/self/fd")) == before
