import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from north_lsp.storage.approvals import Approvals
from north_lsp.storage.locations import Locations

Child = Callable[..., Any]
HASH = "0123456789abcdef"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def approvals(store: Locations, root: Path) -> Approvals:
    return Approvals(store, HASH, root)


def own(store: Locations) -> Path:
    return store.project(HASH) / "approvals.json"


def test_nothing_is_allowed_and_nothing_written_at_first(approvals: Approvals, store: Locations, root: Path) -> None:
    assert not approvals.edits_auto_accepted()
    assert not approvals.shell_auto_approved()
    assert not approvals.command_allowed("ls")
    assert not approvals.command_allowed("")
    assert not store.data.exists()
    assert list(root.iterdir()) == []


def test_an_allowed_command_is_allowed_exactly_and_for_later_sessions(
    approvals: Approvals, store: Locations, root: Path
) -> None:
    approvals.allow_command("  pnpm test\n")
    for one in (approvals, Approvals(store, HASH, root)):
        assert one.command_allowed("pnpm test ")
        for other in ("pnpm", "pnpm test -x", "pnpm  test", "PNPM test", "pnpm test; rm x"):
            assert not one.command_allowed(other)
    assert json.loads((root / ".north/allowlist.json").read_text()) == {"allowedCommands": ["pnpm test"]}
    stored = json.loads(own(store).read_text())
    assert (stored["version"], list(stored["allowed"]), list(stored["allowed"]["pnpm test"])) == (
        1,
        ["pnpm test"],
        ["at"],
    )
    assert stat.S_IMODE(own(store).stat().st_mode) == 0o600
    assert own(store).read_bytes().endswith(b"}\n")


def test_an_empty_command_cannot_be_allowed(approvals: Approvals) -> None:
    with pytest.raises(ValueError):
        approvals.allow_command(" \n")


def test_switches_go_on_and_off_by_themselves(approvals: Approvals, store: Locations, root: Path) -> None:
    approvals.enable_edits_auto_accept()
    assert approvals.edits_auto_accepted()
    assert not approvals.shell_auto_approved()
    approvals.enable_shell_auto_approve()
    approvals.disable_edits_auto_accept()
    again = Approvals(store, HASH, root)
    assert not again.edits_auto_accepted()
    assert again.shell_auto_approved()
    assert json.loads((root / ".north/autoaccept.json").read_text()) == {
        "editsAutoAccept": False,
        "shellAutoApprove": True,
    }
    approvals.disable_shell_auto_approve()
    assert not again.shell_auto_approved()
    assert approvals.write_error is None


def test_files_that_came_with_the_repository_allow_nothing(approvals: Approvals, root: Path) -> None:
    (root / ".north").mkdir()
    (root / ".north/allowlist.json").write_text('{"allowedCommands": ["make"]}')
    (root / ".north/autoaccept.json").write_text('{"editsAutoAccept": true, "shellAutoApprove": true}')
    assert not approvals.command_allowed("make")
    assert not approvals.edits_auto_accepted()
    assert not approvals.shell_auto_approved()


def test_what_the_project_file_no_longer_says_is_no_longer_allowed(approvals: Approvals, root: Path) -> None:
    approvals.allow_command("make")
    approvals.enable_shell_auto_approve()
    (root / ".north/allowlist.json").unlink()
    (root / ".north/autoaccept.json").write_text("{}")
    assert not approvals.command_allowed("make")
    assert not approvals.shell_auto_approved()


@pytest.mark.parametrize("value", ['"yes"', "1", "{}", "[true]", "null", '{"value": "true"}'])
def test_only_true_is_true(approvals: Approvals, store: Locations, root: Path, value: str) -> None:
    approvals.enable_edits_auto_accept()
    project = root / ".north/autoaccept.json"
    good = project.read_text()
    project.write_text(f'{{"editsAutoAccept": {value}}}')
    assert not approvals.edits_auto_accepted()
    project.write_text(good)
    own(store).write_text(f'{{"editsAutoAccept": {value}}}')
    assert not approvals.edits_auto_accepted()


def test_other_keys_and_entries_survive_a_change(approvals: Approvals, store: Locations, root: Path) -> None:
    (root / ".north").mkdir()
    (root / ".north/allowlist.json").write_text('{"rules": [{"words": ["git"]}], "allowedCommands": ["a", 7]} // x')
    own(store).parent.mkdir(parents=True)
    own(store).write_text('{"version": 1, "fetchHosts": ["h"], "allowed": {"a": {"at": "t", "lastUsed": "u"}}}')
    approvals.allow_command("b")
    project = json.loads((root / ".north/allowlist.json").read_text())
    assert project == {"rules": [{"words": ["git"]}], "allowedCommands": ["a", 7, "b"]}
    stored = json.loads(own(store).read_text())
    assert stored["fetchHosts"] == ["h"]
    assert stored["allowed"]["a"] == {"at": "t", "lastUsed": "u"}
    assert approvals.command_allowed("a")


@pytest.mark.parametrize("junk", ["", "{torn", "[]", '{"allowedCommands": "make", "allowed": ["make"]}', "\xff"])
def test_an_unreadable_file_counts_as_empty_and_is_kept_when_it_is_replaced(
    approvals: Approvals, store: Locations, root: Path, junk: str
) -> None:
    own(store).parent.mkdir(parents=True)
    (root / ".north").mkdir()
    for path in (own(store), root / ".north/allowlist.json"):
        path.write_text(junk, "latin-1")
    assert not approvals.command_allowed("make")
    assert not approvals.edits_auto_accepted()
    approvals.allow_command("make")
    assert approvals.command_allowed("make")
    for folder in (own(store).parent, root / ".north"):
        (kept,) = (path for path in folder.iterdir() if ".bad-" in path.name)
        assert kept.read_text("latin-1") == junk
    assert approvals.take_aside() is not None
    assert approvals.take_aside() is None


def test_a_file_of_a_newer_version_allows_nothing_and_is_not_written(
    approvals: Approvals, store: Locations, root: Path
) -> None:
    approvals.allow_command("make")
    newer = own(store).read_text().replace('"version": 1', '"version": 2')
    own(store).write_text(newer)
    assert not approvals.command_allowed("make")
    approvals.allow_command("make")
    assert own(store).read_text() == newer
    assert approvals.write_error is not None
    assert approvals.command_allowed("make")
    assert not Approvals(store, HASH, root).command_allowed("make")


def test_a_linked_project_file_is_replaced_not_followed(approvals: Approvals, root: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text('{"allowedCommands": ["a"]}')
    (root / ".north").mkdir()
    (root / ".north/allowlist.json").symlink_to(tmp_path / "precious")
    approvals.allow_command("make")
    assert (tmp_path / "precious").read_text() == '{"allowedCommands": ["a"]}'
    assert not (root / ".north/allowlist.json").is_symlink()
    assert approvals.command_allowed("make")


def test_a_linked_project_folder_is_not_written_through(
    approvals: Approvals, store: Locations, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (root / ".north").symlink_to(tmp_path / "outside")
    approvals.enable_edits_auto_accept()
    approvals.allow_command("make")
    assert list((tmp_path / "outside").iterdir()) == []
    assert approvals.write_error is not None
    assert approvals.edits_auto_accepted()  # for this session: the user said so
    assert approvals.command_allowed("make")
    approvals.disable_edits_auto_accept()
    assert not approvals.edits_auto_accepted()
    assert not Approvals(store, HASH, root).command_allowed("make")


def test_a_pipe_in_the_repository_does_not_hang_the_question(approvals: Approvals, root: Path) -> None:
    (root / ".north").mkdir()
    os.mkfifo(root / ".north/allowlist.json")
    assert not approvals.command_allowed("make")


def test_two_processes_adding_at_once_lose_nothing(store: Locations, root: Path, child: Child) -> None:
    processes = [
        child(f"""
from north_lsp.storage.approvals import Approvals
approvals = Approvals(store, {HASH!r}, Path({str(root)!r}))
sys.stdin.readline()
for number in range(25):
    approvals.allow_command(f"{name} {{number}}")
assert approvals.write_error is None
""")
        for name in ("one", "two")
    ]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.wait() for process in processes] == [0, 0]
    approvals = Approvals(store, HASH, root)
    assert all(approvals.command_allowed(f"{name} {number}") for name in ("one", "two") for number in range(25))
