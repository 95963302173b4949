"""Exports: from a conversation and the name of a form to the text of a file."""

from __future__ import annotations

from datetime import date
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, get_args

from north_lsp.agent.exports.branches import left_branches
from north_lsp.agent.exports.data import json_of
from north_lsp.agent.exports.document import Document, Source, Surroundings, document_of
from north_lsp.agent.exports.markdown import markdown_of
from north_lsp.agent.exports.masking import Mask, masked
from north_lsp.agent.exports.page import html_of
from north_lsp.agent.exports.plain import text_of
from north_lsp.agent.log.log import Log
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.storage.blobs import Blobs

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry

Format = Literal["html", "md", "txt", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
_ENDINGS: dict[str, Format] = {
    ".html": "html",
    ".htm": "html",
    ".md": "md",
    ".markdown": "md",
    ".txt": "txt",
    ".json": "json",
}
_NAMES: dict[Format, str] = {"html": "a web page", "md": "Markdown", "txt": "a text file", "json": "JSON"}


def as_format(name: str) -> Format:
    """Return the format of this name. Raises ToolError INVALID_INPUT."""
    if name not in FORMATS:
        raise ToolError("INVALID_INPUT", f"there is no format {name[:40]!r}", f"use {', '.join(FORMATS)}")
    return name


def format_for(name: str, only: Format | None = None) -> Format:
    """Return the format that the ending of a file's name means: HTML without one; where there is `only` one format,
    that one. Raises ToolError INVALID_INPUT."""
    ending = PurePath(name).suffix
    if not ending:
        return only or "html"
    format = _ENDINGS.get(ending.lower())
    if format is None or only not in (None, format):
        told = f"{one_line(ending, 40)!r} is not the ending of {_NAMES[only] if only is not None else 'an export'}"
        *others, last = [one for one, means in _ENDINGS.items() if only in (None, means)]
        endings = f"{', '.join(others)} or {last}" if others else last
        other = "use /export for another format" if only is not None else "choose a format"
        raise ToolError("INVALID_INPUT", told, f"end the name in {endings}, or {other}")
    return format


def default_name(id: str, day: date, format: Format) -> str:
    return f"north-{id}-{day.isoformat()}.{format}"


def source_of(log: Log, blobs: Blobs, surroundings: Surroundings | None = None) -> Source:
    """Return a conversation as it is now, for exporting it."""
    conversation = log.conversation
    reason = conversation.read_only_reason
    warnings = [*conversation.warnings, *([reason] if reason is not None else [])]
    header, path = log.header, log.path()
    left = left_branches(log.entries(), path)
    return Source(conversation.title or "", header, path, left, warnings, blobs.find, surroundings)


def render(source: Source, tools: Registry, format: Format, mask: Mask | None) -> str:
    """Render a conversation; `mask` is applied to every text of it first. Reads pictures, and takes a while for long
    conversations: for a thread. Raises ToolError NOT_FOUND if nothing was said in it."""
    document = document_of(source, tools)
    if not document.rows and not document.branches:
        why = f" ({'; '.join(document.left_out)})" if document.left_out else ""
        raise ToolError("NOT_FOUND", f"there is nothing to export yet: nothing was said in this conversation{why}")
    return _rendered(document if mask is None else masked(document, mask), format)


def _rendered(document: Document, format: Format) -> str:
    match format:
        case "html":
            return html_of(document)
        case "md":
            return markdown_of(document)
        case "txt":
            return text_of(document)
        case "json":
            return json_of(document)
