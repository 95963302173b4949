"""Projects the core's events to the `session/update`s of protocol version 1. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from north_lsp.acp.compaction import compaction_updates, notice
from north_lsp.acp.drafts import image_block
from north_lsp.acp.tasks import tasks_update
from north_lsp.acp.todo import plan_update
from north_lsp.agent.log.command_details import CommandDetails
from north_lsp.agent.log.modes import MODES
from north_lsp.agent.ports.events import (
    AnswerDelta,
    ApprovalsChanged,
    CallEnded,
    CallNamed,
    CallPreviewed,
    CallProposes,
    CallReady,
    CallRunning,
    CallTitled,
    CloseWanted,
    CommandsChanged,
    CompactionChanged,
    ContextPromoted,
    ConversationCopied,
    ConversationWanted,
    DocumentWanted,
    FallbackUsed,
    ModeChanged,
    ModelChanged,
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
    TasksChanged,
    ThoughtDelta,
    TitleChanged,
    TodoReminded,
    TodoWanted,
    TranscriptReset,
    TurnEnded,
    TurnStarted,
    TurnStopped,
    UsageChanged,
    UserSaid,
    WorkChanged,
)
from north_lsp.display import one_line, visible
from north_lsp.workspace.edit.diff import folder_words

if TYPE_CHECKING:
    from north_lsp.acp.initialize import Client
    from north_lsp.agent.ports.events import (
        CommandInfo,
        Event,
    )
    from north_lsp.agent.session.session import Session
    from north_lsp.providers.base import Image
    from north_lsp.providers.model import Model
    from north_lsp.providers.thinking import Level
    from north_lsp.vocabulary import Location, Mode
    from north_lsp.workspace.edit.preview import Preview
    from north_lsp.workspace.proposal import FileChange

Update = dict[str, Any]
_LEVEL_NAMES: dict[Level, str] = {
    "off": "Off",
    "minimal": "Minimal",
    "low": "Low",
    "medium": "Medium",
    "high": "High",
    "xhigh": "Extra high",
}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def content(text: str) -> dict[str, Any]:
    return {"type": "content", "content": _text(text)}


def _chunk(kind: str, message_id: str, text: str) -> Update:
    return {"sessionUpdate": kind, "content": _text(visible(text.replace("\r", ""))), "messageId": message_id}


def _picture_chunk(message_id: str, image: Image) -> Update:
    return {"sessionUpdate": "user_message_chunk", "content": image_block(image), "messageId": message_id}


def _call(call_id: str, **fields: object) -> Update:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields}


def diffs(files: Sequence[FileChange]) -> list[dict[str, Any]]:
    """Return changes as ACP content. ACP only has diffs of texts, so anything else about a change goes to `_meta` and,
    for every client, into a sentence."""
    return [part for change in files for part in _diff(change)]


def _diff(change: FileChange) -> list[dict[str, Any]]:
    meta: dict[str, Any] = {"kind": change.action}
    words = ""
    if change.action == "delete":
        words = f"Deletes {change.relative}"
    elif change.action == "rename":
        meta["oldPath"] = str(change.path)
        words = f"Moves {change.relative} to {change.shown}"
    if change.folder:
        return [content(visible(folder_words(change)))]
    if change.binary:
        return [content(visible(f"{words or 'Replaces ' + change.relative} (a file that is not text)"))]
    row = {"type": "diff", "path": str(change.target), "oldText": change.old_text, "newText": change.new_text}
    if not words:
        return [row]
    return [{**row, "_meta": {"north": meta}}, content(visible(words))]


def _previewed(one: Preview) -> dict[str, Any]:
    meta = {"north": {"preview": True, "line": one.line}}
    return {"type": "diff", "path": str(one.path), "oldText": one.old, "newText": one.new, "_meta": meta}


def _place(path: Path, line: int | None) -> dict[str, Any]:
    return {"path": str(path)} | ({"line": line} if line is not None else {})


def _locations(places: Sequence[Location]) -> list[dict[str, Any]]:
    return [_place(place.path, place.line) for place in places]


def changed_places(files: Sequence[FileChange]) -> list[dict[str, Any]]:
    return [_place(change.target, change.first_changed_line) for change in files]


def fenced(text: str, language: str) -> str:
    """Return a Markdown code block that the text cannot break out of."""
    longest = 2
    run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def updates(event: Event, client: Client, options: list[dict[str, Any]]) -> list[Update]:
    """Return the updates for one event. `options` are the session's current config options."""
    match event:
        case UserSaid(message_id, text, images):
            said = [_chunk("user_message_chunk", message_id, text)] if text or not images else []
            return said + [_picture_chunk(message_id, image) for image in images]
        case AnswerDelta(message_id, text, failure):
            told = {"_meta": {"north": {"failure": {"text": visible(failure)}}}} if failure else {}
            return [_chunk("agent_message_chunk", message_id, text) | told]
        case ThoughtDelta() if not client.shows_thoughts:
            return []
        case ThoughtDelta(message_id, text):
            return [_chunk("agent_thought_chunk", message_id, text)]
        case CallNamed(call_id, tool, kind, title):
            named = {"toolCallId": call_id, "title": title, "name": tool, "kind": kind, "status": "pending"}
            return [{"sessionUpdate": "tool_call", **named}]
        case CallTitled(call_id, title):
            return [_call(call_id, title=title)]
        case CallPreviewed(call_id, shown, note):
            words = [content(note)] if note else []
            return [_call(call_id, content=[*(_previewed(one) for one in shown), *words])]
        case CallReady(call_id, title, arguments, places):
            located = {"locations": _locations(places)} if places else {}
            return [_call(call_id, title=title, rawInput=dict(arguments), **located)]
        case CallProposes(call_id, title, files):
            return [_call(call_id, title=title, content=diffs(files), locations=changed_places(files))]
        case CallRunning():
            return [_running(event)]
        case TasksChanged():
            return [tasks_update(event)]
        case CallEnded():
            return [_ended(event)]
        case ModeChanged(mode):
            current = {"sessionUpdate": "current_mode_update", "currentModeId": mode}
            return [current, {"sessionUpdate": "config_option_update", "configOptions": options}]
        case ModelChanged() | ApprovalsChanged():
            return [{"sessionUpdate": "config_option_update", "configOptions": options}]
        case TitleChanged(title, updated_at):
            return [{"sessionUpdate": "session_info_update", "title": title, "updatedAt": updated_at}]
        case UsageChanged(used, window, cost):
            amount = {"amount": cost, "currency": "USD"}
            update = {"sessionUpdate": "usage_update", "used": used, "size": window, "cost": amount}
            return [{**update, "_meta": {"north": _usage(event)}}]
        case Notice(level, text):
            return [notice(level, text, client)]
        case TurnStopped() if client.shows_notices:  # another one knows whom it stopped
            return [notice("info", "Stopped.", client) | {"_meta": {"north": {"stopped": True}}}]
        case OpenElsewhere(notice=text) if text and not client.hears_events:
            return [notice("warning", text, client)]
        case CommandsChanged(commands):
            rows = [_command(info) for info in commands]
            return [{"sessionUpdate": "available_commands_update", "availableCommands": rows}]
        case RetryWaiting():
            return [_retrying(event)]
        case CompactionChanged():
            return compaction_updates(event, client)
        case PlanChanged(todo):
            return [plan_update(todo, client)]
        case (
            StateChanged()
            | TurnStarted()
            | TurnEnded()
            | TurnStopped()
            | TodoReminded()
            | WorkChanged()
            | DocumentWanted()
            | QueueChanged()
            | RetryEnded()
            | FallbackUsed()
            | ContextPromoted()
            | ConversationWanted()
            | CloseWanted()
            | SettingsWanted()
            | TodoWanted()
            | RulesBroken()
            | ReviewShown()
            | ReviewResolved()
            | OpenElsewhere()
            | TranscriptReset()
            | ConversationCopied()
        ):
            return []  # ACP has nothing for them; see `extension_events.py`
        case _:
            assert_never(event)


def _command(info: CommandInfo) -> dict[str, Any]:
    row: dict[str, Any] = {"name": info.name, "description": info.description}
    return row | ({"input": {"hint": info.hint}} if info.hint else {})


def _usage(event: UsageChanged) -> dict[str, Any]:
    counts = event.counts
    more: dict[str, Any] = {"tokens": event.tokens, "priced": event.priced}
    more |= {"input": counts.input, "output": counts.output}
    more |= {"cacheRead": counts.cache_read, "cacheWrite": counts.cache_write}
    more |= {"ratio": round(event.used / event.window, 4)} if event.window > 0 else {}
    more |= {"allTimeCostUsd": event.all_time_usd} if event.all_time_usd is not None else {}
    return more | ({"estimated": True} if event.estimated else {})


def _retrying(event: RetryWaiting) -> Update:
    """Return a retry as its own tool call, which is updated in place: every client shows the countdown without being
    flooded."""
    reason = one_line(event.message)
    tries = f"{event.attempt} of {event.of}"
    title, status = {
        "waiting": (f"Trying again in {event.remaining_s} s ({tries}): {reason}", "in_progress"),
        "over": (f"Tried again ({tries}): {reason}", "completed"),
        "stopped": (f"Gave up: {reason}", "failed"),
    }[event.state]
    retry = {
        "attempt": event.attempt,
        "maxAttempts": event.of,
        "remainingMs": event.remaining_s * 1000,
        "reason": reason,
    }
    retry |= {"kind": event.kind} if event.kind else {}
    fields = {"title": title, "kind": "other", "status": status, "_meta": {"north": {"retry": retry}}}
    kind = "tool_call" if event.is_first else "tool_call_update"
    return {"sessionUpdate": kind, "toolCallId": event.retry_id, **fields}


def _running(event: CallRunning) -> Update:
    fields: dict[str, object] = {"status": "in_progress"}
    if event.terminal is not None:
        fields["content"] = [{"type": "terminal", "terminalId": event.terminal}]
    elif event.output is not None:
        fields["content"] = [content(fenced(event.output, ""))]
    if event.can_stop:
        fields["_meta"] = {"north": {"canStop": True}}
    return _call(event.call_id, **fields)


def _ended(event: CallEnded) -> Update:
    shown = diffs(event.files)
    if event.text:
        shown.append(content(fenced(event.text, "") if "\n" in event.text else event.text))
    fields: dict[str, object] = {"title": event.title, "status": "completed" if event.ok else "failed"}
    if shown:
        fields["content"] = shown
    if event.locations:
        fields["locations"] = _locations(event.locations)
    meta: dict[str, object] = {"truncation": dict(event.truncation)} if event.truncation is not None else {}
    told = CommandDetails.of(event.details)
    meta |= {"cancelled": True} if told.cancelled else {}
    meta |= {"exitCode": told.exit_code} if told.exit_code is not None else {}
    if meta:
        fields["_meta"] = {"north": meta}
    return _call(event.call_id, **fields)


def mode_state(mode: Mode) -> dict[str, Any]:
    modes = [{"id": info.id, "name": info.name, "description": info.description} for info in MODES]
    return {"currentModeId": mode, "availableModes": modes}


def config_options(session: Session, *, switches: bool = False) -> list[dict[str, Any]]:
    """Return all config options with their current values, in a fixed order. What is on or off is a boolean for a
    client that has `switches`, else a choice of two."""
    modes = [{"value": info.id, "name": info.name, "description": info.description} for info in MODES]
    chosen, offered = session.choice.model, session.choice.offered
    approvals = session.approvals
    for_edits = "auto" if approvals.edits_auto_accepted else "review"
    for_commands = "auto" if approvals.commands_auto_approved else "review"
    others = () if any(known.selector == chosen.selector for known in offered) else (chosen,)
    models = [{"value": known.selector, "name": known.title} for known in (*offered, *others)]
    edits = [
        {"value": "review", "name": "Review", "description": "Every edit is reviewed before it is written"},
        {"value": "auto", "name": "Accept", "description": "Edits are applied; protected files still ask"},
    ]
    shell = [
        {"value": "review", "name": "Review", "description": "Every command asks, except those you allowed before"},
        {"value": "auto", "name": "Run", "description": "Commands run; dangerous ones still ask"},
    ]
    return [
        _select("mode", "Mode", "mode", session.mode, modes),
        _select("model", "Model", "model", chosen.selector, models),
        *_thought_level(chosen),
        *(
            [
                _switch("_edits", "Apply edits without review", edits[1]["description"], approvals.edits_auto_accepted),
                _switch("_shell", "Run commands without asking", shell[1]["description"], for_commands == "auto"),
            ]
            if switches
            else [
                _select("_edits", "Edits in this project", None, for_edits, edits),
                _select("_shell", "Commands in this project", None, for_commands, shell),
            ]
        ),
    ]


def _thought_level(model: Model) -> list[dict[str, Any]]:
    """Return the option for the thinking level; empty for a model that does not think."""
    if model.thinking is None:
        return []
    levels = [{"value": level, "name": _LEVEL_NAMES[level]} for level in model.thinking.levels]
    current = model.thinking.clamp(model.level or model.thinking.default)
    return [_select("thought_level", "Thinking", "thought_level", current, levels)]


def _switch(id: str, name: str, description: str, value: bool) -> dict[str, Any]:
    return {"id": id, "name": name, "description": description, "type": "boolean", "currentValue": value}


def _select(id: str, name: str, category: str | None, value: str, options: list[dict[str, str]]) -> dict[str, Any]:
    option = {"id": id, "name": name, "type": "select", "currentValue": value, "options": options}
    return option if category is None else option | {"category": category}
