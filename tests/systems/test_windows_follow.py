"""How links are followed on Windows, with a disk that the test makes up."""

import errno
import ntpath
import os
import stat

import pytest

from north_lsp.workspace.windows_paths import JUNCTION, SYMLINK, Stuck, follow

_CLOUD, _LINUX_LINK = 0x9000001A, 0xA000001D


class Status:
    """What `os.lstat` returns on Windows, as far as it is looked at."""

    def __init__(self, tag: int = 0) -> None:
        self.st_reparse_tag = tag
        self.st_mode = stat.S_IFREG


class Disk:
    """`links` are tags and targets by path."""

    def __init__(self, *names: str, links: dict[str, tuple[int, str]] | None = None) -> None:
        self.links = {path.lower(): row for path, row in (links or {}).items()}
        self.names = {"c:\\", *self.links}
        for name in names:
            here = name
            while here.lower() not in self.names:
                self.names.add(here.lower())
                here = ntpath.dirname(here)
        self.asked: list[str] = []

    def status(self, path: str) -> os.stat_result:
        self.asked.append(path)
        if path.lower() not in self.names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        tag = self.links.get(path.lower(), (0, ""))[0]
        return Status(tag)  # type: ignore[return-value]  # the fields that are looked at

    def follow(self, path: str) -> tuple[str, list[str], tuple[str, ...]]:
        found, missing, names = follow(path, self.status, lambda here: self.links[here.lower()][1])
        return found, [*missing], names


def test_a_path_without_links_stays_as_it_is() -> None:
    disk = Disk("C:\\repo\\src\\a.py")
    assert disk.follow("C:\\repo\\src\\a.py") == ("C:\\repo\\src\\a.py", [], ("C:\\repo\\src\\a.py",))
    assert disk.follow("C:\\repo\\new\\b.py")[:2] == ("C:\\repo", ["new", "b.py"])


@pytest.mark.parametrize("tag", [SYMLINK, JUNCTION])
def test_links_and_junctions_are_followed_to_where_they_lead(tag: int) -> None:
    disk = Disk("C:\\repo", "C:\\secret\\key", links={"C:\\repo\\out": (tag, "\\\\?\\C:\\secret")})
    found, missing, names = disk.follow("C:\\repo\\out\\key")
    assert (found, missing) == ("C:\\secret\\key", [])
    assert names == ("C:\\repo\\out\\key", "C:\\secret\\key")


def test_a_relative_link_is_followed_from_its_folder() -> None:
    disk = Disk("C:\\repo\\src\\a.py", links={"C:\\repo\\lib\\up": (SYMLINK, "..\\src"), "C:\\repo\\lib": (0, "")})
    assert disk.follow("C:\\repo\\lib\\up\\a.py")[0] == "C:\\repo\\src\\a.py"


@pytest.mark.parametrize(
    "target",
    [
        "\\\\?\\UNC\\evil\\share", "\\\\evil\\share", "\\\\?\\Volume{0b1c}\\", "\\??\\GLOBALROOT\\Device\\X",
        "C:relative",
        "\\\\.\\PhysicalDrive0", "\\\\?\\C:\\nowhere", "nul",
    ],
)  # fmt: skip
def test_a_link_to_anything_but_a_place_on_a_drive_is_refused(target: str) -> None:
    disk = Disk("C:\\repo", links={"C:\\repo\\out": (SYMLINK, target)})
    with pytest.raises(Stuck):
        disk.follow("C:\\repo\\out\\x")
    assert not any(path.startswith("\\\\") for path in disk.asked), "another machine was asked"


def test_what_another_system_left_in_the_place_of_a_file_is_refused() -> None:
    disk = Disk("C:\\repo", links={"C:\\repo\\out": (_LINUX_LINK, "/etc")})
    with pytest.raises(Stuck) as stuck:
        disk.follow("C:\\repo\\out")
    assert stuck.value.errno == errno.ELOOP


def test_a_file_that_is_kept_in_a_cloud_is_a_file() -> None:
    disk = Disk("C:\\repo", links={"C:\\repo\\a.txt": (_CLOUD, "")})
    assert disk.follow("C:\\repo\\a.txt")[:2] == ("C:\\repo\\a.txt", [])


def test_a_loop_of_links_ends() -> None:
    disk = Disk("C:\\repo", links={"C:\\repo\\a": (SYMLINK, "b"), "C:\\repo\\b": (SYMLINK, "a")})
    with pytest.raises(Stuck) as stuck:
        disk.follow("C:\\repo\\a")
    assert stuck.value.linked


def test_a_short_name_that_is_not_there_is_not_created() -> None:
    with pytest.raises(Stuck, match="short name"):
        Disk("C:\\repo").follow("C:\\repo\\GIT~1\\config")
    assert Disk("C:\\repo\\PROGRA~1\\a").follow("C:\\repo\\PROGRA~1\\a")[0] == "C:\\repo\\PROGRA~1\\a"


def test_a_link_whose_target_has_a_dishonest_name_is_refused() -> None:
    disk = Disk("C:\\repo\\a", links={"C:\\repo\\out": (SYMLINK, "a:stream")})
    with pytest.raises(Stuck):
        disk.follow("C:\\repo\\out")


def test_what_cannot_be_looked_at_is_refused_with_its_reason() -> None:
    def status(path: str) -> os.stat_result:
        raise PermissionError(errno.EACCES, "Access is denied", path)

    with pytest.raises(Stuck) as stuck:
        follow("C:\\repo\\a", status, lambda _: "")
    assert (stuck.value.errno, stuck.value.linked) == (errno.EACCES, False)
