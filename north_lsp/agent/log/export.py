"""Renders a stored conversation as Markdown, for a model that wants to know what was said elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from north_lsp.agent.log.entries import Entry, Logged, logged
from north_lsp.agent.log.messages import PICTURE, AnswerEntry, PromptEntry, shown_prompt
from north_lsp.agent.log.results import OwnCommandEntry, ResultEntry
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.providers.base import Text, ToolCall
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.listing import list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.storage.log_state import read_state
from north_lsp.storage.masking import MASK, PLACEHOLDER

_LISTED = 50


class OtherConversations:
    """The other conversations of one project. `id` is the conversation that asks."""

    def __init__(self, store: Locations, repo_hash: str, id: str) -> None:
        self._store = store
        self._repo_hash = repo_hash
        self._id = id

    def __call__(self, id: str) -> str:
        """Render a conversation, or list all of them if `id` is empty. Only reads. Raises ToolError NOT_FOUND,
        IO_ERROR."""
        id = id.strip("/")
        if not id:
            return "\n".join(self._list()) + "\n"
        if not valid_conversation_id(id):
            raise self._missing(id)
        try:
            state = read_state((self._store.conversations / f"{id}.jsonl").read_bytes())
        except FileNotFoundError:
            raise self._missing(id) from None
        except OSError as error:
            raise ToolError("IO_ERROR", f"the conversation {id} cannot be read: {error.strerror}") from error
        if state.header.get("repoHash") != self._repo_hash:
            raise self._missing(id)
        text = as_markdown(one_line(str(state.title or id), 200), logged(state.active_path()))
        return PLACEHOLDER.sub(MASK, text)  # its numbers are not those of the conversation that asks

    def _list(self) -> list[str]:
        found = [one for one in list_conversations(self._store, repo_hash=self._repo_hash) if one.id != self._id]
        rows = [f"conversation://{one.id} {one.updated_at} {one_line(one.name, 100)}" for one in found[:_LISTED]]
        return rows or ["this project has no other conversations"]

    def _missing(self, id: str) -> ToolError:
        return ToolError("NOT_FOUND", f"this project has no conversation {id[:40]!r}", "\n".join(self._list()[:10]))


def as_markdown(title: str, path: Iterable[Logged]) -> str:
    """Render who said what, and which tools were called with which outcome; thinking is left out."""
    parts = [f"# {title}"]
    for one in path:
        parts += _said(one.entry)
    return "\n\n".join(parts) + "\n"


def _said(entry: Entry) -> list[str]:
    match entry:
        case PromptEntry(by_north=False):
            return ["## User", "\n\n".join([shown_prompt(entry), *(PICTURE for _ in entry.images)]).strip()]
        case AnswerEntry(blocks=blocks):
            said = [block.text.strip() for block in blocks if isinstance(block, Text) and block.text.strip()]
            called = [f"- called `{block.name}`" for block in blocks if isinstance(block, ToolCall)]
            return ["## North", *said, *called] if said or called else []
        case ResultEntry(details=details):
            return [f"- {one_line(details.title, 200)}{'' if details.ok else ' (failed)'}"]
        case OwnCommandEntry(command):
            return [f"## User\n\n    !{one_line(command, 1000)}"]
        case _:
            return []
