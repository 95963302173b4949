"""The wheel and the source package: what is in them, and that the installed program works without the checkout."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

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
