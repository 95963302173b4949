"""What a project consists of, and which of its files matter: languages, and the files that change most."""

from __future__ import annotations

import os
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.files.listing import readable
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.git import run_git
from north_lsp.workspace.languages import language_of
from north_lsp.workspace.text import is_generated

MAX_FILES = 20_000
_MAX_COMMITS = 500
_FEW_COMMITS = 50
_GIT_SECONDS = 5.0
_VENDORED = frozenset({"vendor", "third_party", "third-party", "bower_components", "site-packages", "Pods", "external"})
_GENERATED_ENDINGS = (".min.js", ".min.css", ".map", ".pb.go", "_pb2.py", ".g.dart", ".snap", ".lock")
_ENTRY_POINTS = frozenset(
    {"main", "__main__", "index", "app", "cli", "server", "manage", "lib", "mod", "package", "pyproject", "cargo"}
    | {"makefile", "justfile", "dockerfile", "go", "setup", "tsconfig", "pom", "build", "composer", "gemfile"}
)


@dataclass(frozen=True, slots=True)
class LanguageCount:
    name: str
    files: int
    bytes: int
    percent: float


@dataclass(frozen=True, slots=True)
class LanguageCounts:
    """The languages by bytes, the most first. `truncated`: only the first `MAX_FILES` files were counted."""

    languages: tuple[LanguageCount, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class HotFile:
    """A file that changes often. `score` is between 0 and 1; `last_changed` is an ISO time."""

    path: str
    changes: int
    last_changed: str | None
    score: float


@dataclass(frozen=True, slots=True)
class HotFiles:
    files: tuple[HotFile, ...]
    source: Literal["git", "fallback"]


def count_languages(trees: Trees) -> LanguageCounts:
    """Count languages in the files that are not ignored, excluding vendored and generated ones."""
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    seen = 0
    truncated = False
    for root, listing in trees.outermost():
        for relative in listing.files:
            if seen == MAX_FILES:
                truncated = True
                break
            seen += 1
            language = language_of(relative)
            if language is None or _is_foreign(relative):
                continue
            try:
                size = os.lstat(f"{root}/{relative}").st_size
            except OSError:
                continue
            files[language.name] += 1
            sizes[language.name] += size
    total = sum(sizes.values())
    names = sorted(files, key=lambda name: (-sizes[name], name))
    counted = (
        LanguageCount(name, files[name], sizes[name], round(100 * sizes[name] / max(total, 1), 1)) for name in names
    )
    return LanguageCounts(tuple(counted), truncated)


def _is_foreign(relative: str) -> bool:
    *folders, name = relative.split("/")
    lowered = name.lower()
    return (
        not _VENDORED.isdisjoint(folders) or lowered.endswith(_GENERATED_ENDINGS) or is_generated("", name) is not None
    )


def hot_files(trees: Trees, root: Path, below: str, limit: int) -> HotFiles:
    """Return the files of a root, or of a folder in it, that the last commits changed most often; without git, those
    that a reader of the project would probably look at first."""
    listing = trees.tree(root).listing().files
    prefix = f"{below}/" if below not in ("", ".") else ""
    present = {path for path in listing if path.startswith(prefix)}
    found = _by_git(root, present)
    if found is None:
        return HotFiles(tuple(_fallback(root, present)[:limit]), "fallback")
    ordered = sorted(found, key=lambda one: (-one.score, -one.changes, one.path))[:limit]
    return HotFiles(
        tuple(
            HotFile(readable(trees.roots.display_path(root, one.path)), one.changes, one.last_changed, one.score)
            for one in ordered
        ),
        "git",
    )


def _by_git(root: Path, present: set[str]) -> list[HotFile] | None:
    deadline = time.monotonic() + _GIT_SECONDS
    log = _log(root, ["--since=90.days"], deadline)
    if log is not None and log.count("\x01") < _FEW_COMMITS:
        log = _log(root, [], deadline)
    if not log:
        return None
    top = run_git(["rev-parse", "--show-prefix"], root, max(deadline - time.monotonic(), 0.1))
    inside = (top or "").strip()
    changes: Counter[str] = Counter()
    last: dict[str, int] = {}
    now_called: dict[str, str] = {}
    for commit in log.split("\x01")[1:]:
        fields = commit.split("\0")
        when = int(fields[0].strip() or 0)
        at = 1
        while at < len(fields):
            status = fields[at].strip("\n")
            at += 1
            if not status:
                continue
            if status[0] in "RC" and at + 1 < len(fields):
                old, new = fields[at], fields[at + 1]
                at += 2
                path = now_called.get(new, new)
                if status[0] == "R":
                    now_called[old] = path
            elif at < len(fields):
                path = now_called.get(fields[at], fields[at])
                at += 1
            else:
                break
            changes[path] += 1
            last.setdefault(path, when)
    most = max(changes.values(), default=1)
    found: list[HotFile] = []
    for path, count in changes.items():
        relative = path.removeprefix(inside)
        if path.startswith(inside) and relative in present:
            when_text = datetime.fromtimestamp(last[path], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            found.append(HotFile(relative, count, when_text, round(count / most, 3)))
    return found


def _log(root: Path, options: list[str], deadline: float) -> str | None:
    arguments = [f"--max-count={_MAX_COMMITS}", "--format=%x01%ct", "--name-status", "-z", "--find-renames", *options]
    return run_git(["log", *arguments], root, max(deadline - time.monotonic(), 0.1))


def _fallback(root: Path, present: set[str]) -> list[HotFile]:
    scored: list[tuple[float, HotFile]] = []
    now = time.time()
    for path in sorted(present)[:MAX_FILES]:
        try:
            status = os.lstat(root / path)
        except OSError:
            continue
        name = path.rsplit("/", 1)[-1].lower()
        score = 0.5 if name.split(".")[0] in _ENTRY_POINTS else 0.0
        score += 0.1 if path.count("/") == 0 else 0.0
        score += 0.2 * min(status.st_size / 50_000, 1.0) if language_of(path) is not None else 0.0
        score += 0.2 * max(0.0, 1 - (now - status.st_mtime) / (30 * 86400))
        changed = datetime.fromtimestamp(status.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        scored.append((score, HotFile(readable(path), 0, changed, round(min(score, 1.0), 3))))
    return [file for _, file in sorted(scored, key=lambda item: (-item[0], item[1].path))]
