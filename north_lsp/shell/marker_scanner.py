"""Finds one command's output in the terminal's stream: it is between two marks that cannot be guessed."""

from __future__ import annotations

from north_lsp.lazy_pattern import lazy_pattern

_TRACE = lazy_pattern(
    rb"(?:\A|(?<=\n))[^\n]{0,64}POSIXLY_CORRECT=\d+\r?\n[^\n]{0,64}unset -f builtin\r?\n(?:[^\n]{0,160}\r?\n?)?\Z"
)


def mark(kind: str, nonce: str) -> bytes:
    """Return a mark as the shell prints it; the shell's line that prints it looks different (`__NORTH_%s_%s__`)."""
    return f"__NORTH_{kind}_{nonce}__".encode()


class MarkerScanner:
    """Takes pieces of the stream and returns what belongs to the command. A mark may be split over several pieces."""

    def __init__(self, nonce: str) -> None:
        self._start = mark("START", nonce)
        self._end = mark("END", nonce)
        self._held = b""
        self.started = False
        self.ended = False
        self._late = b""
        self._lingers = False

    def linger(self) -> bytes:
        """Count output after the end as the command's, which left processes running. Returns what has come so far."""
        self._lingers = True
        late, self._late = self._late, b""
        return late

    def feed(self, data: bytes) -> bytes:
        data = self._held + data
        self._held = b""
        if self.ended:
            return self._behind(data)
        if not self.started:
            place = data.find(self._start)
            if place < 0:
                self._held = data[-(len(self._start) - 1) :]
                return b""
            self.started = True
            data = data[place + len(self._start) :]
        place = data.find(self._end)
        if place >= 0:
            self.ended = True
            return strip_markers(data[:place]) + self._behind(data[place + len(self._end) :])
        keep = self._possible_end(data)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def rest(self) -> bytes:
        """Return what was held back because it could have been the end mark."""
        held, self._held = self._held, b""
        return held if self.started and (self._lingers or not self.ended) else b""

    def _behind(self, data: bytes) -> bytes:
        """Handle data after the end. The shell prints its end mark twice, in case a command prevented the first one."""
        data = data.replace(self._end, b"")
        keep = self._mark_begun(data)
        self._held = data[len(data) - keep :]
        data = data[: len(data) - keep]
        if self._lingers:
            return data
        self._late += data
        return b""

    def _mark_begun(self, data: bytes) -> int:
        sizes = range(min(len(self._end) - 1, len(data)), 0, -1)
        return next((size for size in sizes if self._end.startswith(data[-size:])), 0)

    def _possible_end(self, data: bytes) -> int:
        """Return how many bytes at the end may be the beginning of the end mark, or of what `set -x` prints before
        it."""
        if begun := self._mark_begun(data):
            return begun
        place = data.rfind(b"POSIXLY_CORRECT=", max(0, len(data) - 256))
        return 0 if place < 0 else len(data) - (data.rfind(b"\n", 0, place) + 1)


def strip_markers(data: bytes) -> bytes:
    """Remove North's own lines from the end, which the shell prints under `set -x`."""
    found = _TRACE.search(data[-512:])
    return data if found is None else data[: len(data) - (len(data[-512:]) - found.start())]
