"""Unpacks what a server has packed, up to a limit: a few kilobytes can stand for gigabytes."""

from __future__ import annotations

import zlib

from north_lsp.errors import ToolError

ACCEPTED = "gzip, deflate"


class Inflater:
    """Unpacks the body of one answer. `encoding` is what the server says of it; at most `limit` bytes come out."""

    def __init__(self, encoding: str, limit: int) -> None:
        """Begin. Raises ToolError for an encoding that was not asked for."""
        self.data = bytearray()
        self._limit = limit
        match encoding.strip().lower():
            case "" | "identity":
                self._unpack = None
            case "gzip" | "x-gzip":
                self._unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
            case "deflate":
                self._unpack = zlib.decompressobj()
            case other:
                raise ToolError(
                    "REMOTE_ERROR", f"the server answers in the encoding {other[:40]!r}, which North did not accept"
                )
        self._is_bare = False

    def feed(self, chunk: bytes) -> None:
        """Take the next piece. Raises ToolError TOO_LARGE, REMOTE_ERROR."""
        self.data += chunk if self._unpack is None else self._unpacked(chunk)
        if len(self.data) > self._limit:
            raise too_large(self._limit)

    def _unpacked(self, chunk: bytes) -> bytes:
        assert self._unpack is not None
        most = self._limit + 1 - len(self.data)
        try:
            return self._unpack.decompress(chunk, most)
        except zlib.error:
            if self.data or self._is_bare:
                raise ToolError("REMOTE_ERROR", "the answer is damaged: it cannot be unpacked") from None
        self._is_bare = True  # some servers send deflate without its header
        self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
        return self._unpacked(chunk)


def too_large(limit: int) -> ToolError:
    return ToolError("TOO_LARGE", f"the answer is longer than {limit // 1024 // 1024} MB", "fetch a part of it")
