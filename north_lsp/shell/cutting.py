"""Finding one command's output in what the terminal delivers: it lies between two marks that nobody can guess."""

import re

_TRACE = re.compile(
    rb"(?:\A|(?<=\n))[^\n]{0,64}POSIXLY_CORRECT=\d+\r?\n[^\n]{0,64}unset -f builtin\r?\n(?:[^\n]{0,160}\r?\n?)?\Z"
)


def mark(kind: str, nonce: str) -> bytes:
    """As the shell prints it; its own line for printing it is spelled differently (`__NORTH_%s_%s__`)."""
    return f"__NORTH_{kind}_{nonce}__".encode()


class Cutter:
    """Takes pieces of the stream and gives what belongs to the command. Marks may come in several pieces."""

    def __init__(self, nonce: str) -> None:
        self._start = mark("START", nonce)
        self._end = mark("END", nonce)
        self._held = b""
        self.started = False
        self.ended = False

    def feed(self, data: bytes) -> bytes:
        if self.ended:
            return b""
        data = self._held + data
        self._held = b""
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
            return without_trace(data[:place])
        keep = self._possible_end(data)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def rest(self) -> bytes:
        """What was held back in case it were the end."""
        held, self._held = self._held, b""
        return held if self.started and not self.ended else b""

    def _possible_end(self, data: bytes) -> int:
        """How many bytes at the end may be the beginning of the end mark, or of what `set -x` prints before it."""
        for size in range(min(len(self._end) - 1, len(data)), 0, -1):
            if self._end.startswith(data[-size:]):
                return size
        place = data.rfind(b"POSIXLY_CORRECT=", max(0, len(data) - 256))
        return 0 if place < 0 else len(data) - (data.rfind(b"\n", 0, place) + 1)


def without_trace(data: bytes) -> bytes:
    """Under `set -x` the shell also prints North's own lines."""
    found = _TRACE.search(data[-512:])
    return data if found is None else data[: len(data) - (len(data[-512:]) - found.start())]
