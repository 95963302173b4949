"""Going back and forth in a conversation, naming places of it, and copying it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, Protocol

import anyio
import anyio.to_thread

from north_lsp.agent.edits.taking_back import Conflicts
from north_lsp.agent.edits.undo import Plan, UndoHistory
from north_lsp.agent.log.branch_summaries import BranchSummaryEntry
from north_lsp.agent.log.choices import ModeEntry, SlashEntry
from north_lsp.agent.log.chosen import chosen_on
from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import PromptEntry, shown_prompt
from north_lsp.agent.log.projection import branch_summary_shown
from north_lsp.agent.log.results import OwnCommandEntry
from north_lsp.agent.log.todos import todo_on
from north_lsp.agent.log.tree import Row, tree_rows
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.events import ConversationCopied, Draft, Event, Notice, PlanChanged, TranscriptReset
from north_lsp.agent.ports.extension_events import ExtensionEvents
from north_lsp.agent.session.navigation.branch_summary import BranchSummaries
from north_lsp.agent.session.navigation.drafts import DraftMaker
from north_lsp.agent.session.navigation.tree_events import TreeEvents
from north_lsp.agent.session.process.switching import Switches
from north_lsp.agent.session.replay.replay import Show
from north_lsp.display import one_line, visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.thinking import as_level
from north_lsp.storage import copying
from north_lsp.storage.copying import Place, Relation
from north_lsp.storage.locations import Locations
from north_lsp.vocabulary import Mode, TreeFilter
from north_lsp.workspace.project_root import project_hash

What = Literal["conversation", "files", "both"]
_MAX_LABEL = 60
_FORKED = "Fork: "
_TITLE_LENGTH = 60
_SHORTEST_ID = 4
_NO_PLAN = Plan((), (), ())


@dataclass(frozen=True, slots=True)
class SaidPrompt:
    """A prompt on the active path, with its number there, from 1."""

    number: int
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The result of going to another place in the conversation: whether the conversation `moved`, what was done to
    files, and the prompt that belongs in the user's input again. `stays` are files that were changed after that place
    and are left so; `has_summary`: what was left behind is summarized there."""

    moved: bool
    plan: Plan
    draft: Draft | None = None
    stays: tuple[str, ...] = ()
    has_summary: bool = False


@dataclass(frozen=True, slots=True)
class Copied:
    """A stored copy, not open yet. `is_whole`: the full outputs of the calls are in it, too. `is_empty`: nothing was
    said in what was copied."""

    id: str
    relation: Relation
    draft: Draft | None = None
    is_whole: bool = True
    is_empty: bool = False


class MovingSession(Protocol):
    """The part of a session that moving in its conversation changes."""

    mode: Mode
    choice: ModelChoice
    replaying: anyio.Lock

    @property
    def undo_history(self) -> UndoHistory: ...

    def between_turns(self) -> AbstractAsyncContextManager[None]: ...

    def note_restored(self, names: Sequence[str]) -> None: ...

    def restart_after(self, path: Sequence[Logged]) -> None: ...

    async def replay(self, show: Show) -> None: ...

    async def show(self, event: Event) -> None: ...


class Navigation:
    """The places of one conversation. Everything that moves or copies raises ValueError for an unknown place, and where
    it would disturb a running turn."""

    def __init__(
        self,
        session: MovingSession,
        log: Log,
        drafts: DraftMaker,
        summaries: BranchSummaries,
        locations: Locations,
        switches: Switches,
        extensions: ExtensionEvents,
    ) -> None:
        self._session = session
        self._log = log
        self._drafts = drafts
        self._summaries = summaries
        self._locations = locations
        self._switches = switches
        self._events = TreeEvents(log, extensions)

    # -- places ------------------------------------------------------------------------------------------------------

    def prompts(self) -> list[SaidPrompt]:
        """Return the user's prompts on the active path."""
        said = [one for one in self._log.path() if isinstance(one.entry, PromptEntry) and not one.entry.by_north]
        return [SaidPrompt(number, one.id, said_text(one)) for number, one in enumerate(said, start=1)]

    async def tree(self, filter: TreeFilter = "default", query: str = "") -> list[Row]:
        """Return all branches as rows."""

        def rows() -> list[Row]:
            return tree_rows(self._log.entries(), self._log.path(), dict(self._log.labels), filter, query)

        return await anyio.to_thread.run_sync(rows)

    def find(self, name: str) -> str:
        """Return the id of an entry, by the number of a prompt on the active path, the entry's id, the beginning of it,
        or its label. Raises ValueError."""
        prompts = self.prompts()
        if name.isdecimal() and len(name) < _SHORTEST_ID:
            if not 1 <= int(name) <= len(prompts):
                count = f"there are {len(prompts)}" if prompts else "there are none yet"
                raise ValueError(f"there is no prompt {name}: {count}")
            return prompts[int(name) - 1].id
        ids = [one.id for one in self._log.entries()]
        found = [id for id in ids if id == name] or [id for id, label in self._log.labels.items() if label == name]
        if not found and len(name) >= _SHORTEST_ID:
            found = [id for id in ids if id.startswith(name)]
        if len(found) != 1:
            raise ValueError(f"{'several entries are' if found else 'no entry is'} called {one_line(name, 64)!r}")
        return found[0]

    def label(self, entry_id: str | None, text: str) -> str:
        """Name an entry (None: the last one), or take its name away; returns the name. Raises ValueError."""
        self._check_writable()
        name = one_line(text, len(text) + 1)
        if len(name) > _MAX_LABEL:
            raise ValueError(f"a label has at most {_MAX_LABEL} characters, this one has {len(name)}")
        target = self._log.leaf if entry_id is None else self._entry(entry_id).id
        if target is None:
            raise ValueError("there is nothing to label yet")
        self._log.set_label(target, name)
        return name

    @property
    def labels(self) -> Sequence[tuple[str, str]]:
        """The labels, each with the id of its entry, in the order of the entries."""
        labels = self._log.labels
        return [(one.id, labels[one.id]) for one in self._log.entries() if one.id in labels]

    # -- going there -------------------------------------------------------------------------------------------------

    async def look(self, entry_id: str, conflicts: Conflicts = "skip") -> tuple[Plan, Draft | None]:
        """Work out what restoring the files as they were at an entry would change, and return the prompt there. Raises
        ToolError."""
        draft = await self._drafts.of(self._entry(entry_id))
        history = self._session.undo_history
        return await history.prepare(history.since_entry(entry_id), conflicts), draft

    def offers_summary(self, entry_id: str) -> bool:
        """Tell whether the user is to be asked for a summary of what going to an entry leaves behind."""
        if not self._summaries.is_offered:
            return False
        leaf = _leaf_at(self._entry(entry_id))
        return leaf != self._log.leaf and bool(self._summaries.left_behind(leaf))

    async def go(
        self, entry_id: str, what: What = "conversation", conflicts: Conflicts = "skip", summary: str | None = None
    ) -> Gone:
        """Go to an entry: to before it if the user said it, else to after it. Restores the files as they were then, if
        `what` says so. With `summary`, which may have the user's own instructions, a model first summarizes what is
        left behind, and the conversation continues from that. Raises ToolError if a file cannot be written, NoSummary
        and KeptByExtension; then nothing has moved."""
        async with self._session.between_turns():
            self._check_writable()
            one = self._entry(entry_id)
            leaf = _leaf_at(one)
            moved = leaf != self._log.leaf and what != "files"
            written = await self._prepared(entry_id, leaf, summary) if moved else None
            history = self._session.undo_history
            plan, stays = _NO_PLAN, tuple[str, ...]()
            if what == "conversation":
                stays = tuple(history.changed_since_entry(entry_id))
            else:
                plan = await history.prepare(history.since_entry(entry_id), conflicts)
                plan = await history.apply(plan, "Restore the files to an earlier point of the conversation")
            if what == "files":
                self._session.note_restored([change.shown for change in plan.changes])
                return Gone(False, plan)
            draft = await self._drafts.of(one)
            if moved:
                old = self._log.leaf
                for event in self._move(leaf, written):
                    await self._session.show(event)
                for problem in await self._events.after(old, written):
                    await self._session.show(Notice("warning", visible(problem)))
            return Gone(moved, plan, draft, stays, written is not None)

    async def _prepared(self, target: str, leaf: str | None, summary: str | None) -> BranchSummaryEntry | None:
        """Tell extensions what is going to happen, and return the summary if the user wants one: theirs, or a model's.
        Raises KeptByExtension and NoSummary."""
        left = self._log.left_by(leaf)
        supplied = await self._events.before(target, left, wants_summary=summary is not None)
        return await self._summarized(leaf, summary) if supplied is None and summary is not None else supplied

    async def _summarized(self, leaf: str | None, instructions: str) -> BranchSummaryEntry | None:
        left = self._summaries.left_behind(leaf)
        if not left:
            return None
        await self._session.show(Notice("info", "summarizing the branch that you leave; cancelling stops it"))
        return await self._summaries.write(left, instructions)

    def _move(self, leaf: str | None, summary: BranchSummaryEntry | None) -> Sequence[Event]:
        """Make an entry the leaf, with a summary of what was left after it; returns what is to be shown of that."""
        todo = todo_on(self._log.path())
        self._log.move_leaf(leaf, "rewind")
        shown: list[Event] = []
        if summary is not None:
            shown += branch_summary_shown(self._log.append(summary))
        if (now := todo_on(self._log.path())) != todo:
            shown.append(PlanChanged(now))
        chosen, choice = chosen_on(self._log.path()), self._session.choice
        level = as_level(chosen.level) if chosen.level is not None else None
        if chosen.mode != self._session.mode:
            self._log.append(ModeEntry(self._session.mode))
        choice.record_again(chosen.model or self._log.header.model, level)
        self._session.restart_after(self._log.path())
        return shown

    async def show_again(self, draft: Draft | None = None) -> None:
        """Show the conversation again to clients that can undo what they have shown; `draft` is for their input."""
        events: list[Event] = []

        async def collect(event: Event) -> None:
            events.append(event)

        async with self._session.replaying:
            await self._session.replay(collect)
            await self._session.show(TranscriptReset(draft, tuple(events)))

    # -- copies ------------------------------------------------------------------------------------------------------

    async def branch(self, entry_id: str) -> Copied:
        """Copy the conversation up to something that the user said. Raises ValueError for another entry; OSError."""
        one = self._entry(entry_id)
        if not is_said(one):
            raise ValueError("a branch begins at one of the user's messages: choose one of those")
        draft = await self._drafts.of(one)
        id, whole = await anyio.to_thread.run_sync(copying.branch, self._log.conversation, self._locations, one.id)
        self._switches.has_made(id, "branch")
        return Copied(id, "branch", draft, whole, self._log.begins_with(one.id))

    async def fork(self, root: Path | None = None) -> Copied:
        """Copy all of the conversation, into the project of a folder if one is given. Raises ValueError while a turn
        runs; OSError."""
        async with self._session.between_turns():
            copied = await anyio.to_thread.run_sync(fork, self._log, self._locations, root)
            self._switches.has_made(copied.id, "fork")
            return copied

    async def show_copy(self, copied: Copied) -> None:
        """Have the client open a copy, if it can."""
        await self._session.show(ConversationCopied(copied.id, copied.relation, copied.draft))

    def _check_writable(self) -> None:
        if (reason := self._log.conversation.read_only_reason) is not None:
            raise ValueError(f"this conversation cannot be continued: {reason}")

    def _entry(self, id: str) -> Logged:
        for one in self._log.entries():
            if one.id == id:
                return one
        raise ValueError(f"there is no entry {one_line(id, 64)!r} in this conversation")


def fork(log: Log, locations: Locations, root: Path | None = None) -> Copied:
    """Copy a whole conversation, into the project of a folder if one is given, and say so in the copy's title. Raises
    NotCopied, OSError. Blocks."""
    source, title = log.conversation, log.conversation.title
    place = Place(root, project_hash(root)) if root is not None else None
    named = one_line(f"{_FORKED}{title}", _TITLE_LENGTH) if title and not title.startswith(_FORKED) else None
    id, whole = copying.fork(source, locations, place, named)
    return Copied(id, "fork", is_whole=whole)


def _leaf_at(one: Logged) -> str | None:
    """Return the leaf of a conversation that continues from this entry."""
    return one.parent if is_said(one) or isinstance(one.entry, CustomMessageEntry) else one.id


def is_said(one: Logged) -> bool:
    """Tell whether the user typed it, so that it can be edited and sent again."""
    return said_text(one) != "" or (isinstance(one.entry, PromptEntry) and not one.entry.by_north)


def said_text(one: Logged) -> str:
    match one.entry:
        case PromptEntry(by_north=False) as prompt:
            return shown_prompt(prompt)
        case OwnCommandEntry(command, excluded=excluded, called_by=""):
            return f"{'!!' if excluded else '!'}{command}"
        case SlashEntry(input):
            return input
        case _:
            return ""
