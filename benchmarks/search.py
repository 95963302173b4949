"""Searching, listing and outlines on a generated tree of 100,000 files, against ripgrep and git called directly.

Every figure is the fastest of several rounds; a ratio compares it to the other program on the same tree. The programs
take turns, so that other load on the machine affects both.
"""

import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from tree_sitter import Parser

from north_lsp.workspace.files.fuzzy import FuzzyIndex
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.search.request import Expression, Means
from north_lsp.workspace.search.ripgrep import find_ripgrep
from north_lsp.workspace.search.search import search
from north_lsp.workspace.structure import parsing
from north_lsp.workspace.structure.grammars import grammar
from north_lsp.workspace.structure.parsing import structure_of
from north_lsp.workspace.structure.views import outline

FILES = 100_000
ROUNDS = 7
_WORDS = (
    *("alpha", "beta", "gamma", "value", "return", "import", "result", "index", "config"),
    *("request", "response", "handler", "buffer", "token", "parser"),
)
_PARTS = ["src", "lib", "core", "app", "util", "tests", "pkg"]


def make_tree(root: Path, files: int = FILES) -> None:
    """Write sources of made-up words, ten to a folder, in a git repository with an ignore file."""
    chance = random.Random(1)
    (root / ".gitignore").write_text("*.log\n/out/\n*.py[co]\n.env\n")
    made = 0
    while made < files:
        folder = root / "/".join(f"{chance.choice(_PARTS)}{chance.randrange(12)}" for _ in range(chance.randint(1, 4)))
        folder.mkdir(parents=True, exist_ok=True)
        for _ in range(10):
            lines = [" ".join(chance.choices(_WORDS, k=chance.randint(1, 9))) for _ in range(chance.randint(5, 80))]
            if made % (files // 10) == 0:
                lines.append("needleInHaystack")
            name = f"{chance.choice(_WORDS)}_{made}.{chance.choice(['py', 'ts', 'rs', 'go', 'md', 'json'])}"
            (folder / name).write_text("\n".join(lines) + "\n")
            made += 1
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "add", "-A"], check=True)


def python_file(lines: int = 10_000) -> str:
    """Return sources of the standard library, one after the other."""
    library = Path(sysconfig.get_path("stdlib"))
    text = "".join(path.read_text("utf-8") for path in sorted((library / "asyncio").glob("*.py")))
    return "\n".join(text.split("\n")[:lines]) + "\n"


def first_outline(text: str) -> object:
    parsing.forget()
    return outline(structure_of("python", text), [])


def fuzzy(trees: Trees, root: Path, query: str) -> list[str]:
    return trees.tree(root).fuzzy().find(query)


def best(*works: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Return the seconds of the fastest round of each."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, taken in zip(works, times, strict=True):
            started = time.perf_counter()
            work()
            taken.append(time.perf_counter() - started)
    return [min(taken) for taken in times]


def show(
    name: str,
    work: Callable[[], object],
    others: Mapping[str, Callable[[], object]] | None = None,
    *,
    rounds: int = ROUNDS,
) -> None:
    others = others or {}
    ours, *theirs = best(work, *others.values(), rounds=rounds)
    compared = zip(others, theirs, strict=True)
    ratios = ", ".join(f"{ours / seconds:.2f} x {other} ({seconds * 1000:.0f} ms)" for other, seconds in compared)
    print(f"{name:34} {ours * 1000:8.1f} ms   {ratios}")


def show_processor_time(name: str, work: Callable[[], object]) -> None:
    """Print what the fastest round took of the processor, which other load does not lengthen much."""
    times = []
    for _ in range(2 * ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    print(f"{name:34} {min(times) * 1000:8.1f} ms of the processor")


def run(command: list[str], root: Path) -> Callable[[], object]:
    return lambda: subprocess.run(command, cwd=root, capture_output=True, check=False)


def main() -> None:
    binary = find_ripgrep()
    if binary is None:
        sys.exit("there is no ripgrep")
    with tempfile.TemporaryDirectory(dir=os.environ.get("NORTH_BENCH_DIR")) as folder:
        root = Path(folder).resolve()
        make_tree(root)
        roots = Roots.of(root)
        rg = str(binary)
        listing = run([rg, "--files"], root)
        show("first list of all files", lambda: Trees.of(roots).tree(root).listing(), {"rg --files": listing})
        few = Trees.of(roots).tree(root).listing().files[:50_000]
        index = FuzzyIndex.of(few)
        for query in ("e", "st", "handler", "src3/lib", "hndlr49", "tsrlpx", "nnnnnn", "zzzz"):
            show_processor_time(f"50,000 files by {query!r}", partial(index.find, query))
        trees = Trees.of(roots)
        trees.tree(root).listing()
        show("list of all files again", lambda: trees.tree(root).listing(), {"rg --files": listing})
        for name, query, regex in (
            ("rare word", "needleInHaystack", False),
            ("frequent word", "handler", False),
            ("regex", r"needle\w+stack|tok[a-z]+ parser", True),
            ("frequent regex", r"\b[a-h]\w+ handler\b", True),
        ):
            spelled = [] if regex else ["-F"]
            case = ["-s"] if query != query.lower() else ["-i"]
            fixed = ["-P"] if regex else ["-F"]
            others = {
                "rg --json": run([rg, "--json", *case, *spelled, "-e", query], root),
                "git grep": run(["git", "grep", *fixed, *([] if case == ["-s"] else case), "-n", "-e", query], root),
            }
            means = Means(trees=trees, ripgrep=binary)
            work = partial(search, roots, Expression(query, regex), means=means)
            show(f"search, {name}", work, others)
        trees.tree(root).fuzzy()
        for query in ("handler_4", "srccorehandler", "zzzz", "tests1/token"):
            show(f"fuzzy match, {query}", partial(fuzzy, trees, root, query))
        text = python_file()
        source, parser = text.encode(), Parser(grammar("python"))
        show(
            "outline of 10,000 lines, first",
            lambda: first_outline(text),
            {"the parser itself": lambda: parser.parse(source)},
            rounds=4 * ROUNDS,
        )
        structure_of("python", text)
        show("outline of 10,000 lines, again", lambda: outline(structure_of("python", text), []))
        rare, alone = Expression("needleInHaystack"), Means(trees=trees)
        show("search without ripgrep, rare word", lambda: search(roots, rare, means=alone), rounds=1)


if __name__ == "__main__":
    main()
