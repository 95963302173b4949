"""Programs of awk: what passes as harmless changes nothing, by the word of a real awk."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies

from north_lsp.command_policy.awk import awk_problem
from north_lsp.command_policy.parsing import Word

AWK = shutil.which("awk") or ""
_WORDS = (
    "print printf getline system( close( else $1 $0 x y NR ENVIRON length 1 0 ( ) { } [ ] ; , / > >> >= == = + ++ - ~"
)
PIECES = strategies.sampled_from(
    [
        *_WORDS.split(), "!", "&&", "||", "|", "|&", "<", "?", ":", " in ", " ", "\n", "#", "@",
        "if (1) ", "for (k in a) ",
        '"touch made"', '"made"', '"', '/"/', "/x/", "BEGIN {", "END {", 'sub(/a/, "b")',
    ]
)  # fmt: skip


def harmless(program: str) -> bool:
    return awk_problem([Word(program, f"'{program}'")]) is None


def touched(program: str, folder: Path) -> bool:
    """Whether it leaves a file behind, or one of the input changed."""
    (folder / "in").write_text("a b\n")
    subprocess.run(
        [AWK, program, "in"], cwd=folder, capture_output=True, timeout=10, check=False, stdin=subprocess.DEVNULL
    )
    changed = (folder / "in").read_text() != "a b\n"
    names = [path for path in folder.iterdir() if path.name != "in"]
    for path in names:
        path.unlink()
    return changed or bool(names)


@settings(max_examples=400, deadline=None)
@given(strategies.lists(PIECES, min_size=1, max_size=12))
@example(["BEGIN {", "print", " ", "1", ">", '"made"', "}"])
@example(["{", "print", " ", "x", "/", '"', "/", ">", '"made"', ";", "/", '"', "/", "}"])
@example(["{", "if (1) ", '/"/', ";", "print", " ", "1", ">", '"made"', ";", '/"/', "}"])
def test_what_passes_changes_nothing(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    for program in ("".join(pieces), "{" + "".join(pieces) + "}"):
        if harmless(program):
            folder = tmp_path_factory.getbasetemp() / "awk"
            folder.mkdir(exist_ok=True)
            assert not touched(program, folder), program


def test_the_oracle_sees_what_is_written(tmp_path: Path) -> None:
    assert touched('BEGIN { print 1 > "made" }', tmp_path)
    assert touched('{ system("touch made") }', tmp_path)
    assert touched('{ print | "cat > made" }', tmp_path)
    assert not touched("{ print $1 }", tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["-f", "x"],
        ["-fx"],
        ["--file=x"],
        ["-i", "inplace", "1"],
        ["-W", "exec=x"],
        ["-v", "1"],
        ["-v"],
        ["-F"],
        [],
        ["--"],
    ],
)
def test_options_that_run_or_write_something_are_none(words: list[str]) -> None:
    assert awk_problem([Word(word, word) for word in words]) is not None


def test_a_pattern_of_file_names_is_no_program() -> None:
    assert awk_problem([Word("*", "*", is_glob=True)]) is not None
