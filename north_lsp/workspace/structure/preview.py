"""A long file in short: how it begins, and its outline."""

from __future__ import annotations

from north_lsp.display import one_line
from north_lsp.workspace.languages import language_of
from north_lsp.workspace.structure.parsing import structure_of
from north_lsp.workspace.text import split_lines

_LINES = 30
_CHARACTERS = 2 * 1024
_SYMBOLS = 15


def preview_of(name: str, text: str) -> tuple[str, int]:
    """Return the preview, and how many whole lines of the file it begins with. Blocks: call it on a thread."""
    lines = split_lines(text)
    shown, size = 0, 0
    while shown < min(len(lines), _LINES) and size + len(lines[shown]) <= _CHARACTERS:
        size += len(lines[shown])
        shown += 1
    begin = "".join(lines[:shown]) if shown else f"{text[:_CHARACTERS]}\n"
    preview = f"{begin}... [{len(lines) - shown} more lines]"
    language = language_of(name)
    structure = structure_of(language.id if language is not None else "", text)
    symbols = [symbol for symbol in structure.symbols if symbol.kind != "import"]
    if not symbols:
        return preview, shown
    rows = [f"- {one_line(one.label or one.name, 200)} (line {one.start})" for one in symbols[:_SYMBOLS]]
    more = [f"... {len(symbols) - _SYMBOLS} more"] if len(symbols) > _SYMBOLS else []
    outline = "\n".join([f"Outline of {one_line(name, 200)}:", *rows, *more])
    return f"{preview}\n\n{outline}", shown
