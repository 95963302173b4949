"""Reads what a server says of its tools and of their results. Nothing in it is believed: what makes no sense is left
out, and said."""

from __future__ import annotations

import base64
import binascii
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import Any

import anyio.to_thread

from north_lsp.agent.ports.servers import OfferedPrompt, OfferedTool, PromptArgument, ServerAnswer
from north_lsp.agent.servers.schema import usable_schema
from north_lsp.display import one_line, visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.mcp.transport import failure
from north_lsp.tools.base import Picture
from north_lsp.workspace.formats.pictures import Loaded, TooLarge, check_picture

MAX_TOOLS = 200
_MAX_DESCRIPTION = 4000
_MAX_PICTURES = 10
_MAX_BLOCKS = 1000
MAX_RESOURCES = 1000
MAX_PROMPTS = 100
_MAX_PROMPT = 100_000
_MAX_SCHEMA = 64 * 1024


@dataclass
class _Found:
    """What an answer has besides text. `tried` counts images, also those that turned out to be none: each try costs.
    Without `shows`, images are told of only."""

    pictures: list[Picture] = field(default_factory=list)
    links: dict[str, None] = field(default_factory=dict)
    tried: int = 0
    shows: bool = True


def read_tools(rows: object) -> Iterator[OfferedTool | str]:
    """Read a page of tools; a text says why one is left out. Raises ToolError."""
    if not isinstance(rows, list):
        raise failure("the list of tools does not follow the protocol: `tools` is not a list")
    for row in rows:
        name = row.get("name") if isinstance(row, Mapping) else None
        if not isinstance(row, Mapping) or not isinstance(name, str) or not 0 < len(name) <= 200:
            yield "a tool without a proper name is left out"
            continue
        schema = row.get("inputSchema")
        if _size(schema) > _MAX_SCHEMA:
            yield f"the tool {one_line(name, 80)} is left out: its schema is too large"
            continue
        description = row.get("description")
        notes = row.get("annotations")
        yield OfferedTool(
            name,
            visible(description)[:_MAX_DESCRIPTION] if isinstance(description, str) else "",
            usable_schema(schema),
            isinstance(notes, Mapping) and notes.get("readOnlyHint") is True,
        )


def _size(value: object) -> int:
    """Return how long a value is as JSON; more than anything may be if it is nested too deeply for that."""
    try:
        return len(json.dumps(value, default=str))
    except RecursionError:
        return sys.maxsize


async def read_answer(result: Mapping[str, Any]) -> ServerAnswer:
    """Read the result of a call. Raises ToolError."""
    blocks = result.get("content", [])
    if not isinstance(blocks, list):
        raise failure("the answer does not follow the protocol: `content` is not a list")
    found = _Found()
    texts = await _texts(blocks, found)
    structured = result.get("structuredContent")
    if structured is not None:
        texts += await anyio.to_thread.run_sync(_unsaid, texts, structured)
    return ServerAnswer("\n\n".join(texts), tuple(found.pictures), result.get("isError") is True, tuple(found.links))


async def _texts(blocks: list[Any], found: _Found) -> list[str]:
    """Put the parts of an answer into words."""
    texts = [await _block(block, found) for block in blocks[:_MAX_BLOCKS]]
    if len(blocks) > _MAX_BLOCKS:
        texts.append(f"[{len(blocks) - _MAX_BLOCKS} more parts of the answer are left out: it may have {_MAX_BLOCKS}]")
    return [text for text in texts if text]


def _unsaid(texts: list[str], structured: object) -> list[str]:
    """Return the structured content, unless the texts have it already, as the protocol recommends."""
    try:
        with suppress(ValueError):
            if len(texts) == 1 and json.loads(texts[0]) == structured:
                return []
        return [json.dumps(structured, ensure_ascii=False, indent=1)]
    except RecursionError:
        return ["[the structured content is left out: it is nested too deeply]"]


async def _block(row: object, found: _Found) -> str:
    block: Mapping[str, Any] = row if isinstance(row, Mapping) else {}
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image", "data": str(data)}:
            return await _picture(data, str(block.get("mimeType")), found)
        case {"type": "audio", "data": str(data)}:
            return f"[audio, {one_line(str(block.get('mimeType')), 60)}, about {len(data) * 3 // 4} bytes: not shown]"
        case {"type": "resource_link", "uri": str(uri)}:
            found.links[uri] = None
            about = [block.get(key) for key in ("title", "name", "mimeType", "description")]
            words = "; ".join(one_line(text, 300) for text in about if isinstance(text, str) and text)
            return f"[resource {one_line(uri, 1000)}{f': {words}' if words else ''}]"
        case {"type": "resource", "resource": {"uri": str(uri)} as resource}:
            return await resource_text(uri, resource, found)
        case _:
            kind = one_line(str(block.get("type")), 40)
            return f"[a part of the answer is left out: its kind, {kind}, is unknown, or it is damaged]"


def read_prompts(rows: object) -> Iterator[OfferedPrompt]:
    """Read the list of prompts; those without a proper name are left out."""
    for row in rows[:MAX_PROMPTS] if isinstance(rows, list) else ():
        match row:
            case {"name": str(name)} if 0 < len(name) <= 100:
                about = [row.get(key) for key in ("description", "title")]
                words = next((one_line(text, 200) for text in about if isinstance(text, str) and text), "")
                given = row.get("arguments")
                read = [_argument(one) for one in given[:20]] if isinstance(given, list) else []
                yield OfferedPrompt(name, words, tuple(one for one in read if one is not None))
            case _:
                pass


def _argument(row: object) -> PromptArgument | None:
    name = row.get("name") if isinstance(row, Mapping) else None
    if not isinstance(row, Mapping) or not isinstance(name, str) or not name:
        return None
    return PromptArgument(one_line(name, 60), row.get("required") is True)


async def read_messages(result: Mapping[str, Any]) -> str:
    """Read what a prompt says, as one text; pictures are told of, not shown. Raises ToolError."""
    rows = result.get("messages")
    if not isinstance(rows, list):
        raise failure("the answer does not follow the protocol: `messages` is not a list")
    found = _Found(shows=False)
    texts = await _texts([row.get("content") for row in rows if isinstance(row, Mapping)], found)
    return "\n\n".join(texts)[:_MAX_PROMPT]


def read_resources(rows: object) -> Iterator[tuple[str, str]]:
    """Read the list of resources: addresses, with words about them."""
    for row in rows[:MAX_RESOURCES] if isinstance(rows, list) else ():
        match row:
            case {"uri": str(uri)}:
                about = [row.get(key) for key in ("title", "name", "mimeType", "description")]
                yield uri, one_line("; ".join(text for text in about if isinstance(text, str) and text), 200)
            case _:
                pass


async def read_contents(result: Mapping[str, Any]) -> ServerAnswer:
    """Read what a resource has. Raises ToolError."""
    rows = result.get("contents")
    if not isinstance(rows, list):
        raise failure("the answer does not follow the protocol: `contents` is not a list")
    found = _Found(shows=False)
    parts = [row for row in rows if isinstance(row, Mapping)]
    if len(parts) == 1 and isinstance(parts[0].get("text"), str):
        return ServerAnswer(str(parts[0]["text"]))
    blocks = [{"type": "resource", "resource": {"uri": "", **part}} for part in parts]
    return ServerAnswer("\n\n".join(await _texts(blocks, found)))


async def resource_text(uri: str, resource: Mapping[str, Any], found: _Found) -> str:
    """Put the contents of a resource into words."""
    name, kind = one_line(uri, 1000), one_line(str(resource.get("mimeType", "")), 60)
    match resource:
        case {"text": str(text)}:
            return f"[resource {name}]\n{text}"
        case {"blob": str(data)} if kind.startswith("image/"):
            return f"[resource {name}]\n{await _picture(data, kind, found)}"
        case {"blob": str(data)}:
            return f"[resource {name}, {kind or 'unknown kind'}, about {len(data) * 3 // 4} bytes: not shown]"
        case _:
            return f"[resource {name}: empty]"


async def _picture(data: str, kind: str, found: _Found) -> str:
    from north_lsp.workspace.formats.parsing_child import scale_in_child

    kind = one_line(kind, 60)
    if not found.shows:
        return f"[{kind}, about {len(data) * 3 // 4} bytes: not shown]"
    if found.tried >= _MAX_PICTURES:
        return f"[{kind}: left out, since an answer has at most {_MAX_PICTURES} images]"
    found.tried += 1
    try:
        raw = await anyio.to_thread.run_sync(partial(base64.b64decode, data, validate=True))
    except (binascii.Error, ValueError):
        return f"[{kind}: left out, since it is damaged]"
    read: Loaded | TooLarge | str | None = check_picture(raw)
    if isinstance(read, TooLarge):
        read = await scale_in_child(read)
    if not isinstance(read, Loaded):
        return f"[{kind}: left out, since it {read or 'is too large'}]"
    found.pictures.append(Picture(read.mime_type, read.data))
    return f"[{kind}: image {len(found.pictures)}]"
