"""Copies a log into a new conversation: one from elsewhere, or what can still be read of a damaged one. The original is
never touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.copying import Place
from north_lsp.storage.entries import (
    HEADER,
    VERSION,
    Record,
    free_conversation_id,
    new_entry_id,
    timestamp,
)
from north_lsp.storage.files import inode_of, private_directory, read_regular, write_atomic
from north_lsp.storage.locations import Locations
from north_lsp.storage.log_state import LogState, is_tree_entry, read_log
from north_lsp.storage.records import encode, storable
from north_lsp.storage.summaries import summarize

MAX_BYTES = 1024 * 1024 * 1024


class NotImported(ValueError):
    """The file cannot be taken over as it is; the text says why. `can_be_salvaged`: a part of it can be read."""

    def __init__(self, text: str, *, can_be_salvaged: bool) -> None:
        super().__init__(text)
        self.can_be_salvaged = can_be_salvaged


@dataclass(frozen=True)
class Imported:
    """A new conversation; `left_out` counts the lines that could not be read."""

    id: str
    name: str
    messages: int
    left_out: int
    warnings: tuple[str, ...] = ()


def import_log(store: Locations, path: Path, place: Place, *, salvage: bool) -> Imported:
    """Copy a log into a new conversation. It keeps its project if that is there, else it gets `place`. With `salvage`,
    lines that cannot be read are left out, however many they are.

    Raises NotImported, and OSError. Blocks.
    """
    read = read_log(read_regular(path, MAX_BYTES))
    state = read.state
    if not read.records and not salvage:
        why = state.read_only_reason or "there is nothing in it"
        raise NotImported(why, can_be_salvaged=False)
    if state.read_only_reason is not None and (not salvage or read.is_newer):
        raise NotImported(state.read_only_reason, can_be_salvaged=not read.is_newer and bool(read.records))
    if not read.records:
        raise NotImported("none of its lines can be read", can_be_salvaged=False)
    folder = private_directory(store.conversations)
    id = free_conversation_id(folder)
    former = state.header
    header: Record = {
        **{key: value for key, value in former.items() if key not in ("formerFormat",)},
        "type": HEADER,
        "version": VERSION,
        "id": id,
        "timestamp": str(former.get("timestamp") or timestamp()),
        "model": str(former.get("model") or ""),
        "parentSession": {"id": str(former.get("id") or path.stem)[:64], "relation": "import"},
    } | _place(former, place)
    new = LogState(storable(header))
    lines = [new.header]
    for record in _linked(read.records):
        if record["id"] not in new.ids and record["type"] != "queue_changed":  # nobody waits for these prompts here
            new.add(record)
            lines.append(record)
    note = {"path": str(path), "leftOut": read.left_out, "formerId": former.get("id")}
    fixed = {"type": "custom", "id": new_entry_id(new.ids), "parentId": new.leaf, "timestamp": timestamp()}
    lines.append(storable(fixed | {"customType": "import", "data": note}))
    warnings = _copy_outputs(store, path, folder / id)
    target = folder / f"{id}.jsonl"
    write_atomic(target, b"".join(map(encode, lines)))
    summary = summarize(target).summary
    return Imported(id, summary.name, summary.message_count, read.left_out, warnings)


def _place(header: Record, place: Place) -> Record:
    root = header.get("repoRoot")
    if isinstance(root, str) and os.path.isabs(root) and os.path.isdir(root) and header.get("repoHash"):
        return {}
    inode = inode_of(place.root)
    return {"repoRoot": str(place.root), "repoHash": place.hash, "cwd": str(place.root), "rootInode": inode}


def _linked(records: list[Record]) -> Iterator[Record]:
    """Attach entries whose parent could not be read to the entry before them: otherwise everything before would be
    lost to the model."""
    known: set[str] = set()
    last: str | None = None
    for record in records:
        if is_tree_entry(record):
            parent = record.get("parentId")
            is_cut_off = parent is not None and parent not in known
            yield record | {"parentId": last} if is_cut_off else record
            last = str(record["id"])
        else:
            yield record
        known.add(str(record["id"]))


def _copy_outputs(store: Locations, path: Path, target: Path) -> tuple[str, ...]:
    """Copy the full outputs of a conversation of this store. Returns what went wrong."""
    source = path.with_suffix("")
    if path.parent != store.conversations or not source.is_dir():
        return ()
    try:
        shutil.copytree(source, target, symlinks=True)
    except OSError as error:
        with suppress(OSError):
            shutil.rmtree(target)
        return (f"the full outputs of its calls could not be copied: {error.strerror or error}",)
    return ()
