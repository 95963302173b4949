"""Prompts that belong in the user's input again, as content blocks. Pure."""

from __future__ import annotations

from typing import Any

from north_lsp.agent.ports.events import Draft, DraftFile
from north_lsp.providers.base import Image


def draft_blocks(draft: Draft | None) -> list[dict[str, Any]]:
    """Return the blocks with which a client can send the prompt again."""
    if draft is None:
        return []
    words: list[dict[str, Any]] = [{"type": "text", "text": draft.text}] if draft.text else []
    return [*words, *map(_file, draft.files), *map(image_block, draft.images)]


def image_block(image: Image) -> dict[str, Any]:
    return {"type": "image", "mimeType": image.mime_type, "data": image.data}


def _file(file: DraftFile) -> dict[str, Any]:
    if file.path is None:
        return {"type": "resource", "resource": {"uri": file.name, "text": file.text}}
    lines = f"#L{file.lines[0]}-L{file.lines[1]}" if file.lines is not None else ""
    return {"type": "resource_link", "uri": f"{file.path.as_uri()}{lines}", "name": file.name}
