"""Logs of other formats, read as if they were of today's: flat ones, and trees whose header is a `session`. Pure.

What has no place in today's format is kept as a `custom` entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from north_lsp.storage.entries import ANNOTATION_TYPES, HEADER, TREE_TYPES, VERSION, Record

_REVIEWS = {"diff_review": "write", "shell_review": "shell", "command_review": "command"}
_TEXTS = ("content", "text", "message", "result", "output")


def format_of(header: Record | None) -> str | None:
    """Return the name of an old format that can be read, None for any other."""
    match header:
        case {"type": "conversation_started", "version": _}:
            return None
        case {"type": "conversation_started"}:
            return "flat"
        case {"type": "session", "version": 1 | 2 | 3 as version}:
            return f"session-{version}"
        case {"type": "session", **more} if "version" not in more:
            return "session-1"
        case _:
            return None


def today(format: str, header: Record, records: Iterable[Record]) -> Iterator[Record]:
    """Yield the header, and then the lines, as they would be written today."""
    cwd = header.get("cwd")
    root = header.get("repoRoot", cwd)
    new = {key: value for key, value in header.items() if key not in ("type", "version")}
    new |= {"type": HEADER, "version": VERSION, "formerFormat": format}
    yield new | ({"repoRoot": root, "cwd": cwd or root} if isinstance(root, str) else {})
    lines = list(records)
    is_flat = format == "flat" and not any("parentId" in line for line in lines)
    yield from _flat(header, lines) if is_flat else _tree(lines)


def id_of_line(record: Record, number: int) -> str:
    """Return the id that an entry gets in today's format: its own if it has one. For a line that changes an entry, it
    is that one's."""
    own = record.get("id")
    if record["type"] == "entry_added":
        own = _first(record, "entry", "payload", "data").get("id") or own
    elif record["type"] == "entry_updated":
        own = record.get("entryId") or record.get("targetId") or own
    return str(own or f"line{number}")


# -- flat: a list of what was shown ------------------------------------------------------------------------------------


def _flat(header: Record, records: Iterable[Record]) -> Iterator[Record]:
    entries: dict[str, Record] = {}
    order: list[tuple[str, Record]] = []
    for number, record in enumerate(records):
        if record["type"] == "entry_added":
            entry = dict(_first(record, "entry", "payload", "data") or record)
            entry.setdefault("timestamp", record.get("timestamp"))
            id = str(entry.get("id") or f"line{number}")
            if id not in entries:
                entries[id] = entry
                order.append((id, entry))
        elif record["type"] == "entry_updated":
            changed = entries.get(str(record.get("entryId") or record.get("targetId") or record.get("id")))
            patch = _first(record, "updates", "patch", "changes")
            if changed is not None:
                changed.update({key: value for key, value in patch.items() if key not in ("id", "type")})
        else:
            order.append((f"line{number}", record))
    yield from _linked(_flat_entries(order, str(header.get("model") or "")))


def _flat_entries(order: list[tuple[str, Record]], model: str) -> Iterator[Record]:
    calls: set[str] = set()
    for id, entry in order:
        fixed: Record = {"id": id, "timestamp": entry.get("timestamp")}
        kind = str(entry.get("type") or entry.get("role") or "")
        kind = str(entry.get("role") or entry.get("kind") or kind) if kind in ("entry_added", "message") else kind
        match kind:
            case "user":
                yield fixed | _message({"role": "user", "content": _words(entry), "attribution": "user"})
            case "assistant":
                found = [*_text(_words(entry)), *_old_calls(entry)]
                calls |= {call["id"] for call in found if call["type"] == "tool_call"}
                provider, _, name = model.rpartition("/")
                message: Record = {"role": "assistant", "provider": provider, "model": name, "content": found}
                yield fixed | _message(message | {"stopReason": "stop"})
            case "tool" if (call := str(entry.get("toolCallId") or entry.get("toolUseId") or "")) in calls:
                result = {"toolCallId": call, "toolName": str(entry.get("toolName") or entry.get("name") or "")}
                failed = bool(entry.get("isError") or entry.get("error"))
                yield fixed | _message({"role": "toolResult", **result, "content": _words(entry), "isError": failed})
            case "diff_review" | "shell_review" | "command_review":
                known = {"kind": _REVIEWS[kind], "status": entry.get("status") or entry.get("reviewStatus")}
                yield fixed | known | {"type": "review", "reviewId": id, "request": {}, "former": entry}
            case "command_executed":
                typed = str(entry.get("input") or entry.get("command") or entry.get("name") or "")
                yield fixed | {"type": kind, "input": typed, "message": _words(entry), "former": entry}
            case "model_changed":
                model = str(entry.get("model") or entry.get("modelId") or model)
                yield fixed | {"type": "model_change", "model": model}
            case "rolling_summary_set":
                summary = {"summary": "", "structured": entry.get("summary", entry.get("rollingSummary"))}
                yield fixed | {"type": "compaction", **summary, "reason": "summary"}
            case "conversation_ended":
                yield fixed | {"type": kind, "reason": str(entry.get("reason") or "exit")}
            case _:
                yield fixed | {"type": "custom", "customType": kind, "data": entry}


def _words(entry: Record) -> str:
    return next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), "")


def _text(words: str) -> list[Record]:
    return [{"type": "text", "text": words}] if words else []


def _old_calls(entry: Record) -> Iterator[Record]:
    calls = entry.get("toolCalls") or entry.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        match call:
            case {"id": str(id), "name": str(name)}:
                given = _first(call, "arguments", "input", "args")
                yield {"type": "tool_call", "id": id, "name": name, "arguments": given}


def _first(record: Record, *keys: str) -> Record:
    """Return the first of these values that is an object; an empty one if none is."""
    found: Record = next((record[key] for key in keys if isinstance(record.get(key), dict)), {})
    return found


def _message(message: Record) -> Record:
    return {"type": "message", "message": message}


def _linked(records: Iterable[Record]) -> Iterator[Record]:
    """Link each record to the one before it, and each summary to the entry after it, the first that is kept."""
    parent: str | None = None
    every = list(records)
    entries = [record for record in every if record["type"] not in ANNOTATION_TYPES]
    after = {id(one): other["id"] for one, other in pairwise(entries)}
    for record in every:
        if record["type"] == "compaction":
            record["firstKeptEntryId"] = after.get(id(record))
        if record["type"] in ANNOTATION_TYPES:
            yield record
        else:
            yield record | {"parentId": parent}
            parent = record["id"]


# -- trees -------------------------------------------------------------------------------------------------------------


def _tree(records: Iterable[Record]) -> Iterator[Record]:
    parent: str | None = None
    instead: dict[str, Any] = {}  # the parents of labels, which were entries
    ids: list[str] = []
    for number, line in enumerate(records):
        id = str(line.get("id") or f"line{number}")
        record = line | {"id": id}
        if "parentId" not in record and record["type"] not in ANNOTATION_TYPES:
            record["parentId"] = parent
        above = record.get("parentId")
        if isinstance(above, str) and above in instead:
            record["parentId"] = instead[above]
        if record["type"] == "label":
            instead[id] = record.pop("parentId", None)
            yield record
            continue
        kept = record.get("firstKeptEntryIndex")
        if record["type"] == "compaction" and isinstance(kept, int) and 0 <= kept < len(ids):
            record["firstKeptEntryId"] = ids[kept]
        ids.append(id)
        if record["type"] in TREE_TYPES or "parentId" in record:
            parent = id
        yield _with_words_of_today(record)


def _with_words_of_today(record: Record) -> Record:
    if record["type"] == "model_change" and "model" not in record and record.get("modelId"):
        return record | {"model": f"{record.get('provider')}/{record['modelId']}"}
    message = record.get("message")
    if not isinstance(message, dict):
        return record
    if message.get("role") == "hookMessage":
        message = message | {"role": "custom"}
    content = message.get("content")
    if isinstance(content, list):
        content = [part | {"type": "tool_call"} if _is_call(part) else part for part in content]
        message = message | {"content": content}
    return record | {"message": message}


def _is_call(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "toolCall"
