"""The texts that a client has open, kept up to date by its change messages, with LSP's definition of a line. Depends on
neither pygls nor the wire.

pygls keeps none: it would also end lines at form feeds and Unicode separators, which makes positions wrong.
"""

from __future__ import annotations

from typing import Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.edit.positions import offset_of
from north_lsp.workspace.language_features import Position


@dataclass(frozen=True, slots=True)
class OpenText:
    """`opened` is what the text was when the client began to show it."""

    uri: str
    version: int | None
    text: str
    opened: str


class OpenDocumentTexts:
    """Follows `textDocument/didOpen`, `didChange` and `didClose`."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._texts: dict[str, OpenText] = {}

    def all(self) -> list[OpenText]:
        return list(self._texts.values())

    def find(self, uri: str) -> OpenText | None:
        return self._texts.get(uri)

    def follow(self, method: str, params: dict[str, Any]) -> bool:
        """Follow a message. Returns whether it changed a text; an invalid message changes nothing."""
        try:
            document = params["textDocument"]
            uri = str(document["uri"])
            match method:
                case "textDocument/didOpen":
                    text = str(document["text"])
                    self._texts[uri] = OpenText(uri, _version(document), text, text)
                case "textDocument/didChange":
                    before = self._texts[uri]
                    text = before.text
                    for change in params["contentChanges"]:
                        text = self._changed(text, change)
                    self._texts[uri] = OpenText(uri, _version(document), text, before.opened)
                case "textDocument/didClose":
                    self._texts.pop(uri, None)
                case _:
                    return False
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            return False
        return True

    def _changed(self, text: str, change: dict[str, Any]) -> str:
        if change.get("range") is None:
            return str(change["text"])
        start, end = (offset_of(text, _position(change["range"][key]), self._encoding) for key in ("start", "end"))
        return text[:start] + str(change["text"]) + text[max(start, end) :]


def _position(given: dict[str, Any]) -> Position:
    return Position(int(given["line"]), int(given["character"]))


def _version(document: dict[str, Any]) -> int | None:
    version = document.get("version")
    return version if isinstance(version, int) and not isinstance(version, bool) else None
