"""Measures preparing, showing and applying edits: one in a file of 10,000 lines, 50 and 200 files at once, one in a
file of 5 MB; and how long a client waits for a proposal of 200 files, for its being applied, and for its undo."""

import argparse
import asyncio
import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.turns import Client, Model, call, say
from north_lsp.workspace.edit.diff import unified
from tests.support.edits import World

ROUNDS = 15
TURNS = 5
AIMS = {"1 edit, 10,000 lines": 15, "50 files": 150, "200 files": 800, "1 edit, 5 MB": 150}


def _lines(count: int) -> str:
    return "".join(f"    value_{number} = compute({number}, {number * 7919 % 1000})\n" for number in range(count))


async def _edit(world: World, tool: str, arguments: dict[str, Any]) -> None:
    """Do what a turn does for a write, without waiting for the user."""
    changes = await world.prepare(tool, **arguments)
    for change in changes:
        unified(change)
    await world.apply(changes)


async def _one(world: World, name: str, middle: int, round_: int) -> None:
    old = f"compute({middle}, " if round_ % 2 == 0 else f"changed({middle}, "
    new = f"changed({middle}, " if round_ % 2 == 0 else f"compute({middle}, "
    await _edit(world, "edit_replace_exact", {"path": name, "old": old, "new": new})


async def _batch(world: World, round_: int) -> None:
    words = ("compute(20, ", "changed(20, ")
    old, new = words if round_ % 2 == 0 else words[::-1]
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": f"f{number}.py", "old": old, "new": new}}
        for number in range(50)
    ]
    await _edit(world, "edit_apply_batch", {"edits": edits})


def _patch_of_200(round_: int) -> str:
    words = ("compute(30, ", "changed(30, ")
    old, new = words if round_ % 2 == 0 else words[::-1]
    rest = f"{30 * 7919 % 1000})"
    hunk = f"@@\n-    value_30 = {old}{rest}\n+    value_30 = {new}{rest}\n"
    files = "".join(f"*** Update File: f{number}.py\n{hunk}" for number in range(200))
    return f"*** Begin Patch\n{files}*** End Patch\n"


async def _patch(world: World, round_: int) -> None:
    await _edit(world, "edit_patch", {"patch": _patch_of_200(round_)})


def cases(world: World) -> dict[str, Callable[[int], Awaitable[None]]]:
    world.write("long.py", _lines(10_000))
    big = _lines(5 * 1024 * 1024 // len(_lines(1000)) * 1000)
    world.write("big.py", big)
    for number in range(200):
        world.write(f"f{number}.py", _lines(200))
    middle = big.count("\n") // 2
    return {
        "1 edit, 10,000 lines": lambda round_: _one(world, "long.py", 5000, round_),
        "50 files": lambda round_: _batch(world, round_),
        "200 files": lambda round_: _patch(world, round_),
        "1 edit, 5 MB": lambda round_: _one(world, "big.py", middle, round_),
    }


class _Approving(Client):
    """A client that accepts whatever it is asked, and notes when."""

    asked_at = 0.0
    choice = "allow_once"

    def asked(self) -> None:
        self.asked_at = time.perf_counter()


def whole_turns(folder: Path) -> list[tuple[float, float, float]]:
    """Return the milliseconds that a client waits for the question about 200 files, from there until the turn is over,
    and for the undo of it, for some rounds in one conversation."""
    (folder / "project").mkdir()
    for number in range(200):
        (folder / "project" / f"f{number}.py").write_text(_lines(200))
    model = Model()
    server = _Approving(folder, model.url, {"edits.variant": "patch"})
    rows = []
    try:
        session = server.new_session(folder / "project")
        for first in range(0, 200, 25):  # what was not read cannot be changed
            reads = [call("read_file", f"toolu_{number}", path=f"f{number}.py") for number in range(first, first + 25)]
            model.answers = iter([*reads, say("Read.")])
            server.prompt(session)
        for _ in range(TURNS):
            model.answers = iter([call("edit_patch", patch=_patch_of_200(0)), say("Done.")])
            began = time.perf_counter()
            took = server.prompt(session)
            shown = (server.asked_at - began) * 1000
            assert "changed(30, " in (folder / "project" / "f199.py").read_text()
            rows.append((shown, took - shown, server.prompt(session, "/undo")))
            assert "changed(30, " not in (folder / "project" / "f199.py").read_text()
    finally:
        server.stop()
    return rows


async def _measure(case: Callable[[int], Awaitable[None]]) -> list[float]:
    times: list[float] = []
    for round_ in range(ROUNDS):
        started = time.perf_counter()
        await case(round_)
        times.append((time.perf_counter() - started) * 1000)
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", action="store_true", help="say where the time goes")
    options = parser.parse_args()
    print(f"{'ms':<24}{'min':>8}{'median':>8}{'max':>8}{'aim':>8}")
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for name, case in cases(world).items():
            profile = cProfile.Profile()
            if options.profile:
                profile.enable()
            times = asyncio.run(_measure(case))
            profile.disable()
            print(f"{name:<24}{min(times):>8.1f}{statistics.median(times):>8.1f}{max(times):>8.1f}{AIMS[name]:>8}")
            if options.profile:
                pstats.Stats(profile).sort_stats("cumulative").print_stats(25)
    with tempfile.TemporaryDirectory() as folder:
        waits = whole_turns(Path(folder))
    names = ("200 files: until asked", "200 files: applied", "200 files: undone")
    for name, times in zip(names, map(list, zip(*waits, strict=True)), strict=True):
        print(f"{name:<24}{min(times):>8.1f}{statistics.median(times):>8.1f}{max(times):>8.1f}")
    together = statistics.median(sum(row) for row in waits)
    print(f"{'200 files: all of it':<24}{'':>8}{together:>8.1f}{'':>8}{1000:>8}")


if __name__ == "__main__":
    main()
