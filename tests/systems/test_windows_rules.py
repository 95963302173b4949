"""What Windows makes of names and paths, by their text alone."""

import ntpath
from pathlib import PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.systems.windows import rules
from north_lsp.workspace.windows_paths import from_uri, refused

_ROOTS = (PureWindowsPath("C:\\work\\repo"), PureWindowsPath("\\\\host\\share\\repo"))

_DEVICES = (
    "CON", "con", "PRN", "Aux", "NUL", "nul.txt", "NUL.tar.gz", "con .py", "COM1", "com9.log", "LPT3", "COM\u00b9",
    "lpt\u00b3.x",
    "CONIN$", "conout$", "COM0", "aux.", "clock$",
)  # fmt: skip


@pytest.mark.parametrize("name", _DEVICES)
def test_a_device_is_no_file_whatever_follows_its_name(name: str) -> None:
    assert rules.refused_name(name) is not None
    assert refused(f"src/{name}", _ROOTS) is not None
    assert refused(f"C:\\work\\repo\\{name}\\a.txt", _ROOTS) is not None


@pytest.mark.parametrize("name", ["console", "com", "com10", "null", "a.con", "prn-1", ".aux", "lpt", "COM\u2074"])
def test_a_name_that_only_begins_like_a_device_is_honest(name: str) -> None:
    assert rules.refused_name(name) is None


@pytest.mark.parametrize(
    "path",
    [
        "a.txt:stream", "a.txt::$DATA", ".git::$INDEX_ALLOCATION/config", "a:b/c", "C:foo", "c:", "C:..\\x", "\\x",
        "/etc/passwd",
        "\\\\evil\\share\\x", "//evil/share/x", "\\/evil\\share", "\\\\host\\share\\repo-evil\\a",
        "\\\\host\\share\\repo\\..\\other\\a",
        "\\\\?\\C:\\work\\repo\\a", "\\\\.\\C:\\work\\repo\\a", "//?/C:/work/repo/a",
        "\\\\?\\UNC\\host\\share\\repo\\a", "\\\\.\\pipe\\x",
        "a. ", "a.", "a ", ".git.", ".git /config", "a./b", "a<b", "a|b", 'a"b', "a?b", "a*b", "a\x01b", "b>c",
    ],
)  # fmt: skip
def test_what_only_windows_could_say_the_meaning_of_is_refused(path: str) -> None:
    assert refused(path, _ROOTS) is not None


@pytest.mark.parametrize(
    "path",
    [
        "a.txt", "./a.txt", "../a.txt", "src\\a.txt", "src/a.txt", "C:\\work\\repo\\a.txt", "c:/work/repo/a b.txt",
        "D:\\other\\a.txt",
        "\\\\host\\share\\repo\\a.txt", "//HOST/Share/repo/src/a.txt", ".gitignore", "..a/b", "a..b", "...a", "~/x",
    ],
)  # fmt: skip
def test_a_plain_path_is_left_to_the_workspace(path: str) -> None:
    assert refused(path, _ROOTS) is None


@given(st.text("aB.~:/\\ c?1*", min_size=1, max_size=30))
def test_what_is_not_refused_means_to_windows_what_it_says(path: str) -> None:
    if refused(path, ()) is not None:
        return
    drive, rest = ntpath.splitdrive(path.replace("/", "\\"))
    assert drive == "" or (len(drive) == 2 and rest.startswith("\\"))
    assert ":" not in rest
    for name in rest.split("\\"):
        assert name in ("", ".", "..") or name == name.rstrip(". ")


@given(st.text(max_size=20))
def test_paths_of_the_kernel_and_of_programs_are_the_same(name: str) -> None:
    plain = "C:\\" + name.replace("/", "").replace("\\", "")
    assert rules.without_prefix(rules.native(plain)) == plain
    assert rules.without_prefix("\\\\?\\" + plain) == plain
    share = "\\\\host\\share\\" + name.replace("/", "").replace("\\", "")
    assert rules.without_prefix(rules.native(share)) == share
    assert rules.without_prefix("\\\\?\\UNC\\" + share[2:]) == share


@given(st.text(max_size=20))
def test_names_are_compared_letter_by_letter(name: str) -> None:
    assert len(rules.folded(name)) == len(name)
    assert rules.folded(rules.folded(name)) == rules.folded(name)


def test_no_two_names_that_windows_tells_apart_are_taken_for_one() -> None:
    assert rules.folded("STRASSE") != rules.folded("stra\u00dfe")
    assert rules.folded("README.md") == rules.folded("readme.MD")


@pytest.mark.parametrize("name", ["GIT~1", "git~1", "PROGRA~2", "A~1.TXT", "abcde~12.md", "a~1."])
def test_a_short_name_is_known(name: str) -> None:
    assert rules.may_be_short(name)


@pytest.mark.parametrize("name", ["a~", "~1", "file~1.backup", "verylongname~1", "a~b"])
def test_other_names_with_a_tilde_are_not(name: str) -> None:
    assert not rules.may_be_short(name)


@pytest.mark.parametrize(
    ("uri", "path"), [("/c:/a/b", "c:/a/b"), ("/C:/", "C:/"), ("/a/b", "/a/b"), ("/1:/a", "/1:/a"), ("/c", "/c")]
)
def test_a_uri_begins_with_a_slash_before_its_drive(uri: str, path: str) -> None:
    assert from_uri(uri) == path
