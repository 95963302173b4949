"""What the doctor finds, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

from north_lsp.display import counted, visible
from north_lsp.lazy_dataclass import dataclass

Level = Literal["ok", "note", "warning", "error"]
_MARKS: dict[Level, str] = {"ok": "ok     ", "note": "note   ", "warning": "warning", "error": "error  "}
_COLORS: dict[Level, str] = {"ok": "\033[32m", "note": "\033[36m", "warning": "\033[33m", "error": "\033[31m"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `remedy` says what to do; it is empty where nothing is wrong."""

    level: Level
    text: str
    remedy: str = ""


def report(findings: Sequence[Finding], *, colored: bool = False) -> str:
    """Return all findings, one a line, and at the end what to do."""
    lines = []
    for finding in findings:
        mark = _MARKS[finding.level]
        lines.append(f"{_COLORS[finding.level]}{mark}\033[0m" if colored else mark)
        lines[-1] += f"  {visible(finding.text)}"
        if finding.remedy:
            lines.append(f"         -> {visible(finding.remedy)}")
    return "\n".join([*lines, "", *_what_to_do(findings)])


def as_json(findings: Sequence[Finding]) -> str:
    return json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False)


def _what_to_do(findings: Sequence[Finding]) -> list[str]:
    errors = [finding for finding in findings if finding.level == "error"]
    warnings = [finding for finding in findings if finding.level == "warning"]
    if not errors and not warnings:
        return ["Nothing is wrong."]
    counts = [counted(len(rows), name) for rows, name in ((errors, "error"), (warnings, "warning")) if rows]
    remedies = dict.fromkeys(finding.remedy for finding in (*errors, *warnings) if finding.remedy)
    return [f"{' and '.join(counts)}. What to do:", *(f"  {row}. {text}" for row, text in enumerate(remedies, 1))]
