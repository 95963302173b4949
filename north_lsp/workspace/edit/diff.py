"""Line differences: making a change with its hunks, showing it, and applying any selection of hunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.workspace.edit.lines import Block, changed_blocks
from north_lsp.workspace.proposal import Action, FileChange, Hunk, TextEncoding
from north_lsp.workspace.text import split_lines

_CONTEXT = 3
_CHUNK = 1 << 16
_NO_NEWLINE = "\\ No newline at end of file\n"


def make_change(path: Path, relative: str, old: str | None, new: str, form: TextEncoding) -> FileChange:
    """Make a file's change with its hunks, named h1, h2 …; `old` is None for a new file. Equal texts give no hunks."""
    hunks, added, removed = hunks_between(old or "", new)
    return FileChange(path, relative, "create" if old is None else "update", old, new, form, hunks, added, removed)


def make_deletion(path: Path, relative: str, old: str, form: TextEncoding, *, binary: bool = False) -> FileChange:
    """Make a file's deletion; all of its text is one hunk."""
    hunks, added, removed = ((), 0, 0) if binary else hunks_between(old, "")
    return FileChange(path, relative, "delete", old, "", form, hunks, added, removed, binary=binary)


def make_rename(
    path: Path,
    relative: str,
    to: Path,
    to_relative: str,
    old: str,
    new: str,
    form: TextEncoding,
    *,
    binary: bool = False,
) -> FileChange:
    """Make a file's rename, possibly with changes of its text."""
    hunks, added, removed = ((), 0, 0) if binary else hunks_between(old, new)
    change = FileChange(path, relative, "rename", old, new, form, hunks, added, removed, binary=binary)
    return replace(change, new_path=to, new_relative=to_relative)


def make_folder_change(path: Path, relative: str, action: Action, mode: int | None = None) -> FileChange:
    """Make the change of an empty folder that is created, deleted or moved; `mode` is what a new one gets."""
    old = None if action == "create" else ""
    return FileChange(path, relative, action, old, "", TextEncoding(), (), 0, 0, binary=True, mode=mode, folder=True)


def with_texts(change: FileChange, old: str | None, new: str) -> FileChange:
    """Return the same kind of change between other texts."""
    hunks, added, removed = ((), 0, 0) if change.binary else hunks_between(old or "", new)
    return replace(change, old_text=old, new_text=new, hunks=hunks, lines_added=added, lines_removed=removed)


def hunks_between(old: str, new: str) -> tuple[tuple[Hunk, ...], int, int]:
    """Return the hunks that lead from one text to another, and how many lines they add and remove."""
    hunks = _hunks(old, new)
    added = removed = 0
    for hunk in hunks:
        body = "\n" + hunk.text
        added += body.count("\n+")
        removed += body.count("\n-")
    return hunks, added, removed


def unified(change: FileChange) -> str:
    """Return the change as a unified diff; empty if there is no difference."""
    head = ""
    if change.action == "rename":
        head = f"rename from {change.relative}\nrename to {change.shown}\n"
    if change.folder:
        return f"{folder_words(change)}\n"
    if change.binary:
        what = {"create": "new", "update": "replaced", "delete": "deleted", "rename": "moved"}[change.action]
        return f"{head}Binary file {change.relative} {what}\n"
    if change.hunks:
        before = "/dev/null" if change.old_text is None else f"a/{change.relative}"
        after = "/dev/null" if change.action == "delete" else f"b/{change.shown}"
        # As git does it: without the tab, programs that read diffs cut off a name with spaces.
        before, after = (f"{name}\t" if " " in name else name for name in (before, after))
        head += f"--- {before}\n+++ {after}\n"
    elif change.action in ("create", "delete"):
        what = "new" if change.action == "create" else "deleted"
        head = f"{what} empty file {change.relative}\n"
    return head + "".join(f"{hunk.header}\n{hunk.text}" for hunk in change.hunks)


def folder_words(change: FileChange) -> str:
    """Describe the change of a folder in words."""
    match change.action:
        case "delete":
            return f"Deletes the empty folder {change.relative}"
        case "rename":
            return f"Moves the empty folder {change.relative} to {change.shown}"
        case _:
            return f"Creates the folder {change.relative}"


def apply_hunks(old: str, hunks: Sequence[Hunk]) -> str:
    """Return the text with exactly these hunks applied, in whatever order they are given.

    Raises ToolError STALE if a hunk does not match the place that it names, or if two overlap.
    """
    lines = split_lines(old)
    out: list[str] = []
    at = 0
    for hunk in sorted(hunks, key=lambda hunk: hunk.old_start):
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        before, after = sides(hunk.text)
        end = start + len(before)
        if start < at or len(before) != hunk.old_lines or lines[start:end] != before:
            raise ToolError("STALE", f"the hunk {hunk.header} does not fit the text", "read the file again")
        out += lines[at:start]
        out += after
        at = end
    return "".join(out + lines[at:])


def sides(body: str) -> tuple[list[str], list[str]]:
    """Return the lines that a hunk expects and those that it leaves."""
    before: list[str] = []
    after: list[str] = []
    last: list[list[str]] = []
    for line in split_lines(body):
        match line[:1]:
            case "\\":
                for side in last:
                    side[-1] = side[-1].removesuffix("\n")
            case sign:
                last = {" ": [before, after], "-": [before], "+": [after]}[sign]
                for side in last:
                    side.append(line[1:])
    return before, after


def _hunks(old: str, new: str) -> tuple[Hunk, ...]:
    if old == new:
        return ()
    head = _common_start(old, new)
    head = old.rfind("\n", 0, head) + 1
    tail = _common_end(old, new, min(len(old), len(new)) - head)
    cut = old.find("\n", len(old) - tail)
    tail = len(old) - cut - 1 if tail and cut >= 0 else 0
    first, last = _lines_back(old, head), _lines_on(old, len(old) - tail)
    # Only what differs is compared, with the lines around it that may be shown.
    before = split_lines(old[first:last])
    after = split_lines(new[first : len(new) - len(old) + last])
    skipped = old.count("\n", 0, first)
    blocks = changed_blocks(before, after)
    return tuple(
        _hunk(f"h{number}", group, before, after, skipped) for number, group in enumerate(_groups(blocks), start=1)
    )


def _groups(blocks: Sequence[Block]) -> list[list[Block]]:
    """Group the blocks into hunks: those whose contexts touch belong to one hunk."""
    groups: list[list[Block]] = []
    for block in blocks:
        if groups and block.old_start - groups[-1][-1].old_end <= 2 * _CONTEXT:
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


def _hunk(name: str, blocks: Sequence[Block], before: Sequence[str], after: Sequence[str], skipped: int) -> Hunk:
    lead = min(_CONTEXT, blocks[0].old_start)
    trail = min(_CONTEXT, len(before) - blocks[-1].old_end)
    start, end = blocks[0].old_start - lead, blocks[-1].old_end + trail
    new_start, new_end = blocks[0].new_start - lead, blocks[-1].new_end + trail
    parts: list[str] = []
    at = start
    for block in blocks:
        parts += [_shown(" ", line) for line in before[at : block.old_start]]
        parts += [_shown("-", line) for line in before[block.old_start : block.old_end]]
        parts += [_shown("+", line) for line in after[block.new_start : block.new_end]]
        at = block.old_end
    parts += [_shown(" ", line) for line in before[at:end]]
    old_lines, new_lines = end - start, new_end - new_start
    # A side without lines has the number of the line before it, as in every unified diff.
    old_at, new_at = skipped + start + bool(old_lines), skipped + new_start + bool(new_lines)
    header = f"@@ -{old_at},{old_lines} +{new_at},{new_lines} @@"
    return Hunk(name, header, old_at, old_lines, new_at, new_lines, "".join(parts))


def _shown(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"


def _common_start(one: str, two: str) -> int:
    """Return how many characters two texts share at the beginning, found by comparing whole chunks."""
    at, limit, step = 0, min(len(one), len(two)), _CHUNK
    while at < limit and step:
        size = min(step, limit - at)
        if one[at : at + size] == two[at : at + size]:
            at += size
        else:
            step = size // 2
    return at


def _common_end(one: str, two: str, limit: int) -> int:
    """Return how many characters two texts share at the end, at most `limit`."""
    at, step = 0, _CHUNK
    while at < limit and step:
        size = min(step, limit - at)
        if one[len(one) - at - size : len(one) - at] == two[len(two) - at - size : len(two) - at]:
            at += size
        else:
            step = size // 2
    return at


def _lines_back(text: str, at: int) -> int:
    """Return the beginning of the line that is `_CONTEXT` lines before a line's beginning."""
    for _ in range(_CONTEXT):
        at = text.rfind("\n", 0, max(at - 1, 0)) + 1
    return at


def _lines_on(text: str, at: int) -> int:
    """Return the end of the line that is `_CONTEXT` lines after a line's end."""
    for _ in range(_CONTEXT):
        found = text.find("\n", at)
        if found < 0:
            return len(text)
        at = found + 1
    return at
