"""The parts of a prompt: text and attachments."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Self
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread

from north_lsp.agent.log import messages
from north_lsp.agent.log.editor_state import EditorState
from north_lsp.agent.log.images import kept_image
from north_lsp.agent.log.messages import PICTURE, Mention, PromptPart
from north_lsp.agent.log.seen import seen_of
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import Image
from north_lsp.tools.support.texts import attached_folder, attached_path, attached_text, current_text
from north_lsp.workspace.formats.pictures import SEEN, Loaded, TooLarge, check_picture, load_whole_picture
from north_lsp.workspace.text import split_lines, to_newlines
from north_lsp.workspace.workspace import Workspace

_LINES = lazy_pattern(r"L?(\d+)(?:C\d+)?(?:[-:,]L?(\d+)(?:C\d+)?)?")
_UNKNOWN = "unknown"
_RESOURCE = lazy_pattern(r"(?<!\S)@mcp:([A-Za-z0-9_.-]+/\S+)")
_MOST_RESOURCES = 5
_RESOURCE_SECONDS = 5.0
_MAX_PREVIEW_LINES = 500
_MAX_PREVIEW_CHARACTERS = 100_000
# Longer files are attached by their beginning and an outline.
_WHOLE_LINES, _WHOLE_CHARACTERS = 120, 8 * 1024


@dataclass(frozen=True, slots=True)
class TextPart:
    """What the user typed; or what a command has made of it (`is_made`), maybe of words of others: then nothing in it
    is a command or a mention."""

    text: str
    is_made: bool = False


@dataclass(frozen=True, slots=True)
class FileLink:
    """A file that the user refers to, which North reads; `lines` is an inclusive range from 1. `by_model`: a model has
    named it, for which closed files stay closed."""

    path: str
    lines: tuple[int, int] | None = None
    by_model: bool = False


@dataclass(frozen=True, slots=True)
class Attached:
    """A text that the client attached by itself."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class PicturePart:
    """A picture that the user sends, checked; it is scaled down when its turn begins."""

    picture: Loaded | TooLarge

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Check a picture. Raises ValueError, which says what is wrong with it."""
        found = check_picture(data)
        if isinstance(found, str):
            raise ValueError(found)
        return cls(found)


Part = TextPart | FileLink | Attached | PicturePart | EditorState
Keep = Callable[[Mapping[str, bytes]], Awaitable[None]]
ReadResource = Callable[[str], Awaitable[str]]
"""Reads what is at `<server>/<address>`, whether the server has listed it or not; raises ToolError."""
"""Stores contents by their digests."""


def typed(parts: Iterable[Part]) -> list[str]:
    """Return the texts that the user typed."""
    return [part.text for part in parts if isinstance(part, TextPart) and not part.is_made]


def is_blank(parts: tuple[Part, ...]) -> bool:
    return all(isinstance(part, TextPart) and not part.text.strip() for part in without_editor(parts))


def without_editor(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return what the user sends, without what the client tells of the editor."""
    return tuple(part for part in parts if not isinstance(part, EditorState))


def shown_parts(parts: tuple[Part, ...]) -> str:
    """Render a prompt as people see it: the text, and the names of the attachments."""
    shown = {TextPart: "{0.text}", FileLink: "[{0.path}]", Attached: "[{0.name}]", PicturePart: PICTURE}
    return "\n\n".join(shown[type(part)].format(part) for part in without_editor(parts)).strip()


async def to_log(
    parts: tuple[Part, ...], workspace: Workspace, keep: Keep, resource: ReadResource | None = None
) -> list[PromptPart]:
    """Convert the parts of a prompt to what is stored; `keep` stores pictures, `resource` reads what words name of an
    MCP server. For what cannot be read, the reason is stored instead."""
    content: list[PromptPart] = []
    for part in parts:
        match part:
            case TextPart(text, is_made):
                content.append(messages.Words(text))
                named = [] if is_made else _RESOURCE.findall(text)[:_MOST_RESOURCES]
                content += [await _resource(name, resource) for name in named]
            case Attached(name, text):
                content.append(await _placed(name, text, workspace))
            case FileLink():
                content += await _linked(part, workspace, keep)
            case PicturePart(picture):
                content.append(await _kept(picture, keep))
            case EditorState():
                pass  # what the model is told of it is up to `agent/context/`
    return content


async def _linked(link: FileLink, workspace: Workspace, keep: Keep) -> list[PromptPart]:
    """Attach what a link leads to; of a picture, what is on it."""
    if link.by_model or not link.path.lower().endswith(SEEN):
        return [await _read_link(link, workspace)]
    try:
        resolved = await attached_path(link.path, workspace)
        found = await anyio.to_thread.run_sync(load_whole_picture, resolved.path)
    except (ToolError, OSError):
        return [await _read_link(link, workspace)]  # which says what is wrong
    if isinstance(found, str):
        return [_mention(resolved.relative, f"(not attached: it {found})", None)]
    return [messages.News(f"[The next picture is {resolved.relative}]"), await _kept(found, keep)]


async def _kept(picture: Loaded | TooLarge, keep: Keep) -> Image | Mention:
    shown = await _scaled(picture) if isinstance(picture, TooLarge) else picture
    if shown is None:
        return _mention("picture", "(not attached: it is too large, and could not be scaled down)", None)
    digest = hashlib.sha256(shown.data).hexdigest()
    with suppress(OSError):  # the model is told that it is not available
        await keep({digest: shown.data})
    return kept_image(shown.mime_type, shown.data, digest)


async def _scaled(picture: TooLarge) -> Loaded | None:
    from north_lsp.workspace.formats.parsing_child import scale_in_child  # rarely needed, and the start shall be quick

    return await scale_in_child(picture)


async def _resource(name: str, read: ReadResource | None) -> Mention:
    """Attach what a prompt names as `@mcp:<server>/<address>`; a server that does not answer soon is not waited for."""
    path = f"mcp://{name}"
    try:
        if read is None:
            raise ToolError("NOT_FOUND", "there are no MCP servers here")
        with anyio.move_on_after(_RESOURCE_SECONDS):
            return _mention(path, await read(name), None)
    except ToolError as error:
        return _mention(path, f"(not attached: {error.message})", None)
    return _mention(path, f"(not attached: no answer within {_RESOURCE_SECONDS:g} s)", None)


async def _placed(name: str, text: str, workspace: Workspace) -> Mention:
    """Attach a text that the client sent along: under the path of its file and, if it is a part of the file, with its
    lines."""
    if not name.lower().startswith("file:"):
        return _mention(name, text, None)
    uri, range = split_uri(name)
    named = f"{range[0]}-{range[1]}" if range is not None else None
    try:
        resolved, current, _ = await attached_text(uri, workspace)
    except ToolError:
        return _mention(unquote(urlsplit(uri).path) or name, text, named)
    whole, part = to_newlines(current.text, "\n"), to_newlines(text, "\n").strip("\n")
    if part == whole.strip("\n"):
        workspace.seen.note(resolved.path, current.tag, [(1, min(len(split_lines(whole)), _MAX_PREVIEW_LINES))])
        return replace(_mention(resolved.relative, text, None), seen=seen_of(workspace.seen.drain()))
    at = whole.find(part)
    if at < 0 or not part:
        return _mention(resolved.relative, text, named or _UNKNOWN)
    if whole.find(part, at + 1) >= 0:
        return _mention(resolved.relative, text, named or f"{_UNKNOWN}, the text occurs more than once")
    first = whole.count("\n", 0, at) + 1
    last = first + part.count("\n")
    mention = _mention(resolved.relative, text, f"{first}-{last}")
    if whole[at - 1 : at] in ("", "\n") and whole[at + len(part) :][:1] in ("", "\n"):  # whole lines
        workspace.seen.note(resolved.path, current.tag, [(first, min(last, first + _MAX_PREVIEW_LINES - 1))])
        return replace(mention, seen=seen_of(workspace.seen.drain()))
    return mention


def split_uri(uri: str) -> tuple[str, tuple[int, int] | None]:
    """Split a file's URI into the URI without query and fragment, and the lines that the fragment names: editors write
    `#L5`, `#L5-L6`, `#L5:6`."""
    place, _, fragment = uri.partition("#")
    found = _LINES.fullmatch(fragment)
    place = place.partition("?")[0]
    if found is None or int(found[1]) < 1:
        return place, None
    return place, (int(found[1]), max(int(found[1]), int(found[2] or found[1])))


async def _read_link(link: FileLink, workspace: Workspace) -> Mention:
    path, lines = link.path, link.lines
    read = current_text if link.by_model else attached_text
    try:
        if (folder := await attached_folder(path, workspace)) is not None:
            return _mention(f"{folder[0]}/", folder[1], None)
        resolved, text, _ = await read(path, workspace)
    except ToolError as error:
        return _mention(path, f"(not attached: {error.message})", None)
    whole = split_lines(text.text)
    if lines is None and (len(whole) > _WHOLE_LINES or len(text.text) > _WHOLE_CHARACTERS):
        from north_lsp.workspace.structure.preview import preview_of  # rarely needed, and the start shall be quick

        preview, shown = await anyio.to_thread.run_sync(preview_of, resolved.path.name, text.text)
        if shown:
            workspace.seen.note(resolved.path, text.tag, [(1, shown)])
        named = f"1-{shown}" if shown else _UNKNOWN
        return replace(_mention(resolved.relative, preview, named), seen=seen_of(workspace.seen.drain()))
    first, last = lines if lines is not None else (1, len(whole))
    workspace.seen.note(resolved.path, text.tag, [(first, min(last, first + _MAX_PREVIEW_LINES - 1))])
    seen = seen_of(workspace.seen.drain())
    if lines is None:
        return replace(_mention(resolved.relative, text.text, None), seen=seen)
    chosen = whole[lines[0] - 1 : lines[1]]
    return replace(_mention(resolved.relative, "".join(chosen), f"{lines[0]}-{lines[1]}"), seen=seen)


def _mention(path: str, text: str, lines: str | None) -> Mention:
    shown = "".join(split_lines(text)[:_MAX_PREVIEW_LINES])[:_MAX_PREVIEW_CHARACTERS]
    if len(shown) < len(text):
        shown += f"\n… shortened; {len(text)} characters in total …"
    return Mention(path, shown, lines or None)
