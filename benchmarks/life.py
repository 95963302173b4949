"""Measures a server that lives long, and one with many sessions at work: processor time of a turn, memory, descriptors
and threads after ever more turns, in conversations of a hundred turns each; and how long streams take side by side.

    python -m benchmarks.life [TURNS]

The model is the scripted one of `benchmarks.turns`.
"""

import itertools
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.turns import Client, Model, read, say, small_project

TURNS = 10_000
_IN_ONE = 100
_SHOWN = 10
"""How many rows there are."""
_SESSIONS = 20
_PIECES = 2_000


def live(folder: Path, turns: int) -> None:
    """Print a row for each tenth of the turns; every turn reads part of a file and says a word."""
    project = small_project(folder)
    model = Model()
    model.answers = itertools.cycle([read(0), say("Hello.")])
    server = Client(folder, model.url)
    try:
        print(f"{'turns':<10}{'a turn, ms':>12}{'memory, MB':>12}{'descriptors':>13}{'threads':>9}")
        done, row = 0, max(turns // _SHOWN // _IN_ONE * _IN_ONE, _IN_ONE)
        while done < turns:
            session = server.new_session(project)
            before = _spent(server)
            for _ in range(_IN_ONE):
                server.prompt(session)
            spent = (_spent(server) - before) / _IN_ONE
            server.call("session/close", {"sessionId": session})
            done += _IN_ONE
            model.bodies.clear()
            if done == _IN_ONE or done % row == 0:
                process = Path(f"/proc/{server.process.pid}")
                descriptors, threads = (len(list((process / name).iterdir())) for name in ("fd", "task"))
                print(f"{done:<10,}{spent:>12.1f}{server.memory():>12.1f}{descriptors:>13}{threads:>9}", flush=True)
    finally:
        server.stop()


def _spent(server: Client) -> float:
    """Return the milliseconds of processor time that the process has spent, in threads that have ended, too."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def beside(folder: Path) -> None:
    """Print how long a stream takes alone, and how long many take in servers of their own at the same time."""
    model = Model()
    model.answers = itertools.repeat(say(*("word " for _ in range(_PIECES))))
    servers = []
    for number in range(_SESSIONS):
        own = folder / str(number)
        own.mkdir()
        servers.append((Client(own, model.url), small_project(own)))
    try:
        sessions = [(server, server.new_session(project)) for server, project in servers]
        for server, session in sessions:
            server.prompt(session)
        alone = sessions[0][0].prompt(sessions[0][1])
        with ThreadPoolExecutor(_SESSIONS) as pool:
            before = time.perf_counter()
            list(pool.map(lambda one: one[0].prompt(one[1]), sessions))
            all_of_them = (time.perf_counter() - before) * 1000
        print(
            f"a stream of {_PIECES:,} pieces alone: {alone:.0f} ms; {_SESSIONS} at once: {all_of_them:.0f} ms,", end=""
        )
        print(f" {all_of_them / _SESSIONS:.0f} ms for each")
    finally:
        for server, _ in servers:
            server.stop()


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    with tempfile.TemporaryDirectory() as folder:
        beside(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        live(Path(folder), turns)


if __name__ == "__main__":
    main()
