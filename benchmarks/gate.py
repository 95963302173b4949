"""Measures the cost of the gate for closed files: a read, a list and the judging of an edit in a workspace of many
folders in which nothing changes, and what is checked again after a change. With and without the kernel's change
notices."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from unittest import mock

from north_lsp.workspace.edit.diff import make_change
from north_lsp.workspace.files import change_notices
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.guards.edit_guard import questions
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import TextEncoding

FOLDERS = 3250
ROUNDS = 40
_WIDTH = 65


def make_tree(root: Path, *, closes: bool) -> None:
    for number in range(FOLDERS):
        folder = root / f"package{number // _WIDTH}" / f"part{number % _WIDTH}"
        folder.mkdir(parents=True)
        (folder / "a.py").write_text("text\n")
        (folder / "b.py").write_text("text\n")
    (root / "link").symlink_to("package1")
    if closes:
        (root / ".northignore").write_text("*.key\nsecret/\n")


def milliseconds(work: Callable[[int], object], rounds: int = ROUNDS) -> tuple[float, float]:
    """Return the fastest and the median round."""
    taken = []
    for number in range(rounds):
        started = time.perf_counter()
        work(number)
        taken.append((time.perf_counter() - started) * 1000)
    return min(taken), median(taken)


def measure(root: Path) -> dict[str, tuple[float, float]]:
    def read(number: int) -> None:
        trees.resolve(f"package{number % 50}/part1/a.py")

    def changed(number: int) -> None:
        (root / "package2" / "part2" / f"new{number}.py").write_text("")
        read(number)

    def judge(number: int) -> None:
        path = root / f"package{number}" / "part1" / "a.py"
        questions([make_change(path, str(path.relative_to(root)), "text\n", "other\n", TextEncoding())], trees)

    def first(number: int) -> None:
        Trees.of(Roots.of(root)).resolve(f"package{number}/part1/a.py")

    trees = Trees.of(Roots.of(root))
    rows = {"first read": milliseconds(first, 5)}
    rows["read, nothing changed"] = milliseconds(read)
    rows["read after a new file"] = milliseconds(changed)
    rows["list, nothing changed"] = milliseconds(lambda _: trees.tree(root).listing())
    rows["judging one edit"] = milliseconds(judge)
    return rows


def main() -> None:
    print(f"{FOLDERS} folders, milliseconds: fastest / median")
    print(f"| {'':32} | {'with notices':>15} | {'without':>15} |")
    print(f"|{'-' * 34}|{'-' * 17}|{'-' * 17}|")
    for closes in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            make_tree(root, closes=closes)
            time.sleep(2.1)  # folders that were just made are read again each time
            told = measure(root)
            with mock.patch.object(change_notices, "_source", return_value=None):
                looked = measure(root)
        for name, row in told.items():
            what = f"{name}, {'a list' if closes else 'no list'}"
            print(f"| {what:32} | {row[0]:6.2f} / {row[1]:6.2f} | {looked[name][0]:6.2f} / {looked[name][1]:6.2f} |")


if __name__ == "__main__":
    main()
