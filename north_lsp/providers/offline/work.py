"""Carries out each task: a generator that asks for batches of calls, gets their replies, and reports.

Every task has a bounded number of steps. What a read found is said immediately; the outcomes of edits and commands are
kept for the summary at the end.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import field
from typing import assert_never

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.offline.attached import Attachment
from north_lsp.providers.offline.phrases import phrase
from north_lsp.providers.offline.quoting import (
    Line,
    code_block,
    defines,
    definition_pattern,
    definitions,
    from_text,
    headings,
    inline,
    introduction,
    is_prose,
    numbered,
    with_notes,
)
from north_lsp.providers.offline.replies import Reply, number, read_ran, rows, text
from north_lsp.providers.offline.requests import (
    Create,
    Explain,
    ExplainThis,
    Find,
    Help,
    ListFiles,
    Read,
    Replace,
    Run,
    Task,
    Unknown,
)

_SHOWN_PLACES = 10
_SEARCHED_PLACES = 200
_SHOWN_USES = 5
_SHOWN_DEFINITIONS = 20
_SHOWN_ENTRIES = 60
_SHOWN_SELECTED_LINES = 40
_LINES_ABOVE = 14
_LINES_BELOW = 30
_LINES_AROUND = 3


@dataclass(frozen=True, slots=True)
class Planned:
    """A call to make."""

    tool: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls that are made together, after one sentence that says what they are for."""

    sentence: str
    calls: tuple[Planned, ...]


Steps = Generator[Batch, Sequence[Reply], None]


@dataclass
class Desk:
    """The state that a turn's tasks share. `tools` may be called, `said` waits for the next answer, `done` is the
    summary, `read` are the files that were shown, `missing` those that were not created."""

    tools: frozenset[str]
    attachments: tuple[Attachment, ...] = ()
    said: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    last_path: str | None = None
    stopped: bool = False


def steps_for(task: Task, desk: Desk) -> Steps:
    """Yield the batches of one task."""
    needed = _missing_path(task, desk)
    if needed is not None:
        desk.done.append(phrase("needs_missing", what=inline(_raw_path(task)), path=needed))
        return
    match task:
        case Find():
            yield from _find(task, desk)
        case Explain():
            yield from _explain(task, desk)
        case ExplainThis():
            yield from _explain_this(desk)
        case Read():
            yield from _read(task, desk)
        case ListFiles():
            yield from _list(task, desk)
        case Replace():
            yield from _replace(task, desk)
        case Create():
            yield from _create(task, desk)
        case Run():
            yield from _run(task, desk)
        case Help():
            desk.said.append(phrase("help"))
        case Unknown():
            desk.done.append(phrase("not_understood", text=inline(task.text)))
        case _:
            assert_never(task)


def _missing_path(task: Task, desk: Desk) -> str | None:
    """Return the file that a task needs and that an earlier task failed to create, None if there is none."""
    match task:
        case Read(path) | Replace(_, _, str(path)):
            return path if path in desk.missing else None
        case Run(command):
            words = re.split(r"[\s;&|<>()'\"]+", command)
            return next((word for word in words if word.removeprefix("./") in desk.missing), None)
        case _:
            return None


def _raw_path(task: Task) -> str:
    match task:
        case Run(command):
            return command
        case Replace(old, _, _):
            return f"replace {old}"
        case Read(path):
            return f"read {path}"
        case _:
            return type(task).__name__.lower()


def _offers(desk: Desk, *tools: str) -> bool:
    """Return whether the tools that a reading task needs are offered. If not, add a sentence that says so."""
    lacking = next((tool for tool in tools if tool not in desk.tools), None)
    if lacking is not None:
        names = {"search_text": "look_for_text", "read_file": "read_files", "list_root": "list_files"}
        desk.said.append(phrase("no_reading", what=phrase(names[lacking])))
    return lacking is None


def _call(desk: Desk, sentence: str, tool: str, **arguments: object) -> Generator[Batch, Sequence[Reply], Reply]:
    """Yield a batch of one call and return its reply. A cancelled call ends the turn's work."""
    replies = yield Batch(sentence, (Planned(tool, arguments),))
    desk.stopped = desk.stopped or replies[0].code == "CANCELLED"
    return replies[0]


# -- reading -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    line: int
    text: str

    @property
    def spelled(self) -> str:
        return inline(f"{self.path}:{self.line}")


def _places(reply: Reply) -> list[_Place]:
    """Return the places that a search found, one per line of source."""
    found = (_Place(text(row, "path"), number(row, "line"), text(row, "text")) for row in rows(reply.data, "matches"))
    return list(dict.fromkeys(found))


def _total(reply: Reply) -> int:
    return max(number(reply.data, "totalMatches"), len(rows(reply.data, "matches")))


def _count(total: int) -> str:
    return phrase("one_place") if total == 1 else phrase("places", count=total)


def _find(task: Find, desk: Desk) -> Steps:
    if not _offers(desk, "search_text"):
        return
    query = inline(task.query)
    within: dict[str, object] = {} if task.path is None else {"path": task.path}
    sentence = phrase("will_find_in", query=query, **within) if within else phrase("will_find", query=query)
    reply = yield from _call(desk, sentence, "search_text", query=task.query, **within)
    if reply.code is not None:
        desk.said.append(phrase("failed_find", query=query, message=reply.message))
        return
    places, total = _places(reply), _total(reply)
    if not places:
        where = phrase("the_project") if task.path is None else inline(task.path)
        desk.said.append(phrase("found_none", query=query, where=where))
        return
    shown = places[:_SHOWN_PLACES]
    is_partial = reply.data.get("truncated") is True and total <= len(rows(reply.data, "matches"))
    count = phrase("at_least_places", count=total) if is_partial else _count(total)
    if len(shown) < total:
        lines = [phrase("found_first", query=query, count=count, shown=len(shown)), ""]
    else:
        lines = [phrase("found", query=query, count=count), ""]
    lines += [
        phrase("found_place", path=place.path, line=place.line, text=inline(place.text.strip())) for place in shown
    ]
    if len(shown) < total:
        lines.append(phrase("found_more", count=total - len(shown)))
    desk.said.append("\n".join(lines))


def _explain(task: Explain, desk: Desk) -> Steps:
    if not _offers(desk, "search_text", "read_file"):
        return
    shown = inline(task.name)
    name = task.name.rpartition(".")[2] if re.fullmatch(r"\w+(?:\.\w+)+", task.name) else task.name
    within = {} if task.path is None else {"path": task.path}
    sentence = phrase("will_find", query=shown)
    reply = yield from _call(desk, sentence, "search_text", query=name, limit=_SEARCHED_PLACES, **within)
    if reply.code is not None:
        desk.said.append(phrase("failed_find", query=shown, message=reply.message))
        return
    places = _by_relevance(_places(reply), name)
    if not places:
        where = phrase("the_project") if task.path is None else inline(task.path)
        desk.said.append(phrase("found_none", query=shown, where=where))
        return
    defining = _defining(places, name)
    if not defining and _total(reply) > len(places) and re.fullmatch(r"[\w$]+", name):
        sentence = phrase("will_find_definition", name=shown)
        pattern: dict[str, object] = {"query": definition_pattern(name), "regex": True, "caseSensitive": True}
        defining = _defining(_places((yield from _call(desk, sentence, "search_text", **pattern, **within))), name)
    best = min(defining, key=_rank) if defining else places[0]
    above, below = (_LINES_ABOVE, _LINES_BELOW) if defining else (_LINES_AROUND, _LINES_AROUND)
    sentence = phrase("will_read_place", path=best.path, line=best.line)
    start, end = max(1, best.line - above), best.line + below
    reply = yield from _call(desk, sentence, "read_file", path=best.path, startLine=start, endLine=end)
    if reply.code is not None:
        desk.said.append(phrase("failed_read", path=best.path, message=reply.message))
        return
    _has_read(best.path, desk)
    lines = numbered(text(reply.data, "content"))
    quoted = with_notes(lines, best.line) if defining else lines
    quotation = "\n".join(line.text for line in quoted) or best.text
    opening = phrase("explained" if defining else "explained_nowhere", name=shown, path=best.path, line=best.line)
    desk.said.append(f"{opening}\n\n{code_block(quotation, best.path)}")
    others = [place for place in defining if place != best]
    uses = [place for place in places if place != best and place not in others and _names(place.text, name)]
    desk.said.append(_uses(others, uses))


def _defining(places: Sequence[_Place], name: str) -> list[_Place]:
    return [place for place in places if not is_prose(place.path) and defines(place.text, name)]


def _by_relevance(places: Sequence[_Place], name: str) -> list[_Place]:
    """Sort places: the name itself before words that contain it, and sources before prose."""
    return sorted(places, key=lambda place: (not _names(place.text, name), is_prose(place.path)))


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _rank(place: _Place) -> tuple[bool, int, int]:
    """Return a sort key: sources before tests, outer definitions before inner ones."""
    indent = len(place.text) - len(place.text.lstrip())
    return "test" in place.path.lower(), indent, place.path.count("/")


def _uses(others: Sequence[_Place], uses: Sequence[_Place]) -> str:
    parts = [phrase("explained_others", places=_listed(others))] if others else []
    if uses:
        parts.append(phrase("explained_uses", places=_listed(uses)))
    elif not others:
        parts.append(phrase("explained_unused"))
    return " ".join([*parts, phrase("explained_quotes")])


def _listed(places: Sequence[_Place]) -> str:
    shown = ", ".join(place.spelled for place in places[:_SHOWN_USES])
    more = len(places) - _SHOWN_USES
    return phrase("and_more", places=shown, count=more) if more > 0 else shown


def _explain_this(desk: Desk) -> Steps:
    selected = next((each for each in desk.attachments if each.lines is not None), None)
    if selected is not None and selected.lines is not None:
        _describe_selection(selected, selected.lines, desk)
    elif desk.attachments:
        yield from _read(Read(desk.attachments[0].path), desk)
    elif desk.last_path is not None:
        yield from _read(Read(desk.last_path), desk)
    else:
        desk.said.append(phrase("nothing_attached"))


def _describe_selection(selected: Attachment, range_: tuple[int, int], desk: Desk) -> None:
    first, last = range_
    lines = from_text(selected.text, first)
    desk.last_path = selected.path
    name = "selection_line" if first == last else "selection"
    shown = lines[:_SHOWN_SELECTED_LINES]
    parts = [
        phrase(name, first=first, last=last, line=first, path=selected.path, count=len(lines)),
        code_block("\n".join(line.text for line in shown), selected.path),
    ]
    if len(shown) < len(lines):
        parts.append(phrase("selection_shortened", shown=len(shown), count=len(lines)))
    parts += _outline(lines, selected.path)
    desk.said.append("\n\n".join([*parts, phrase("explained_quotes")]))


def _read(task: Read, desk: Desk) -> Steps:
    if not _offers(desk, "read_file"):
        return
    asked = {} if task.lines is None else {"startLine": task.lines[0], "endLine": task.lines[1]}
    reply = yield from _call(desk, phrase("will_read", path=task.path), "read_file", path=task.path, **asked)
    if reply.code is not None:
        desk.said.append(phrase("failed_read", path=task.path, message=reply.message))
        return
    _has_read(task.path, desk)
    lines, total = numbered(text(reply.data, "content")), number(reply.data, "totalLines")
    counted = "read_empty" if not total else "read_one_line" if total == 1 else "read_lines"
    parts = [phrase(counted, path=task.path, count=total)]
    if task.lines is not None:
        shown = lines[:_SHOWN_SELECTED_LINES]
        parts.append(code_block("\n".join(line.text for line in shown), task.path))
        if len(shown) < len(lines):
            parts.append(phrase("selection_shortened", shown=len(shown), count=len(lines)))
    else:
        begins = introduction(lines, task.path)
        if begins:
            parts[0] += " " + phrase("read_begins", text=inline(begins))
        parts += _outline(lines, task.path)
        if lines and len(lines) < total:
            parts.append(phrase("read_part", first=lines[0].number, last=lines[-1].number))
    desk.said.append("\n\n".join(parts))


def _outline(lines: Sequence[Line], path: str) -> list[str]:
    """Return the headings of a text, or the definitions in a source, as one paragraph; nothing if there are none."""
    if is_prose(path):
        title = "read_headings"
        rows_ = [phrase("read_heading", line=line.number, text=inline(line.text)) for line in headings(lines)]
    else:
        title = "read_definitions"
        rows_ = [
            phrase("read_definition", line=each.line, kind=each.keyword, name=each.name) for each in definitions(lines)
        ]
    shown = rows_[:_SHOWN_DEFINITIONS]
    if len(shown) < len(rows_):
        shown.append(phrase("read_more", count=len(rows_) - len(shown)))
    return ["\n".join([phrase(title), "", *shown])] if shown else []


def _has_read(path: str, desk: Desk) -> None:
    desk.read.add(path)
    desk.last_path = path


def _list(task: ListFiles, desk: Desk) -> Steps:
    if not _offers(desk, "list_root"):
        return
    reply = yield from _call(desk, phrase("will_list"), "list_root")
    if reply.code is not None:
        desk.said.append(phrase("failed_list", message=reply.message))
        return
    entries = rows(reply.data, "entries")
    lines = [phrase("listed", count=len(entries)), ""] if entries else [phrase("listed_empty")]
    for entry in entries[:_SHOWN_ENTRIES]:
        is_folder = text(entry, "type") in ("directory", "dir", "folder")
        lines.append(phrase("listed_folder" if is_folder else "listed_file", name=text(entry, "name").rstrip("/")))
    if len(entries) > _SHOWN_ENTRIES:
        lines.append(phrase("listed_more", count=len(entries) - _SHOWN_ENTRIES))
    if task.folder is not None:
        lines += ["", phrase("listed_root_only", folder=task.folder)]
    desk.said.append("\n".join(lines))


# -- changing ----------------------------------------------------------------------------------------------------------


def _replace(task: Replace, desk: Desk) -> Steps:
    path = task.path or next((each.path for each in desk.attachments), None) or desk.last_path
    if path is None:
        desk.done.append(phrase("which_file", old=inline(task.old)))
        return
    if not {"read_file", "edit_replace_exact"} <= desk.tools:
        desk.done.append(phrase("mode_no_change", path=path))
        return
    desk.last_path = path
    old, new = inline(task.old), inline(task.new)
    if path not in desk.read and not (yield from _read_before_edit(path, old, desk)):
        return
    arguments: dict[str, object] = {"path": path, "old": task.old, "new": task.new}
    sentence, count = phrase("will_replace", old=old, new=new, path=path), 1
    reply = yield from _call(desk, sentence, "edit_replace_exact", **arguments)
    if reply.code == "STALE" and (yield from _read_before_edit(path, old, desk)):
        reply = yield from _call(desk, sentence, "edit_replace_exact", **arguments)
    if reply.code == "AMBIGUOUS" and number(reply.details, "count") > 1:
        count = number(reply.details, "count")
        sentence = phrase("will_replace_all", count=count, path=path)
        reply = yield from _call(desk, sentence, "edit_replace_exact", **arguments, expectedOccurrences=count)
    if reply.code is not None:
        desk.done.append(phrase("failed_replace", old=old, path=path, message=reply.message))
    elif reply.data.get("applied") is True:
        name = "replaced" if count == 1 else "replaced_all"
        added, removed = _line_counts(reply)
        desk.done.append(phrase(name, old=old, new=new, path=path, count=count, added=added, removed=removed))
    else:
        desk.done.append(_not_applied(path, reply))


def _read_before_edit(path: str, old: str, desk: Desk) -> Generator[Batch, Sequence[Reply], bool]:
    """Read the file, since editing requires that it has been shown, and return whether that worked. If not, the summary
    says so."""
    reply = yield from _call(desk, phrase("will_read_first", path=path), "read_file", path=path)
    if reply.code is not None:
        desk.done.append(phrase("failed_replace", old=old, path=path, message=reply.message))
        return False
    _has_read(path, desk)
    return True


def _create(task: Create, desk: Desk) -> Steps:
    path = task.path
    if "edit_create_file" not in desk.tools:
        desk.missing.add(path)
        desk.done.append(phrase("mode_no_change", path=path))
        return
    arguments: dict[str, object] = {"path": path, "content": task.content}
    reply = yield from _call(desk, phrase("will_create", path=path), "edit_create_file", **arguments)
    desk.last_path = path
    if reply.code is not None:
        if reply.code != "CONFLICT":
            desk.missing.add(path)
        desk.done.append(phrase("failed_create", path=path, message=reply.message))
    elif reply.data.get("applied") is True:
        desk.done.append(phrase("created", path=path, added=_line_counts(reply)[0]))
    else:
        desk.missing.add(path)
        desk.done.append(_not_applied(path, reply))


def _line_counts(reply: Reply) -> tuple[int, int]:
    files = rows(reply.data, "files")
    return sum(number(file, "linesAdded") for file in files), sum(number(file, "linesRemoved") for file in files)


def _not_applied(path: str, reply: Reply) -> str:
    comment = text(reply.data, "comment")
    if text(reply.data, "reason") == "no change":
        return phrase("not_changed", path=path)
    return phrase("rejected_comment", path=path, comment=comment) if comment else phrase("rejected", path=path)


def _run(task: Run, desk: Desk) -> Steps:
    command = inline(task.command)
    if "shell_run" not in desk.tools:
        desk.done.append(phrase("mode_no_run", command=command))
        return
    within = {} if task.cwd is None else {"cwd": task.cwd}
    sentence = phrase("will_run", command=command)
    reply = yield from _call(desk, sentence, "shell_run", command=task.command, **within)
    if reply.code is not None:
        desk.done.append(phrase("failed_run", command=command, message=reply.message))
    elif reply.data.get("denied") is True:
        comment = text(reply.data, "comment")
        said = (
            phrase("denied_comment", command=command, comment=comment) if comment else phrase("denied", command=command)
        )
        desk.done.append(said)
    else:
        ran = read_ran(reply)
        said = phrase("ran", command=command, ending=ran.ending)
        desk.done.append(f"{said}\n\n{code_block(ran.tail)}" if ran.tail.strip() else said)
