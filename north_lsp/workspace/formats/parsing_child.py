"""Parses untrusted files in a separate process with limits on memory, time and output: archives, databases, office
documents, web pages and pictures of a few kilobytes can demand any amount of each."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.workspace.formats.pictures import Loaded, TooLarge
from north_lsp.workspace.opening import open_regular

MEMORY_BYTES = 1024 * 1024 * 1024
SECONDS = 20
_MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_COMMAND = (sys.executable, "-I", "-c", "from north_lsp.workspace.formats.parsing_child import main; main()")


async def parse_in_child(path: Path, inner: str) -> str | None:
    """Return what is to be shown of the file at a real path, see `archives.parse`; cancelling ends the process at once.

    Raises ToolError: the parser's, or TOO_LARGE or TIMEOUT if a limit is exceeded.
    """
    descriptor = await _opened(path)
    try:
        answer = await _asked(descriptor, {"name": path.name, "inner": inner}, path.name)
    finally:
        os.close(descriptor)
    return answer if answer is None else str(answer)


async def document_in_child(data: bytes, name: str) -> str | None:
    """Return what is to be shown of a document that is not in a file. Raises ToolError as `parse_in_child`."""
    answer = await _asked_of(data, {"name": name, "inner": ""}, name)
    return answer if answer is None else str(answer)


async def page_in_child(data: bytes, encoding: str, address: str) -> tuple[str, str]:
    """Return the title of a web page, and its main part as Markdown. Raises ToolError TOO_LARGE, TIMEOUT."""
    answer: Any = await _asked_of(data, {"page": address, "encoding": encoding, "name": "the page"}, "the page")
    return str(answer["title"]), str(answer["text"])


async def _asked_of(data: bytes, asked: dict[str, object], name: str) -> object:
    with systems.nameless_file() as file:
        await anyio.to_thread.run_sync(file.write, data)
        file.seek(0)
        return await _asked(file.fileno(), asked, name)


async def _opened(path: Path) -> int:
    """Open a regular file on a thread; the caller can be cancelled at once. Raises ToolError."""
    is_wanted = True

    def work() -> int:
        descriptor, _ = open_regular(path)
        if not is_wanted:
            os.close(descriptor)
        return descriptor

    try:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        is_wanted = False
        raise


async def scale_in_child(picture: TooLarge) -> Loaded | None:
    """Scale a picture down; None if it cannot be read, or not within the limits."""
    try:
        answer: Any = await _asked_of(picture.data, {"sides": picture.sides, "kind": picture.kind}, "the picture")
    except ToolError:
        return None
    if answer is None:
        return None
    return Loaded(answer["mimeType"], base64.b64decode(answer["data"]), answer["note"])


async def _asked(descriptor: int, asked: dict[str, object], name: str) -> object:
    with systems.given_to_child(descriptor) as (file, options), anyio.move_on_after(SECONDS):
        request = json.dumps({**asked, "file": file, "seconds": SECONDS}).encode()
        ended = await anyio.run_process(_COMMAND, input=request, check=False, stderr=None, **options)
        try:
            answer: dict[str, Any] = json.loads(ended.stdout)
        except ValueError:
            answer = {"error": ["TOO_LARGE", f"reading {name} needs more memory or time than is allowed", None]}
        if "error" in answer:
            raise ToolError(*answer["error"])
        return answer["found"]
    raise ToolError("TIMEOUT", f"reading {name} took longer than {SECONDS} seconds")


def main() -> None:
    """Read the request, do what it asks for within the limits, and write the answer."""
    request = json.loads(sys.stdin.buffer.read())
    systems.limit_own_process(MEMORY_BYTES, request["seconds"])
    try:
        answer: dict[str, object] = {"found": _found(request)}
    except ToolError as error:
        answer = {"error": [error.code, error.message, error.hint]}
    except (MemoryError, RecursionError):
        name = request.get("name", "the picture")
        answer = {"error": ["TOO_LARGE", f"reading {name} needs more memory than is allowed", None]}
    data = json.dumps(answer).encode()
    if len(data) > _MAX_OUTPUT_BYTES:
        refused = ["TOO_LARGE", "the content is too large to show; ask for a part of it", None]
        data = json.dumps({"error": refused}).encode()
    sys.stdout.buffer.write(data)


def _found(request: dict[str, Any]) -> object:
    path = Path(request["file"])
    if "sides" in request:
        from north_lsp.workspace.formats.pictures import scaled

        made = scaled(path.read_bytes(), tuple(request["sides"]), request["kind"])
        if made is None:
            return None
        return {"mimeType": made.mime_type, "data": base64.b64encode(made.data).decode(), "note": made.note}
    if "page" in request:
        from north_lsp.workspace.formats.pages import markdown_of

        title, text = markdown_of(path.read_bytes().decode(request["encoding"], "replace"), request["page"])
        return {"title": title, "text": text}
    from north_lsp.workspace.formats.archives import parse

    return parse(path, request["name"], request["inner"])
