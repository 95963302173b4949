"""What appeared in the sandbox is moved to another file system as it is, and no link is followed."""

import os
from pathlib import Path

from north_lsp.shell import watch


def moved(base: Path, name: str) -> Path:
    target = base / "target"
    folder = os.open(base / "project", os.O_RDONLY)
    try:
        watch._copy_away(folder, name, target)
    finally:
        os.close(folder)
    assert not os.path.lexists(base / "project" / name)
    return target


def test_a_folder_is_moved_with_its_links_as_links(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden words")
    made = tmp_path / "project/.vscode"
    (made / "sub/closed").mkdir(parents=True)
    (made / "sub/run").write_text("#!/bin/sh")
    (made / "sub/run").chmod(0o755)
    (made / "sub/closed/a").write_text("a")
    (made / "sub/closed").chmod(0)
    (made / "link").symlink_to(secret)
    (made / "folder").symlink_to(tmp_path)
    os.mkfifo(made / "pipe")
    target = moved(tmp_path, ".vscode")
    assert {str(path.relative_to(target)) for path in target.rglob("*")} == {
        "sub", "sub/run", "sub/closed", "sub/closed/a", "link", "folder",
    }  # fmt: skip
    assert (target / "sub/run").read_text() == "#!/bin/sh"
    assert os.access(target / "sub/run", os.X_OK)
    assert os.readlink(target / "link") == str(secret)
    assert (target / "folder").is_symlink()


def test_a_file_and_a_link_are_moved(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/.env").write_text("A=1")
    assert moved(tmp_path, ".env").read_text() == "A=1"
    (tmp_path / "target").unlink()
    (tmp_path / "project/.env").symlink_to("/etc/passwd")
    assert os.readlink(moved(tmp_path, ".env")) == "/etc/passwd"


def test_what_lies_very_deep_is_dropped_and_nothing_fails(tmp_path: Path) -> None:
    made = tmp_path / "project/.vscode"
    made.mkdir(parents=True)
    folder = os.open(made, os.O_RDONLY)
    for _ in range(150):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    source = os.open(tmp_path / "project", os.O_RDONLY)
    watch._copy(source, ".vscode", 0o040700, tmp_path / "target", 100)
    os.close(source)
    assert sum(1 for _ in (tmp_path / "target").rglob("d")) == 99
