"""Looks for house idioms in what users and models read: pages, prompts, tables and messages. The list is
`wording.txt`. `python -m tests.support.wording` names each place and the plain words, and fails if there is one."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_suffix(".txt")
_PAGES = (
    "*.md",
    "docs/**/*.md",
    "north_lsp/**/*.md",
    "vscode-client/*.md",
    "nvim-client/*.md",
    "nvim-client/doc/*.txt",
)
_TEXTS = ("vscode-client/l10n/bundle.l10n.json", "vscode-client/package.nls.json")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
_MESSAGE = re.compile(r"\S+ \S+ \S")


@dataclass(frozen=True, slots=True)
class Hit:
    """A place with an idiom; `plain` is what to write instead."""

    path: Path
    line: int
    idiom: str
    plain: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.idiom!r}: write {self.plain}"


@cache
def idioms() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Read the list."""
    rows = (line.partition(" => ") for line in LIST.read_text("utf-8").splitlines() if line and line[0] != "#")
    return tuple((re.compile(wanted.strip(), re.IGNORECASE), plain.strip()) for wanted, _, plain in rows)


def hits() -> Iterator[Hit]:
    """Yield all places of the repository with an idiom."""
    for pattern in _PAGES:
        for path in sorted(ROOT.glob(pattern)):
            if "sample" not in path.parts:
                yield from in_page(path, path.read_text("utf-8"))
    for path in sorted(ROOT.glob("north_lsp/**/*.py")):
        if "sample" not in path.parts:
            yield from in_module(path, path.read_text("utf-8"))
    for name in _TEXTS:
        for text in json.loads((ROOT / name).read_text("utf-8")).values():
            yield from _found(ROOT / name, 1, text)
    for path in sorted(ROOT.glob("nvim-client/**/*.lua")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            for text in _STRING.findall(line.partition(" --")[0]):
                yield from _found(path, number, text)


def in_page(path: Path, text: str) -> Iterator[Hit]:
    """Yield the places of a page, without its code."""
    prose = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for number, line in enumerate(prose.splitlines(), 1):
        yield from _found(path, number, line)


def in_module(path: Path, source: str) -> Iterator[Hit]:
    """Yield the places in a module's messages: its strings of several words that are no docstrings."""
    tree = ast.parse(source)
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in silent:
            continue
        if _MESSAGE.search(node.value):
            yield from _found(path, node.lineno, _CODE.sub(" ", node.value))


def _found(path: Path, line: int, text: str) -> Iterator[Hit]:
    for wanted, plain in idioms():
        for match in wanted.finditer(text):
            yield Hit(path, line, match[0], plain)


def main() -> int:
    """Print all places, and return the exit code."""
    found = list(hits())
    for hit in found:
        sys.stdout.write(f"{hit}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
