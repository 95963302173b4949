"""Pictures: what is known of one from its first bytes, and the whole of those that a model can be shown."""

import io
import os
import stat
import struct
from pathlib import Path

from north_lsp.workspace.text import OPEN_FLAGS

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico")
MAX_BYTES = 5 * 1024 * 1024
MAX_SIDE = 2000
_MIME = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WebP": "image/webp"}
_HEAD = 64 * 1024

Sides = tuple[int, int]


def describe_picture(path: Path) -> str:
    """Kind, sides and size in words. Raises OSError."""
    with open(os.open(path, OPEN_FLAGS), "rb") as file:
        head = file.read(_HEAD)
        size = os.fstat(file.fileno()).st_size
    kind, sides = recognise(head)
    shown = f", {sides[0]} x {sides[1]} pixels" if sides is not None else ""
    return f"{kind or 'unknown kind of'} image{shown}, {size} bytes\n"


def load_picture(path: Path) -> tuple[str, bytes] | str:
    """MIME type and bytes of a picture that a model can be shown, or why it cannot. Raises OSError."""
    with open(os.open(path, OPEN_FLAGS), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return "it is no file"
        data = file.read(MAX_BYTES + 1)
    kind, sides = recognise(data[:_HEAD])
    if kind not in _MIME or sides is None:
        return "models take PNG, JPEG, GIF and WebP"
    if len(data) > MAX_BYTES or max(sides) > MAX_SIDE:
        return f"models take at most {MAX_BYTES // 1024 // 1024} MB and {MAX_SIDE} pixels a side"
    return _MIME[kind], data


def recognise(head: bytes) -> tuple[str | None, Sides | None]:
    """Kind and sides in pixels, as far as the first bytes tell."""
    try:
        if head.startswith(b"\x89PNG"):
            return "PNG", struct.unpack(">II", head[16:24])
        if head.startswith(b"GIF8"):
            return "GIF", struct.unpack("<HH", head[6:10])
        if head.startswith(b"BM"):
            width, height = struct.unpack("<ii", head[18:26])
            return "BMP", (width, abs(height))
        if head.startswith(b"\xff\xd8"):
            return "JPEG", _jpeg(io.BytesIO(head))
        if head[8:12] == b"WEBP":
            return "WebP", _webp(head)
    except struct.error:
        pass
    return None, None


def _jpeg(head: io.BytesIO) -> Sides | None:
    head.seek(2)
    while (marker := head.read(4)) and len(marker) == 4:
        code, length = marker[1], struct.unpack(">H", marker[2:])[0]
        if 0xC0 <= code <= 0xCF and code not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head.read(5)[1:])
            return width, height
        head.seek(length - 2, io.SEEK_CUR)
    return None


def _webp(head: bytes) -> Sides | None:
    match head[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", head[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = struct.unpack("<I", head[21:25])[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    return None
