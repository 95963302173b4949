"""Mutates the streams of all vendors, and checks what the adapters make of them.

    python -m tests.endurance.streams COUNT [SEED]

Fields get values of wrong types, events are lost, repeated and moved, bytes are flipped, cut out and put in, and the
network cuts the rest anywhere. Whatever comes, a stream ends with one Done or Failed, soon, never raises, and gives
what can be stored, shown and sent again. Prints a table; with a finding, the seed and number that show it again.
"""

import random
import resource
import sys
import time
from collections import Counter
from typing import Any

from north_lsp.providers.base import Done
from tests.providers.adapters.test_chunks import events_of_chunks, whole_stream
from tests.providers.adapters.test_hostile_streams import VALUES, changed, check, places, read, written
from tests.providers.adapters.vendors import VENDORS, Vendor

_SECONDS = 30.0
_RUBBISH = (b"\x00", b"\xff\xfe", b"data: ", b"\n\n", b"\r", b"event: error\n", b'{"', b"[DONE]", b"data: [DONE]\n\n")


def mutated(vendor: Vendor, chance: random.Random) -> list[bytes]:
    """Return a vendor's stream with some of its fields, events and bytes changed, in pieces."""
    data = whole_stream(vendor)
    if chance.random() < 0.7:
        events: list[Any] = read(vendor, data)
        for _ in range(chance.randint(0, 6)):
            paths = [path for path in places(events) if path]
            if paths:
                events = changed(events, chance.choice(paths), chance.choice(VALUES))
        for _ in range(chance.choice((0, 0, 1, 3))):
            events = _moved(events, chance)
        data = written(vendor, events)
    if chance.random() < 0.5:
        for _ in range(chance.randint(1, 8)):
            data = _damaged(data, chance)
    edges = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((0, 1, 5, 40))))
    return [data[start:end] for start, end in zip([0, *edges], [*edges, len(data)], strict=True) if end > start]


def _moved(events: list[Any], chance: random.Random) -> list[Any]:
    if not events:
        return events
    at, to = chance.randrange(len(events)), chance.randrange(len(events))
    match chance.randrange(3):
        case 0:
            return events[:at] + events[at + 1 :]
        case 1:
            return events[:at] + [events[at]] * chance.randint(2, 5) + events[at + 1 :]
        case _:
            rest = events[:at] + events[at + 1 :]
            return [*rest[:to], events[at], *rest[to:]]


def _damaged(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    match chance.randrange(4):
        case 0:
            return data[:at] + chance.choice(_RUBBISH) + data[at:]
        case 1:
            return data[:at] + data[at + chance.randint(1, 60) :]
        case 2:
            return data[:at] + chance.randbytes(chance.randint(1, 4)) + data[at + 1 :]
        case _:
            return data[:at] if chance.random() < 0.2 else data + data[at : at + 200]


def run(count: int, seed: int) -> Counter[str]:
    """Try this many streams of all vendors in turn; returns how they ended. Raises AssertionError with the number of
    the one that did not end as it must."""
    ended: Counter[str] = Counter()
    for number in range(count):
        vendor = VENDORS[number % len(VENDORS)]
        pieces = mutated(vendor, random.Random(f"{seed} {number}"))
        started = time.process_time()
        try:
            events = events_of_chunks(vendor, pieces)
            check(events)
        except Exception as error:
            raise AssertionError(f"stream {number} of seed {seed}, {vendor.name}: {error!r}") from error
        assert time.process_time() - started < _SECONDS, f"stream {number} of seed {seed} took too long"
        ended[f"{vendor.name}, {'whole' if isinstance(events[-1], Done) else 'failed'}"] += 1
    return ended


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**32)
    print(f"{count:,} streams, seed {seed}", flush=True)
    warm = min(400, count)
    ended = run(warm, seed + 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended += run(count - warm, seed)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for how, times in sorted(ended.items()):
        print(f"{how:<24}{times:>10,}")
    print(f"memory grew by {grown:.1f} MB after the first {warm}")


if __name__ == "__main__":
    main()
