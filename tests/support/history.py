"""Replays a git history through the edit tools: one made from the standard library's sources, or a real one.

Run on its own, it replays a real one:  python -m tests.support.history GIT_DIRECTORY FOLDER [COMMITS]
"""

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from north_lsp.storage.edit_settings import EditSettings
from north_lsp.workspace.edit.anchors import find_anchors
from north_lsp.workspace.edit.lines import Block, changed_blocks
from north_lsp.workspace.text import decode, dominant_newline, encode, is_binary, split_lines
from tests.support.edits import World

_MAX_BATCH_BYTES = 45_000
_PACKAGES = ("json", "email", "http", "logging", "unittest", "wsgiref", "concurrent", "importlib")
_ENVIRONMENT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "LC_ALL": "C"}

ToolCall = tuple[str, dict[str, Any]]


def git(directory: Path, *arguments: str, data: bytes | None = None) -> bytes:
    command = ["git", f"--git-dir={directory}", *arguments]
    return subprocess.run(
        command, input=data, capture_output=True, check=True, env={**os.environ, **_ENVIRONMENT}
    ).stdout


# -- making a history --------------------------------------------------------------------------------------------------


def make_history(directory: Path, commits: int, seed: int) -> None:
    """Make a repository whose commits change, add, delete and move real sources, in several encodings and line ends."""
    subprocess.run(["git", "init", "-q", "--bare", str(directory)], check=True, env={**os.environ, **_ENVIRONMENT})
    chance = random.Random(seed)
    pool = _sources()
    names = sorted(pool)
    start = chance.sample(names, 30)
    files = {name: pool[name] for name in start}
    files |= _special(pool[start[0]], pool[start[1]])
    stream = [b""]
    for number in range(commits):
        changed = dict(files) if number == 0 else _commit(files, pool, names, chance)
        message = f"commit {number}".encode()
        when = 1_700_000_000 + number * 60
        stream.append(
            b"commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata %d\n%b\n" % (when, len(message), message)
        )
        for name, data in changed.items():
            if data is None:
                files.pop(name, None)
                stream.append(b'D "%b"\n' % name.encode())
            else:
                files[name] = data
                stream.append(b'M 100644 inline "%b"\ndata %d\n%b\n' % (name.encode(), len(data), data))
    git(directory, "fast-import", "--quiet", data=b"".join(stream))
    git(directory, "symbolic-ref", "HEAD", "refs/heads/main")


def _sources() -> dict[str, bytes]:
    library = Path(sysconfig.get_path("stdlib"))
    found: dict[str, bytes] = {}
    for package in _PACKAGES:
        for path in sorted((library / package).rglob("*.py")):
            data = path.read_bytes()
            if 200 < len(data) < 60_000:
                found[path.relative_to(library).as_posix()] = data
    return found


def _special(one: bytes, two: bytes) -> dict[str, bytes]:
    lines = two.splitlines(keepends=True)[:120]
    mixed = b"".join(line.replace(b"\n", b"\r\n") if at % 3 else line for at, line in enumerate(lines))
    return {
        "dos/windows.py": one.replace(b"\n", b"\r\n"),
        "odd/bom.py": b"\xef\xbb\xbf" + one,
        "odd/latin.txt": "Größe und Maß\nnaïve façade\n".encode("latin-1") * 20,
        "odd/wide.txt": b"\xff\xfe" + "breite Zeichen\nüber alles\n".encode("utf-16-le") * 20,
        "odd/mixed.txt": mixed,
        "odd/open end.txt": one.rstrip(b"\n"),
        "odd/empty.txt": b"",
    }


def _commit(files: dict[str, bytes], pool: dict[str, bytes], names: list[str], chance: random.Random) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for _ in range(chance.choice([1, 1, 2, 3, 5])):
        name = chance.choice(sorted(files))
        if name in changed:
            continue
        kind = chance.random()
        if kind < 0.06 and len(files) > 20 and not name.startswith(("odd/", "dos/")):
            changed[name] = None
        elif kind < 0.14:
            target = f"moved/{chance.randrange(10**6)}/{name.rpartition('/')[2]}"
            if not name.startswith(("odd/", "dos/")):
                changed[name] = None
                changed[target] = files[name] if chance.random() < 0.5 else _edited(files[name], pool, names, chance)
        elif kind < 0.24:
            new = chance.choice(names)
            if new not in files and new not in changed:
                changed[new] = pool[new]
        else:
            changed[name] = _edited(files[name], pool, names, chance)
    changed = {name: data for name, data in changed.items() if data is None or data != files.get(name)}
    return changed or {f"notes/{chance.randrange(10**9)}.txt": b"a note\n"}


def _edited(data: bytes, pool: dict[str, bytes], names: list[str], chance: random.Random) -> bytes:
    text, form = decode(data)
    lines = split_lines(text)
    newline = dominant_newline(text)
    for _ in range(chance.choice([1, 1, 2, 4, 7])):
        at = chance.randrange(len(lines) + 1)
        kind = chance.random()
        if kind < 0.3 and lines:
            end = min(len(lines), at + chance.choice([1, 1, 2, 6]))
            words = [word for line in lines[at:end] for word in line.split()]
            if words:
                word = chance.choice(words)
                lines[at:end] = [line.replace(word, f"{word}_{chance.randrange(100)}") for line in lines[at:end]]
        elif kind < 0.5 and len(lines) > 10:
            del lines[at : at + chance.choice([1, 1, 3, 12])]
        else:
            source = pool[chance.choice(names)].decode("utf-8", "replace").split("\n")
            first = chance.randrange(len(source))
            piece = source[first : first + chance.choice([1, 2, 5, 20])]
            if at == len(lines) and lines and not lines[-1].endswith("\n"):
                continue
            keep = form.encoding != "latin-1"
            lines[at:at] = [(line if keep else line.encode("ascii", "replace").decode()) + newline for line in piece]
    return encode("".join(lines), form)


# -- reading a history -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileDiff:
    """One file of a commit; `old` is its previous name, if it was moved."""

    status: str
    name: str
    old: str | None
    before: bytes | None
    after: bytes | None


def commits_of(directory: Path, limit: int | None = None) -> list[str]:
    found = git(directory, "rev-list", "--first-parent", "--reverse", "HEAD").decode().split()
    return found if limit is None else found[-limit:]


def tree_of(directory: Path, commit: str) -> dict[str, tuple[str, str]]:
    """Return the mode and blob of every file."""
    rows = git(directory, "ls-tree", "-r", "-z", commit).split(b"\0")
    found: dict[str, tuple[str, str]] = {}
    for row in rows:
        if row:
            meta, _, name = row.partition(b"\t")
            mode, kind, blob = meta.decode().split()
            if kind == "blob":
                found[os.fsdecode(name)] = (mode, blob)
    return found


class BlobReader:
    """Reads blobs through `git cat-file --batch`."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(
            ["git", f"--git-dir={directory}", "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def read(self, blob: str) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(blob.encode() + b"\n")
        self._process.stdin.flush()
        size = int(self._process.stdout.readline().split()[2])
        data = self._process.stdout.read(size)
        self._process.stdout.read(1)
        return data

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def raw_diffs(directory: Path, commits: list[str]) -> dict[str, list[bytes]]:
    """Return each commit's changes against its first parent as git's raw rows, without the first commit's. One process
    for all."""
    data = git(directory, "diff-tree", "--stdin", "-r", "-M", "-z", "--raw", data=_pairs(commits)).split(b"\0")
    found: dict[str, list[bytes]] = {}
    rows: list[bytes] = []
    at = 0
    while at < len(data):
        if data[at].startswith(b":"):
            end = at + (3 if data[at].split()[4][:1] in b"RC" else 2)
            rows += data[at:end]
            at = end
        else:
            rows = found.setdefault(data[at].decode().strip(), [])
            at += 1
    return found


def patches(directory: Path, commits: list[str]) -> dict[str, str]:
    """Return each commit's changes against its first parent as a text patch, without the first commit's."""
    command = ["-c", "core.quotePath=false", "diff-tree", "--stdin", "-r", "-M", "-p"]
    text = git(directory, *command, data=_pairs(commits)).decode("utf-8", "replace")
    found: dict[str, str] = {}
    for commit in commits[1:]:  # on a line of its own, unlike any line of a patch
        _, _, rest = text.partition(f"{commit}\n")
        following = re.search(r"^[0-9a-f]{40}$", rest, re.MULTILINE)
        found[commit] = rest[: following.start() if following else len(rest)]
        text = rest
    return found


def _pairs(commits: list[str]) -> bytes:
    return "".join(f"{commit} {parent}\n" for parent, commit in pairwise(commits)).encode()


def diffs_of(raw: list[bytes], blobs: BlobReader) -> Iterator[FileDiff]:
    at = 0
    while at < len(raw):
        old_mode, new_mode, old, new, status = raw[at].decode().lstrip(":").split()
        first = os.fsdecode(raw[at + 1])
        moved = status[0] in "RC"
        name = os.fsdecode(raw[at + 2]) if moved else first
        at += 3 if moved else 2
        if not {old_mode, new_mode} <= {"000000", "100644", "100755"}:
            status = "X"  # a link or another repository
        before = blobs.read(old) if old_mode in ("100644", "100755") else None
        after = blobs.read(new) if new_mode in ("100644", "100755") else None
        yield FileDiff(status[0], name, first if moved else None, before, after)


# -- replaying it ------------------------------------------------------------------------------------------------------


@dataclass
class Replayed:
    """What was compared, by which tools it was made, and what differed."""

    commits: int = 0
    files: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    beyond: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)


async def replay(directory: Path, folder: Path, seed: int, limit: int | None = None) -> Replayed:
    """Apply each commit's changes with the tools. What tools cannot do (links, binary files, new odd encodings) is done
    directly and counted in `beyond`."""
    world, chance, done = World(folder, EditSettings(allow_generated=("*",))), random.Random(seed), Replayed()
    blobs = BlobReader(directory)
    commits = commits_of(directory, limit)
    for name, (_, blob) in tree_of(directory, commits[0]).items():
        world.write(name, blobs.read(blob), shown=False)
    raw, whole_patches = raw_diffs(directory, commits), patches(directory, commits)
    for number, commit in enumerate(commits[1:]):
        diffs = list(diffs_of(raw.get(commit, []), blobs))
        text, by_hand = _split(diffs, done)
        for diff in text:
            for name in filter(None, (diff.name, diff.old)):
                if (world.root / name).is_file() and not is_binary(world.read(name)):
                    world.show(name)
        await _replay(world, whole_patches[commit], number, text, chance, done, whole=not by_hand)
        for diff in by_hand:
            for name in filter(None, (diff.name, diff.old)):
                (world.root / name).unlink(missing_ok=True)
            if diff.after is not None:
                world.write(diff.name, diff.after, shown=False)
        for diff in diffs:
            path = world.root / diff.name
            done.files += 1
            if (path.read_bytes() if path.is_file() else None) != diff.after:
                done.differing.append(f"{commit[:10]} {diff.status} {diff.name}")
            if diff.old is not None and diff.status == "R" and (world.root / diff.old).exists():
                done.differing.append(f"{commit[:10]} old {diff.old}")
        done.commits += 1
    final = {
        name: blobs.read(blob) for name, (mode, blob) in tree_of(directory, commits[-1]).items() if mode != "120000"
    }
    if {name: data for name, data in world.files().items() if name in final} != final:
        done.differing.append("the last tree")
    blobs.close()
    world.conversation.close()
    return done


def _split(diffs: list[FileDiff], done: Replayed) -> tuple[list[FileDiff], list[FileDiff]]:
    text: list[FileDiff] = []
    by_hand: list[FileDiff] = []
    for diff in diffs:
        reason = _beyond(diff)
        if reason is None:
            text.append(diff)
        else:
            done.beyond[reason] += 1
            by_hand.append(diff)
    return text, by_hand


def _beyond(diff: FileDiff) -> str | None:
    if diff.status not in "AMDR":
        return "no file"
    if any(part == ".git" for part in diff.name.split("/")):
        return "protected"
    if any(data is not None and is_binary(data) for data in (diff.before, diff.after)):
        return "binary"
    if diff.after is not None:
        form = decode(diff.after)[1]
        if diff.before is None and form.encoding != "utf-8":
            return "new encoding"
        if diff.before is not None and decode(diff.before)[1] != form:
            return "other encoding"
    return None


async def _replay(
    world: World,
    patch: str,
    number: int,
    diffs: list[FileDiff],
    chance: random.Random,
    done: Replayed,
    *,
    whole: bool,
) -> None:
    if not diffs:
        return
    if number % 4 == 3 and whole and _plain(diffs) and len(patch.encode()) < _MAX_BATCH_BYTES:
        done.calls["edit_patch"] += 1
        await world.edit("edit_patch", patch=patch)
        return
    calls = [call for diff in diffs for call in calls_for(diff, chance)]
    done.calls.update(tool for tool, _ in calls)
    items = [{"tool": tool, "args": args} for tool, args in calls]
    if number % 4 != 1 and len(calls) <= 50 and len(json.dumps(items, ensure_ascii=False).encode()) < _MAX_BATCH_BYTES:
        done.calls["edit_apply_batch"] += 1
        await world.edit("edit_apply_batch", edits=items)
        return
    for tool, args in calls:
        await world.edit(tool, **args)


def _plain(diffs: list[FileDiff]) -> bool:
    """Return whether a patch can express the changes: UTF-8, line feeds only, and no empty files."""
    return all(
        data is None or (data and b"\r" not in data and decode(data)[1].encoding == "utf-8" and not decode(data)[1].bom)
        for diff in diffs
        for data in (diff.before, diff.after)
    )


def calls_for(diff: FileDiff, chance: random.Random) -> Iterator[ToolCall]:
    """Yield the tool calls that make one file's change."""
    if diff.after is None:
        yield "edit_delete_file", {"path": diff.name}
        return
    text = diff.after.decode("utf-8") if diff.before is None else decode(diff.after)[0]
    if diff.before is None:
        yield from _creation(diff.name, text)
        return
    if diff.old is not None:
        yield "edit_move_file", {"from": diff.old, "to": diff.name}
    before = decode(diff.before)[0]
    if not before or _changes_ends(before, text):
        if not before and text:
            yield "edit_create_file", {"path": diff.name, "content": text, "overwrite": True}
        elif before:
            yield "edit_delete_file", {"path": diff.name}
            yield from _creation(diff.name, text)
        return
    found = list(_changes(diff.name, before, text, chance))
    if any(len(json.dumps(call, ensure_ascii=False).encode()) > _MAX_BATCH_BYTES for call in found):
        yield "edit_delete_file", {"path": diff.name}
        yield from _creation(diff.name, text)
    else:
        yield from found


def _changes(name: str, before: str, text: str, chance: random.Random) -> Iterator[ToolCall]:
    lines = split_lines(before)
    shift = 0
    new = split_lines(text)
    for block in changed_blocks(split_lines(before), new):
        moved = Block(block.old_start + shift, block.old_end + shift, block.new_start, block.new_end)
        added = new[block.new_start : block.new_end]
        yield _call(name, lines, moved, added, chance)
        lines[moved.old_start : moved.old_end] = added
        shift += len(added) - (block.old_end - block.old_start)


def _creation(name: str, text: str) -> Iterator[ToolCall]:
    """Yield the calls that create a file: several if its text is too large for one."""
    pieces = [""]
    for line in split_lines(text):
        if len(pieces[-1]) > 15_000:
            pieces.append("")
        pieces[-1] += line
    yield "edit_create_file", {"path": name, "content": pieces[0]}
    at = 1
    for before, piece in pairwise(pieces):
        at += before.count("\n")
        yield "edit_insert_at_line", {"path": name, "line": at, "content": piece}
    if text and not text.endswith("\n"):
        last = text.rpartition("\n")[2]
        tail = text[-max(len(last) + 200, 400) :]
        yield "edit_replace_exact", {"path": name, "old": tail + "\n", "new": tail}


def _changes_ends(before: str, after: str) -> bool:
    """Return whether new lines have other line ends than the tools give them."""
    newline = dominant_newline(before)
    old = Counter(split_lines(before))
    for line in split_lines(after):
        if old[line]:
            old[line] -= 1
        elif line.endswith("\n") and line.endswith("\r\n") != (newline == "\r\n"):
            return True
    return False


def _call(name: str, lines: list[str], block: Block, added: list[str], chance: random.Random) -> ToolCall:
    """Return one of the calls that replace a block of lines with `added`."""
    start, end = block.old_start, block.old_end
    content = "".join(added).replace("\r\n", "\n")
    whole = not added or added[-1].endswith("\n")
    open_end = end == len(lines) and bool(lines) and not lines[-1].endswith("\n")
    possible: list[ToolCall] = []
    if whole and not open_end and not _looks_pasted(content):
        if start == end:
            possible.append(("edit_insert_at_line", {"path": name, "line": start + 1, "content": content}))
            if start and (place := _anchor(lines, start - 1)) is not None:
                possible.append(("edit_after_anchor", {"path": name, **place, "content": content}))
                possible.append(("edit_by_anchor", {"path": name, "mode": "insert_after", **place, "content": content}))
            if start < len(lines) and (place := _anchor(lines, start)) is not None:
                possible.append(("edit_before_anchor", {"path": name, **place, "content": content}))
        elif end == start + 1 and (place := _anchor(lines, start)) is not None:
            possible.append(("edit_by_anchor", {"path": name, "mode": "replace_line", **place, "content": content}))
        if end > start + 1 and (place := _anchor(lines, start)) is not None:
            last = _end_anchor(lines, start + 1, end - 1)
            if last is not None:
                between = {"mode": "replace_between", "anchorEnd": last, "content": content, "inclusive": True}
                possible.append(("edit_by_anchor", {"path": name, **place, **between}))
        if start and end < len(lines) and (place := _anchor(lines, start - 1)) is not None:
            last = _end_anchor(lines, start, end)
            if last is not None:
                block_args = {"startAnchor": place["anchor"], "occurrence": place["occurrence"], "endAnchor": last}
                possible.append(("edit_replace_block", {"path": name, **block_args, "content": content}))
    if possible and chance.random() < 0.7:
        return chance.choice(possible)
    return _exact(name, lines, block, added)


def _looks_pasted(content: str) -> bool:
    from north_lsp.errors import ToolError
    from north_lsp.tools.edit.pasted_line_numbers import Place, without_pasted

    try:
        return without_pasted(content, Place(), "")[1]
    except ToolError:
        return True


def _anchor(lines: list[str], at: int) -> dict[str, Any] | None:
    anchor = lines[at].strip("\r\n")
    if not anchor.strip():
        return None
    found = [one.start for one in find_anchors(lines, anchor)]
    return {"anchor": anchor, "occurrence": found.index(at) + 1}


def _end_anchor(lines: list[str], since: int, at: int) -> str | None:
    anchor = lines[at].strip("\r\n")
    if not anchor.strip():
        return None
    found = find_anchors(lines, anchor, since)
    return anchor if found and found[0].start == at else None


def _exact(name: str, lines: list[str], block: Block, added: list[str]) -> ToolCall:
    first, last = block.old_start, block.old_end
    text = "".join(lines).replace("\r\n", "\n")
    while True:
        old = "".join(lines[first:last]).replace("\r\n", "\n")
        if old and text.find(old) == text.rfind(old):
            break
        first, last = max(first - 1, 0), min(last + 1, len(lines))
    parts = lines[first : block.old_start] + added + lines[block.old_end : last]
    new = "".join(parts).replace("\r\n", "\n")
    return "edit_replace_exact", {"path": name, "old": old, "new": new}


def main() -> None:
    directory, folder = Path(sys.argv[1]), Path(sys.argv[2])
    limit = int(sys.argv[3]) if len(sys.argv) > 3 else None
    done = asyncio.run(replay(directory, folder, 1, limit))
    rows = (f"{done.commits} commits, {done.files} files", str(dict(done.calls)), str(dict(done.beyond)))
    sys.stdout.write("\n".join((*rows, f"{len(done.differing)} differ", *done.differing[:40])) + "\n")


if __name__ == "__main__":
    main()
