"""Code lenses and code actions that decide a waiting edit, in its review document and in the files it changes. Pure
functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from north_lsp.lsp.pending_review import PendingReview
from north_lsp.lsp.review_document import Marked, Unit, marked, units

_WHOLE_LINE = 1_000_000  # editors take the end of the line for what is behind it
ACCEPT, REJECT = "north.review.accept", "north.review.reject"


def lenses(pending: PendingReview, path: Path, text: str) -> list[dict[str, Any]]:
    """Return the code lenses for an open text: the review document, or a file that the edit changes."""
    if path == pending.path:
        rows = [_lens(0, title, command, _all(pending)) for title, command in _whole(pending)]
        for place in marked(pending.review.proposal, text):
            rows += _lenses_of(pending, place)
        return rows
    last = text.count("\n")
    return [lens for place in _places(pending, path) for lens in _lenses_of(pending, place, last)]


def actions(pending: PendingReview, path: Path, text: str, first: int, last: int) -> list[dict[str, Any]]:
    """Return the same choices as code actions, for the lines from `first` to `last`."""
    found = []
    spans = marked(pending.review.proposal, text) if path == pending.path else list(_places(pending, path))
    for number, place in enumerate(spans):
        if path == pending.path:  # a hunk extends to the next one
            end = spans[number + 1].line - 1 if number + 1 < len(spans) else text.count("\n")
        else:
            end = place.line + _length(pending, place.unit)
        if place.line <= last and first <= end:
            found += [lens["command"] for lens in _lenses_of(pending, place)]
    if found or path == pending.path:
        found += [_command(title, command, _all(pending)) for title, command in _whole(pending)]
    return [{"title": one["title"], "kind": "quickfix", "command": one} for one in found]


def diagnostics(pending: PendingReview, path: Path) -> list[dict[str, Any]]:
    """Return a diagnostic for each place of a file that the edit would change and that is not decided."""
    rows = []
    for place in _places(pending, path):
        if place.unit in pending.decided:
            continue
        start = {"line": place.line, "character": 0}
        end = {"line": place.line + max(_removed(pending, place.unit) - 1, 0), "character": _WHOLE_LINE}
        told = f"North proposes a change here ({_counts(pending, place.unit)}); it waits for your decision"
        rows.append({"range": {"start": start, "end": end}, "severity": 3, "source": "north", "message": told})
    return rows


def _removed(pending: PendingReview, unit: Unit) -> int:
    hunks = (hunk for change in pending.files if change.target == unit[0] for hunk in change.hunks)
    return next((f"\n{hunk.text}".count("\n-") for hunk in hunks if hunk.id == unit[1]), 0)


def hunk_at(pending: PendingReview, path: Path, line: int) -> str | None:
    """Return the text of the hunk that changes a line of a file; None if there is none."""
    for place in _places(pending, path):
        if place.line <= line <= place.line + max(_removed(pending, place.unit) - 1, 0):
            hunks = (hunk for change in pending.files if change.target == place.unit[0] for hunk in change.hunks)
            return next((hunk.text for hunk in hunks if hunk.id == place.unit[1]), None)
    return None


def _places(pending: PendingReview, path: Path) -> Sequence[Marked]:
    """Return where the units are in the text that the proposal was made from."""
    found: list[Marked] = []
    for change in pending.files:
        if change.path != path or change.action == "create":
            continue
        by_id = {hunk.id: hunk for hunk in change.hunks}
        for unit in units(change):
            hunk = by_id.get(unit[1]) if unit[1] is not None else None
            found.append(Marked(_first_changed(hunk.text, hunk.old_start) if hunk is not None else 0, unit))
    return found


def _length(pending: PendingReview, unit: Unit) -> int:
    hunks = (hunk for change in pending.files if change.target == unit[0] for hunk in change.hunks)
    return next((hunk.old_lines for hunk in hunks if hunk.id == unit[1]), 0)


def _whole(pending: PendingReview) -> list[tuple[str, str]]:
    rest = "the rest" if pending.decided else "all"
    return [(f"North: accept {rest}", ACCEPT), ("North: reject all", REJECT)]


def _all(pending: PendingReview) -> dict[str, Any]:
    return {"reviewId": pending.id}


def _lenses_of(pending: PendingReview, place: Marked, last: int | None = None) -> list[dict[str, Any]]:
    path, hunk = place.unit
    line = place.line if last is None else min(place.line, last)
    given = {"reviewId": pending.id, "path": str(path)} | ({"hunk": hunk} if hunk is not None else {})
    match pending.decided.get(place.unit):
        case None:
            counts = _counts(pending, place.unit)
            rows = [(f"North: accept ({counts})", ACCEPT), ("North: reject", REJECT)]
        case True:
            rows = [("North: accepted (reject instead)", REJECT)]
        case False:
            rows = [("North: rejected (accept instead)", ACCEPT)]
    return [_lens(line, title, command, given) for title, command in rows]


def _counts(pending: PendingReview, unit: Unit) -> str:
    change = next(change for change in pending.files if change.target == unit[0])
    if unit[1] is None:
        return f"{change.action} +{change.lines_added}/-{change.lines_removed}"
    body = "\n" + next(hunk.text for hunk in change.hunks if hunk.id == unit[1])
    added, removed = body.count("\n+"), body.count("\n-")
    return f"+{added}/-{removed}"


def _first_changed(body: str, start: int) -> int:
    """Return the line of the file (from 0) at which a hunk first changes something."""
    line = max(start - 1, 0)
    for row in body.split("\n"):
        if not row.startswith(" "):
            break
        line += 1
    return line


def _command(title: str, command: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {"title": title, "command": command, "arguments": [dict(given)]}


def _lens(line: int, title: str, command: str, given: Mapping[str, Any]) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {"range": {"start": place, "end": place}, "command": _command(title, command, given)}
