"""Extracts the text of office documents and PDF files. Office programs write XML in an archive, so nothing else is
needed for that; PDF needs an installed converter: the package pypdf, or the program pdftotext."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_pattern import lazy_pattern

_MAX_PART = 16 * 1024 * 1024
_MAX_ROWS = 5000
_SECONDS = 20.0
_NUMBER = lazy_pattern(r"\d+")
_CELL = lazy_pattern(r"([A-Z]+)\d+")


def read_document(path: Path, name: str | None = None) -> str:
    """Return a document's text, paragraph by paragraph, with table rows as lines with tabs. `name` is the file's own
    name if `path` is another way to it.

    Raises ToolError: UNAVAILABLE naming what is missing, TOO_LARGE, IO_ERROR for a damaged file; OSError.
    """
    name = name or path.name
    try:
        match Path(name).suffix.lower():
            case ".pdf":
                return _pdf(path, name)
            case ".docx":
                return _paragraphs(path, "word/document.xml", {"p"}, {"t"}, {"tab"})
            case ".pptx":
                return _slides(path)
            case ".xlsx":
                return _sheets(path)
            case _:
                return _paragraphs(path, "content.xml", {"p", "h"}, None, {"tab"})
    except (KeyError, ValueError, ElementTree.ParseError, zipfile.BadZipFile, RecursionError) as error:
        raise ToolError("IO_ERROR", f"{name} is damaged: {error}") from error


def _pdf(path: Path, name: str) -> str:
    if importlib.util.find_spec("pypdf") is not None:
        package = importlib.import_module("pypdf")
        try:
            pages = [str(page.extract_text()) for page in package.PdfReader(path).pages]
        except package.errors.PyPdfError as error:
            raise ToolError("IO_ERROR", f"{name} cannot be read: {error}") from error
        return "\n".join(f"[page {number}]\n{text}" for number, text in enumerate(pages, 1)) + "\n"
    program = systems.find_program("pdftotext", os.environ)
    if program is None:
        what = "the package pypdf or the program pdftotext (poppler-utils)"
        raise ToolError("UNAVAILABLE", f"{name} needs a converter: {what}", f"install {what}")
    try:
        with path.open("rb") as file:
            command = [program, "-layout", "-", "-"]
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, stdin=file, check=False)
    except subprocess.TimeoutExpired:
        raise ToolError("TIMEOUT", f"{name} took longer than {_SECONDS:.0f} seconds to convert") from None
    if done.returncode != 0:
        raise ToolError("IO_ERROR", f"pdftotext cannot read {name}")
    return done.stdout[:_MAX_PART].decode("utf-8", "replace").replace("\f", "\n")


def _part(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    info = archive.getinfo(name)
    if info.file_size > _MAX_PART:
        raise ToolError("TOO_LARGE", f"its part {name} has {info.file_size} bytes")
    with archive.open(info) as file:
        data = file.read(_MAX_PART + 1)
    if len(data) > _MAX_PART or b"<!ENTITY" in data:  # office programs never define entities
        raise ValueError(f"{name} is not in the form that office programs write")
    return ElementTree.fromstring(data)


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _text(element: ElementTree.Element, wanted: set[str] | None, tabs: set[str]) -> str:
    """Return the text below an element: that of the `wanted` elements, or all of it."""
    parts: list[str] = []

    def take(one: ElementTree.Element) -> None:
        if _name(one) in tabs:
            parts.append("\t")
        elif wanted is None or _name(one) in wanted:
            parts.append(one.text or "")
        for child in one:
            take(child)
            if wanted is None:
                parts.append(child.tail or "")

    take(element)
    return "".join(parts)


def _lines(root: ElementTree.Element, blocks: set[str], wanted: set[str] | None, tabs: set[str]) -> list[str]:
    return [_text(one, wanted, tabs) for one in root.iter() if _name(one) in blocks]


def _paragraphs(path: Path, part: str, blocks: set[str], wanted: set[str] | None, tabs: set[str]) -> str:
    with zipfile.ZipFile(path) as archive:
        return "\n".join(_lines(_part(archive, part), blocks, wanted, tabs)) + "\n"


def _numbered(archive: zipfile.ZipFile, folder: str) -> list[str]:
    def number(name: str) -> int:
        found = _NUMBER.findall(name)
        return int(found[-1]) if found else 0

    names = [name for name in archive.namelist() if name.startswith(folder) and name.endswith(".xml")]
    return sorted((name for name in names if "/" not in name[len(folder) :]), key=number)


def _slides(path: Path) -> str:
    shown: list[str] = []
    with zipfile.ZipFile(path) as archive:
        for number, name in enumerate(_numbered(archive, "ppt/slides/"), 1):
            shown += [f"[slide {number}]", *_lines(_part(archive, name), {"p"}, {"t"}, set())]
    return "\n".join(shown) + "\n"


def _sheets(path: Path) -> str:
    shown: list[str] = []
    with zipfile.ZipFile(path) as archive:
        strings: list[str] = []
        if "xl/sharedStrings.xml" in archive.namelist():
            strings = _lines(_part(archive, "xl/sharedStrings.xml"), {"si"}, {"t"}, set())
        for number, name in enumerate(_numbered(archive, "xl/worksheets/"), 1):
            rows = [row for row in _part(archive, name).iter() if _name(row) == "row"]
            shown.append(f"[sheet {number}]")
            shown += [_row(row, strings.__getitem__) for row in rows[:_MAX_ROWS]]
            if len(rows) > _MAX_ROWS:
                shown.append(f"… {len(rows) - _MAX_ROWS} more rows …")
    return "\n".join(shown) + "\n"


def _row(row: ElementTree.Element, string: Callable[[int], str]) -> str:
    cells: list[str] = []
    for cell in row:
        place = _CELL.fullmatch(cell.get("r", ""))
        column = _column(place[1]) if place is not None else len(cells) + 1
        cells += [""] * min(column - 1 - len(cells), 200)
        value = next((one.text or "" for one in cell if _name(one) == "v"), "")
        kind = cell.get("t")
        if kind == "s" and value.isascii() and value.isdigit():
            value = string(int(value))
        elif kind == "inlineStr":
            value = _text(cell, {"t"}, set())
        cells.append(value.replace("\t", " ").replace("\n", " "))
    return "\t".join(cells)


def _column(letters: str) -> int:
    number = 0
    for letter in letters[:4]:
        number = number * 26 + ord(letter) - 64
    return number
