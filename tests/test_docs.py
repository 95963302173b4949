"""The pages name what exists: files, folders, modules, tests, settings, messages; the map has every room; the manual is
built as a site, with every page in it."""

import ast
import configparser
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from north_lsp.cli.arguments import parser
from north_lsp.command_policy.rules import propose
from north_lsp.slash.registry import Commands
from north_lsp.storage.setting import declared
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_reader import NOT_HERE
from tests.command_policy.test_rules import asks, make_place
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))])
FOR_USERS = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "vscode-client/README.md", ROOT / "nvim-client/README.md"]
ROOMS = ("north_lsp", "tests", "docs", "benchmarks", "vscode-client", "nvim-client")
# Files that the pages name as examples of what users have.
USERS_OWN = {"a.py", "hello/greeting.py", "notes/todo.md", ".gitmodules", "relative/path.md"}
USERS_OWN |= {"AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "SYSTEM.md", "APPEND_SYSTEM.md"}
USERS_OWN |= {"tests/test_a.py", "tests/test_b.py", "north_lsp-0.1.0-py3-none-any.whl"}
USERS_OWN |= {"MEMORY.md", "memory_summary.md", "notes.md"}

BUNDLED = ROOT / "north_lsp" / "agent" / "templates" / "bundled"
_WITH_OTHER_SLASHES = ("protocol.md", "commands.md", "reading.md")  # methods, own commands, addresses

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^ *```(?:sh|yaml|yml)$(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
_ANCHOR = re.compile(r"\]\(([^)#\s:]*)#([^)\s]+)\)")
_FILE = re.compile(r"[\w./-]+\.(?:py|toml|scm|md|ts|mjs|lua|sh)")
_FOLDER = re.compile(r"[a-z][\w-]*(?:/[\w-]+)*/")
_MODULE = re.compile(r"(?:north_lsp|tests|benchmarks)(?:\.\w+)+")
_TEST = re.compile(r"test_\w+")
_CLASS = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)*")
_CONSTANT = re.compile(r"_?[A-Z]{2,}(?:_[A-Z]+)*")


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_the_pages_name_exists(page: Path) -> None:
    assert sorted({span for span in spans(page) if is_missing(span, page)}) == []
    links = (link for link in _LINK.findall(_FENCED.sub("", page.read_text("utf-8"))) if "://" not in link)
    assert [link for link in links if not (page.parent / link).exists()] == []


def anchors(page: Path) -> set[str]:
    """What links can name the headings of a page by."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    shown = (re.sub(r"\]\([^)]*\)", "", heading).lower() for heading in headings)
    return {re.sub(r"[^\w -]", "", heading).strip().replace(" ", "-") for heading in shown}


def test_links_to_headings_lead_to_one() -> None:
    broken: list[str] = []
    for page in FOR_USERS:
        for link, anchor in _ANCHOR.findall(_FENCED.sub("", page.read_text("utf-8"))):
            target = page.parent / link if link else page
            if not target.is_file() or anchor not in anchors(target):
                broken.append(f"{page.name}: {link}#{anchor}")
    assert broken == []
    assert "on-windows" in anchors(ROOT / "docs" / "shell.md")


def test_the_names_in_the_lists_of_files_to_touch_exist() -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8").partition("\n## How do I")[2].partition("\n## ")[0]
    named = {span for span in _CODE.findall(text) if _CLASS.fullmatch(span) or _CONSTANT.fullmatch(span)}
    assert {"ContextPromoted", "EXTENSION_METHODS"} <= named
    sources = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "north_lsp").rglob("*.py")))
    words = set(re.findall(r"\w+", sources))
    assert sorted(named - words) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_paragraph_or_cell_is_longer_than_130_words(page: Path) -> None:
    """What is longer is a list or a table, in which one fact can be found."""
    lines = _FENCED.sub("", page.read_text("utf-8")).splitlines()
    parts = [part for line in lines for part in (line.split(" | ") if line.startswith("|") else [line])]
    assert [part[:60] for part in parts if len(part.split()) > 130] == []


def test_every_page_is_in_the_site_once_and_it_is_built(tmp_path: Path) -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    listed = sorted(re.findall(r"[\w/-]+\.md", json.dumps(nav)))
    there = sorted(page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md"))
    assert listed == there, "each page of docs/ belongs in `nav` of mkdocs.yml, under the reader it is for"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "site" / "trust" / "privacy.html").is_file()


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in _LINK.findall(index.read_text("utf-8"))}
    assert sorted(page.name for page in {*ROOT.glob("docs/**/*.md")} - linked - {index}) == []


@cache
def messages() -> str:
    """Everything that the server and its clients can say, one string a line."""
    parts: list[str] = []
    for path in (ROOT / "north_lsp").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                parts.append(node.value)
    for folder, ending in (("vscode-client/src", "ts"), ("nvim-client/lua", "lua")):
        parts += [path.read_text("utf-8") for path in (ROOT / folder).rglob(f"*.{ending}")]
    return "\n".join(parts)


def test_troubleshooting_has_messages_as_they_are() -> None:
    text = (ROOT / "docs" / "help" / "troubleshooting.md").read_text("utf-8")
    said = messages()
    headings = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert len(headings) > 20
    parts = [part.strip(" ().;:") for heading in headings for part in heading.split("…")]
    assert [part for part in parts if part and part not in said] == []


def commands_of(page: Path) -> Iterator[list[str]]:
    """The command lines of North's program in a page's examples, as words."""
    for example in _SHELL.findall(page.read_text("utf-8")):
        for line in re.findall(r"^(?:\S+ && |# )?(?:\.venv/bin/)?north-lsp (.+)$", example, re.MULTILINE):
            yield shlex.split(re.split(r" [<>|] ", line)[0], comments=True)


def test_commands_in_examples_are_understood() -> None:
    found = [words for page in PAGES for words in commands_of(page)]
    assert len(found) > 40
    for words in found:
        assert {"--help", "--version"} & {*words} or parser().parse_args(words)


def test_settings_that_pages_name_exist() -> None:
    keys = {name for row in declared(Settings).values() for name in row.setting.names} | NOT_HERE.keys()
    groups = {key.partition(".")[0] for key in keys if "." in key}
    others = {"auth.status", "auth.terminal", "bash.exe", "context.settings"}  # of ACP, of Windows, in code
    for page in FOR_USERS:
        for span in spans(page):
            is_key = re.fullmatch(r"[a-z_]+(\.[a-z][A-Za-z]+)+", span) and not span.endswith(
                (".json", ".yml", ".md", ".bak")
            )
            if is_key and span.partition(".")[0] in groups and span not in others:
                assert span in keys, (page.name, span)


def test_commands_of_the_clients_that_pages_name_exist() -> None:
    titles = set(json.loads((ROOT / "vscode-client" / "package.nls.json").read_text("utf-8")).values())
    lua = (ROOT / "nvim-client" / "lua" / "north" / "command.lua").read_text("utf-8")
    named: set[str] = set()
    for page in ROOT.glob("docs/**/*.md"):
        text = _FENCED.sub("", page.read_text("utf-8"))
        named |= set(re.findall(r"\*North: ([^*]+)\*", text))
        for word in re.findall(r":North ([a-z]+)", text):
            assert re.search(rf"\b{word} = |\"{word}\"", lua), (page.name, word)
    assert len(named) > 3
    actions = {name for name in named if f"North: {name}" in messages()}  # of the chat of plain LSP editors
    assert sorted(named - titles - actions) == []


def test_slash_commands_that_pages_name_exist() -> None:
    known = {command.name for command in Commands().all()} | {path.stem for path in BUNDLED.glob("*.md")}
    unknown: set[str] = set()
    for page in (page for page in PAGES if page.name not in _WITH_OTHER_SLASHES):
        text = _FENCED.sub("", page.read_text("utf-8"))
        unknown |= {
            f"{page.name}: {name}"
            for name in re.findall(r"`/([a-z]+)(?=[` ])", text)
            if name not in known | {"proc", "tmp"}
        }
    assert sorted(unknown) == []


def test_the_page_about_turns_has_every_slash_command() -> None:
    text = (ROOT / "docs" / "turns.md").read_text("utf-8")
    assert [one.name for one in Commands().all() if not re.search(rf"`/{one.name}\b", text)] == []


def test_the_examples_of_rules_are_true(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "use" / "approvals.md").read_text("utf-8").partition("## Examples of rules")[2]
    place = make_place(tmp_path, contained=True)
    for folder, file in (("tests", "test_a.py"), ("tests", "test_b.py"), ("src", "a.py")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / file).touch()
    rows = [re.split(r"(?<!\\)\|", line)[1:4] for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 3
    for cells in rows:
        (allowed,), runs, asked = ([one.replace("\\|", "|") for one in _CODE.findall(cell)] for cell in cells)
        rule = propose(allowed, place)
        assert rule is not None
        assert [command for command in runs if asks(command, [rule], place) is not None] == []
        assert [command for command in asked if asks(command, [rule], place) is None] == []


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


def layers_of(contract: str) -> list[set[str]]:
    """The layers of a contract of imports, from above."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    lines = contracts[f"importlinter:contract:{contract}"]["layers"].strip().splitlines()
    return [set(line.split(" | ")) for line in lines]


def test_the_map_has_the_order_of_the_contracts() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    packages = text.partition("in this order: ")[2].partition(", and at the bottom")[0].split(", ")
    bottom = text.partition(", and at the bottom")[2].partition("`.importlinter`")[0]
    named = {re.sub(r"\.py$|/$", "", name) for name in _CODE.findall(bottom)}
    layers = layers_of("layers")
    assert [set(one.split(" | ")) for one in packages] + [named] == [*layers[:-2], layers[-2] | layers[-1]]

    rows = re.findall(r"^\| `agent/(\w+)/` \|", text, re.MULTILINE)
    place = {room: place for place, rooms in enumerate(layers_of("agent")) for room in rooms}
    assert sorted(rows) == sorted(place)
    assert rows == sorted(rows, key=place.__getitem__)


NVIM = ROOT / "nvim-client"
NVIM_PAGES = ("README.md", "doc/north.txt")


@pytest.mark.parametrize("name", NVIM_PAGES)
def test_the_plugins_pages_have_every_option_with_its_default(name: str) -> None:
    config = (NVIM / "lua" / "north" / "config.lua").read_text("utf-8")
    defaults = config.partition("local defaults = {")[2].partition("\n}\n")[0]
    options = re.findall(r"^ +(\w+) = ([^{\n]+),$", defaults, re.MULTILINE)
    assert len(options) > 25
    page = (NVIM / name).read_text("utf-8")
    assert [f"{key} = {value}" for key, value in options if f"{key} = {value}" not in page] == []


@pytest.mark.parametrize("name", NVIM_PAGES)
def test_the_plugins_pages_have_every_command(name: str) -> None:
    lua = (NVIM / "lua" / "north" / "command.lua").read_text("utf-8")
    commands = set(re.findall(r"^  \[?\"?([a-z]+)\"?\]? = (?=function|\{|[a-z])", lua, re.MULTILINE))
    assert {"review", "attach", "thinking"} <= commands
    page = re.sub(r"\s+", " ", (NVIM / name).read_text("utf-8"))
    assert sorted(one for one in commands if not re.search(rf"\bNorth (?:\w+, )*{one}\b", page)) == []


def test_the_table_of_editors_in_the_readme_has_each_of_their_pages() -> None:
    table = (ROOT / "README.md").read_text("utf-8").partition("## Your editor")[2].partition("\n## ")[0]
    about_all = {"install.md", "keys.md", "platforms.md"}
    pages = sorted(page.name for page in ROOT.glob("docs/start/*.md") if page.name not in about_all)
    assert [page for page in pages if f"(docs/start/{page}" not in table] == []
