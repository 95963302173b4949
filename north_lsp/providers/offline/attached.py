"""What goes along with a user's words in a message: North's own notes, and the files that are attached. Pure."""

from __future__ import annotations

import re

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern


@dataclass(frozen=True, slots=True)
class Attachment:
    """What the editor sent with the message: a whole file, or a selection of its lines."""

    path: str
    text: str
    lines: tuple[int, int] | None = None


# North's own notes before the user's words, one bracketed line each; they are not requests.
_NOTES = lazy_pattern(r"\A(?:\[[^\n]*\]\n\n)+")
_ATTACHMENT_START = lazy_pattern(r'^<(?:file|folder|selection)(?:-\d+)? path="', re.MULTILINE)
_ATTACHMENT = lazy_pattern(
    r'^<(?P<tag>(?:file|folder|selection)(?:-\d+)?) path="(?P<path>[^"\n]*)"'
    r'(?: lines="(?P<from>\d{1,9})-(?P<to>\d{1,9})")?>\n?',
    re.MULTILINE,
)


def without_attachments(message: str) -> tuple[str, tuple[Attachment, ...]]:
    """Return the user's words, which stand above the attachments or, from clients that name files first, below them."""
    first = _ATTACHMENT_START.search(message)
    if first is None:
        return _NOTES.sub("", message), ()
    attachments: list[Attachment] = []
    at = first.start()
    while (found := _ATTACHMENT.search(message, at)) is not None:
        closing = f"</{found['tag']}>"
        end = message.find(closing, found.end())
        if end < 0:
            at = len(message)
            break
        lines = (int(found["from"]), int(found["to"])) if found["from"] else None
        attachments.append(Attachment(found["path"], message[found.end() : end].removesuffix("\n"), lines))
        at = end + len(closing)
    above = _NOTES.sub("", message[: first.start()])
    return above if above.strip() else message[at:], tuple(attachments)
