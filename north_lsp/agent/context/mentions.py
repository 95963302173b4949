"""Attaches what a user mentions in a prompt: `@src/app.py`, `@src/app.py:10-40`, `@"a b.md"`, `@docs/`, `@skill:name`,
`@rule:name`, `@conversation:id`; what else can be mentioned is in `mentioned_sources.py`. Whatever names nothing that
may be read remains text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.context.mentioned_sources import ReadPage, from_sources
from north_lsp.agent.log.prompt import Attached, FileLink, Part, typed
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.workspace import Addresses, Workspace

_MENTION = lazy_pattern(r"""(?<![\w@/.`"'])@(?:"(?P<quoted>[^"\n]{1,500})"|(?P<bare>[^\s"`@]{1,500}))""")
_LINES = lazy_pattern(
    r"(?P<path>.+?)(?::(?P<from>\d{1,7})(?:-(?P<to>\d{1,7}))?|#L(?P<l>\d{1,7})(?:-L?(?P<m>\d{1,7}))?)"
)
_AFTER_WORDS = ".,;:!?)]}>'’”"
_MOST = 20


@dataclass(frozen=True, slots=True)
class Mentioned:
    """A name behind an `@`, as it is written, and an inclusive range of lines from 1."""

    name: str
    lines: tuple[int, int] | None = None


def find_mentions(text: str) -> list[Mentioned]:
    """Return what a text mentions, each once, in its order; what it may mean comes first: `a.py:3` is a name, too."""
    found: dict[Mentioned, None] = {}
    for match in _MENTION.finditer(text):
        for name in dict.fromkeys((match["quoted"] or match["bare"], (match["bare"] or "").rstrip(_AFTER_WORDS))):
            if not name:
                continue
            found[Mentioned(name)] = None
            ranged = _LINES.fullmatch(name)
            if ranged is not None and (first := int(ranged["from"] or ranged["l"])) > 0:
                last = int(ranged["to"] or ranged["m"] or first)
                found[Mentioned(ranged["path"], (first, max(first, last)))] = None
    return list(found)


async def with_mentions(
    parts: tuple[Part, ...], workspace: Workspace, page: ReadPage | None = None
) -> tuple[Part, ...]:
    """Return the parts of a prompt, followed by what its words mention and is not attached already; `page` reads those
    of the web. Files that are closed to tools are not attached by a mention: words may have been copied from
    anywhere."""
    words = [text for text in typed(parts) if "@" in text]
    if not words:
        return parts
    mentioned = [one for text in words for one in find_mentions(text)]
    attached = [part.path for part in parts if isinstance(part, FileLink)]
    found = await anyio.to_thread.run_sync(_attachments, mentioned, attached, workspace)
    return (*parts, *found, *await from_sources(parts, workspace, page))


def _attachments(mentioned: Sequence[Mentioned], attached: Sequence[str], workspace: Workspace) -> list[Part]:
    known = {path for one in attached if (path := _path(one, workspace)) is not None}
    found: dict[tuple[str, tuple[int, int] | None], Part] = {}
    for one in mentioned:
        if len(found) == _MOST:
            break
        if (named := _named(one.name, workspace.addresses)) is not None:
            found.setdefault((named.name, None), named)
        elif (path := _path(one.name, workspace)) is not None and path not in known:
            is_meant = path.is_dir() and one.lines is None if one.name.endswith("/") else path.is_file()
            if is_meant:
                found.setdefault((str(path), one.lines), FileLink(str(path), one.lines))
    return list(found.values())


def _named(name: str, known: Addresses) -> Attached | None:
    """Return what a kind and a name mean; None if there is nothing."""
    kind, _, rest = name.partition(":")
    reads = {
        "skill": known.skills.skill if known.skills is not None else None,
        "rule": known.rule,
        "conversation": known.conversations,
    }
    read = reads.get(kind) if rest else None
    if read is None:
        return None
    try:
        return Attached(f"{kind}://{rest}", read(rest))
    except ToolError:
        return None


def _path(name: str, workspace: Workspace) -> Path | None:
    """Return what tools may read under a name; None for anything else."""
    try:
        resolved = workspace.trees.resolve(name)
    except ToolError:
        return None
    return resolved.path if resolved.exists else None
