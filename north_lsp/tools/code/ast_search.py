"""`ast_search`: finds code that has the structure of a pattern."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.support.limits import Notices
from north_lsp.tools.support.sightings import Shown
from north_lsp.tools.support.texts import resolve_readable, text_now
from north_lsp.tools.support.threads import on_thread
from north_lsp.vocabulary import Location
from north_lsp.workspace.files.listing import readable
from north_lsp.workspace.languages import find_language, language_of
from north_lsp.workspace.pagination import plain_lines
from north_lsp.workspace.paths import Resolved
from north_lsp.workspace.search.query import compile_glob
from north_lsp.workspace.structure.ast_pattern import AstMatch, AstPattern, compile_pattern
from north_lsp.workspace.structure.grammars import has_grammar
from north_lsp.workspace.workspace import Workspace

_MAX_PROBLEMS = 20
_MAX_LINE = 500
_GLOB = frozenset("*?[{")


class AstSearchArgs(Arguments):
    pat: str = Field(min_length=1, description="Code with `$NAME` for a node and `$$$NAME` for a list of them.")
    paths: list[str] = Field(min_length=1, description="Files, folders or globs.")
    lang: str | None = Field(None, description="Only this language; else each file's own.")
    skip: int = Field(0, ge=0)
    limit: int = Field(50, ge=1, description="At most 200.")


@dataclass
class _Found:
    skip: int
    limit: int
    total: int = 0
    files: int = 0
    searched: int = 0
    rows: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    places: list[tuple[Path, int]] = field(default_factory=list)
    seen: list[Shown] = field(default_factory=list)
    reached: bool = False


class AstSearch(ReadTool):
    name = "ast_search"
    kind = "search"
    discoverable = True
    args = AstSearchArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Searching code {' '.join(str(args.get('pat', '…')).split())}"

    async def run(self, args: AstSearchArgs, workspace: Workspace) -> Output:
        wanted = find_language(args.lang) if args.lang is not None else None
        if args.lang is not None and wanted is None:
            raise ToolError("UNAVAILABLE", f"there is no parser for {args.lang[:40]!r}")
        named: list[tuple[str, Resolved | None]] = []
        for path in args.paths:
            named.append((path, None if _GLOB & set(path) else await resolve_readable(path, workspace)))
        texts = await workspace.editor.unsaved_texts()
        stopped = threading.Event()
        notices = Notices()
        found = _Found(args.skip, notices.at_most(args.limit, workspace.limits.ast_matches, "limit"))
        language = wanted.id if wanted is not None else None

        def work() -> None:
            _search(args.pat, language, _files(named, workspace), texts, workspace, found, stopped.is_set)

        try:
            await on_thread(work)
        finally:
            stopped.set()
        for shown_path, tag, ranges in found.seen:
            workspace.seen.note(shown_path, tag, ranges)
        closing = [
            f"{found.total}{'+' if found.reached else ''} matches in {found.files} files ({found.searched} searched)"
        ]
        closing += notices
        if found.reached:
            closing.append("result limit reached; narrow paths or raise skip")
        if found.problems:
            shown = found.problems[:_MAX_PROBLEMS]
            more = [f"… {len(found.problems) - len(shown)} more"] if len(found.problems) > len(shown) else []
            closing += ["parse problems:", *shown, *more]
        text = "\n".join([*found.rows, *closing])
        title = f"{self.title({'pat': args.pat})} - {found.total}{'+' if found.reached else ''} matches"
        places = tuple(Location(path, line) for path, line in found.places[:20])
        return Output(title, text=text, locations=places)


def _files(named: Iterable[tuple[str, Resolved | None]], workspace: Workspace) -> list[tuple[Path, str]]:
    """List the files that are meant, each once: root and path relative to it."""
    trees = workspace.trees
    chosen: dict[tuple[Path, str], None] = {}
    for spelled, place in named:
        if place is None:
            pattern = spelled.replace("\\", "/").removeprefix("./")
            # A glob without a folder means the root's own files here.
            matches = compile_glob(pattern if "/" in pattern else f"/{pattern}")
            for root, listing in trees.outermost():
                meant = (path for path in listing.files if matches(path) and ("/" in pattern or "/" not in path))
                chosen.update(dict.fromkeys((root, path) for path in meant))
            continue
        if not place.exists:
            raise ToolError("NOT_FOUND", f"{place.relative} does not exist", "find_files shows what there is")
        relative = place.path.relative_to(place.root).as_posix()
        files = trees.below(place.root, relative).files if os.path.isdir(place.path) else (relative,)
        chosen.update(dict.fromkeys((place.root, path) for path in files))
    return list(chosen)


def _search(
    pat: str,
    language: str | None,
    files: Iterable[tuple[Path, str]],
    texts: Mapping[Path, str],
    workspace: Workspace,
    found: _Found,
    over: Callable[[], bool],
) -> None:
    patterns: dict[str, AstPattern | ToolError] = {}
    if language is not None:
        patterns[language] = compile_pattern(language, pat)
    for root, relative in files:
        known = language_of(relative)
        id = known.id if known is not None else ""
        if over() or found.reached:
            return
        if not has_grammar(id) or (language is not None and id != language):
            continue
        pattern = patterns.get(id)
        if pattern is None:
            try:
                pattern = compile_pattern(id, pat)
            except ToolError as error:
                pattern = error
            patterns[id] = pattern
        if isinstance(pattern, AstPattern):
            _search_file(pattern, root, relative, texts, workspace, found)
    failed = [pattern for pattern in patterns.values() if isinstance(pattern, ToolError)]
    if failed and len(failed) == len(patterns):
        raise failed[0]
    found.problems += [error.message for error in failed]


def _search_file(
    pattern: AstPattern, root: Path, relative: str, texts: Mapping[Path, str], workspace: Workspace, found: _Found
) -> None:
    shown = readable(workspace.roots.display_path(root, relative))
    path = root / relative
    try:
        whole = text_now(path, texts)
        text = whole.text
    except ToolError as error:
        if error.code != "BINARY_FILE":
            found.problems.append(f"{shown}: {error.message}")
        return
    found.searched += 1
    lines = plain_lines(text)
    any_here = False
    for match in pattern.find(text):
        if found.total == found.skip + found.limit:
            found.reached = True
            return
        found.total += 1
        if found.total <= found.skip:
            continue
        if not any_here:
            found.rows.append(shown)
            found.files += 1
            found.seen.append((path, whole.tag, ()))
            any_here = True
        found.rows += _rows(match, lines)
        found.places.append((path, match.start))


def _rows(match: AstMatch, lines: list[str]) -> list[str]:
    rows = [f"*{match.start}|{lines[match.start - 1][:_MAX_LINE]}"]
    rows += [
        f" {number}|{lines[number - 1][:_MAX_LINE]}"
        for number in range(match.start + 1, min(match.end, match.start + 50) + 1)
    ]
    if match.end > match.start + 50:
        rows.append(f" … to line {match.end}")
    shown = [f"{name}={' '.join(value.split())[:200]}" for name, value in match.captures]
    return [*rows, f"meta: {', '.join(shown)}"] if shown else rows
