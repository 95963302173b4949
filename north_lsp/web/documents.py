"""Makes of what a server answered what a model can read: Markdown of pages, text, or a picture."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.web.client import Answer
from north_lsp.workspace.formats.pages import MOST
from north_lsp.workspace.formats.parsing_child import document_in_child, page_in_child, scale_in_child
from north_lsp.workspace.formats.pictures import Loaded, TooLarge, check_picture

_PAGES = ("text/html", "application/xhtml+xml")
_TEXTS = (
    "xml",
    "javascript",
    "ecmascript",
    "yaml",
    "toml",
    "x-sh",
    "sql",
    "graphql",
    "x-ndjson",
    "x-www-form-urlencoded",
)
_DECLARED = lazy_pattern(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_HEAD = 4096
_SMALL = 100 * 1024
_LAID_OUT = 200 * 1024
_DEEPEST = 32
_FIRST = 2048
_ENCODINGS = frozenset(
    {
        "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "ascii", "cp866", "koi8-r", "koi8-u", "mac-roman",
        "mac-cyrillic", "cp874", "gbk", "gb2312", "gb18030", "big5", "big5hkscs", "euc_jp", "iso2022_jp", "shift_jis",
        "cp932", "euc_kr", "cp949",
        *(f"cp125{number}" for number in range(9)),
        *(f"iso8859-{number}" for number in (*range(1, 12), *range(13, 17))),
    }
)  # fmt: skip
"""Which encodings pages are read in, as Python names them: those of the web. Others take hours, like `punycode`."""
_OTHER_NAMES = {
    "windows-874": "cp874", "x-mac-cyrillic": "mac-cyrillic", "x-sjis": "shift_jis", "x-gbk": "gbk",
    "x-euc-jp": "euc_jp", "windows-949": "cp949", "windows-31j": "cp932", "iso-8859-8-i": "iso8859-8",
}  # fmt: skip
_TAG = lazy_pattern(r"<(?:script|style)\b.*?(?:</(?:script|style)>|\Z)|<[^<>]*>", re.DOTALL | re.IGNORECASE)
_TITLE = lazy_pattern(r"<title[^>]{0,200}>([^<]{1,500})", re.IGNORECASE)

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Document:
    """What a model can be told of an answer: its `text`, or a `picture`; `note` says what was left out."""

    kind: str
    text: str
    title: str = ""
    picture: Loaded | None = None
    note: str = ""


async def document(answer: Answer, address: str, *, raw: bool) -> Document:
    """Read an answer; `raw`: as it was sent. Raises ToolError for what is no text that can be shown."""
    kind = _kind(answer)
    if kind.startswith("image/") and kind != "image/svg+xml":
        return await _picture(answer, kind)
    if kind == "application/pdf" or answer.data.startswith(b"%PDF-"):
        text = await document_in_child(answer.data, "page.pdf")
        return Document(kind, await _worked(len(text or ""), lambda: visible(text or "")))
    encoding = _encoding(answer, kind)
    if kind in _PAGES and not raw:
        title, text = await page_in_child(answer.data[:MOST], encoding, address)
        note = f"only the first {MOST // 1024 // 1024} MB of the page were read" if len(answer.data) > MOST else ""
        return Document(kind, await _worked(len(text), lambda: visible(text)), one_line(title[:_HEAD], 200), note=note)
    if not _is_text(kind, answer.data):
        size = f"{len(answer.data)} bytes of {one_line(kind or 'an unknown kind', 100)}"
        raise ToolError("BINARY_FILE", f"{address[:300]} is not text: {size}", "fetch a page that describes it")

    def read() -> str:
        text = answer.data.decode(encoding, "replace")
        return visible(text if raw else _pretty(text, kind))

    return Document(kind, await _worked(len(answer.data), read))


def first_line(answer: Answer) -> str:
    """Return what an answer that refuses says first."""
    text = answer.data[: 64 * 1024].decode(_encoding(answer, _kind(answer)), "replace")
    if (title := _TITLE.search(text)) is not None:
        return one_line(title[1], 200)
    lines = (line.strip() for line in _TAG.sub("\n", text[:_FIRST]).split("\n"))
    return one_line(next((line for line in lines if line), ""), 200)


async def _worked(size: int, work: Callable[[], _Made]) -> _Made:
    """Return what is made of so many bytes: of many on a thread."""
    return work() if size <= _SMALL else await anyio.to_thread.run_sync(work)


def _kind(answer: Answer) -> str:
    kind = answer.kind.partition(";")[0].strip().lower()
    if kind in ("", "application/octet-stream", "text/plain"):
        head = answer.data[:_HEAD].lstrip().lower()
        if head.startswith((b"<!doctype html", b"<html")) and kind != "text/plain":
            return "text/html"
    return kind


def _encoding(answer: Answer, kind: str) -> str:
    named = re.search(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", answer.kind, re.IGNORECASE)
    candidates = [named[1]] if named is not None else []
    if kind in _PAGES and (declared := _DECLARED.search(answer.data[:_HEAD])) is not None:
        candidates.append(declared[1].decode("ascii"))
    if answer.data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    for name in candidates:
        try:
            known = codecs.lookup(_OTHER_NAMES.get(name.lower(), name)).name
        except (LookupError, ValueError):
            continue
        if known in _ENCODINGS:
            return known
    return "utf-8"


def _is_text(kind: str, data: bytes) -> bool:
    if kind.startswith("text/") or "json" in kind or any(name in kind for name in _TEXTS):
        return True
    if b"\0" in data[:_HEAD]:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data[:_HEAD])
    except UnicodeDecodeError:
        return False
    return True


def _pretty(text: str, kind: str) -> str:
    """Lay JSON out, unless it is long or deep: each line is indented by its depth."""
    if "json" not in kind or len(text) > _LAID_OUT:
        return text
    try:
        value = json.loads(text)
        return text if _is_deeper(value, _DEEPEST) else json.dumps(value, ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def _is_deeper(value: object, most: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return most == 0 or any(_is_deeper(one, most - 1) for one in inside)


async def _picture(answer: Answer, kind: str) -> Document:
    found = check_picture(answer.data)
    if isinstance(found, TooLarge):
        found = await scale_in_child(found) or found.limit
    if isinstance(found, str):
        raise ToolError("BINARY_FILE", f"the picture ({kind}, {len(answer.data)} bytes) {found}")
    text = f"a picture ({found.mime_type}, {len(answer.data)} bytes)"
    return Document(kind, text, picture=found, note=found.note or "")
