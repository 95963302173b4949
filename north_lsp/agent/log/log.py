"""The log of one conversation, typed: reads its entries, and writes everything that goes into it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from north_lsp.agent.log.blocks import block_to_json
from north_lsp.agent.log.checkpoints import FileRecord, Status
from north_lsp.agent.log.entries import Entry, Logged, logged_from_json
from north_lsp.agent.log.header import Header
from north_lsp.agent.log.messages import AnswerEntry
from north_lsp.agent.log.modes import DEFAULT_MODE
from north_lsp.agent.log.queued import QueuedRow
from north_lsp.agent.log.reviews import StoredDecision
from north_lsp.agent.log.todos import concerns_todo
from north_lsp.agent.log.usage import StoredUsage, usage_aside
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import (
    Block,
    BlockEnd,
    CallDelta,
    CallStart,
    Cost,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.entries import is_from_user
from north_lsp.storage.log_state import Known
from north_lsp.vocabulary import Mode

_CHANGING = ("review", "checkpoint")


@dataclass(slots=True)
class _Those:
    """Some entries of the path: those of its first `looked_at` entries at this `revision`."""

    revision: int
    looked_at: int = 0
    found: Sequence[Logged] = field(default=())


class Reader(Protocol):
    """Reads all entries of a conversation in the order in which they were written, each once."""

    def read(self, one: Logged, *, on_path: bool) -> None: ...

    def reread(self, one: Logged) -> bool:
        """Take a change of an entry that was read before; False if only reading everything again would do."""
        ...


_R = TypeVar("_R", bound=Reader)
_T = TypeVar("_T")


class Log:
    """The log of one open conversation; any thread may use it. Appending raises ConversationBusy and
    ConversationClosed."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.opened_at = conversation.leaf
        """The entry that was the last one when the conversation was opened."""
        self.mode: Mode = DEFAULT_MODE
        """The mode that the next prompt gets; a session sets it."""
        self._revision = -1
        self._path: list[Logged] = []
        self._read: dict[str, tuple[Mapping[str, Any], object, Logged]] = {}
        self._those: dict[Callable[[Logged], bool], _Those] = {}
        self._readers: dict[type[Reader], tuple[Known, Reader]] = {}
        self._mutex = threading.RLock()  # taken before the conversation's own, never after

    @property
    def id(self) -> str:
        return self.conversation.id

    @property
    def folder(self) -> Path:
        """The folder for files that belong to the conversation; it may not exist yet."""
        return self.conversation.folder

    @property
    def header(self) -> Header:
        """What the log's first line says."""
        return Header.from_json(self.conversation.header)

    # -- what is in it -----------------------------------------------------------------------------------------------

    def path(self) -> Sequence[Logged]:
        """Return the entries from the root to the leaf."""
        return self.look()[1]

    def look(self) -> tuple[int, Sequence[Logged]]:
        """Return the path with a revision: as long as that is the same, the path has only grown. Entries are parsed
        once."""
        with self._mutex:
            revision, new = self.conversation.look(self._revision, len(self._path))
            if revision != self._revision:
                self._revision, self._path = revision, []
            if new:
                self._path = [*self._path, *map(self._logged, new)]
            return revision, self._path

    def those(self, wanted: Callable[[Logged], bool]) -> Sequence[Logged]:
        """Return the entries of the path that are `wanted`. Each is asked about once, so that in a long conversation
        this costs no more than in a short one."""
        revision, path = self.look()
        with self._mutex:
            known = self._those.get(wanted)
            if known is None or known.revision != revision or known.looked_at > len(path):
                known = self._those[wanted] = _Those(revision)
            new = [one for one in path[known.looked_at :] if wanted(one)]
            known.looked_at = len(path)
            if new:
                known.found = [*known.found, *new]
            return known.found

    def read_by(self, kind: type[_R], use: Callable[[_R], _T]) -> _T:
        """Return what is made of a reader that has read everything. It is kept, and given only what is new the next
        time, unless the path has changed otherwise than by growing."""
        with self._mutex:
            known, reader = self._readers.get(kind, (None, None))
            growth = self.conversation.growth(known)
            if not isinstance(reader, kind) or growth.on_path is not None or not self._reread(reader, growth.changed):
                growth, reader = self.conversation.growth(None), kind()
            for record in growth.entries:
                reader.read(self._logged(record), on_path=growth.on_path is None or record["id"] in growth.on_path)
            self._readers[kind] = growth.known, reader
            return use(reader)

    def _reread(self, reader: Reader, changed: Sequence[Mapping[str, Any]]) -> bool:
        return all(reader.reread(self._logged(record)) for record in changed)

    def about_todo(self) -> Sequence[Logged]:
        """Return what of the path concerns the todo list, and the entry that it was opened at."""
        return self.those(self._is_about_todo)

    def _is_about_todo(self, one: Logged) -> bool:
        return one.id == self.opened_at or concerns_todo(one)

    def entries(self) -> Sequence[Logged]:
        """Return all entries of the tree, in the order in which they were written."""
        with self._mutex:
            return [self._logged(record) for record in self.conversation.entries]

    def left(self) -> Sequence[Logged]:
        """Return the entries that are not on the path: those of branches that the user has left."""
        path = self.path()
        if len(path) == len(self.conversation.entries):
            return ()
        on_path = {one.id for one in path}
        return [one for one in self.entries() if one.id not in on_path]

    def left_by(self, leaf: str | None) -> Sequence[Logged]:
        """Return the entries of the path that are not on it any more when another entry becomes the leaf. Raises
        ValueError if it is unknown."""
        kept = {record["id"] for record in self.conversation.path_to(leaf)} if leaf is not None else set()
        return [one for one in self.path() if one.id not in kept]

    def begins_with(self, entry_id: str) -> bool:
        """Tell whether the user has said nothing before an entry. Raises ValueError if it is unknown."""
        before = self.conversation.path_to(entry_id)[:-1]
        return not any(is_from_user(record["type"], record) for record in before)

    @property
    def leaf(self) -> str | None:
        """The entry that the next one follows; None at the beginning."""
        return self.conversation.leaf

    @property
    def labels(self) -> Mapping[str, str]:
        """The names that the user gave to entries, by the entry's id."""
        return self.conversation.labels

    def _logged(self, record: Mapping[str, Any]) -> Logged:
        """Parse a record, or return it as parsed before. Reviews and checkpoints that have changed in place are parsed
        again; so are messages whose exclusion from models has changed."""
        known, state = self._read.get(record["id"]), _state(record)
        if known is not None and known[0] is record and known[1] == state:
            return known[2]
        read = logged_from_json(record)
        self._read[read.id] = (record, state, read)
        return read

    # -- writing -----------------------------------------------------------------------------------------------------

    @contextmanager
    def borrowed(self) -> Iterator[bool]:
        """Be the writer for a moment; False if that is not possible, or if this process is the writer anyway. The log
        can be read and written meanwhile, by this thread alone."""
        with self._mutex, self.conversation.borrowed() as is_mine:
            yield is_mine

    def append(self, entry: Entry, entry_id: str | None = None) -> Logged:
        """Append an entry after the last one."""
        payload = entry.to_json()
        record = self.conversation.append(payload.pop("type"), entry_id=entry_id, **payload)
        return Logged(record["id"], record["parentId"], record["timestamp"], entry)

    def reserve_id(self) -> str:
        """Reserve the id of an entry that will be appended later."""
        return self.conversation.reserve_id()

    def exclude(self, entry_id: str) -> None:
        """Keep a message from models from now on; it stays in the conversation."""
        self._update(entry_id, excludeFromContext=True)

    def decide(self, review_id: str, decision: StoredDecision) -> None:
        """Record the decision on a review."""
        self._update(review_id, status=decision.kind, decision=decision.to_json())

    def settle_checkpoint(self, entry_id: str, status: Status, files: Sequence[FileRecord] | None = None) -> None:
        """Record what became of a checkpoint; `files`, if given, replace the ones that were recorded."""
        more = {"files": [file.to_json() for file in files]} if files is not None else {}
        self._update(entry_id, status=status, **more)

    def _update(self, entry_id: str, **patch: object) -> None:
        self.conversation.annotate("entry_updated", targetId=entry_id, patch=patch)

    def set_title(self, title: str, source: Literal["auto", "plan"] = "auto") -> bool:
        """Set a title that North has made; it replaces no better one. Tell whether it counts."""
        self.conversation.annotate("title_changed", title=title, titleSource=source)
        return self.conversation.title == title

    def rename(self, title: str) -> None:
        """Set the title that the user has chosen; it stays."""
        self.conversation.annotate("title_changed", title=title, titleSource="user")

    def archive(self, archived: bool) -> None:
        """Hide the conversation from lists, or show it there again."""
        self.conversation.annotate("archived", archived=archived)

    def record_usage(self, purpose: str, model: str, usage: Usage, cost: Cost) -> None:
        """Record a request that is no part of a turn, and what it cost."""
        used = StoredUsage.of(usage, cost).to_json()
        self.conversation.annotate("usage_recorded", purpose=purpose, model=model, usage=used, cost=cost.total)

    def used_aside(self) -> Sequence[StoredUsage]:
        """Return what the requests used that are no part of a turn."""
        return [usage_aside(record) for record in self.conversation.used_aside]

    def move_leaf(self, leaf: str | None, reason: str) -> None:
        """Continue after another entry from now on; None starts over. Raises ValueError for an unknown entry."""
        self.conversation.move_leaf(leaf, reason)

    def set_label(self, entry_id: str, label: str) -> None:
        """Name an entry; an empty label removes the name."""
        self.conversation.annotate("label", targetId=entry_id, label=label)

    def queue(self) -> list[QueuedRow]:
        """Return the queued prompts, which are not part of the conversation yet."""
        return list(map(QueuedRow.from_json, self.conversation.queue))

    def keep_queue(self, rows: Sequence[QueuedRow]) -> None:
        """Store the queued prompts."""
        self.conversation.annotate("queue_changed", words=[row.to_json() for row in rows])

    def move(self, root: Path, project: str, inode: int | None) -> None:
        """Move the conversation to another folder."""
        place = {"repoRoot": str(root), "repoHash": project, "cwd": str(root)}
        self.conversation.annotate("session_moved", **place, rootInode=inode)

    def keep_roots(self, roots: Sequence[Path]) -> None:
        """Note which folders the conversation has besides its own, unless that is known."""
        further = [str(root) for root in roots]
        if further != (self.conversation.header.get("roots") or []):
            self.conversation.annotate("roots_changed", roots=further)

    # -- the answer that arrives -------------------------------------------------------------------------------------

    def arriving(self) -> Logged | None:
        """Return what has arrived of an answer that another process receives; None for nothing."""
        record = self.conversation.answer.arriving()
        return logged_from_json(record) if record is not None else None

    def begin_answer(self, entry_id: str, answer: AnswerEntry) -> None:
        """Begin an answer that will be appended under that id; `answer` is what is known of it. What arrives is stored
        as a partial answer, in case this process is killed before the end."""
        self.conversation.answer.begin(answer.message(), entry_id)

    def note_arrived(self, event: StreamEvent, known: Block | None) -> None:
        """Store more of the answer; `known` is what had arrived of the block. It is written to the disk when something
        is shown."""
        grow = self.conversation.answer.add
        match event:
            case TextDelta(index, text):
                grow("text", index, text)
            case ThinkingDelta(index, text):
                grow("thinking", index, text)
            case CallStart(index, id, name):
                grow("call", index, {"id": id, "name": name})
            case CallDelta(index, json):
                grow("arguments", index, json)
            case BlockEnd(index, block) if block != known:
                grow("block", index, block_to_json(block))
            case _:
                pass

    def end_answer(self) -> None:
        """Drop the partial answer: the answer is in the log now, or there is none."""
        self.conversation.answer.clear()


def _state(record: Mapping[str, Any]) -> object:
    """Return what of a record may change in place. A change puts another value in the place of one, so that comparing
    what has not changed is quick."""
    if record["type"] in _CHANGING:
        return tuple(record.items())
    message = record.get("message")
    return message.get("excludeFromContext") if isinstance(message, Mapping) else None
