"""Projects the events that ACP does not have to North's own events (`_north/event`). Pure."""

from __future__ import annotations

from typing import Any

from north_lsp.acp.drafts import draft_blocks
from north_lsp.acp.work import work_fields
from north_lsp.agent.ports.events import (
    CloseWanted,
    CompactionChanged,
    ContextPromoted,
    ConversationCopied,
    ConversationWanted,
    DocumentWanted,
    Event,
    FallbackUsed,
    Notice,
    OpenElsewhere,
    PlanChanged,
    QueueChanged,
    RetryEnded,
    RetryWaiting,
    ReviewResolved,
    ReviewShown,
    RulesBroken,
    SettingsWanted,
    StateChanged,
    TodoReminded,
    TodoWanted,
    TranscriptReset,
    TurnEnded,
    TurnStarted,
    UsageChanged,
    WorkChanged,
)
from north_lsp.display import tokens_shown, visible

ExtensionEvent = tuple[str, dict[str, Any]]


def to_extension_events(event: Event) -> list[ExtensionEvent]:
    """Return the names and fields of an event's extension events; empty for what ACP already sends."""
    match event:
        case StateChanged(state):
            return [("state_changed", {"state": state})]
        case TurnStarted(message_id):
            return [("turn_start", {"turnId": message_id})]
        case TurnEnded(message_id, reason):
            attention = {"reason": "failed" if reason == "error" else "turn_end"}
            ended = ("turn_end", {"turnId": message_id, "reason": reason})
            return [ended] if reason == "cancelled" else [ended, ("attention", attention)]
        case QueueChanged():
            return [("queue_changed", queue_rows(event))]
        case RetryWaiting(_, attempt, of, remaining, message, "waiting", is_first):
            delay = {"remainingMs": remaining * 1000}
            if not is_first:
                return [("auto_retry_tick", delay)]
            start = {"attempt": attempt, "maxAttempts": of, "delayMs": remaining * 1000}
            return [("auto_retry_start", {**start, "errorMessage": visible(message)}), ("auto_retry_tick", delay)]
        case RetryEnded(success, attempt, error):
            final = {"finalError": visible(error)} if error else {}
            return [("auto_retry_end", {"success": success, "attempt": attempt, **final})]
        case FallbackUsed("applied", before, after):
            return [("retry_fallback_applied", {"from": before, "to": after})]
        case FallbackUsed(_, _, after):
            return [("retry_fallback_succeeded", {"model": after})]
        case ContextPromoted(before, after):
            return [("context_promoted", {"from": before, "to": after})]
        case CompactionChanged(state="running", written=0):
            return [("auto_compaction_start", {"reason": event.reason})]
        case CompactionChanged(state="running"):
            return []
        case CompactionChanged():
            return [("auto_compaction_end", _compaction_end(event))]
        case ConversationWanted(id, cwd, title):
            return [("conversation_wanted", {"conversationId": id, "cwd": cwd, "title": visible(title)})]
        case CloseWanted():
            return [("close_wanted", {})]
        case SettingsWanted():
            return [("settings_wanted", {})]
        case RulesBroken(rules):
            return [("ttsr_triggered", {"rules": [visible(rule) for rule in rules]})]
        case TodoWanted():
            return [("todo_wanted", {})]
        case ReviewShown(review_id, call_id, kind):
            shown = {"reviewId": review_id, "toolCallId": call_id, "kind": kind}
            return [("review_shown", shown), ("attention", {"reason": "review"})]
        case ReviewResolved(review_id, call_id, decision):
            return [("review_resolved", {"reviewId": review_id, "toolCallId": call_id, "decision": decision})]
        case OpenElsewhere(unfinished=reason, queued=queued):
            left: dict[str, Any] = {"unfinished": {"reason": reason}} if reason else {}
            left |= {"queued": [{"id": one.id, "text": visible(one.text)} for one in queued]} if queued else {}
            return [("open_elsewhere", {"by": _holder(event), **left})]
        case UsageChanged():
            full = {"level": event.level, "text": f"{tokens_shown(event.used)} ({event.ratio:.0%})"}
            context = {"used": event.used, "limit": event.window, "ratio": round(event.ratio, 4), **full}
            session = {"tokens": event.tokens, "cost": event.cost_usd, "priced": event.priced}
            known = {"allTime": {"cost": event.all_time_usd}} if event.all_time_usd is not None else {}
            return [("usage_updated", {"context": context, "session": session, **known, "estimated": event.estimated})]
        case TranscriptReset(draft):
            return [("transcript_reset", {"prompt": draft_blocks(draft)})]
        case ConversationCopied(id, relation, draft):
            copied = {"conversationId": id, "relation": relation, "prompt": draft_blocks(draft)}
            return [("conversation_copied", copied)]
        case PlanChanged(todo):
            return [("plan_updated", {"open": todo.open_count, "total": len(todo.tasks)})]
        case WorkChanged(work):
            return [("work_changed", work_fields(work))]
        case DocumentWanted(path):
            return [("document_wanted", {"path": str(path)})]
        case TodoReminded(times, open_count):
            return [("todo_reminder", {"times": times, "open": open_count})]
        case Notice(level, text):
            return [("notice", {"level": level, "text": visible(text)})]
        case _:
            return []


def _compaction_end(event: CompactionChanged) -> dict[str, Any]:
    ended: dict[str, Any] = {"ok": event.state == "done", "tokensBefore": event.tokens_before}
    ended |= {"tokensAfter": event.tokens_after} if event.tokens_after is not None else {}
    return ended | ({"error": visible(event.error or event.state)} if event.state != "done" else {})


def _holder(event: OpenElsewhere) -> dict[str, Any] | None:
    """Return who else writes a conversation: None for nobody."""
    if event.pid is None:
        return None
    state, is_leaving = event.state, event.is_leaving
    return {"pid": event.pid, "client": visible(event.client), "state": state, "leaving": is_leaving}


def queue_rows(event: QueueChanged) -> dict[str, Any]:
    """Return the prompts of both queues, in order."""
    return {
        name: [{"id": queued_prompt.id, "text": visible(queued_prompt.text)} for queued_prompt in queued_prompts]
        for name, queued_prompts in (("steer", event.steer), ("followUp", event.follow_up))
    }
