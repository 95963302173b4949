"""The wheel and the source package: what is in them, and that the installed program works without the checkout."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from hatch_build import public_address, urls
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parent.parent


def build(folder: Path, target: str, source: Path = ROOT) -> Path:
    """Build a package of one kind, with the backend that pip would use, and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=PATIENCE)
    (made,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"), "wheel")


def test_the_wheel_has_the_program_its_manual_and_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as package:
        names = set(package.namelist())
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = package.read(about).decode()
        programs = package.read(about.replace("METADATA", "entry_points.txt")).decode()
    pages = {f"north_lsp/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= names
    assert about.replace("METADATA", "licenses/LICENSE") in names
    assert not [name for name in names if name.startswith(("tests/", "vscode-client/", "benchmarks/"))]
    assert "License-Expression: MIT" in metadata
    assert "Description-Content-Type: text/markdown" in metadata
    assert "north-lsp = north_lsp.cli.main:main" in programs


def test_the_source_package_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build(tmp_path / "source", "sdist")) as package:
        package.extractall(tmp_path, filter="data")
    (source,) = (path for path in tmp_path.iterdir() if (path / "pyproject.toml").is_file())
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"} <= set(os.listdir(source))
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(build(tmp_path / "wheel", "wheel", source)) as other:
        assert {row.filename: row.CRC for row in one.infolist()} == {row.filename: row.CRC for row in other.infolist()}


def test_the_installed_wheel_runs_on_its_own(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", place, wheel], check=True, capture_output=True, timeout=PATIENCE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NORTH_")}
    folders = {f"NORTH_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}

    def run(*arguments: str) -> str:
        program = [sys.executable, str(place / "bin" / "north-lsp"), *arguments]
        environ: dict[str, str] = kept | folders | {"PYTHONPATH": str(place), "NORTH_OFFLINE_DELAY_MS": "0"}
        done = subprocess.run(program, capture_output=True, text=True, env=environ, cwd=tmp_path, timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (0, "")
        return str(done.stdout)

    assert run("--version").startswith("north-lsp ")
    assert run("docs", "shell").rstrip() == (ROOT / "docs" / "shell.md").read_text("utf-8").rstrip()
    assert "end_turn" in run("demo", "--yes")


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/o/r.git", "https://github.com/o/r"),
        ("https://github.com/o/r/", "https://github.com/o/r"),
        ("https://user:secret@GitHub.com/o/r.git", "https://github.com/o/r"),
        ("https://git.acme.org:8443/group/sub/r.git", "https://git.acme.org:8443/group/sub/r"),
        ("git@github.com:o/r.git", "https://github.com/o/r"),
        ("git@git.acme.org:/~me/r", "https://git.acme.org/~me/r"),
        ("ssh://git@git.acme.org:2222/o/r.git", "https://git.acme.org/o/r"),
    ],
)
def test_a_public_remote_is_told_by_its_address_without_credentials(remote: str, address: str) -> None:
    assert public_address(remote) == address


@pytest.mark.parametrize(
    "remote",
    [
        "",
        "/srv/git/r.git",
        "../r",
        "file:///srv/git/r.git",
        "C:\\git\\r",
        "http://github.com/o/r",
        "git://github.com/o/r",
        "ext::sh -c true",
        "git@work:o/r.git",
        "https://localhost/o/r",
        "https://127.0.0.1:8000/o/r",
        "https://[::1]/o/r",
        "https://10.0.0.8/o/r",
        "https://git.corp/o/r",
        "https://git.acme.internal/o/r",
        "https://github.com/",
        "https://github.com/o/../r",
        "https://github.com/o/r?token=secret",
        "https://github.com/o/r#secret",
        "https://github.com:port/o/r",
        'https://github.com/o/r"\nX: y',
        "https://user:secret@github.com:secret@evil/o",
    ],
)
def test_a_remote_that_only_some_can_reach_is_not_told(remote: str) -> None:
    assert public_address(remote) is None


def remember(folder: Path, remote: str) -> None:
    """Make a folder a repository with a remote."""
    for command in (["init", "--quiet"], ["remote", "add", "origin", remote]):
        subprocess.run(["git", *command], cwd=folder, check=True, timeout=PATIENCE)


def test_packages_name_the_public_remote_also_when_they_are_made_of_a_source_package(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "hatch_build.py"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    (tmp_path / "README.md").touch()
    (tmp_path / "LICENSE").touch()

    def metadata(folder: Path) -> object:
        command = [sys.executable, "-m", "hatchling", "metadata", "urls"]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=PATIENCE)
        return json.loads(done.stdout)

    assert metadata(tmp_path) == {}
    remember(tmp_path, "https://name:secret@github.com/o/r.git")
    home = {
        "Homepage": "https://github.com/o/r",
        "Repository": "https://github.com/o/r",
        "Issues": "https://github.com/o/r/issues",
    }
    assert metadata(tmp_path) == home
    with tarfile.open(build(tmp_path / "source", "sdist", tmp_path)) as package:
        package.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert metadata(source) == home


def test_a_remote_that_is_no_home_gives_no_addresses(tmp_path: Path) -> None:
    assert urls(tmp_path) == {}
    remember(tmp_path, "/srv/git/r.git")
    assert urls(tmp_path) == {}


def test_where_problems_are_reported_is_told_of_known_hosts_only(tmp_path: Path) -> None:
    remember(tmp_path, "git@git.acme.org:o/r.git")
    assert urls(tmp_path) == {"Homepage": "https://git.acme.org/o/r", "Repository": "https://git.acme.org/o/r"}
