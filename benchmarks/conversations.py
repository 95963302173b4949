"""Finding one of 5,000 stored conversations: the first page of the list, search, and making both indexes anew.

Every figure is the median of several rounds: by the clock, and, less disturbed by other programs, the least processor
time of one. The conversations are made of words in the frequencies of a natural
language, ten prompts and answers each, of twenty projects.

    python -m benchmarks.conversations [FOLDER]

FOLDER is where `npm install @mariozechner/pi-coding-agent` was run: then pi is measured on the same conversations.
"""

import json
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.peers import measure_pi, print_reports
from north_lsp.storage.conversation_index import ConversationIndex, Wanted
from north_lsp.storage.locations import Locations
from north_lsp.storage.prompt_history import PromptHistory
from north_lsp.storage.search import Search

CONVERSATIONS = 5000
TURNS = 10
PROJECTS = 20
ROUNDS = 9
_WORDS = [f"{a}{b}{c}" for a in ("par", "tok", "mod", "ren", "lex", "net") for b in "aeiou" for c in "bdglmnrstvxz"]
_WEIGHTS = [1 / rank for rank in range(1, len(_WORDS) + 1)]
# Rare and frequent words, beginnings that hundreds of words have, words that all have but never together, and signs.
_QUERIES = (
    *("needleInHaystack", "needle", "netuz", "parab", "parab tokeb", "p", "pa to mo re le ne", "p t m r l n"),
    *("parab tokab modab renab lexab netab", "=>", "\u6f22\u5b57"),
)


def make_conversations(store: Locations, count: int = CONVERSATIONS) -> int:
    """Write logs; return their size in bytes."""
    chance = random.Random(1)
    store.conversations.mkdir(parents=True)
    size = 0
    for number in range(count):
        project = number % PROJECTS
        root = f"/home/me/project{project}"
        began = f"2025-{1 + number % 12:02d}-{1 + number % 28:02d}T10:00:00.000Z"
        lines = [{"type": "conversation_started", "version": 4, "timestamp": began, "repoRoot": root, "cwd": root}]
        lines[0] |= {"repoHash": f"{project:016x}", "model": "anthropic/claude-sonnet-4-5"}
        for turn in range(TURNS):
            for role, words in (("user", 20), ("assistant", 120)):
                text = " ".join(chance.choices(_WORDS, _WEIGHTS, k=words))
                text += " needleInHaystack" if (number, turn, role) == (count // 2, 4, "assistant") else ""
                message = {
                    "role": role,
                    "content": [{"type": "text", "text": text}],
                    "usage": {"cost": {"total": 0.01}},
                }
                lines.append({"type": "message", "id": f"{turn}{role}", "parentId": None, "message": message})
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        size += len(data)
        (store.conversations / f"{number:06x}.jsonl").write_bytes(data)
    return size


def measured(name: str, action: Callable[[], object], rounds: int = ROUNDS) -> None:
    """Print the median time of an action, and the least processor time, in milliseconds."""
    times, busy = [], []
    for _ in range(rounds):
        start, used = time.perf_counter(), time.process_time()
        action()
        times.append((time.perf_counter() - start) * 1000)
        busy.append((time.process_time() - used) * 1000)
    print(f"{name:<58} {statistics.median(times):>9.1f} ms {min(busy):>9.1f} ms of processor time", flush=True)


def memory() -> float:
    """Return the most memory that this process has used so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def find_conversations(store: Locations) -> None:
    """Print the times of lists and searches."""
    index, search = ConversationIndex(store), Search(store)
    before = memory()
    measured("index of all conversations, made anew", index.refresh, 1)
    measured("words of all conversations, made anew", search.fill, 1)
    print(f"{'memory that took':<58} {memory() - before:>9.1f} MB")
    size = (store.data / "search.db").stat().st_size / 1e6
    print(f"{'size of the index':<58} {size:>9.1f} MB")
    project = Wanted(folder=Path("/home/me/project3"), archived="hidden", limit=50)
    measured("first page of one project", partial(index.listed, project))
    measured("first page of all projects", partial(index.listed, Wanted(archived="hidden", limit=50)))
    for words in _QUERIES:
        measured(f"search for {words!r}", partial(search.search, words, Wanted(limit=50)))
    measured("search for 'parab' in one project", partial(search.search, "parab", project))
    log = store.conversations / "000007.jsonl"
    with log.open("ab") as file:
        file.write(b'{"type":"conversation_ended","id":"x"}\n')
    measured("index of one conversation, after a turn", partial(index.note, "000007"))


def find_prompts(store: Locations, count: int = 10_000) -> None:
    """Print the times of a full prompt history."""
    chance, history = random.Random(2), PromptHistory(store)
    prompts = iter([" ".join(chance.choices(_WORDS, _WEIGHTS, k=20)) for _ in range(count + ROUNDS)])
    for _ in range(count):
        history.add(next(prompts), Path("/home/me/project3"))
    measured("a prompt is added to a history of 10,000", lambda: history.add(next(prompts), Path("/home/me/project3")))
    measured("the last 100 prompts of a project", partial(history.listed, folder=Path("/home/me/project3")))
    measured("prompts with two words", partial(history.listed, "parab tokeb"))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = Locations(folder / "config", folder / "data", folder / "state")
        size = make_conversations(store)
        print(f"{CONVERSATIONS:,} conversations of {2 * TURNS} messages, {size / 1e6:.0f} MB")
        find_conversations(store)
        find_prompts(store)
        if len(sys.argv) > 1:
            measure_pi(store.conversations, Path(sys.argv[1]))
    print_reports()


if __name__ == "__main__":
    main()
