"""What a client has shown of a conversation, however it arrived: chunks joined, calls in their final state, progress
left out."""

from typing import Any

_LAST_COUNTS = {"session_info_update", "usage_update", "plan"}
_PROGRESS = ("choice-", "limit-")
_ELSEWHERE = {"available_commands_update", "config_option_update"}


def shown(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what was shown, without the client's own prompts, which it has shown itself."""
    rows: list[dict[str, Any]] = []
    calls: dict[str, dict[str, Any]] = {}
    last: dict[str, dict[str, Any]] = {}
    for params in updates:
        update = dict(params["update"])
        kind, call_id = update.pop("sessionUpdate"), update.get("toolCallId")
        if kind in _ELSEWHERE or kind == "user_message_chunk" or str(call_id).startswith(_PROGRESS):
            continue
        if kind == "notice" and "stopped" not in update.get("_meta", {}).get("north", {}):
            continue  # it is not part of the conversation
        if kind.endswith("_chunk") and update["messageId"].startswith("notice-"):
            continue  # the same, for a client that knows no notices
        if kind in _LAST_COUNTS:
            last[kind] = update
        elif call_id is not None:
            if call_id not in calls:
                calls[call_id] = {}
                rows.append(calls[call_id])
            calls[call_id] |= update
        elif kind.endswith("_chunk") and rows and rows[-1].get("chunk") == (kind, update["messageId"]):
            rows[-1]["text"] += update["content"]["text"]
        elif kind.endswith("_chunk"):
            rows.append({"chunk": (kind, update["messageId"]), "text": update["content"]["text"]})
        else:
            rows.append({kind: update})
    for call in calls.values():
        north = call.get("_meta", {}).get("north", {})
        if call.get("status") in ("completed", "failed"):
            north.pop("canStop", None)  # only what runs can be stopped
        if call.get("status") == "failed":
            north.pop("tasks", None)  # how far its agents were when it was cancelled
        if call.get("_meta") == {"north": {}}:
            del call["_meta"]
    usage = last.get("usage_update", {})
    title = last.get("session_info_update", {}).get("title")
    counts = {"used": usage.get("used"), "size": usage.get("size"), "cost": usage.get("cost")}
    return [*rows, {"title": title, **counts, "plan": last.get("plan")}]
