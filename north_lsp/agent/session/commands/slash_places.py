"""The slash commands about places in a conversation, as far as they need a session; output in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, cast

from north_lsp.agent.edits.restore import in_words
from north_lsp.agent.edits.taking_back import Conflicts
from north_lsp.agent.log.tree import Row, find_filter
from north_lsp.agent.ports.events import Draft
from north_lsp.display import fenced, one_line, visible
from north_lsp.errors import ToolError
from north_lsp.slash.base import CommandError, Reply
from north_lsp.storage.errors import ConversationBusy

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.agent.session.navigation.navigation import Copied, Gone, What

_MOST_ROWS = 200
_SUMMARY = (("none", "No summary"), ("summarize", "Summarize"), ("stay", "Do not go back"))
_NAMES = {"fork": "A copy of this conversation", "branch": "A new conversation that begins there"}


class PlacesHost:
    """The part of a slash command's `Host` that is about places. Every method may raise CommandError."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session

    def prompts(self, command: str) -> str:
        said = self._session.navigation.prompts()
        if not said:
            return "You have not said anything yet."
        rows = [f"{one.number}. {one_line(one.text)}" for one in said]
        return "\n".join([*rows, "", f"`/{command} <number>` goes there; `/tree` shows the branches, too."])

    async def tree(self, filter: str, query: str) -> str:
        rows = await self._session.navigation.tree(find_filter(filter), query)
        if not rows:
            return "Nothing in this conversation matches."
        left = len(rows) - _MOST_ROWS
        more = f"\n\n{left:,} more" if left > 0 else ""
        shown = fenced("\n".join(map(_line, rows[:_MOST_ROWS])))
        return f"{shown}{more}\n\n`/rewind <id>` goes to an entry, `/rewind <id> both` restores the files, too."

    async def rewind(self, place: str, what: str, conflicts: str, summary: str | None) -> Reply:
        navigation = self._session.navigation
        with _told():
            id = navigation.find(place)
            if summary is None and what != "files" and navigation.offers_summary(id):
                question = "Summarize what is left behind, for the model that continues?"
                match await self._session.questions.choose(question, _SUMMARY):
                    case "summarize":
                        summary = ""
                    case "none":
                        pass
                    case _:
                        return Reply("The conversation has not moved.")
            gone = await navigation.go(id, cast("What", what), cast(Conflicts, conflicts), summary)
        then = partial(navigation.show_again, gone.draft) if gone.moved else None
        return Reply(_gone(gone, what, id), then=then)

    async def branch(self, place: str) -> Reply:
        navigation = self._session.navigation
        with _told():
            return self._copied(await navigation.branch(navigation.find(place)))

    async def fork(self) -> Reply:
        with _told():
            return self._copied(await self._session.navigation.fork())

    def _copied(self, copied: Copied) -> Reply:
        where = "It is among the conversations of this project."
        if copied.is_empty:
            where = "It has no messages before that point, so it is listed once it has one. If your editor does not "
            where += "open it, begin a new conversation."
        parts = [f"{_NAMES[copied.relation]} is stored as `{copied.id}`. {where}"]
        if not copied.is_whole:
            parts.append("The full outputs of its tool calls could not be copied.")
        text = "\n\n".join([*parts, *_draft(copied.draft)])
        return Reply(text, then=partial(self._session.navigation.show_copy, copied))

    def labels(self) -> str:
        rows = [f"- **{label}** `{id}`" for id, label in self._session.navigation.labels]
        return "\n".join(rows) or "No entry has a label yet: `/label <name>` labels this one."

    def label(self, text: str) -> str:
        with _told():
            name = self._session.navigation.label(None, text)
        return (
            f"This entry is labeled **{name}** now: `/tree` shows it." if name else "This entry has no label any more."
        )


def _line(row: Row) -> str:
    mark = "▶" if row.is_here else "•" if row.is_on_path else " "
    label = f" [{row.label}]" if row.label else ""
    who = {"user": "you", "assistant": "north"}.get(row.role, row.role or row.kind)
    return f"{mark} {row.id} {'  ' * row.depth}{who}: {row.text}{label}"


def _gone(gone: Gone, what: str, id: str) -> str:
    if what == "files":
        return in_words(gone.plan)
    words = "The conversation continues from there." if gone.moved else "You are there already."
    if gone.moved and gone.draft is not None:
        words = "The conversation continues from before this prompt; what came after it stays in `/tree`."
    parts = [words]
    if gone.has_summary:
        parts.append("The model gets a summary of what was left behind; you can read it in the chat.")
    if what == "both":
        parts.append(in_words(gone.plan))
    if gone.stays:
        names = ", ".join(f"`{name}`" for name in gone.stays)
        parts.append(f"Files that have changed since were not restored: {names}. `/rewind {id} files` restores them.")
    return visible("\n\n".join([*parts, *_draft(gone.draft)]))


def _draft(draft: Draft | None) -> list[str]:
    """Return the prompt to send again, for clients that cannot put it into the input."""
    if draft is None or not draft.text:
        return []
    return ["Your prompt, to be changed and sent again:", fenced(visible(draft.text))]


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (ValueError, ConversationBusy) as error:
        raise CommandError(visible(str(error))) from None
    except ToolError as error:
        raise CommandError(visible(error.message)) from None
    except OSError as error:
        raise CommandError(f"the copy could not be written: {error.strerror or error}") from None
