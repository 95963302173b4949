"""What a search looks through: the passages of a log that people said, and the files that were touched. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import Record

LONGEST = 16_000
"""A longer text is several passages, so that what is shown of one is quickly found."""
_PATH_ARGUMENTS = ("path", "file", "from", "to", "old_path", "new_path", "source", "target")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of one entry of the log, which is named by its id. `is_prompt`: the user typed it for the model."""

    entry_id: str | None
    text: str
    is_prompt: bool = False


def passages_of(record: Record) -> Iterator[Passage]:
    """Yield the passages of a line: none for most kinds."""
    match record:
        case {"type": "message", "message": dict(message)}:
            is_prompt = message.get("role") == "user" and message.get("attribution") != "north"
            yield from _pieces(record, _said(message), is_prompt=is_prompt)
            yield from _pieces(record, " ".join(_files(message)))
        case {"type": "custom_message", "content": str() | list() as content}:
            yield from _pieces(record, _texts(content))
        case {"type": "compaction" | "branch_summary", "summary": str(text)}:
            yield from _pieces(record, text)
        case {"type": "label", "label": str(text), "targetId": str(target)}:
            yield Passage(target, text)
        case {"type": "checkpoint", "files": list(files)}:
            yield from _pieces(record, " ".join(_paths(files)))


def _said(message: dict[str, Any]) -> str:
    match message:
        case {"role": "user" | "assistant", "content": list(parts)}:
            return _texts(parts)
        case {"role": "custom", "content": str() | list() as content}:
            return _texts(content)
        case {"role": "bashExecution", "command": str(command)}:
            return f"!{command}"
        case _:
            return ""


def _texts(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text")
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _files(message: dict[str, Any]) -> Iterator[str]:
    """Yield the paths that a message attaches, or that its calls are about."""
    content = message.get("content")
    for part in content if isinstance(content, list) else []:
        match part:
            case {"type": "file_mention", "path": str(path)}:
                yield path
            case {"type": "tool_call", "arguments": dict(arguments)}:
                yield from (value for key in _PATH_ARGUMENTS if isinstance(value := arguments.get(key), str))
                edits = arguments.get("edits")
                yield from _paths(edits if isinstance(edits, list) else [])


def _paths(rows: list[Any]) -> Iterator[str]:
    yield from (row["path"] for row in rows if isinstance(row, dict) and isinstance(row.get("path"), str))


def _pieces(record: Record, text: str, *, is_prompt: bool = False) -> Iterator[Passage]:
    text, id = text.strip(), record.get("id")
    while text:
        end = len(text) if len(text) <= LONGEST else text.rfind(" ", LONGEST // 2, LONGEST) + 1 or LONGEST
        yield Passage(id if isinstance(id, str) else None, text[:end], is_prompt)
        text = text[end:].strip()
