"""Finding one command's output in what the terminal delivers: it lies between two marks that nobody can guess."""

import re

_TRACE = re.compile(
    rb"(?:\A|(?<=\n))[^\n]{0,64}POSIXLY_CORRECT=\d+\r?\n[^\n]{0,64}unset -f builtin\r?\n(?:[^\n]{0,160}\r?\n?)?\Z"
)


def mark(kind: str, nonce: str) -> bytes:
    """As the shell prints it; its own line for printing it is spelled differently (`__NORTH_%s_%s__`)."""
    return f"__NORTH_{kind}_{nonce}__".encode()


class MarkerScanner:
    """Takes pieces of the stream and gives what belongs to the command. Marks may come in several pieces."""

    def __init__(self, nonce: str) -> None:
        self._start = mark("START", nonce)
        self._end = mark("END", nonce)
        self._held = b""
        self.started = False
        self.ended = False
        self._late = b""
        self._lingers = False

    def linger(self) -> bytes:
        """What comes behind the end belongs to the command as well, which left processes running. Gives what came."""
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
        """What was held back in case it were the end."""
        held, self._held = self._held, b""
        return held if self.started and (self._lingers or not self.ended) else b""

    def _behind(self, data: bytes) -> bytes:
        """The shell prints its end mark twice, in case that a command has kept it from printing the first."""
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
        """How many bytes at the end may be the beginning of the end mark, or of what `set -x` prints before it."""
        if begun := self._mark_begun(data):
            return begun
        place = data.rfind(b"POSIXLY_CORRECT=", max(0, len(data) - 256))
        return 0 if place < 0 else len(data) - (data.rfind(b"\n", 0, place) + 1)


def strip_markers(data: bytes) -> bytes:
    """Under `set -x` the shell also prints North's own lines."""
    found = _TRACE.search(data[-512:])
    return data if found is None else data[: len(data) - (len(data[-512:]) - found.start())]
