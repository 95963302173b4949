"""Modules come from one file as they would come from their own, and whatever is wrong with that file does no harm."""

import importlib
import importlib.resources
import inspect
import os
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from north_lsp.server import code_bundle
from north_lsp.server.code_bundle import CodeBundle, write_code_bundle

MODULES = [f"part{number}" for number in range(code_bundle._WORTH_WRITING)]
EARLY = frozenset({"bundled.part1", "bundled.part2", "bundled.part3", "bundled.inner", "bundled.inner.deep"})


class Installed:
    """A package `bundled` in a folder of its own, and the file beside it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.package = folder / "site" / "bundled"
        self.path = folder / "modules.bundle"
        self._monkeypatch = monkeypatch
        (self.package / "inner").mkdir(parents=True)
        for name in ("__init__", "inner/__init__", "inner/deep", *MODULES):
            self.write(name, f"def said() -> str:\n    return {name!r}\n", 1_700_000_000)
        monkeypatch.syspath_prepend(folder / "site")
        monkeypatch.setattr(sys, "dont_write_bytecode", False)

    def write(self, name: str, text: str, seconds: int) -> None:
        path = self.package / f"{name}.py"
        path.write_text(text)
        os.utime(path, (seconds, seconds))

    def start(self) -> CodeBundle:
        """Forget the package, as a new process does, and import from the file."""
        self.forget()
        bundle = CodeBundle(self.path)
        self._monkeypatch.setattr(sys, "meta_path", [bundle, *self._finders()])
        return bundle

    def start_without(self) -> None:
        self.forget()
        self._monkeypatch.setattr(sys, "meta_path", self._finders())

    def forget(self) -> None:
        importlib.invalidate_caches()
        for name in [one for one in sys.modules if one.partition(".")[0] == "bundled"]:
            del sys.modules[name]

    def import_all(self) -> None:
        for name in ("inner.deep", *MODULES):
            self.get(name)

    def get(self, name: str) -> ModuleType:
        return importlib.import_module(f"bundled.{name}")

    def said(self, name: str) -> str:
        return str(self.get(name).said())

    def is_from_the_file(self, name: str) -> bool:
        spec = self.get(name).__spec__
        return spec is not None and isinstance(spec.loader, code_bundle._Loader)

    @staticmethod
    def _finders() -> list[object]:
        return [one for one in sys.meta_path if not isinstance(one, CodeBundle)]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    one = Installed(tmp_path, monkeypatch)
    one.start()
    one.import_all()
    write_code_bundle(EARLY)
    yield one
    one.forget()


def test_the_second_start_takes_the_code_from_the_file(installed: Installed) -> None:
    installed.start()
    assert installed.said("part3") == "part3"
    assert installed.said("inner.deep") == "inner/deep"
    assert all(installed.is_from_the_file(name) for name in ("part3", "inner", "inner.deep"))


def test_a_module_is_what_it_would_be_without_the_file(installed: Installed) -> None:
    made = []
    for start in (installed.start, installed.start_without):
        start()
        deep, inner = installed.get("inner.deep"), installed.get("inner")
        read = importlib.resources.files("bundled.inner").joinpath("deep.py").read_text()
        spec = inner.__spec__
        assert spec is not None
        made.append(
            (
                deep.__file__,
                deep.__cached__,
                deep.__package__,
                list(inner.__path__),
                spec.parent,
                inspect.getsource(deep.said),
                read,
            )
        )
    assert made[0] == made[1]


@pytest.mark.parametrize("seconds", [1_700_000_000, 1_800_000_000])
def test_a_changed_source_counts_and_not_its_old_code(installed: Installed, seconds: int) -> None:
    installed.write("part3", "def said() -> str:\n    return 'another'\n", seconds)
    installed.start()
    assert installed.said("part3") == "another"
    assert not installed.is_from_the_file("part3")
    assert installed.is_from_the_file("part4")


def test_a_package_that_comes_earlier_counts(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first" / "bundled").mkdir(parents=True)
    (tmp_path / "first" / "bundled" / "__init__.py").write_text("")
    (tmp_path / "first" / "bundled" / "part3.py").write_text("def said(): return 'first'\n")
    monkeypatch.syspath_prepend(tmp_path / "first")
    installed.start()
    assert installed.said("part3") == "first"
    with pytest.raises(ImportError):
        installed.get("part4")


@pytest.mark.parametrize("damage", ["empty", "other", "cut", "zeros", "huge", "gone"])
def test_a_damaged_file_does_no_harm(installed: Installed, damage: str) -> None:
    whole = installed.path.read_bytes()
    if damage == "gone":
        installed.path.unlink()
    else:
        beginning = len(whole) // 2
        head = len(code_bundle._MAGIC)
        texts = {
            "empty": b"",
            "other": b"x" * 100,
            "cut": whole[:-50],
            "zeros": whole[:beginning] + bytes(beginning),
            "huge": whole[:head] + b"\xff" * 7 + whole[head + 7 :],  # how long the table is
        }
        installed.path.write_bytes(texts[damage])
    installed.start()
    installed.import_all()
    assert [installed.said(name) for name in MODULES] == MODULES


def _codes(whole: bytes) -> int:
    """Where the table ends and the code begins."""
    head = len(code_bundle._MAGIC)
    return head + 8 + code_bundle._HASH + int.from_bytes(whole[head : head + 8], "little")


def test_what_is_damaged_is_written_again(installed: Installed) -> None:
    whole = installed.path.read_bytes()
    installed.path.write_bytes(whole[: _codes(whole)] + bytes(len(whole) - _codes(whole)))
    installed.start()
    installed.import_all()
    write_code_bundle(EARLY)
    again = installed.start()
    assert all(again.code(f"bundled.{name}") for name in ("inner", "inner.deep", *MODULES))


@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_wrong_byte_changes_nothing(installed: Installed, place: float, byte: int) -> None:
    """Neither what is imported, nor that anything is: what is damaged is not even looked at."""
    whole = installed.path.read_bytes()
    at = int(place * len(whole))
    try:
        installed.path.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
        installed.start()
        installed.import_all()
        assert [installed.said(name) for name in MODULES] == MODULES
    finally:
        installed.path.write_bytes(whole)


def test_a_file_is_closed_before_it_is_replaced(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows replaces no file that is open."""
    for name in MODULES:
        installed.write(name, "def said() -> str:\n    return 'new'\n", 1_800_000_000)
    descriptor = installed.start()._file
    installed.import_all()
    replaced: list[Path] = []

    def replace(new: Path, old: Path) -> None:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
        replaced.append(old)

    monkeypatch.setattr(os, "replace", replace)
    write_code_bundle(EARLY)
    assert replaced == [installed.path]
    assert installed.said("part3") == "new"


def test_it_is_written_again_when_much_is_new(installed: Installed) -> None:
    before = installed.path.read_bytes()
    for name in MODULES:
        installed.write(name, "def said() -> str:\n    return 'new'\n", 1_800_000_000)
    installed.start()
    installed.import_all()
    write_code_bundle(EARLY)
    assert installed.path.read_bytes() != before
    installed.start()
    assert installed.said("part3") == "new"
    assert installed.is_from_the_file("part3")
    assert installed.is_from_the_file("inner.deep")


def test_little_that_is_new_is_not_worth_it(installed: Installed) -> None:
    before = installed.path.stat().st_mtime_ns
    installed.write("part3", "def said() -> str:\n    return 'new'\n", 1_800_000_000)
    installed.start()
    installed.import_all()
    write_code_bundle(EARLY)
    assert installed.path.stat().st_mtime_ns == before


def test_what_a_process_has_loaded_before_stays_out(installed: Installed) -> None:
    installed.path.unlink()
    installed.start_without()
    installed.import_all()
    bundle = CodeBundle(installed.path)
    bundle.write(EARLY)
    assert not installed.path.exists()


def test_what_was_left_half_written_is_removed(installed: Installed) -> None:
    old, new = (installed.path.with_name(f"{installed.path.name}.{number}") for number in (1, 2))
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (1_700_000_000, 1_700_000_000))
    installed.path.unlink()
    installed.start()
    installed.import_all()
    write_code_bundle(EARLY)
    assert not old.exists()
    assert new.exists()


def test_where_nothing_is_new_no_file_is_looked_at(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    installed.start()
    installed.import_all()
    looked: list[str] = []
    monkeypatch.setattr(code_bundle, "_source", looked.append)
    monkeypatch.setattr(Path, "read_bytes", lambda path: looked.append(str(path)))
    write_code_bundle(EARLY)
    assert looked == []


def test_nothing_is_written_where_python_writes_no_byte_code(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.path.unlink()
    installed.start()
    installed.import_all()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    write_code_bundle(EARLY)
    assert not installed.path.exists()


def test_a_folder_that_cannot_be_written_to_is_no_failure(installed: Installed) -> None:
    installed.path.unlink()
    installed.path.mkdir()
    installed.start()
    installed.import_all()
    write_code_bundle(EARLY)
    assert installed.path.is_dir()
    assert list(installed.path.parent.glob("*.bundle.*")) == []


def test_another_finder_is_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        """A finder of a debugger, say, that has no module of its own."""

    other = Other()
    monkeypatch.setattr(sys, "meta_path", [other, PathFinder])
    bundle = code_bundle.read_code_bundle("acp")
    assert sys.meta_path == [other, bundle, PathFinder]
