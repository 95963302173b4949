import random
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.errors import ToolError
from north_lsp.workspace.edit.diff import apply_hunks, make_change, unified
from north_lsp.workspace.edit.patch import parse_patch
from north_lsp.workspace.proposal import FileChange, TextEncoding

_LINES = st.lists(st.sampled_from(["", "a", "b", "c\r", "d\u2028e", "\f", "-", "+ x", "\\ No newline"]), max_size=30)
_TEXTS = st.tuples(_LINES, st.sampled_from(["", "\n"])).map(lambda made: "\n".join(made[0]) + made[1])


def change(old: str | None, new: str, name: str = "dir/a.txt") -> FileChange:
    return make_change(Path("/repo", name), name, old, new, TextEncoding())


@given(_TEXTS, _TEXTS)
def test_all_hunks_give_the_new_text_and_none_the_old(old: str, new: str) -> None:
    made = change(old, new)
    assert apply_hunks(old, made.hunks) == new
    assert apply_hunks(old, ()) == old
    assert bool(made.hunks) == (old != new)
    assert new.count("\n") - old.count("\n") in range(
        made.lines_added - made.lines_removed - 1, made.lines_added - made.lines_removed + 2
    )


_LONG = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d\n"]), min_size=10, max_size=80)


@given(st.data(), _LONG, st.booleans())
def test_any_selection_of_hunks_holds_exactly_those(data: st.DataObject, old: list[str], ends: bool) -> None:
    new = [line for line in old for line in data.draw(st.sampled_from([[line]] * 9 + [["x\n"], [], [line, "y\n"]]))]
    new += [] if ends else ["end"]
    made = change("".join(old), "".join(new))
    chosen = [hunk for hunk in made.hunks if data.draw(st.booleans())]
    expected, at = list[str](), 0
    for hunk in chosen:
        start = hunk.old_start - bool(hunk.old_lines)
        begin = hunk.new_start - bool(hunk.new_lines)
        expected += old[at:start] + new[begin : begin + hunk.new_lines]
        at = start + hunk.old_lines
    assert apply_hunks("".join(old), chosen[::-1]) == "".join(expected + old[at:])


def test_a_change_is_shown_as_a_unified_diff() -> None:
    old = "".join(f"{at}\n" for at in range(1, 21))
    made = change(old, old.replace("5\n", "five\n", 1).replace("18\n19\n20\n", "18\n20"))
    assert unified(made) == (
        "--- a/dir/a.txt\n+++ b/dir/a.txt\n"
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        "@@ -16,5 +16,4 @@\n 16\n 17\n 18\n-19\n-20\n+20\n\\ No newline at end of file\n"
    )
    assert [hunk.id for hunk in made.hunks] == ["h1", "h2"]
    assert (made.action, made.lines_added, made.lines_removed) == ("update", 2, 3)


def test_a_new_file_comes_from_dev_null() -> None:
    made = change(None, "a\nb\n")
    assert unified(made) == "--- /dev/null\n+++ b/dir/a.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    assert (made.action, made.old_text, made.lines_added, made.lines_removed) == ("create", None, 2, 0)
    assert change(None, "").hunks == ()
    assert unified(change("x\n", "x\n")) == ""
    assert unified(change("x\n", "")).endswith("@@ -1,1 +0,0 @@\n-x\n")


def test_hunks_that_do_not_fit_are_refused() -> None:
    made = change("a\nb\nc\n", "a\nx\nc\n")
    for text in ("a\nB\nc\n", "", "a\nb\nc", "z\na\nb\nc\n"):
        with pytest.raises(ToolError) as caught:
            apply_hunks(text, made.hunks)
        assert caught.value.code == "STALE"
    with pytest.raises(ToolError):
        apply_hunks("a\nb\nc\n", [*made.hunks, *made.hunks])


def test_git_applies_what_is_shown(tmp_path: Path) -> None:
    chance = random.Random(7)
    for round_ in range(12):
        old = "".join(chance.choice(["a", "b", "c", "", "é"]) + chance.choice(["\n", "\r\n"]) for _ in range(30))
        new = "".join(line for line in old.splitlines(keepends=True) if chance.random() > 0.2) + chance.choice(
            ["", "end"]
        )
        name = f"some file {round_}.txt"
        (tmp_path / name).write_bytes(old.encode())
        patch = unified(change(old, new, name))
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        subprocess.run(command, cwd=tmp_path, input=patch.encode(), check=True)
        assert (tmp_path / name).read_bytes() == new.encode()


def elapsed(old: str, new: str) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        made = change(old, new)
        times.append(time.process_time() - start)
    assert apply_hunks(old, made.hunks) == new
    return min(times)


def test_a_small_change_in_a_large_file_is_found_fast() -> None:
    lines = [f"value_{at} = {at % 97}\n" for at in range(10_000)]
    changed = [*lines[:5000], "changed\n", *lines[5001:]]
    assert elapsed("".join(lines), "".join(changed)) < 0.5
    lines = [f"value_{at} = {at % 97}  # {'x' * 40}\n" for at in range(90_000)]
    changed = [*lines[:30_000], "changed\n", *lines[30_001:]]
    assert len("".join(lines)) > 5_000_000
    assert elapsed("".join(lines), "".join(changed)) < 2


def test_no_input_takes_long() -> None:
    chance = random.Random(3)
    few = ["".join(chance.choice(["a\n", "b\n"]) for _ in range(5_000)) for _ in range(2)]
    many = [f"{at}\n" for at in range(40_000)]
    assert elapsed(*few) < 10
    assert elapsed("".join(many), "".join(chance.sample(many, len(many)))) < 10


def test_far_changes_in_a_large_file_stay_apart() -> None:
    lines = [f"{at}\n" for at in range(60_000)]
    changed = [*lines[:10], "x\n", *lines[10:30_000], *lines[30_001:59_000], "y\n", *lines[59_001:]]
    made = change("".join(lines), "".join(changed))
    assert (len(made.hunks), made.lines_added, made.lines_removed) == (3, 2, 2)


def test_empty_files_of_a_patch_by_git_are_made_and_deleted() -> None:
    patch = (
        "diff --git a/new dir/__init__.py b/new dir/__init__.py\nnew file mode 100644\nindex 0000000..e69de29\n"
        "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\nindex e69de29..0000000\n"
        "diff --git a/one.py b/one.py\nindex 1..2 100644\n--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-x\n+y\n"
    )
    found = [(one.action, one.path, len(one.hunks)) for one in parse_patch(patch)]
    assert found == [("add", "new dir/__init__.py", 0), ("delete", "gone.txt", 0), ("update", "one.py", 1)]


@pytest.mark.parametrize(
    "said",
    [
        "old mode 100644\nnew mode 100755",
        "similarity index 100%\ncopy from x\ncopy to y",
        "index 1..2 100644\nGIT binary patch\nliteral 3",
        "index 1..2 100644\nBinary files a/x and b/x differ",
        "new file mode 120000\nindex 0000000..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+../secret",
    ],
)
def test_what_a_patch_by_git_says_and_cannot_be_done_is_refused_by_name(said: str) -> None:
    with pytest.raises(ToolError, match="of x the patch says"):
        parse_patch(f"diff --git a/x b/x\n{said}\n")
