"""The texts that a client has open, kept up to date by its change messages, with LSP's definition of a line. Depends on
neither pygls nor the wire.

pygls keeps texts too, but it also ends lines at form feeds and Unicode separators, which makes positions wrong.
"""

import re
from dataclasses import dataclass
from typing import Any

_LINE_END = re.compile(r"\r\n|\n|\r")
_UNIT_SIZES = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@dataclass(frozen=True, slots=True)
class OpenText:
    uri: str
    version: int | None
    text: str


def units(text: str, encoding: str) -> int:
    """Return the length of a text in the position encoding's code units."""
    codec, size = _UNIT_SIZES[encoding]
    return len(text.encode(codec, "surrogatepass")) // size


def offset(text: str, position: dict[str, Any], encoding: str) -> int:
    """Return the offset of an LSP position in a text; positions after a line's or the text's end mean that end."""
    row, character = int(position["line"]), int(position["character"])
    if row < 0 or character < 0:
        raise ValueError("the position is negative")
    start = 0
    for _ in range(row):
        end = _LINE_END.search(text, start)
        if end is None:
            return len(text)
        start = end.end()
    end = _LINE_END.search(text, start)
    line = text[start : end.start() if end is not None else len(text)]
    if encoding == "utf-32" or line.isascii():
        return start + min(character, len(line))
    codec, size = _UNIT_SIZES[encoding]
    return start + len(line.encode(codec, "surrogatepass")[: character * size].decode(codec, "ignore"))


class OpenDocumentTexts:
    """Follows `textDocument/didOpen`, `didChange` and `didClose`."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._texts: dict[str, OpenText] = {}

    def all(self) -> list[OpenText]:
        return list(self._texts.values())

    def follow(self, method: str, params: dict[str, Any]) -> bool:
        """Follow a message. Returns whether it changed a text; an invalid message changes nothing and is left to pygls
        to report."""
        try:
            document = params["textDocument"]
            uri = str(document["uri"])
            match method:
                case "textDocument/didOpen":
                    self._texts[uri] = OpenText(uri, _version(document), str(document["text"]))
                case "textDocument/didChange":
                    text = self._texts[uri].text
                    for change in params["contentChanges"]:
                        text = self._changed(text, change)
                    self._texts[uri] = OpenText(uri, _version(document), text)
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
        start = offset(text, change["range"]["start"], self._encoding)
        end = offset(text, change["range"]["end"], self._encoding)
        return text[:start] + str(change["text"]) + text[max(start, end) :]


def _version(document: dict[str, Any]) -> int | None:
    version = document.get("version")
    return version if isinstance(version, int) and not isinstance(version, bool) else None
