"""Pictures: what the first bytes tell about one, and loading those that a model can be shown."""

from __future__ import annotations

import errno
import importlib
import importlib.util
import io
import os
import stat
import struct
import zlib
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.opening import open_real

SEEN = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""What models take."""
PICTURES = (*SEEN, ".bmp", ".ico")
MAX_BYTES = 5 * 1024 * 1024
MAX_SIDE = 2000
_MIME = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WebP": "image/webp"}
_ACCEPTED = "models take PNG, JPEG, GIF and WebP"
_LIMIT = f"models take at most {MAX_BYTES // 1024 // 1024} MB and {MAX_SIDE} pixels a side"
_PNG = b"\x89PNG\r\n\x1a\n"
_HEAD = 64 * 1024
_MAX_SCALED_BYTES = 50 * 1024 * 1024
_MAX_SCALED_PIXELS = 80_000_000
_QUALITY = 85

Sides = tuple[int, int]


def describe_picture(path: Path) -> str:
    """Describe kind, dimensions and size of a picture in words. Raises OSError."""
    with open(open_real(path), "rb") as file:
        head = file.read(_HEAD)
        size = os.fstat(file.fileno()).st_size
    kind, sides = recognize(head)
    shown = f", {sides[0]} x {sides[1]} pixels" if sides is not None else ""
    return f"{kind or 'unknown kind of'} image{shown}, {size} bytes\n"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A picture that a model can be shown; `note` says what was done to it."""

    mime_type: str
    data: bytes
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TooLarge:
    """A picture that must be scaled down first; `limit` says why, in words."""

    data: bytes
    sides: Sides
    kind: str
    limit: str


def load_picture(path: Path) -> Loaded | TooLarge | str:
    """Read a picture for a model, or say in words why that is impossible. Raises OSError."""
    data = _read(path)
    kind, sides = recognize(data[:_HEAD])
    if kind not in _MIME or sides is None:
        return _ACCEPTED
    return _measured(data, kind, sides)


def load_whole_picture(path: Path) -> Loaded | TooLarge | str:
    """Read a picture that a user sends, as `check_picture` checks it. Raises OSError."""
    return check_picture(_read(path))


def _read(path: Path) -> bytes:
    descriptor = open_real(path)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)  # which `open` leaves open if it is a folder's
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    with open(descriptor, "rb") as file:
        return file.read(_MAX_SCALED_BYTES + 1)


def _measured(data: bytes, kind: str, sides: Sides) -> Loaded | TooLarge | str:
    if len(data) <= MAX_BYTES and max(sides) <= MAX_SIDE:
        return Loaded(_MIME[kind], data)
    if len(data) > _MAX_SCALED_BYTES or sides[0] * sides[1] > _MAX_SCALED_PIXELS:
        return _LIMIT
    if importlib.util.find_spec("PIL") is None:
        return f"{_LIMIT}; install the package pillow in North's environment to have it scaled down"
    return TooLarge(data, sides, kind, _LIMIT)


def check_picture(data: bytes) -> Loaded | TooLarge | str:
    """Check a picture that a user sends, by its content alone; says in words why a model cannot be shown it."""
    kind, sides = recognize(data[:_HEAD])
    if kind not in _MIME:
        return f"is not a picture that models take: {_ACCEPTED}" if data else "is empty"
    if sides is None or min(sides) < 1 or not _is_whole(data, kind):
        return f"is a damaged {kind} picture"
    found = _measured(data, kind, sides)
    if isinstance(found, str):
        size = f"{sides[0]} x {sides[1]} pixels and {len(data) / 1024 / 1024:.1f} MB"
        return f"has {size}, which is too large: {found}"
    return found


def _is_whole(data: bytes, kind: str) -> bool:
    """Return whether nothing is missing at the end of a picture, and, for PNG, nothing was damaged on the way."""
    match kind:
        case "PNG":
            return _is_whole_png(data)
        case "JPEG":
            return b"\xff\xd9" in data[-_HEAD:]
        case "GIF":
            return data.rstrip(b"\0").endswith(b";")
        case _:
            return int.from_bytes(data[4:8], "little") + 8 <= len(data)


def _is_whole_png(data: bytes) -> bool:
    at, view = len(_PNG), memoryview(data)
    while data.startswith(_PNG) and at + 12 <= len(data):
        length = int.from_bytes(view[at : at + 4], "big")
        name, end = bytes(view[at + 4 : at + 8]), at + 8 + length
        if end + 4 > len(data) or zlib.crc32(view[at + 4 : end]) != int.from_bytes(view[end : end + 4], "big"):
            return False
        if name == b"IEND":
            return True
        at = end + 4
    return False


def scaled(data: bytes, sides: Sides, kind: str) -> Loaded | None:
    """Scale a picture (its first frame) to at most `MAX_SIDE` a side; None if it cannot be read. To be run in a process
    with resource limits."""
    keeps_colors = kind in ("PNG", "GIF")
    library, operations = importlib.import_module("PIL.Image"), importlib.import_module("PIL.ImageOps")
    try:
        with library.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as opened:
            opened.draft("RGB", (MAX_SIDE, MAX_SIDE))  # JPEG is then decoded at a smaller size from the start
            picture = operations.exif_transpose(opened)
            if picture.mode not in ("RGB", "RGBA"):
                alpha = "transparency" in picture.info or picture.mode in ("LA", "PA")
                picture = picture.convert("RGBA" if alpha else "RGB")
            picture.thumbnail((MAX_SIDE, MAX_SIDE))
            note = f"the image was scaled down from {sides[0]} x {sides[1]} to {picture.width} x {picture.height}"
            for form in ("PNG", "JPEG") if keeps_colors or picture.mode == "RGBA" else ("JPEG",):
                saved = io.BytesIO()
                (picture.convert("RGB") if form == "JPEG" else picture).save(saved, form, quality=_QUALITY)
                if saved.tell() <= MAX_BYTES:
                    return Loaded(_MIME[form], saved.getvalue(), note)
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, library.DecompressionBombError):
        pass  # the caller reports damaged pictures
    return None


def sides_of(data: bytes) -> Sides | None:
    """Return width and height in pixels, as far as the first bytes show them."""
    return recognize(data[:_HEAD])[1]


def recognize(head: bytes) -> tuple[str | None, Sides | None]:
    """Return kind and dimensions in pixels, as far as the first bytes show them."""
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
