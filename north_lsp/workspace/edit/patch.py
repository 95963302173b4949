"""Reads patches and finds where their hunks belong. Knows no files."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.edit.closest_match import diagnose
from north_lsp.workspace.text import dominant_newline, split_lines, to_newlines

_MAX_SHIFT = 200
_SHOWN_LINES = 12
_REDO = "read the file again and redo the patch; nothing was applied"
_HEADER = lazy_pattern(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"
_OF_GIT = "diff --git "
_BINARY = ("GIT binary patch", "Binary files ")
_SAID_OF_FILES = (
    *("index ", "similarity index ", "dissimilarity index ", "old mode ", "new mode ", "copy from ", "copy to "),
    *("new file mode ", "deleted file mode ", *_BINARY),
)
_SPECIAL_MODES = (" 120000", " 160000")  # links, and other repositories
_APART = "leave this file out of the patch and do it in another way, such as chmod, cp or git apply in the shell"
BEGIN, END = "*** Begin Patch", "*** End Patch"


@dataclass(frozen=True, slots=True)
class PatchHunk:
    """Lines (with their ends) that are expected and those that replace them. `line` is where they should begin, from 1,
    `context` are lines that come somewhere before; either may be missing. `at_end`: nothing may follow."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    line: int | None = None
    context: tuple[str, ...] = ()
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class FilePatch:
    action: Literal["add", "update", "delete"]
    path: str
    hunks: tuple[PatchHunk, ...] = ()
    content: str = ""
    to: str | None = None


@dataclass
class _Lines:
    """The lines of a patch, read one after another."""

    lines: list[str]
    at: int = 0

    @property
    def next(self) -> str | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    def take(self) -> str:
        self.at += 1
        return self.lines[self.at - 1]


@dataclass
class _Body:
    """The two sides of a hunk while it is read."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    last: str = ""

    def add(self, line: str) -> None:
        sign, rest = line[:1] or " ", line[1:]
        if sign in " -":
            self.before.append(rest + "\n")
        if sign in " +":
            self.after.append(rest + "\n")
        self.last = sign

    def end_without_newline(self) -> None:
        for side, signs in ((self.before, " -"), (self.after, " +")):
            if side and self.last and self.last in signs:
                side[-1] = side[-1].removesuffix("\n")


def parse_patch(patch: str) -> list[FilePatch]:
    """Return the files of a patch in either form. Raises ToolError INVALID_INPUT naming the line."""
    lines = to_newlines(patch, "\n").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    source = _Lines(lines)
    while source.next is not None and not source.next.strip():
        source.take()
    files = _envelope(source) if source.next is not None and source.next.strip() == BEGIN else _unified(source)
    if not files:
        raise ToolError("INVALID_INPUT", "the patch names no file", f"begin it with `{BEGIN}` or `--- a/file`")
    return files


def patched(shown: str, text: str, hunks: tuple[PatchHunk, ...], *, tolerant: bool = False) -> tuple[str, list[str]]:
    """Return the text with all hunks applied, and notices. Raises ToolError NO_MATCH with what was expected and
    found."""
    lines = split_lines(text)
    newline = dominant_newline(text)
    plain = [to_newlines(line, "\n") for line in lines]
    out: list[str] = []
    notices: list[str] = []
    at = shift = 0
    for number, hunk in enumerate(hunks, start=1):
        found = _locate(plain, hunk, at, shift, tolerant=tolerant)
        if found is None:
            raise _does_not_fit(shown, number, hunk, plain, at, shift)
        start, loose = found
        if hunk.line is not None:
            shift = start - _first(hunk)
            if shift:
                notices.append(
                    f"hunk {number} of {shown} was found {abs(shift)} lines {'later' if shift > 0 else 'earlier'}"
                )
        if loose:
            notices.append(f"hunk {number} of {shown} matched except for white space")
        end = start + len(hunk.before)
        out += lines[at:start]
        out += _replaced(lines[start:end], hunk, newline)
        at = end
    rest = lines[at:]
    if rest and out and not out[-1].endswith("\n"):
        out[-1] += newline
    return "".join(out + rest), notices


def _replaced(here: list[str], hunk: PatchHunk, newline: str) -> list[str]:
    """Return the new lines; those that were there before keep their own line ends and white space."""
    before, after = list(hunk.before), list(hunk.after)
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = [line.replace("\n", newline) for line in after[head : len(after) - tail]]
    return [*here[:head], *middle, *here[len(here) - tail :]] if tail else [*here[:head], *middle]


def _first(hunk: PatchHunk) -> int:
    line = hunk.line or 1
    return line - 1 if hunk.before else line


def _locate(lines: list[str], hunk: PatchHunk, since: int, shift: int, *, tolerant: bool) -> tuple[int, bool] | None:
    for context in hunk.context:
        place = next((at for at in range(since, len(lines)) if context.strip() in lines[at]), None)
        if place is None:
            return None
        since = place + 1
    size = len(hunk.before)
    last = len(lines) - size
    if hunk.line is None:
        if not size:
            return (since if hunk.context else len(lines)), False
        starts = [last] if hunk.at_end else list(range(since, last + 1))
    else:
        middle = max(_first(hunk) + shift, since)
        near = range(_MAX_SHIFT + 1)
        starts = list(dict.fromkeys(middle + step for distance in near for step in (distance, -distance)))
    starts = [start for start in starts if since <= start <= last]
    likely = starts
    if size:  # of most places, the first line tells; the file's last line may have no line end
        first, end = hunk.before[0], len(lines) - 1
        likely = [start for start in starts if lines[start] == first or (size == 1 and start == end)]
    exact = [start for start in likely if _fits(lines[start : start + size], hunk.before)]
    if exact and hunk.line is None and len(exact) > 1 and not hunk.context:
        raise ToolError(
            "AMBIGUOUS",
            f"a hunk fits at {len(exact)} places, lines {', '.join(str(start + 1) for start in exact[:20])}",
            "give more context, or an @@ line with a line that comes before it",
        )
    if exact:
        return exact[0], False
    if tolerant and size:
        loose = [start for start in starts if _same_but_blanks(lines[start : start + size], hunk.before)]
        if len(loose) == 1:
            return loose[0], True
    return None


def _fits(here: list[str], wanted: tuple[str, ...]) -> bool:
    """Return whether the lines match; a patch may not know whether a file's last line has a line end."""
    return tuple(here) == wanted or (
        len(here) == len(wanted)
        and here[:-1] == list(wanted[:-1])
        and bool(here)
        and not here[-1].endswith("\n")
        and here[-1] == wanted[-1].removesuffix("\n")
    )


def _same_but_blanks(here: list[str], wanted: tuple[str, ...]) -> bool:
    return [line.rstrip() for line in here] == [line.rstrip() for line in wanted]


def _does_not_fit(shown: str, number: int, hunk: PatchHunk, lines: list[str], since: int, shift: int) -> ToolError:
    text = "".join(lines)
    for context in hunk.context:
        if not any(context.strip() in line for line in lines[since:]):
            message, details = diagnose(text, context.strip())
            message = f"hunk {number} of {shown}: its line `@@ {context}` was not found: {message}"
            return ToolError("NO_MATCH", message, _REDO, details | {"hunk": number, "expected": [context]})
    start = max(_first(hunk) + shift if hunk.line is not None else since, 0)
    said, details = diagnose(text, "".join(hunk.before))
    near = details["near"]
    if isinstance(near, list) and near:
        start = near[0]["startLine"] - 1
    found = lines[start : start + max(len(hunk.before), 1)][:_SHOWN_LINES]
    expected = list(hunk.before)[:_SHOWN_LINES]
    return ToolError(
        "NO_MATCH",
        f"hunk {number} of {shown} does not apply; expected:\n{''.join(expected)}\nfound at line {start + 1}:\n"
        f"{''.join(found)}" + "".join(f"\n{line}" for line in said.split("\n")[1:2] if not line.startswith("similar")),
        _REDO,
        {"hunk": number, "expected": expected, "found": found, "line": start + 1},
    )


def _unified(source: _Lines) -> list[FilePatch]:
    files: list[FilePatch] = []
    renamed: dict[str, str] = {}
    while source.next is not None:
        line = source.take()
        if line.startswith(_OF_GIT):
            files += _announced(line, source)
        elif line.startswith("rename from ") and (source.next or "").startswith("rename to "):
            renamed[line.removeprefix("rename from ")] = source.take().removeprefix("rename to ")
        elif line.startswith("--- ") and (source.next or "").startswith("+++ "):
            files.append(_unified_file(line[4:], source.take()[4:], source, renamed))
    moved = {one.path for one in files if one.to is not None}
    return files + [FilePatch("update", old, to=new) for old, new in renamed.items() if old not in moved]


def _announced(line: str, source: _Lines) -> list[FilePatch]:
    """Read what git says of a file before its hunks; returns what is to be done if there are none: an empty file has no
    other lines. Raises ToolError for what cannot be done, so that nothing of a patch is left out without a word."""
    name = _one_name(line.removeprefix(_OF_GIT))
    said: list[str] = []
    while (next := source.next) is not None and next.startswith(_SAID_OF_FILES):
        said.append(source.take())
    for row in said:
        if row.startswith(("old mode ", "copy from ", *_BINARY)) or row.endswith(_SPECIAL_MODES):
            raise ToolError(
                "INVALID_INPUT", f"of {name} the patch says “{row[:100]}”, which cannot be done here", _APART
            )
    is_new = any(row.startswith("new file mode ") for row in said)
    is_gone = any(row.startswith("deleted file mode ") for row in said)
    if not (is_new or is_gone) or (source.next or "").startswith("--- "):
        return []
    return [FilePatch("add" if is_new else "delete", name)]


def _one_name(names: str) -> str:
    """Return the name of a file in a line such as `a/some name b/some name`."""
    old, new = names[: len(names) // 2], names[len(names) // 2 + 1 :]
    return old.removeprefix("a/") if old.removeprefix("a/") == new.removeprefix("b/") else names


def _unified_file(old: str, new: str, source: _Lines, renamed: dict[str, str]) -> FilePatch:
    before, after = _name(old, "a/"), _name(new, "b/")
    hunks: list[PatchHunk] = []
    while source.next is not None and source.next.startswith("@@"):
        hunks.append(_unified_hunk(source))
    if before == "/dev/null":
        content = "".join(line for hunk in hunks for line in hunk.after)
        return FilePatch("add", after, content=content)
    if after == "/dev/null":
        return FilePatch("delete", before, tuple(hunks))
    if not hunks and before not in renamed:
        raise ToolError("INVALID_INPUT", f"the patch has no hunk for {before}")
    return FilePatch("update", before, tuple(hunks), to=after if after != before else None)


def _name(raw_name: str, prefix: str) -> str:
    name = raw_name.split("\t", maxsplit=1)[0].rstrip()
    return name if name == "/dev/null" else name.removeprefix(prefix)


def _unified_hunk(source: _Lines) -> PatchHunk:
    number, header = source.at + 1, source.take()
    found = _HEADER.match(header)
    if found is None:
        raise ToolError(
            "INVALID_INPUT",
            f"line {number} of the patch is not a hunk header: {header[:200]!r}",
            f"write `@@ -1,3 +1,4 @@` with line numbers, or the form that begins with `{BEGIN}`, which needs none",
        )
    line, olds, news = int(found[1]), int(found[2] or 1), int(found[4] or 1)
    body = _Body()
    while source.next is not None and (len(body.before) < olds or len(body.after) < news):
        if source.next[:1] not in ("", " ", "-", "+", "\\"):
            break
        _take_into(body, source)
    if source.next is not None and source.next.startswith("\\"):
        _take_into(body, source)
    if (len(body.before), len(body.after)) != (olds, news):
        raise ToolError(
            "INVALID_INPUT",
            f"the hunk in line {number} of the patch has {len(body.before)} old and {len(body.after)} new lines, its "
            f"header says {olds} and {news}",
            f"correct the header, or use the `{BEGIN}` form, which needs no numbers",
        )
    return PatchHunk(tuple(body.before), tuple(body.after), line)


def _take_into(body: _Body, source: _Lines) -> None:
    line = source.take()
    if line.startswith("\\"):
        body.end_without_newline()
    else:
        body.add(line)


def _envelope(source: _Lines) -> list[FilePatch]:
    source.take()
    files: list[FilePatch] = []
    while source.next is not None and source.next.strip() != END:
        number, line = source.at + 1, source.take()
        for prefix in ("Add", "Delete", "Update"):
            path = line.removeprefix(f"*** {prefix} File: ")
            if path != line:
                files.append(_envelope_file(prefix, path.strip(), source))
                break
        else:
            if line.strip():
                raise ToolError("INVALID_INPUT", f"line {number} of the patch belongs to no file: {line[:200]!r}")
    if source.next is None:
        raise ToolError("INVALID_INPUT", f"the patch has no `{END}`")
    return files


def _envelope_file(kind: str, path: str, source: _Lines) -> FilePatch:
    if kind == "Delete":
        return FilePatch("delete", path)
    if kind == "Add":
        added: list[str] = []
        while source.next is not None and source.next.startswith("+"):
            added.append(source.take()[1:] + "\n")
        return FilePatch("add", path, content="".join(added))
    to = None
    if source.next is not None and source.next.startswith("*** Move to: "):
        to = source.take().removeprefix("*** Move to: ").strip()
    hunks: list[PatchHunk] = []
    while source.next is not None and not source.next.startswith("*** "):
        context: list[str] = []
        while source.next is not None and source.next.startswith("@@"):
            words = source.take()[2:].strip()
            if words:
                context.append(words)
        body = _Body()
        while source.next is not None and source.next[:1] in ("", " ", "-", "+", "\\"):
            _take_into(body, source)
        at_end = source.next is not None and source.next.strip() == "*** End of File"
        if at_end:
            source.take()
        if not body.before and not body.after:
            raise ToolError("INVALID_INPUT", f"a hunk of {path} is empty (line {source.at} of the patch)")
        hunks.append(PatchHunk(tuple(body.before), tuple(body.after), None, tuple(context), at_end))
    if not hunks and to is None:
        raise ToolError("INVALID_INPUT", f"the patch has no hunk for {path}")
    return FilePatch("update", path, tuple(hunks), to=to)
