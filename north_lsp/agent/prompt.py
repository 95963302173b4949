"""What a user sends: words, and things attached to them."""

from dataclasses import dataclass

from north_lsp.agent.remembering import noted_to_log
from north_lsp.errors import ToolError
from north_lsp.tools.base import Workspace
from north_lsp.tools.texts import attached_text
from north_lsp.workspace.text import split_lines

_MAX_PREVIEW_LINES = 500
_MAX_PREVIEW_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class Words:
    text: str


@dataclass(frozen=True, slots=True)
class FileLink:
    """A file that the user points at; `lines` is an inclusive range from 1. North reads it."""

    path: str
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Attached:
    """A text that the client sent along by itself."""

    name: str
    text: str


Part = Words | FileLink | Attached


def is_blank(parts: tuple[Part, ...]) -> bool:
    return all(isinstance(part, Words) and not part.text.strip() for part in parts)


def shown_parts(parts: tuple[Part, ...]) -> str:
    """A prompt as people see it: the words, and the names of what is attached."""
    shown = {Words: "{0.text}", FileLink: "[{0.path}]", Attached: "[{0.name}]"}
    return "\n\n".join(shown[type(part)].format(part) for part in parts).strip()


async def to_log(parts: tuple[Part, ...], workspace: Workspace) -> list[dict[str, object]]:
    """The content of the user message as it is stored. A link that cannot be read says so in its place."""
    content: list[dict[str, object]] = []
    for part in parts:
        match part:
            case Words(text):
                content.append({"type": "text", "text": text})
            case Attached(name, text):
                content.append(_mention(name, text, None))
            case FileLink(path, lines):
                content.append(await _read_link(path, lines, workspace))
    return content


async def _read_link(path: str, lines: tuple[int, int] | None, workspace: Workspace) -> dict[str, object]:
    try:
        resolved, text, _ = await attached_text(path, workspace)
    except ToolError as error:
        return _mention(path, f"(not attached: {error.message})", None)
    whole = split_lines(text.text)
    first, last = lines if lines is not None else (1, len(whole))
    workspace.seen.note(resolved.path, text.tag, [(first, min(last, first + _MAX_PREVIEW_LINES - 1))])
    seen = {"seen": noted_to_log(workspace.seen.drain())}
    if lines is None:
        return _mention(resolved.relative, text.text, None) | seen
    chosen = whole[lines[0] - 1 : lines[1]]
    return _mention(resolved.relative, "".join(chosen), f"{lines[0]}-{lines[1]}") | seen


def _mention(path: str, text: str, lines: str | None) -> dict[str, object]:
    shown = "".join(split_lines(text)[:_MAX_PREVIEW_LINES])[:_MAX_PREVIEW_CHARACTERS]
    if len(shown) < len(text):
        shown += f"\n… shortened: {len(text)} characters in all …"
    mention: dict[str, object] = {"type": "file_mention", "path": path, "preview": shown}
    return mention | ({"range": lines} if lines else {})
