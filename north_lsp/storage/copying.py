"""Copies of a conversation: all of it (a fork), or the way to one of its entries (a branch)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.entries import Record, free_conversation_id, timestamp
from north_lsp.storage.files import inode_of, private_directory, write_atomic
from north_lsp.storage.locations import Locations
from north_lsp.storage.memory_log import NOT_SAVED
from north_lsp.storage.noting import note
from north_lsp.storage.records import encode

Relation = Literal["fork", "branch"]
_NOT_COPIED = b"[not copied: this output is in the conversation that this one was made from]\n"


@dataclass(frozen=True)
class Place:
    """The project that a conversation belongs to."""

    root: Path
    hash: str


class NotCopied(ValueError):
    """The conversation cannot be copied; the text says why."""


def fork(
    source: Conversation, store: Locations, place: Place | None = None, title: str | None = None
) -> tuple[str, bool]:
    """Copy a whole conversation, under another title if there is one, and into another project if there is a `place`;
    return the copy's id, and whether the full outputs of its calls could be copied.

    What is queued in the original is not queued in the copy, and the copy is not archived. Raises NotCopied, OSError.
    """
    id = _new_id(source, store)
    lines = source.lines()
    more: list[Record] = []
    if title is not None:
        more.append({"type": "title_changed", "title": title, "titleSource": source.title_source})
    if source.queue:
        more.append({"type": "queue_changed", "words": []})
    if source.archived:
        more.append({"type": "archived", "archived": False})
    if place is not None and place.hash != source.header.get("repoHash"):
        where = {"repoRoot": str(place.root), "repoHash": place.hash, "cwd": str(place.root)}
        more.append({"type": "session_moved", **where, "rootInode": inode_of(place.root)})
    for record in more:
        lines += source.line(record | {"id": source.reserve_id(), "timestamp": timestamp()})
    header = _header(source, id, {"id": source.id, "relation": "fork"})
    return id, _write(source, store, header, lines)


def branch(source: Conversation, store: Locations, entry_id: str) -> tuple[str, bool]:
    """Copy the entries before one of a conversation's entries, with their labels; return what `fork` does. Raises
    NotCopied, OSError."""
    id = _new_id(source, store)
    path = source.path_to(entry_id)[:-1]
    header = _header(source, id, {"id": source.id, "entryId": entry_id, "relation": "branch"})
    labels = [
        {"type": "label", "id": source.reserve_id(), "timestamp": timestamp(), "targetId": one["id"], "label": label}
        for one in path
        if (label := source.labels.get(one["id"])) is not None
    ]
    return id, _write(source, store, header, source.copied([*path, *labels]))


def hand_over(source: Conversation, store: Locations, entry: Mapping[str, Any], title: str) -> str:
    """Begin another conversation with one entry, which says what came before; return its id. Raises NotCopied,
    OSError."""
    id = _new_id(source, store)
    header = _header(source, id, {"id": source.id, "relation": "handoff"})
    first = {**entry, "parentId": None, "timestamp": timestamp()}
    named = {"type": "title_changed", "id": source.reserve_id(), "timestamp": timestamp()}
    private_directory(store.conversations)
    lines = source.copied([first, named | {"title": title, "titleSource": "auto"}])
    write_atomic(store.conversations / f"{id}.jsonl", encode(header) + lines)
    return id


def _new_id(source: Conversation, store: Locations) -> str:
    if not source.is_saved:
        raise NotCopied(f"{NOT_SAVED}, so it cannot be copied: /export writes it to a file")
    if source.read_only_reason is not None:
        raise NotCopied(f"the conversation {source.id} cannot be copied: {source.read_only_reason}")
    return free_conversation_id(store.conversations)


def _header(source: Conversation, id: str, parent: Record) -> Record:
    kept = {key: value for key, value in source.header.items() if key != "formerFormat"}
    return kept | {"id": id, "timestamp": timestamp(), "parentSession": parent}


def _write(source: Conversation, store: Locations, header: Record, lines: bytes) -> bool:
    """Write the copy: its outputs first, so that whoever finds the log finds them, too."""
    id, relation = header["id"], header["parentSession"]["relation"]
    private_directory(store.conversations)
    try:
        whole = _copy_outputs(source.folder, store.conversations / id)
        _copy_agents(source.folder / "agents", store.conversations / id / "agents")
    except OSError:
        whole = False
    write_atomic(store.conversations / f"{id}.jsonl", encode(header) + lines)
    note("session_forked", sessionId=source.id, to=id, relation=relation, entries=lines.count(b"\n"))
    return whole


def _copy_outputs(source: Path, target: Path) -> bool:
    """Copy the files of a folder; outputs, which are written once, without reading them where the file system can share
    them. In place of one that cannot be copied, there is one that says so. Returns whether there is none of these;
    raises OSError."""
    if not source.is_dir():
        return True
    private_directory(target)
    whole = True
    for name in sorted(os.listdir(source)):
        path = source / name
        if path.is_symlink() or not path.is_file():
            continue
        try:
            _copy_file(path, target / name, may_share=name.endswith(".log"))
        except OSError:
            whole = False
            with suppress(OSError):
                write_atomic(target / name, _NOT_COPIED)
    return whole


def _copy_file(source: Path, target: Path, *, may_share: bool = False) -> None:
    if may_share:
        with suppress(OSError):
            os.link(source, target)
            return
    descriptor = systems.open_file(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.CLOEXEC, 0o600)
    with source.open("rb") as read, open(descriptor, "wb") as write:
        shutil.copyfileobj(read, write)


def _copy_agents(source: Path, target: Path) -> None:
    """Copy the logs of agents; one may still be written, so the copy shares nothing with it. Raises OSError."""
    if source.is_symlink() or not source.is_dir():
        return
    private_directory(target)
    for name in sorted(os.listdir(source)):
        path = source / name
        if name.endswith(".jsonl") and path.is_file() and not path.is_symlink():
            _copy_file(path, target / name)
