"""Open texts under any edits, with LSP's idea of lines, against a slow and obvious model."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from north_lsp.lsp.texts import OpenDocumentTexts

texts = st.text(st.sampled_from("ab\n\r\x0c\x0b\x85\u2028é😀"), max_size=20)
URI = "file:///a"


def position(text: str, at: int) -> dict[str, int]:
    """The UTF-16 position of an index, counted character by character."""
    line = character = 0
    for index, one in enumerate(text[:at]):
        if one == "\n" or (one == "\r" and text[index + 1 : index + 2] != "\n"):
            line, character = line + 1, 0
        else:
            character += 2 if ord(one) > 0xFFFF else 1
    return {"line": line, "character": character}


def between_crlf(text: str, at: int) -> bool:
    return text[at - 1 : at + 1] == "\r\n"


@given(texts, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), texts), max_size=4))
def test_changes_are_followed(text: str, changes: list[tuple[int, int, str]]) -> None:
    opened = OpenDocumentTexts("utf-16")
    opened.follow("textDocument/didOpen", {"textDocument": {"uri": URI, "version": 1, "text": text}})
    for one, other, new in changes:
        start, end = sorted((min(one, len(text)), min(other, len(text))))
        if between_crlf(text, start) or between_crlf(text, end):
            continue  # no position is there
        place = {"start": position(text, start), "end": position(text, end)}
        params: dict[str, Any] = {"textDocument": {"uri": URI, "version": 2}}
        assert opened.follow("textDocument/didChange", params | {"contentChanges": [{"range": place, "text": new}]})
        text = text[:start] + new + text[end:]
        assert opened.all()[0].text == text
    opened.follow("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert opened.all() == []


@given(st.dictionaries(st.sampled_from(["textDocument", "contentChanges", "x"]), st.none() | st.text() | st.integers()))
def test_nonsense_changes_nothing(params: dict[str, Any]) -> None:
    opened = OpenDocumentTexts("utf-16")
    for method in ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "other"):
        opened.follow(method, params)
    assert opened.all() == []
