"""Projects the summaries of a conversation to ACP: as its own updates for clients that announced them, in words for all
others."""

from __future__ import annotations

import os
from typing import Any

from north_lsp.acp.initialize import Client
from north_lsp.agent.ports.events import CompactionChanged
from north_lsp.display import sentence, visible

_STATUS = {"running": "in_progress", "done": "completed", "failed": "failed", "cancelled": "cancelled"}


def compaction_updates(event: CompactionChanged, client: Client) -> list[dict[str, Any]]:
    """Return the updates about a summary."""
    if client.shows_compactions:
        return [_update(event)]
    if event.state == "done":
        text = f"*{_in_words(event)}*\n\n"
        return [
            {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": visible(text)},
                "messageId": event.compaction_id,
            }
        ]
    if event.state == "running" and event.written:
        return []
    level = "warning" if event.state == "failed" else "info"
    return [notice(level, _in_words(event), client)]


def notice(level: str, text: str, client: Client) -> dict[str, Any]:
    """Return a notice, or its text in the conversation for a client that has none."""
    told = sentence(visible(text))
    if client.shows_notices:
        return {"sessionUpdate": "notice", "severity": level, "title": told}
    content = {"type": "text", "text": f"*{told}*\n\n"}
    return {"sessionUpdate": "agent_message_chunk", "content": content, "messageId": f"notice-{os.urandom(16).hex()}"}


def failure_in_words(event: CompactionChanged) -> str:
    """Say why there is no summary, and what that means."""
    what = "the full context could not be reduced" if event.reason == "overflow" else "compaction did not succeed"
    return f"{what}: {event.error}. The conversation is unchanged"


def _update(event: CompactionChanged) -> dict[str, Any]:
    north: dict[str, Any] = {"reason": event.reason, "tokensBefore": event.tokens_before}
    north |= {"tokensAfter": event.tokens_after} if event.tokens_after is not None else {}
    north |= {"written": event.written} if event.state == "running" else {}
    north |= {"short": visible(event.short)} if event.short else {}
    if event.state == "done":
        north |= {"read": [*map(visible, event.read)], "modified": [*map(visible, event.modified)]}
    update: dict[str, Any] = {
        "sessionUpdate": "compaction_update",
        "compactionId": event.compaction_id,
        "status": _STATUS[event.state],
    }
    update |= {"summary": [{"type": "text", "text": visible(event.summary)}]} if event.summary else {}
    update |= {"error": visible(failure_in_words(event))} if event.state == "failed" else {}
    return update | {"_meta": {"north": north}}


def _in_words(event: CompactionChanged) -> str:
    match event.state:
        case "running":
            return "The older part of this conversation is being summarized, to make room; cancelling stops it"
        case "done" if event.reason == "handoff":
            return "This conversation continues another one, of which the model has a summary"
        case "done" if event.tokens_after is not None and event.tokens_before:
            numbers = f" (about {event.tokens_before:,} tokens before, {event.tokens_after:,} now)"
            return f"The conversation up to here was summarized for the model{numbers}. Nothing of it is lost"
        case "done":
            return "The conversation up to here was summarized for the model. Nothing of it is lost"
        case "cancelled":
            return "Summarizing was cancelled. The conversation is unchanged"
        case "failed":
            text = failure_in_words(event)
            return text[:1].upper() + text[1:]
