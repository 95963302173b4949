"""What a turn and a round of tools cost in a long conversation, in processor time of the server: each further round
should cost what its new entries cost, however long the conversation is.

The model is the scripted one of `benchmarks.turns`. Each figure is the least of several.
"""

import sys
import tempfile
from pathlib import Path

from benchmarks.turns import Client, long_conversation, read, say

PROMPTS = (1, 500, 2500)
TURNS = 8
BATCHES = 4
ROUNDS = 20


def measure(folder: Path, prompts: int) -> tuple[float, float]:
    """Return the milliseconds of a turn, and of a round, after so many prompts of four entries each."""
    batch = [*(read(number) for number in range(ROUNDS)), say("Done.")]
    answers = [say("Hello.")] * TURNS + batch * BATCHES
    with long_conversation(folder, prompts, *answers) as (server, _, session):
        turn = min(_processor_time(server, session, "Hello") for _ in range(TURNS))
        rounds = min(_processor_time(server, session, "Read it all") for _ in range(BATCHES))
    return turn, rounds / (ROUNDS + 1)


def _processor_time(server: Client, session: str, text: str) -> float:
    before = server.processor_time()
    server.prompt(session, text)
    return server.processor_time() - before


def main() -> None:
    print(f"{'processor time, ms':<28}{'a turn':>10}{'a round':>10}")
    for prompts in map(int, sys.argv[1:]) if len(sys.argv) > 1 else PROMPTS:
        with tempfile.TemporaryDirectory() as folder:
            turn, rounds = measure(Path(folder), prompts)
        print(f"{f'after {4 * prompts:,} entries':<28}{turn:>10.1f}{rounds:>10.1f}")


if __name__ == "__main__":
    main()
