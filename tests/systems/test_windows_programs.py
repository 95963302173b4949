"""Which file a program's name stands for on Windows."""

import pytest

from north_lsp.systems.windows.programs import command_of, find

_ENVIRON = {
    "Path": 'C:\\Tools;"C:\\With Blank";.;bin;C:relative;\\rooted;\\\\host\\share;C:\\Last',
    "PATHEXT": ".EXE;.CMD",
}


def _find(name: str, *files: str) -> str | None:
    return find(name, _ENVIRON, files.__contains__)


def test_a_program_is_found_on_the_path_in_its_order_and_by_its_endings() -> None:
    assert _find("git", "C:\\Last\\git.exe", "C:\\Tools\\git.cmd") == "C:\\Tools\\git.cmd"
    assert _find("git", "C:\\With Blank\\git.exe") == "C:\\With Blank\\git.exe"
    assert _find("git.exe", "C:\\Last\\git.exe", "C:\\Tools\\git.exe.exe") == "C:\\Last\\git.exe"
    assert _find("git") is None


@pytest.mark.parametrize(
    "place",
    [".\\git.exe", "git.exe", "bin\\git.exe", "C:relative\\git.exe", "\\rooted\\git.exe", "\\\\host\\share\\git.exe"],
)
def test_nothing_is_found_in_the_present_folder_or_on_another_machine(place: str) -> None:
    assert _find("git", place) is None


def test_a_whole_path_is_taken_as_it_is_and_a_part_of_one_is_not() -> None:
    assert _find("D:\\x\\git.exe", "D:\\x\\git.exe") == "D:\\x\\git.exe"
    assert _find("D:\\x\\git", "D:\\x\\git.cmd") == "D:\\x\\git.cmd"
    for name in ("x\\git", "./git", "..\\git", "D:git", "\\\\host\\share\\git"):
        assert find(name, _ENVIRON, lambda path: True) is None


def test_a_configured_command_gets_its_whole_path() -> None:
    assert command_of(["node", "a b", "%x%"], _ENVIRON, {"C:\\Tools\\node.exe"}.__contains__) == [
        "C:\\Tools\\node.exe",
        "a b",
        "%x%",
    ]
    with pytest.raises(FileNotFoundError):
        command_of(["none"], _ENVIRON, lambda path: False)


@pytest.mark.parametrize("argument", ["%PATH%", "a&b", 'a"b', "a|b", "a^b", "a\nb", "!x!", "(a)"])
def test_a_script_gets_no_argument_that_its_interpreter_would_read(argument: str) -> None:
    there = {"C:\\Tools\\npx.cmd"}.__contains__
    assert command_of(["npx", "-y", "server"], _ENVIRON, there) == ["C:\\Tools\\npx.cmd", "-y", "server"]
    with pytest.raises(OSError, match=r"cmd\.exe"):
        command_of(["npx", argument], _ENVIRON, there)
