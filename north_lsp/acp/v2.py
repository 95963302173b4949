"""Projects the messages of protocol version 1 to those of version 2, which is a draft: messages, tool calls and plans
are upserts by id, modes are options, diffs are file operations with a git patch. Pure."""

from __future__ import annotations

from typing import Any

from north_lsp.acp.plain import without_extension
from north_lsp.workspace.edit.diff import hunks_between

Fields = dict[str, Any]
_WHOLE = {
    "user_message_chunk": "user_message",
    "agent_message_chunk": "agent_message",
    "agent_thought_chunk": "agent_thought",
}
"""The updates that create a message, by those that add to it."""


def whole_message(update: Fields) -> Fields | None:
    """Return the update that creates the message that a chunk belongs to; None for anything else."""
    kind = _WHOLE.get(update["sessionUpdate"])
    return {"sessionUpdate": kind, "messageId": update["messageId"], "content": []} if kind is not None else None


def project(update: Fields, *, knows_north: bool) -> Fields | None:
    """Return an update of version 1 in the form of version 2; None if there is nothing like it."""
    match update["sessionUpdate"]:
        case "current_mode_update":
            return None  # a `config_option_update` says it, too
        case "tool_call" | "tool_call_update":
            if _is_preview(update):
                return None
            found = {**update, "sessionUpdate": "tool_call_update"}
            if isinstance(update.get("content"), list):
                found["content"] = [tool_content(part) for part in update["content"]]
            if update.get("_meta", {}).get("north", {}).get("cancelled"):
                found["status"] = "cancelled"
        case "config_option_update":
            found = {**update, "configOptions": config_options(update["configOptions"])}
        case "available_commands_update":
            found = {**update, "availableCommands": commands(update["availableCommands"])}
        case _:
            found = dict(update)
    return found if knows_north else without_extension(found)


def _is_preview(update: Fields) -> bool:
    """Return whether an update shows a part of an edit that still arrives: a patch has to fit its file."""
    parts = update.get("content") or []
    return any(part.get("_meta", {}).get("north", {}).get("preview") for part in parts)


def tool_content(part: Fields) -> Fields:
    """Return a part of a tool call's content."""
    if part["type"] != "diff":
        return part
    north = part.get("_meta", {}).get("north", {})
    path, old, new = part["path"], part.get("oldText"), part["newText"]
    change: Fields = {"operation": "add" if old is None else "modify", "path": path, "fileType": "text"}
    if north.get("kind") == "delete":
        change["operation"] = "delete"
    elif north.get("kind") == "rename":
        change |= {"operation": "move", "oldPath": north["oldPath"]}
    patch = {"format": "git_patch", "text": git_patch(change, old or "", new)}
    return {"type": "diff", "changes": [change], "patch": patch}


def git_patch(change: Fields, old: str, new: str) -> str:
    """Return a change as git writes it. Paths are absolute, without the first slash."""
    path = str(change["path"]).lstrip("/")
    before = str(change.get("oldPath", change["path"])).lstrip("/")
    head = f"diff --git a/{before} b/{path}\n"
    first, second = f"a/{before}", f"b/{path}"
    match change["operation"]:
        case "add":
            head, first = f"{head}new file mode 100644\n", "/dev/null"
        case "delete":
            head, second = f"{head}deleted file mode 100644\n", "/dev/null"
        case "move":
            head += f"rename from {before}\nrename to {path}\n"
    hunks, _, _ = hunks_between(old, new)
    if not hunks:
        return head
    first, second = (f"{name}\t" if " " in name else name for name in (first, second))
    return f"{head}--- {first}\n+++ {second}\n" + "".join(f"{hunk.header}\n{hunk.text}" for hunk in hunks)


def config_options(options: list[Fields]) -> list[Fields]:
    return [{"configId": one["id"], **{key: one[key] for key in one if key != "id"}} for one in options]


def commands(rows: list[Fields]) -> list[Fields]:
    found = []
    for row in rows:
        more = {"input": {"type": "text", **row["input"]}} if row.get("input") else {}
        found.append({**row, "type": "command", **more})
    return found


def permission(params: Fields, *, knows_north: bool) -> Fields:
    """Return the params of `session/request_permission`. A command is the question's subject itself, and what is said
    about it is below its title."""
    call = params["toolCall"]
    asked = call.get("rawInput")
    subject: Fields
    more: Fields = {}
    if call.get("kind") == "execute" and isinstance(asked, dict) and {"command", "cwd"} <= asked.keys():
        subject = {
            "type": "command",
            "command": asked["command"],
            "cwd": asked["cwd"],
            "toolCallId": call["toolCallId"],
        }
        texts = [part["content"]["text"] for part in call["content"][1:] if part["type"] == "content"]
        more = {"description": "\n\n".join(texts)} if texts else {}
    else:
        content = [tool_content(part) for part in call["content"]]
        subject = {"type": "tool_call", "toolCall": {**call, "content": content}}
    found = {"sessionId": params["sessionId"], "title": call["title"], **more, "subject": subject}
    found |= {key: params[key] for key in ("options", "_meta") if key in params}
    return found if knows_north else without_extension(found)


def session_row(row: Fields) -> Fields:
    """Return a row of `session/list`."""
    keys = ("sessionId", "cwd", "additionalDirectories", "title", "updatedAt", "archived")
    return {key: row[key] for key in keys if key in row}
