"""Run on its own: applies batches in child processes that are killed, recovers, and checks what is left.

    python -m tests.support.kills FOLDER instants COUNT SEED
    python -m tests.support.kills FOLDER calls

The first kills at random instants of a batch of 50 files, and sometimes the recovery as well; the second before each
system call that changes something, and before each one of the recovery that follows. Prints what it did as JSON; any
state that is neither entirely the old nor entirely the new one is an AssertionError.
"""

import gc
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from north_lsp.workspace.apply import apply as applying
from north_lsp.workspace.apply import journal
from north_lsp.workspace.apply.apply import apply
from north_lsp.workspace.apply.atomic_exchange import exchange_names
from north_lsp.workspace.edit.diff import make_change, make_deletion, make_folder_change, make_rename
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import FileChange, TextEncoding

Files = dict[str, bytes]
_REHEARSALS = 3
_CALLS = ("open", "write", "fsync", "link", "rename", "replace", "unlink", "mkdir", "rmdir", "fchmod", "fchown")


def states(count: int) -> tuple[Files, Files]:
    """Return two states of a folder, with changed, new, deleted and moved files and folders ("empty…/") between
    them."""
    old: Files = {"empty/gone/": b"", "empty/was/": b"w", "empty with/": b"", "empty with/f.txt": b"f\n"}
    new: Files = {"empty now/deep/": b"w"}
    for number in range(count):
        text = "".join(f"line {line} of {number}\n" for line in range(80 + number)).encode()
        name = f"d{number % 7}/f{number}.txt"
        match number % 10:
            case 7:
                old[f"{'old' if number % 20 > 10 else 'was'}/{name}"] = text
            case 8:
                new[f"made/{number}/{name}"] = text
            case 9:
                old[name] = text
                new[f"moved/{name}"] = text
            case _:
                old[name] = text
                new[name] = text.replace(b"line 40", b"another 40\r\nand more")
    return old, new


def changes(root: Path, before: Files, after: Files) -> list[FileChange]:
    """Return the changes that lead from one state to the other."""
    found: list[FileChange] = []
    form = TextEncoding()
    gone = {data: name for name, data in before.items() if name not in after}
    moved: set[str] = set()
    for name, data in after.items():
        text = data.decode()
        if name.endswith("/"):
            continue
        if name in before:
            if before[name] != data:
                found.append(make_change(root / name, name, before[name].decode(), text, form))
        elif data in gone:
            source = gone[data]
            moved.add(source)
            found.append(make_rename(root / source, source, root / name, name, text, text, form))
        else:
            found.append(make_change(root / name, name, None, text, form))
    found += folder_changes(root, [set(filter(is_folder, state)) for state in (before, after)])
    rest = [name for name in before if name not in after and name not in moved and not is_folder(name)]
    return found + [make_deletion(root / name, name, before[name].decode(), form) for name in rest]


def is_folder(name: str) -> bool:
    return name.endswith("/")


def folder_changes(root: Path, states: list[set[str]]) -> list[FileChange]:
    """Return changes that move one folder and create or delete the others."""
    before, after = states
    gone, made = sorted(before - after, key=lambda name: "was" not in name), sorted(after - before)
    if not (gone and made):
        return []
    moved = make_folder_change(root / gone[0], gone[0], "rename")
    return [
        replace(moved, new_path=root / made[0], new_relative=made[0]),
        *(make_folder_change(root / name, name, "delete") for name in gone[1:]),
        *(make_folder_change(root / name, name, "create") for name in made[1:]),
    ]


def look(root: Path) -> Files:
    found: Files = {}
    waiting = [("", os.fspath(root))]
    while waiting:
        above, folder = waiting.pop()
        for entry in os.scandir(folder):
            name = f"{above}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if name.startswith("empty") and name not in ("empty", "empty now"):
                    found[f"{name}/"] = b"w" if name in ("empty/was", "empty now/deep") else b""
                waiting.append((f"{name}/", entry.path))
            elif entry.is_file():
                with open(entry.path, "rb") as file:
                    found[name] = file.read()
    return found


def put(root: Path, files: Files) -> None:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if is_folder(name):
            (root / name).mkdir(exist_ok=True)
            continue
        (root / name).write_bytes(data)


def child(work: Callable[[], Any], kill_after: float | None = None, *, once_noted: bool = False) -> int:
    """Run in a child process and kill it after this many seconds, counted from the start of its journal if
    `once_noted`. Return the signal that ended it, 0 if it ended by itself."""
    ear, mouth = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ear)
        begin = journal.Journal.begin

        def telling(folder: Path, plan: journal.Plan) -> journal.Journal:
            begun = begin(folder, plan)
            os.close(mouth)
            return begun

        try:
            if once_noted:
                setattr(journal.Journal, "begin", telling)  # noqa: B010 - reports that the journal has begun
            work()
        except BaseException:  # noqa: BLE001 - a child always ends here
            os._exit(1)
        os._exit(0)
    os.close(mouth)
    if once_noted:
        os.read(ear, 1)
    os.close(ear)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed"
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def recover_all(journals: Path) -> None:
    for path in journal.unfinished(journals):
        journal.recover(path, {})


def check(root: Path, journals: Path, *allowed: Files) -> Files:
    """Check after a recovery that exactly one of the states is left. Return it."""
    left = look(root)
    assert left in allowed, f"neither state: {sorted(set(left) ^ set(allowed[0]))[:10]}"
    assert not list(journals.iterdir()), "a journal is left"
    return left


def rehearse(folder: Path) -> None:
    """Apply and recover batches in this process first. Children are copies of it: they find compiled and loaded what
    each would have to again, which took most of their time."""
    root, journals = folder / "rehearsal", folder / "rehearsed"
    old, new = states(10)
    put(root, old)
    roots = Roots.of(root)
    for _ in range(_REHEARSALS):
        for before, after in ((old, new), (new, old)):
            wanted = changes(root, before, after)
            child(partial(apply, wanted, roots, journals), 0, once_noted=True)
            recover_all(journals)
            if check(root, journals, before, after) == before:
                apply(wanted, roots, journals)


def at_instants(folder: Path, count: int, seed: int) -> dict[str, int]:
    chance = random.Random(seed)
    root, journals = folder / "repo", folder / "journals"
    old, new = states(50)
    put(root, old)
    roots = Roots.of(root)
    now, other = old, new
    rehearse(folder)
    gc.freeze()  # children would copy the pages that the collector touches
    ways = {True: changes(root, old, new), False: changes(root, new, old)}
    started = time.perf_counter()
    assert child(partial(apply, ways[True], roots, journals)) == 0
    duration = time.perf_counter() - started
    now, other = other, now
    check(root, journals, now)
    killed = recoveries = forward = halfway = rounds = 0
    while killed < count:
        rounds += 1
        wanted = ways[now is old]
        late = chance.random() < 0.9  # before its journal nothing can go wrong, so rarely test that
        hit = child(partial(apply, wanted, roots, journals), chance.uniform(0, duration * 1.05), once_noted=late)
        killed += hit == signal.SIGKILL
        duration *= 1.02 if hit == signal.SIGKILL else 0.85  # a kill that comes too late shows nothing
        halfway += look(root) not in (now, other)
        if chance.random() < 0.25:
            recoveries += child(lambda: recover_all(journals), chance.uniform(0, duration / 10)) == signal.SIGKILL
        recover_all(journals)
        left = check(root, journals, now, other)
        if left == other:
            forward += 1
            now, other = other, now
    return {"rounds": rounds, "killed": killed, "halfway": halfway, "recoveries killed": recoveries, "applied": forward}


def killing(number: int) -> None:
    """Have this process killed before the `number`-th system call that changes something."""
    made = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            if made == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **named)

        return call

    for name in _CALLS:
        setattr(os, name, counted(getattr(os, name)))
    setattr(applying, "exchange_names", counted(exchange_names))  # noqa: B010 - as above: the name that is called


def at_calls(folder: Path) -> dict[str, int]:
    old, new = states(10)
    new["d0/f0.txt"] = b"#"
    kills = recoveries = 0
    number, alive = 0, False
    root, journals = folder / "repo", folder / "journals"
    put(root, old)
    roots, wanted = Roots.of(root), changes(root, old, new)
    rehearse(folder)
    gc.freeze()
    while not alive:
        number += 1

        def dying(number: int = number) -> None:
            killing(number)
            apply(wanted, roots, journals)

        alive = child(dying) == 0
        kills += not alive
        if number % 40 == 35 and not alive:
            again = 0
            while True:
                again += 1

                def recovering(again: int = again) -> None:
                    killing(again)
                    recover_all(journals)

                if child(recovering) == 0:
                    break
                recoveries += 1
        if journals.exists():
            recover_all(journals)
            left = check(root, journals, old, new)
            assert left == new or not (root / "made").exists(), "a folder is left"
            if left == new and not alive:
                shutil.rmtree(root)
                put(root, old)
        else:
            assert look(root) == old
    assert look(root) == new
    return {"killed": kills, "recoveries killed": recoveries}


def main() -> None:
    folder = Path(os.path.realpath(sys.argv[1]))
    done = at_calls(folder) if sys.argv[2] == "calls" else at_instants(folder, int(sys.argv[3]), int(sys.argv[4]))
    sys.stdout.write(json.dumps(done) + "\n")


if __name__ == "__main__":
    main()
