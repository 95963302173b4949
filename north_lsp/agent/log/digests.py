"""Shortens long results: they enter the conversation once, in a short form, and remain readable in full."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from north_lsp.agent.ports.results import SpilledOutput
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.base import Digest

COMMAND_HEAD, COMMAND_TAIL = 20, 10


@dataclass(frozen=True, slots=True)
class Shortened:
    """A text for the model; `truncation` describes what is missing, None if nothing is."""

    text: str
    truncation: dict[str, object] | None = None


def shorten_result(digest: Digest, tool: str, artifacts: Artifacts) -> tuple[dict[str, object], dict[str, object]]:
    """Store the full result as an artifact; returns the short data for the model, which names the artifact, and what is
    missing in it."""
    number = artifacts.add(tool, digest.full)
    note = f"{digest.more}; in full: expand_output with outputId {number}, or artifact://{number}"
    data = digest.data | {"outputId": str(number), "digestNote": note}
    total = _lines(digest.full)
    missing = _truncation(
        digest.shown,
        total,
        len(digest.full.encode("utf-8", "replace")),
        len(json.dumps(digest.data, ensure_ascii=False).encode("utf-8", "replace")),
        number,
        "lines",
    )
    return data, missing


def where_whole(number: int | None) -> str:
    """Return what a model is told of where a complete output is; None: nowhere."""
    return (
        f"Complete output: artifact://{number}" if number is not None else "(the complete output could not be stored)"
    )


def shortened_text(
    text: str,
    tool: str,
    artifacts: Artifacts,
    kept: SpilledOutput | None = None,
    most: int | None = None,
    notes: Sequence[str] = (),
) -> Shortened:
    """Shorten the output of a command: its beginning and its end (if there are many more lines), then `notes`, then
    where the whole output is. `kept` is the stored whole if `text` is not all of it; `most` lines are shown instead of
    a digest's few."""
    lines = text.rstrip("\n").split("\n")
    head, tail = (COMMAND_HEAD, COMMAND_TAIL) if most is None else (most - most // 3, most // 3)
    left = len(lines) - head - tail
    if left <= 1 and kept is None:
        return Shortened("\n".join([text, *notes]))
    number = artifacts.add(tool, text) if kept is None else kept.number
    shown = lines
    if left > 1:
        way = f": expand_output with outputId {number}" if number is not None else ""
        shown = [*lines[:head], f"... {left} more lines{way} ...", *lines[-tail:]]
    closing = where_whole(number)
    shown_size = _size("\n".join([*shown, closing]))
    short = "\n".join([*shown, *notes, closing])
    total, size = (kept.lines, kept.bytes) if kept is not None else (len(lines), _size(text))
    parts = ((1, head), (total - tail + 1, total)) if left > 1 else ((1, total),)
    return Shortened(short, _truncation(parts, total, size, shown_size, number, "lines" if left > 1 else "bytes"))


def _truncation(
    parts: tuple[tuple[int, int], ...],
    total_lines: int,
    total_bytes: int,
    output_bytes: int,
    number: int | None,
    by: str,
) -> dict[str, object]:
    missing: dict[str, object] = {
        "direction": "middle" if len(parts) > 1 or by == "bytes" else "head",
        "truncatedBy": by,
        "totalLines": total_lines,
        "totalBytes": total_bytes,
        "outputLines": sum(end - start + 1 for start, end in parts),
        "outputBytes": output_bytes,
        "shownRange": [list(part) for part in parts],
    }
    return missing | ({"artifactId": str(number)} if number is not None else {})


def artifact_of(missing: Mapping[str, object]) -> int | None:
    """Return the number of the artifact that has what is missing in a result; None if there is none."""
    number = missing.get("artifactId")
    return None if number is None else int(str(number))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _lines(text: str) -> int:
    return text.count("\n") + (0 if text.endswith("\n") or not text else 1)
