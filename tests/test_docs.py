"""The pages name what exists: files, folders, modules and tests; and the map has every room."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("docs/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))])
ROOMS = ("north_lsp", "tests", "docs", "benchmarks", "vscode-client", "nvim-client")
# Files that the pages name as examples of what users have.
USERS_OWN = {"a.py", "hello/greeting.py", "notes/todo.md", ".gitmodules", "relative/path.md"}
USERS_OWN |= {"AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "SYSTEM.md", "APPEND_SYSTEM.md"}
USERS_OWN |= {"MEMORY.md", "memory_summary.md", "notes.md"}

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
_FILE = re.compile(r"[\w./-]+\.(?:py|toml|scm|md|ts|mjs|lua|sh)")
_FOLDER = re.compile(r"[a-z][\w-]*(?:/[\w-]+)*/")
_MODULE = re.compile(r"(?:north_lsp|tests|benchmarks)(?:\.\w+)+")
_TEST = re.compile(r"test_\w+")


def spans(page: Path) -> Iterator[str]:
    """What stands in backticks outside of examples, a command's words one by one."""
    for span in _CODE.findall(_FENCED.sub("", page.read_text("utf-8"))):
        yield from span.split()


@cache
def files() -> frozenset[str]:
    """All files of the rooms and of the top folder, relative to it."""
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for room in ROOMS:
        found += [path for path in (ROOT / room).rglob("*") if path.is_file() and "node_modules" not in path.parts]
    return frozenset(path.relative_to(ROOT).as_posix() for path in found)


@cache
def known_tests() -> frozenset[str]:
    """The names of all tests."""
    sources = (path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return frozenset(name for source in sources for name in re.findall(r"def (test_\w+)\(", source))


def is_known_file(name: str, page: Path) -> bool:
    """From the top folder, the package or the page's folder; a bare name has to be that of one file only."""
    if any((folder / name).is_file() for folder in (ROOT, ROOT / "north_lsp", page.parent)):
        return True
    return "/" not in name and len([one for one in files() if one.rpartition("/")[2] == name]) == 1


def is_missing(span: str, page: Path) -> bool:
    """Whether a word in backticks names something of this repository that is not there."""
    if span in USERS_OWN or span.startswith(("/", "~", ".", "-")):
        return False
    if _TEST.fullmatch(span):
        return span not in known_tests()
    if _FILE.fullmatch(span):
        return not is_known_file(span, page)
    if _MODULE.fullmatch(span):
        place = ROOT / span.replace(".", "/")
        return not (place.is_dir() or place.with_suffix(".py").is_file())
    if span.partition("/")[0] in ROOMS and "/" in span:
        return not (ROOT / span).exists()
    if _FOLDER.fullmatch(span):
        return not any((folder / span).is_dir() for folder in (ROOT, ROOT / "north_lsp"))
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_the_pages_name_exists(page: Path) -> None:
    assert sorted({span for span in spans(page) if is_missing(span, page)}) == []
    links = (link for link in _LINK.findall(_FENCED.sub("", page.read_text("utf-8"))) if "://" not in link)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_pictures_of_the_readme_are_small_and_all_shown() -> None:
    pictures = sorted((ROOT / "docs/images").glob("*.png"))
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.findall(r"!\[[^\]]+\]\((docs/images/[^)]+)\)", readme)  # relative, and with words for those who see none
    assert sorted(shown) == [path.relative_to(ROOT).as_posix() for path in pictures] != []
    for path in pictures:
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG\r\n")
        assert len(data) <= 150 * 1024, path.name


def test_a_name_that_is_gone_would_be_found() -> None:
    page = ROOT / "docs" / "shell.md"
    for gone in ("north_lsp/gone.py", "tools/gone.py", "north_lsp.gone", "agent/gone/", "test_gone", "tests/gone"):
        assert is_missing(gone, page)
    for there in ("tools/base.py", "north_lsp.tools.base", "agent/turn/", "tests/support/guard", "edits.md"):
        assert not is_missing(there, page)


def test_the_map_has_every_room() -> None:
    named = set(spans(ROOT / "docs" / "architecture.md"))
    package = ROOT / "north_lsp"
    rooms = {path.parent.relative_to(package).as_posix() + "/" for path in package.rglob("__init__.py")}
    rooms = {room for room in rooms - {"./"} if not room.startswith("cli/demo/sample/")}
    assert sorted(rooms - named) == []
