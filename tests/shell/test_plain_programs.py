"""Which shell runs commands on Windows, and what it is told."""

from collections.abc import Mapping

import pytest

from north_lsp.shell.plain.programs import Program, find_program

_SYSTEM = {
    "SYSTEMROOT": "C:\\Windows",
    "ProgramFiles": "C:\\Program Files",
    "LOCALAPPDATA": "C:\\Users\\me\\AppData\\Local",
}
_GIT_BASH = "C:\\Program Files\\Git\\bin\\bash.exe"
_OLD = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"


def _found(on_path: Mapping[str, str], *files: str, wanted: str | None = None) -> Program | None:
    there = {*files, *on_path.values()}
    return find_program(wanted, _SYSTEM, on_path.get, there.__contains__)


@pytest.mark.parametrize("git", ["cmd\\git.exe", "bin\\git.exe", "mingw64\\bin\\git.exe"])
def test_the_bash_beside_git_is_found_wherever_git_is(git: str) -> None:
    bash = "D:\\Tools\\Git\\bin\\bash.exe"
    assert _found({"git": f"D:\\Tools\\Git\\{git}"}, bash, _OLD) == Program("bash", bash)


def test_git_is_looked_for_where_it_is_installed_even_if_it_is_not_on_the_path() -> None:
    assert _found({}, _GIT_BASH, _OLD) == Program("bash", _GIT_BASH)


@pytest.mark.parametrize(
    "wsl", ["C:\\Windows\\System32\\bash.exe", "C:\\Users\\me\\AppData\\Local\\Microsoft\\WindowsApps\\bash.exe"]
)
def test_a_bash_that_runs_commands_in_another_system_is_none(wsl: str) -> None:
    assert _found({"bash": wsl}, _OLD) == Program("powershell", _OLD)


def test_powershell_comes_next_the_new_one_first() -> None:
    assert _found({"pwsh": "C:\\pwsh\\pwsh.exe"}, _OLD) == Program("powershell", "C:\\pwsh\\pwsh.exe")
    assert _found({}, _OLD) == Program("powershell", _OLD)
    assert _found({}) is None


@pytest.mark.parametrize(
    ("wanted", "kind"),
    [
        ("C:\\msys64\\usr\\bin\\bash.exe", "bash"),
        ("C:\\pwsh\\PWSH.exe", "powershell"),
        ("C:\\Windows\\System32\\cmd.exe", "cmd"),
    ],
)
def test_the_setting_decides_if_its_file_is_there(wanted: str, kind: str) -> None:
    found = _found({}, wanted, _GIT_BASH, wanted=wanted)
    assert found is not None
    assert (found.kind, found.path) == (kind, wanted)
    assert _found({}, _GIT_BASH, wanted=wanted) is None


def test_git_in_the_root_of_a_drive_is_no_reason_to_look_there() -> None:
    assert _found({"git": "D:\\git.exe"}, "D:\\bin\\bash.exe", _OLD) == Program("powershell", _OLD)


def test_shells_are_named() -> None:
    names = ("C:\\a\\bash.exe", "C:\\a\\pwsh.exe", _OLD, "C:\\a\\cmd.exe")
    kinds = ("bash", "powershell", "powershell", "cmd")
    told = [Program(kind, name).words for kind, name in zip(kinds, names, strict=True)]  # type: ignore[arg-type]
    assert told == ["Git Bash", "PowerShell", "Windows PowerShell", "cmd.exe"]


def test_a_command_is_in_a_file_of_its_own_and_never_in_an_argument() -> None:
    command = "echo \"it's\"; echo $(x) %PATH% & '"
    for kind in ("bash", "powershell", "cmd"):
        program = Program(kind, "C:\\x.exe")
        script, where = "C:\\Users\\O'Neill x\\command.y", "C:\\Users\\O'Neill x\\directory"
        assert command not in " ".join(program.argv(script))
        assert command.encode() not in program.around(script, where)
        assert command.encode() in program.own(command)


def test_quotes_in_paths_are_no_commands() -> None:
    script, where = "C:\\O'Neill\\command.sh", "C:\\O'Neill\\directory"
    told = Program("bash", "bash.exe").around(script, where).decode()
    assert ". 'C:/O'\\''Neill/command.sh'" in told
    told = Program("powershell", "pwsh.exe").around(script, where).decode("utf-8-sig")
    assert ". 'C:\\O''Neill\\command.sh'" in told
    assert "WriteAllText('C:\\O''Neill\\directory'" in told


def test_windows_powershell_reads_text_by_its_mark() -> None:
    program = Program("powershell", _OLD)
    assert program.own("echo ä").startswith(b"\xef\xbb\xbf")
    assert program.around("a", "b").startswith(b"\xef\xbb\xbf")
    assert Program("cmd", "cmd.exe").own("a\nb") == b"@echo off\r\na\r\nb\r\n"
    assert Program("bash", "bash.exe").own("a\r\nb") == b"a\nb\n"
