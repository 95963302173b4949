"""Diagnostics of North's own in an editor without the chat. A file's replace each other as a whole, so all who have
something to say of a file say it here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from north_lsp.rpc.peer import Peer

Kind = Literal["broken", "proposed"]


class Marks:
    """What is marked in which file, by kind."""

    def __init__(self, peer: Peer, *, is_shown: bool) -> None:
        self._peer = peer
        self._is_shown = is_shown
        self._rows: dict[Path, dict[Kind, list[dict[str, Any]]]] = {}

    async def put(self, kind: Kind, path: Path, rows: Sequence[dict[str, Any]]) -> None:
        """Have these marks of a kind in a file, in place of those that were there."""
        of_file = self._rows.setdefault(path, {})
        if list(rows) == of_file.get(kind, []):
            return
        of_file[kind] = list(rows)
        if not any(of_file.values()):
            del self._rows[path]
        if self._is_shown:
            all_rows = [row for told in of_file.values() for row in told]
            await self._peer.notify("textDocument/publishDiagnostics", {"uri": path.as_uri(), "diagnostics": all_rows})
