"""The answer that is being streamed, written next to the log before it is shown: a crash loses nothing of it.

One line says where it belongs and what is known of it; then one per piece: its kind, the number of its block, itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from north_lsp import systems
from north_lsp.storage.entries import Record, timestamp
from north_lsp.storage.log_state import LogState
from north_lsp.storage.records import encode, storable

NOT_COMPLETE = "the answer was cut off before the arguments were complete"

Piece = Literal["text", "thinking", "call", "arguments", "block"]
_JOINED = ("text", "thinking", "arguments")
_BESIDE_AN_ANSWER = ("bashExecution", "pythonExecution")


class PartialFile:
    """Writes what has arrived of one answer. `add` is cheap, `flush` is one write; neither raises. `mask` takes secrets
    out of a line."""

    def __init__(
        self,
        path: Path,
        entry_id: str,
        parent: str | None,
        message: Mapping[str, Any],
        mask: Callable[[Record], Record] = lambda record: record,
    ) -> None:
        self.entry_id = entry_id
        self._path = path
        first = {"version": 2, "id": entry_id, "parentId": parent, "timestamp": timestamp(), "message": message}
        self._written = b""
        self._mask = mask
        self._unsent = encode(mask(storable(first)))
        self._pieces: list[tuple[Piece, int, Any]] = []
        self._fd: int | None = None

    def add(self, kind: Piece, index: int, value: object) -> None:
        self._pieces.append((kind, index, value))

    def flush(self) -> None:
        """Write what was added. What cannot be written is tried again, with all before it, when there is more."""
        if not self._pieces:
            return
        self._unsent += b"".join(self._encoded(*piece) for piece in _joined(self._pieces))
        self._pieces.clear()
        try:
            if self._fd is None:
                self._unsent, self._written = self._written + self._unsent, b""
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | systems.CLOEXEC
                self._fd = systems.open_file(self._path, flags, 0o600)
            while self._unsent:
                count = os.write(self._fd, self._unsent)
                self._written, self._unsent = self._written + self._unsent[:count], self._unsent[count:]
        except OSError:
            self.close()

    def _encoded(self, kind: Piece, index: int, value: object) -> bytes:
        if kind == "thinking" or (isinstance(value, Mapping) and value.get("type") == "thinking"):
            return encode_piece(kind, index, value)  # as its vendor has signed it
        return encode(self._mask(storable({"piece": [kind, index, value]})))

    def close(self) -> None:
        if self._fd is not None:
            with suppress(OSError):
                os.close(self._fd)
            self._fd = None


def encode_piece(kind: Piece, index: int, value: object) -> bytes:
    return encode(storable({"piece": [kind, index, value]}))


def _joined(pieces: list[tuple[Piece, int, Any]]) -> list[tuple[Piece, int, Any]]:
    """Join adjacent pieces that continue each other."""
    joined: list[tuple[Piece, int, list[Any]]] = []
    for kind, index, value in pieces:
        if joined and kind in _JOINED and joined[-1][:2] == (kind, index):
            joined[-1][2].append(value)
        else:
            joined.append((kind, index, [value]))
    return [(kind, index, "".join(values) if kind in _JOINED else values[0]) for kind, index, values in joined]


def recover(path: Path, state: LogState) -> Record | None:
    """Return the partial answer as an entry that ends the conversation, or None if there is none that is still new."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return None
    partial = _object(lines[0])
    id, message = partial.get("id"), partial.get("message")
    if not isinstance(id, str) or id in state.ids or not isinstance(message, dict):
        return None
    known = message.get("content")
    content = [*(known if isinstance(known, list) else ()), *_blocks(lines[1:])]
    if not content or not _still_new(partial, state):
        return None
    written = partial.get("timestamp")
    return storable(
        {
            "type": "message",
            "id": id,
            "parentId": state.leaf,
            "timestamp": written if isinstance(written, str) else timestamp(),
            "message": {**message, "role": "assistant", "content": content, "stopReason": "aborted"},
        }
    )


def _blocks(lines: list[bytes]) -> list[Record]:
    """Put the pieces together into blocks. A line that was cut off is left out."""
    blocks: dict[int, Record] = {}
    for line in lines:
        match _object(line).get("piece"):
            case ["text" | "thinking" as kind, int(index), str(text)]:
                block = blocks.setdefault(index, {"type": kind, kind: ""})
                block[kind] = f"{block.get(kind, '')}{text}"
            case ["call", int(index), {"id": str(id), "name": str(name)}]:
                call = {"type": "tool_call", "id": id, "name": name, "arguments": {}}
                blocks[index] = call | {"problem": NOT_COMPLETE, "cut": ""}
            case ["arguments", int(index), str(text)] if "cut" in blocks.get(index, {}):
                blocks[index]["cut"] += text
            case ["block", int(index), dict(block)] if isinstance(block.get("type"), str):
                blocks[index] = block
    found = [blocks[index] for index in sorted(blocks)]
    return [block for block in found if block["type"] not in ("text", "thinking") or block.get(block["type"])]


def _object(line: bytes) -> Record:
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _still_new(partial: Record, state: LogState) -> bool:
    path = state.active_path()
    places = [entry["id"] for entry in path]
    if (parent := partial.get("parentId")) in places:
        # Timestamps do not decide here, since clocks can go backwards. A change of mode or an own command may come in
        # while an answer streams; another message may not.
        return all(
            entry["type"] != "message" or entry["message"].get("role") in _BESIDE_AN_ANSWER
            for entry in path[places.index(parent) + 1 :]
        )
    last = state.entries[-1].get("timestamp") if state.entries else None
    return str(partial.get("timestamp") or "") > str(last or "")
