"""Measures how late the pieces of an answer come in some sessions while another one of the same server works hard.

The model says when it sends each piece, so that what is measured is the way from there to the editor. North puts pieces
together for up to 32 ms. Run as `env -u PYTHONDONTWRITEBYTECODE python -m benchmarks.neighbors`.
"""

import re
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count, repeat
from pathlib import Path
from typing import Any

from benchmarks.loading import ID, write_log
from benchmarks.turns import Client, Model, read, say, small_project

QUIET = 3
PIECES = 200
EVERY_SECONDS = 0.02
ENTRIES = 10_000
_CHUNKS = 20_000
_PLACE = "#" * 17
"""Stands for the time of a piece, which is as long."""
_STAMP = re.compile(r"\d{10}\.\d{6}")


class Paced(Model):
    """Answers `Quiet` piece by piece, and anything else with the next one of `answers`."""

    def reply(self, connection: socket.socket, body: bytes) -> None:
        if b"Quiet" not in body:
            super().reply(connection, body)
            return
        begin, *rest = say(*[f"{_PLACE} "] * PIECES).split(_PLACE.encode())
        connection.sendall(begin)
        for part in rest:
            time.sleep(EVERY_SECONDS)
            connection.sendall(f"{time.monotonic():017.6f}".encode() + part)


def _rounds() -> Iterator[bytes]:
    """Make the answers of a turn without an end: the model reads on and on."""
    return (read(number % 100) for number in count())


WORK: Mapping[str, Callable[[], Iterator[bytes]] | None] = {
    "nothing": None,
    f"streams of {_CHUNKS:,} pieces": lambda: repeat(say(*("word " for _ in range(_CHUNKS)))),
    "a turn that reads on and on": _rounds,
    f"opening a conversation of {ENTRIES:,} entries": None,
}


def measure(folder: Path, work: str) -> list[float]:
    """Return how many milliseconds late each piece was, while one more session does this."""
    project = small_project(folder)
    write_log(folder / "data" / "conversations" / f"{ID}.jsonl", project, ENTRIES)
    model = Paced()
    make = WORK[work]
    model.answers = make() if make is not None else iter(())
    server = Client(folder, model.url)
    try:
        quiet = [server.new_session(project) for _ in range(QUIET)]
        busy = server.new_session(project)
        waiting = {server.begin_prompt(session, "Quiet") for session in quiet}
        late: list[float] = []
        begun, working = 0.0, -1
        while waiting:
            message = server.read()
            now = time.monotonic()
            if "method" not in message and message["id"] in waiting:
                waiting.remove(message["id"])
            elif "method" not in message and message["id"] == working:
                working = _begin(server, project, busy, work)
            elif _of(message) in quiet:
                stamps = [float(stamp) for stamp in _STAMP.findall(_text(message))]
                late += [(now - stamp) * 1000 for stamp in stamps if 0 < begun < stamp]
                if stamps and not begun:
                    begun, working = now, _begin(server, project, busy, work)
        return late
    finally:
        server.stop()


def _begin(server: Client, project: Path, busy: str, work: str) -> int:
    """Have the busy session work; returns the id of the request."""
    if work.startswith("opening"):
        return server.start("session/load", {"sessionId": ID, "cwd": str(project), "mcpServers": []})
    return server.begin_prompt(busy, "Work") if work != "nothing" else -1


def _of(message: dict[str, Any]) -> object:
    return message.get("params", {}).get("sessionId")


def _text(message: dict[str, Any]) -> str:
    update = message["params"].get("update", {})
    return str(update["content"]["text"]) if update.get("sessionUpdate") == "agent_message_chunk" else ""


def main() -> None:
    print(f"{f'late, ms, in {QUIET} sessions while another does':<58}{'median':>8}{'95 %':>8}{'most':>8}")
    for work in WORK:
        with tempfile.TemporaryDirectory() as folder:
            late = sorted(measure(Path(folder), work))
        row = statistics.median(late), late[len(late) * 95 // 100], late[-1]
        print(f"{work:<58}" + "".join(f"{value:>8.0f}" for value in row), flush=True)


if __name__ == "__main__":
    main()
