"""A plan as a document: what it needs, its steps, and how a changed one is told. Pure."""

from __future__ import annotations

import difflib
import hashlib

from north_lsp.display import one_line
from north_lsp.lazy_pattern import lazy_pattern

SECTIONS = ("Goal", "Findings", "Steps", "Risks", "Out of scope")
_HEADING = lazy_pattern(r" {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$")
_STEP = lazy_pattern(r" {0,3}\d+[.)][ \t]+(.*\S)")
_MARKS = lazy_pattern(r"[*_`]{1,3}")
_MAX_STEP = 200
_MAX_NAME = 60
_MAX_DIFF_LINES = 400


def missing_of(text: str) -> list[str]:
    """Name the headings that a plan lacks, and `numbered steps` if it has none."""
    found = {match[1].strip().rstrip(":").casefold() for line in text.splitlines() if (match := _HEADING.match(line))}
    missing = [name for name in SECTIONS if name.casefold() not in found]
    return missing if missing or steps_of(text) else ["numbered steps"]


def steps_of(text: str) -> list[str]:
    """Return the steps of a plan, each on one line and once."""
    steps: dict[str, None] = {}
    is_inside = False
    for line in text.splitlines():
        if (heading := _HEADING.match(line)) is not None:
            is_inside = heading[1].strip().rstrip(":").casefold() == "steps"
        elif is_inside and (step := _STEP.match(line)) is not None:
            steps[" ".join(_MARKS.sub("", step[1]).split())[:_MAX_STEP]] = None
    return [step for step in steps if step]


def name_of(text: str) -> str:
    """Return what a plan is about, as a title: a heading of its own, else the first line of its goal; may be empty."""
    is_goal, goal = False, ""
    for line in text.splitlines():
        if (heading := _HEADING.match(line)) is not None:
            name = heading[1].strip().rstrip(":")
            if name.casefold() not in {section.casefold() for section in SECTIONS}:
                return _title(name if " " in name else " ".join(name.replace("_", "-").split("-")))
            is_goal = name.casefold() == "goal"
        elif is_goal and not goal:
            goal = line.strip()
    return _title(goal.removesuffix("."))


def _title(text: str) -> str:
    name = one_line(_MARKS.sub("", text), _MAX_NAME)
    return name[:1].upper() + name[1:]


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def difference(before: str, after: str) -> str:
    """Return what has changed, as a unified diff."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "now", lineterm="", n=2))
    left = len(lines) - _MAX_DIFF_LINES
    return "\n".join([*lines[:_MAX_DIFF_LINES], *([f"[{left} more lines]"] if left > 0 else [])])
