"""`lsp`: what the editor's language servers know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.tools.support.symbols import Pointed, language_of, pointed_at
from north_lsp.tools.support.texts import existing_text, resolve_readable, shown_text
from north_lsp.vocabulary import Location
from north_lsp.workspace.edit.positions import characters_of, lines_of
from north_lsp.workspace.language_features import (
    FoundSymbol,
    Place,
    PlaceFeature,
    Problem,
    Severity,
    TextFeature,
)
from north_lsp.workspace.workspace import Workspace

Action = Literal[
    "diagnostics",
    "definition",
    "type_definition",
    "implementation",
    "references",
    "hover",
    "signature",
    "symbols",
]

_PLACES: dict[str, PlaceFeature] = {
    "definition": "definition",
    "type_definition": "typeDefinition",
    "implementation": "implementation",
    "references": "references",
}
_TEXTS: dict[str, TextFeature] = {"hover": "hover", "signature": "signature"}
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info", "hint")
_MOST = 100
_LINE = 300


class LspArgs(Arguments):
    action: Action
    path: str | None = None
    line: int | None = Field(None, ge=1, description="The line of the symbol, from 1.")
    symbol: str | None = Field(None, min_length=1, description="The name as written on that line.")
    occurrence: int = Field(1, ge=1, description="Which `symbol` of the line.")
    column: int | None = Field(None, ge=1, description="Instead of `symbol`, from 1.")
    query: str | None = Field(None, description="For `symbols` of the workspace: a part of the name.")
    severity: Severity | None = Field(None, description="For `diagnostics`: only these and worse.")


class Lsp(ReadTool):
    name = "lsp"
    kind = "search"
    args = LspArgs

    def title(self, args: dict[str, Any]) -> str:
        what = str(args.get("action", "…")).replace("_", " ")
        about = args.get("symbol") or args.get("query") or Path(str(args.get("path") or "")).name
        return f"Looking up {what}" + (f" of {about}" if about else "")

    async def run(self, args: LspArgs, workspace: Workspace) -> Output:
        language_of(workspace)
        notices = Notices()
        if args.action == "diagnostics":
            rows, places = await _problems(args, workspace, notices)
            key = "diagnostics"
        elif args.action == "symbols":
            rows, places = await _symbols(args, workspace, notices)
            key = "symbols"
        else:
            pointed = await pointed_at(args.path, args.line, args.symbol, args.column, args.occurrence, workspace)
            if args.action in _TEXTS:
                return await self._text(args, pointed, workspace)
            found = await language_of(workspace).places(_PLACES[args.action], pointed.path, pointed.at)
            rows, places = await _shown([(place, {}) for place in found], workspace, notices)
            key = "locations"
        title = f"{self.title(args.model_dump())} - {len(rows)}"
        data: dict[str, object] = {key: rows}
        return Output(title, with_meta(data, notices), locations=tuple(places))

    async def _text(self, args: LspArgs, pointed: Pointed, workspace: Workspace) -> Output:
        text = await language_of(workspace).text(_TEXTS[args.action], pointed.path, pointed.at)
        if not text.strip():
            raise ToolError("NOT_FOUND", f"the language servers returned nothing for {pointed.named}")
        where = (Location(pointed.path, pointed.at.line + 1),)
        return Output(self.title(args.model_dump()), {"text": text}, locations=where)


Rows = tuple[list[dict[str, object]], list[Location]]


async def _problems(args: LspArgs, workspace: Workspace, notices: Notices) -> Rows:
    paths = None
    if args.path is not None:
        resolved, _, _, notice = await existing_text(args.path, workspace)
        notices += [notice] if notice else []
        paths = [resolved.path]
    told = await language_of(workspace).problems(paths, settled=paths is not None)
    found = told.found
    if paths is not None and not found and not told.known.issuperset(paths):
        notices += [
            "No language server of the editor has checked this file, so an empty list does not mean that it has no "
            "problems."
        ]
    worst = _SEVERITIES.index(args.severity) if args.severity is not None else len(_SEVERITIES)
    kept = [problem for problem in found if _SEVERITIES.index(problem.severity) <= worst]
    kept.sort(key=lambda problem: (_SEVERITIES.index(problem.severity), str(problem.path), problem.start.line))
    return await _shown([(_place_of(problem), problem_row(problem)) for problem in kept], workspace, notices)


def _place_of(problem: Problem) -> Place:
    return Place(problem.path, problem.start, problem.start)


def problem_row(problem: Problem) -> dict[str, object]:
    """Describe a problem; its place is beside it."""
    row: dict[str, object] = {"severity": problem.severity, "message": problem.message}
    row |= {"source": problem.source} if problem.source else {}
    return row | ({"code": problem.code} if problem.code else {})


async def _symbols(args: LspArgs, workspace: Workspace, notices: Notices) -> Rows:
    language = language_of(workspace)
    found: Sequence[FoundSymbol]
    if args.path is not None:
        resolved, _, _, notice = await existing_text(args.path, workspace)
        notices += [notice] if notice else []
        found = await language.symbols(resolved.path)
    elif args.query:
        found = await language.find_symbols(args.query)
    else:
        raise ToolError("INVALID_INPUT", "symbols takes a path, or a query", "name one of them")
    rows = [(symbol.place, _symbol_row(symbol)) for symbol in found]
    return await _shown(rows, workspace, notices)


def _symbol_row(symbol: FoundSymbol) -> dict[str, object]:
    row: dict[str, object] = {"name": symbol.name, "kind": symbol.kind, "endLine": symbol.place.end.line + 1}
    return row | ({"in": symbol.container} if symbol.container else {})


async def _shown(found: Iterable[tuple[Place, dict[str, object]]], workspace: Workspace, notices: Notices) -> Rows:
    """Rows with their places, and with one line of text where the file may be read. What is closed is left out."""
    rows: list[dict[str, object]] = []
    places: list[Location] = []
    texts: dict[Path, tuple[str, list[str]] | None] = {}
    all_found = list(found)
    for place, row in all_found[:_MOST]:
        if place.path not in texts:
            texts[place.path] = await _lines(place.path, workspace)
        known = texts[place.path]
        if known is None:
            continue
        shown, lines = known
        line, text = place.start.line, ""
        if line < len(lines):
            text = lines[line]
        where: dict[str, object] = {"path": shown, "line": line + 1}
        before = characters_of(text, place.start.character) if text else place.start.character
        where["column"] = before + 1
        rows.append(where | row | ({"text": text.strip()[:_LINE]} if text else {}))
        if lines:
            places.append(Location(place.path, line + 1))
    if len(all_found) > _MOST:
        notices.append(f"the first {_MOST} of {len(all_found)}")
    return rows, places


async def _lines(path: Path, workspace: Workspace) -> tuple[str, list[str]] | None:
    """How a file is called, and its lines; none of a file outside of the workspace, and None for a closed one."""
    try:
        resolved = await resolve_readable(str(path), workspace)
        text, _ = await shown_text(resolved.path, workspace)
        return resolved.relative, lines_of(text.text)
    except ToolError as error:
        return (str(path), []) if error.code == "OUTSIDE_WORKSPACE" else None
