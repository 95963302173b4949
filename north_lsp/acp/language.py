"""The client's language servers, through `_north/languageFeature`. Answers are read strictly: a row that makes no sense
is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

import anyio

from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.rpc.messages import RpcError
from north_lsp.rpc.peer import Peer
from north_lsp.uris import local_path
from north_lsp.workspace.language_features import (
    Formatting,
    FoundSymbol,
    Place,
    PlaceFeature,
    Position,
    Problem,
    Problems,
    Replacement,
    Severity,
    TextFeature,
)

_SECONDS = 3.0
# Of a file that was not open the editor may have to start a language server first.
_SETTLED_SECONDS = 8.0
_FORMAT_SECONDS = 10.0
_MAX_MESSAGE = 1000
_MAX_NAME = 300
_MAX_TEXT = 16_000


class ClientLanguage:
    """Asks one client's language servers."""

    def __init__(self, peer: Peer, session_id: str) -> None:
        self._peer = peer
        self._session_id = session_id

    async def problems(self, paths: Sequence[Path] | None, *, settled: bool = False) -> Problems:
        params: dict[str, Any] = {} if paths is None else {"uris": [path.as_uri() for path in paths]}
        seconds = _SETTLED_SECONDS if settled else _SECONDS
        answer = await self._ask("diagnostics", params | ({"wait": True} if settled else {}), seconds)
        found = tuple(problem for row in _rows(answer.get("diagnostics")) if (problem := _problem(row)) is not None)
        known = answer.get("known")
        named = map(local_path, known if isinstance(known, list) else ())
        return Problems(found, frozenset(path for path in named if path is not None))

    async def places(self, feature: PlaceFeature, path: Path, at: Position) -> Sequence[Place]:
        answer = await self._ask(feature, _at(path, at))
        return [place for row in _rows(answer.get("locations")) if (place := _place(row)) is not None]

    async def text(self, feature: TextFeature, path: Path, at: Position) -> str:
        text = (await self._ask(feature, _at(path, at))).get("text")
        return visible(text[:_MAX_TEXT]) if isinstance(text, str) else ""

    async def symbols(self, path: Path) -> Sequence[FoundSymbol]:
        return _symbols(await self._ask("symbols", {"uri": path.as_uri()}))

    async def find_symbols(self, query: str) -> Sequence[FoundSymbol]:
        return _symbols(await self._ask("workspaceSymbols", {"query": query}))

    async def rename(self, path: Path, at: Position, new_name: str) -> Mapping[Path, Sequence[Replacement]]:
        answer = await self._ask("rename", {**_at(path, at), "newName": new_name})
        files: dict[Path, list[Replacement]] = {}
        for row in _rows(answer.get("files")):
            file = local_path(row.get("uri"))
            edits = [_replacement(edit) for edit in _rows(row.get("edits"))]
            if file is None or None in edits:  # a part of a rename is worse than none
                raise ToolError("UNAVAILABLE", "the editor returned an invalid rename")
            files.setdefault(file, []).extend(edit for edit in edits if edit is not None)
        return files

    async def format(self, path: Path) -> Formatting:
        otherwise = "run the project's formatter with shell_run"
        answer = await self._ask("format", {"uri": path.as_uri()}, _FORMAT_SECONDS, otherwise)
        edits = tuple(_replacement(edit) for edit in _rows(answer.get("edits")))
        digest = answer.get("sha256")
        if None in edits or not isinstance(digest, str):  # a part of the changes is worse than none
            raise ToolError("UNAVAILABLE", "the editor returned an invalid formatting", otherwise)
        return Formatting(tuple(edit for edit in edits if edit is not None), digest)

    async def _ask(
        self, action: str, params: dict[str, Any], seconds: float = _SECONDS, otherwise: str = "use search_text"
    ) -> dict[str, Any]:
        """Send a request to the editor. Raises ToolError UNAVAILABLE, with what to do `otherwise`."""
        whole = {"sessionId": self._session_id, "action": action, **params}
        try:
            with anyio.fail_after(seconds):
                answer = await self._peer.request("_north/languageFeature", whole, cancellable=True)
        except TimeoutError:
            told = f"the editor's language servers did not answer {action} within {seconds:g} s"
            raise ToolError("UNAVAILABLE", told, f"they may be starting: try again, or {otherwise}") from None
        except RpcError as error:
            told = f"the editor's language servers cannot tell: {one_line(str(error), _MAX_MESSAGE)}"
            raise ToolError("UNAVAILABLE", told, otherwise) from None
        return answer if isinstance(answer, dict) else {}


def _at(path: Path, at: Position) -> dict[str, Any]:
    return {"uri": path.as_uri(), "position": {"line": at.line, "character": at.character}}


def _rows(value: object) -> Iterator[dict[str, Any]]:
    return (row for row in (value if isinstance(value, list) else ()) if isinstance(row, dict))


def _position(value: object) -> Position | None:
    if not isinstance(value, dict):
        return None
    line, character = value.get("line"), value.get("character")
    if not isinstance(line, int) or not isinstance(character, int) or line < 0 or character < 0:
        return None
    return Position(line, character)


def _range(value: object) -> tuple[Position, Position] | None:
    if not isinstance(value, dict):
        return None
    start, end = _position(value.get("start")), _position(value.get("end"))
    return (start, end) if start is not None and end is not None else None


def _place(row: dict[str, Any]) -> Place | None:
    path, where = local_path(row.get("uri")), _range(row.get("range"))
    return Place(path, *where) if path is not None and where is not None else None


def _problem(row: dict[str, Any]) -> Problem | None:
    place, severity, message = _place(row), row.get("severity"), row.get("message")
    if place is None or severity not in get_args(Severity) or not isinstance(message, str):
        return None
    source, code = (one_line(str(row.get(key) or ""), _MAX_NAME) for key in ("source", "code"))
    told = one_line(message, _MAX_MESSAGE)
    return Problem(place.path, place.start, cast(Severity, severity), told, source, code)


def _symbols(answer: dict[str, Any]) -> list[FoundSymbol]:
    found: list[FoundSymbol] = []
    for row in _rows(answer.get("symbols")):
        place, name = _place(row), row.get("name")
        if place is not None and isinstance(name, str):
            kind, container = (one_line(str(row.get(key) or ""), _MAX_NAME) for key in ("kind", "container"))
            found.append(FoundSymbol(one_line(name, _MAX_NAME), kind, place, container))
    return found


def _replacement(row: dict[str, Any]) -> Replacement | None:
    where, text = _range(row.get("range")), row.get("newText")
    return Replacement(*where, text) if where is not None and isinstance(text, str) else None
