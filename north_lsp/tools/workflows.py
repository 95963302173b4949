"""Workflows: their phases, what leads from one to the next, and what their documents must have. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

WorkflowName = Literal["clarify", "plan", "execute-and-verify", "parallelize"]
Document = Literal["unknowns", "spec", "plan", "packages"]
WorkflowAction = Literal["start", "move", "write", "view", "stop"]
Option = Literal["auto", "research"]
FILES: Mapping[Document, str] = {
    "unknowns": "unknowns.json",
    "spec": "spec.md",
    "plan": "plan.json",
    "packages": "packages.json",
}
ALIASES: Mapping[str, WorkflowName] = {
    "deep-interview": "clarify",
    "ralplan": "plan",
    "ultragoal": "execute-and-verify",
    "team": "parallelize",
    "parallelise": "parallelize",
}
ENDED = ("done", "abandoned", "blocked")
MOST_CALLS = 20
MOST_QUESTIONS, MOST_ROUNDS = 4, 5
MOST_LOOPS = 3
MOST_WEB = 10
MOST_TRIES = 3
"""How often a check may fail in a phase before it is left."""
MOST_TIMES = 2
"""How often a package is given to an agent: once, and once more where it did not fit."""
_FEWEST_PACKAGES = 3
_SPEC = (
    "Goal",
    "Non-goals",
    "Users and scenarios",
    "Requirements",
    "Interfaces and data",
    "Constraints",
    "Acceptance criteria",
    "Assumptions",
    "Risks",
)
_HEADING = lazy_pattern(r" {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$")
_CRITERION = lazy_pattern(r"\s*(?:[-*]|\d+[.)])?\s*[*_`]{0,2}(A\d+)\b")
_NAMED = lazy_pattern(r"\bA\d+\b")
_ADDRESS = lazy_pattern(r"https?://\S")
_SLUG = lazy_pattern(r"[^a-z0-9]+")
_WILD = lazy_pattern(r"[*?\[{]")
_LONGEST_SLUG = 48


class WorkflowError(ValueError):
    """A step of a workflow is not possible; the text says why."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """One kind: its first phase, to which phases each leads, and in which of them nothing but its own documents is
    changed (`held`)."""

    name: WorkflowName
    first: str
    phases: Mapping[str, tuple[str, ...]]
    documents: tuple[Document, ...]
    held: frozenset[str] = frozenset()


WORKFLOWS: Mapping[str, Workflow] = {
    "clarify": Workflow(
        "clarify",
        "intake",
        {
            "intake": ("explore", "abandoned"),
            "explore": ("question", "abandoned"),
            "question": ("draft", "abandoned"),
            "draft": ("confirm", "question", "abandoned"),
            "confirm": ("done", "draft", "abandoned"),
        },
        ("unknowns", "spec"),
        frozenset({"intake", "explore", "question", "draft", "confirm"}),
    ),
    "plan": Workflow(
        "plan",
        "draft",
        {
            "draft": ("assess", "abandoned"),
            "assess": ("challenge", "abandoned"),
            "challenge": ("revise", "present", "abandoned"),
            "revise": ("assess", "abandoned"),
            "present": ("done", "revise", "abandoned"),
        },
        ("plan",),
        frozenset({"draft", "assess", "challenge", "revise", "present"}),
    ),
    "execute-and-verify": Workflow(
        "execute-and-verify",
        "load",
        {
            "load": ("baseline", "blocked"),
            "baseline": ("work", "blocked"),
            "work": ("verify", "blocked"),
            "verify": ("review", "work", "blocked"),
            "review": ("done", "work", "blocked"),
            "blocked": ("work",),
        },
        (),
    ),
    "parallelize": Workflow(
        "parallelize",
        "packages",
        {
            "packages": ("work", "abandoned"),
            "work": ("integrate", "blocked"),
            "integrate": ("done", "work", "blocked"),
            "blocked": ("work",),
        },
        ("packages",),
    ),
}


@dataclass(frozen=True, slots=True)
class WorkflowCall:
    """What a model asks for."""

    action: WorkflowAction
    workflow: str = ""
    title: str = ""
    to: str = ""
    note: str = ""
    document: str = ""
    content: str = ""


def workflow_called(name: str) -> Workflow:
    """Return a workflow by its name or another name of it. Raises WorkflowError naming what there is."""
    found = WORKFLOWS.get(ALIASES.get(name.strip(), name.strip()))
    if found is None:
        raise WorkflowError(f"there is no workflow {name[:40]!r}; known: {', '.join(WORKFLOWS)}")
    return found


def slug_of(title: str, taken: Sequence[str]) -> str:
    """Make the name of a workflow's folder, which no other has."""
    slug = _SLUG.sub("-", title.casefold()).strip("-")[:_LONGEST_SLUG].strip("-") or "work"
    number, free = 2, slug
    while free in taken:
        free, number = f"{slug}-{number}", number + 1
    return free


def ensure_leads(workflow: Workflow, phase: str, to: str) -> None:
    """Raise WorkflowError unless one phase leads to another."""
    allowed = workflow.phases.get(phase, ())
    if to not in allowed:
        told = ", ".join(allowed) or "none: it has ended"
        raise WorkflowError(f"{workflow.name} cannot go from {phase} to {to[:40]!r}; allowed: {told}")


# -- documents -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unknown:
    id: str
    question: str
    impact: Literal["high", "medium", "low"]
    status: Literal["open", "answered", "assumed", "dropped"]
    confidence: Literal["high", "medium", "low"] | None = None

    @property
    def is_unsure(self) -> bool:
        """Whether it matters, and was assumed without being sure."""
        return (self.impact, self.status, self.confidence) == ("high", "assumed", "low")


def unknowns_in(text: str, *, is_auto: bool = False) -> list[Unknown]:
    """Read the list of what is unknown; `is_auto`: nobody is asked, so that what is assumed says how sure that is.
    Raises WorkflowError naming the row."""
    found: list[Unknown] = []
    for at, row in enumerate(_rows(text, "unknowns"), 1):
        missing = [key for key in ("id", "question", "why", "impact", "default") if not _words(row, key)]
        if missing:
            raise WorkflowError(f"unknown {at} lacks {', '.join(missing)}")
        impact, status, sure = row["impact"], row.get("status", "open"), row.get("confidence")
        if impact not in ("high", "medium", "low"):
            raise WorkflowError(f"unknown {at}: impact is high, medium or low, not {str(impact)[:40]!r}")
        if status not in ("open", "answered", "assumed", "dropped"):
            raise WorkflowError(f"unknown {at}: status is open, answered, assumed or dropped")
        if status in ("answered", "assumed") and not _words(row, "source"):
            raise WorkflowError(f"unknown {at} is {status}: say in `source` by whom or what")
        if sure not in ("high", "medium", "low", None) or (is_auto and status == "assumed" and sure is None):
            raise WorkflowError(f"unknown {at} is {status}: say in `confidence` how sure that is: high, medium or low")
        found.append(Unknown(_words(row, "id"), _words(row, "question"), impact, status, sure))
    return found


def check_spec(text: str) -> None:
    """Raise WorkflowError naming the headings that a specification lacks, or that it has no criteria."""
    missing = [name for name in _SPEC if name.casefold() not in _headings(text)]
    if missing:
        raise WorkflowError(f"the specification lacks the headings {', '.join(missing)}")
    if not criteria_in(text):
        raise WorkflowError("the acceptance criteria must be numbered A1, A2, … (each on a line of its own)")


def check_sources(text: str) -> None:
    """Raise WorkflowError unless a specification names what it was compared with."""
    if "sources" not in _headings(text) or _ADDRESS.search(text) is None:
        raise WorkflowError("the specification lacks the heading Sources, with the addresses of what you compared")


def criteria_named(texts: Iterable[str]) -> set[str]:
    """Return the numbers of acceptance criteria that texts name."""
    return {name for text in texts for name in _NAMED.findall(text)}


def _headings(text: str) -> set[str]:
    return {match[1].strip().rstrip(":").casefold() for line in text.splitlines() if (match := _HEADING.match(line))}


def criteria_in(text: str) -> list[str]:
    """Return the numbers of the acceptance criteria of a specification."""
    found: dict[str, None] = {}
    is_inside = False
    for line in text.splitlines():
        if (heading := _HEADING.match(line)) is not None:
            is_inside = heading[1].strip().rstrip(":").casefold() == "acceptance criteria"
        elif is_inside and (match := _CRITERION.match(line)) is not None:
            found[match[1]] = None
    return [*found]


@dataclass(frozen=True, slots=True)
class Step:
    id: str
    title: str
    do: str
    verify: str
    files: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    risk: str = ""
    size: str = "M"


def steps_in(text: str) -> tuple[str, list[Step]]:
    """Read a plan: its goal and its steps. Raises WorkflowError naming the step."""
    whole = _json(text, "plan")
    if not isinstance(whole, Mapping):
        raise WorkflowError("plan must be a JSON object")
    steps: list[Step] = []
    for at, row in enumerate(_listed(whole, "steps"), 1):
        missing = [key for key in ("id", "title", "do", "verify") if not _words(row, key)]
        if missing:
            raise WorkflowError(f"step {at} lacks {', '.join(missing)}")
        if row.get("size", "M") not in ("S", "M", "L"):
            raise WorkflowError(f"step {at}: size is S, M or L")
        id, title, do, verify, risk = (_words(row, key) for key in ("id", "title", "do", "verify", "risk"))
        lists = (tuple(_texts(row, "files")), tuple(_texts(row, "dependsOn")))
        steps.append(Step(id, title, do, verify, *lists, risk, str(row.get("size", "M"))))
    known: set[str] = set()
    for step in steps:
        if step.id in known:
            raise WorkflowError(f"two steps are called {step.id}")
        if unknown := [one for one in step.depends_on if one not in known]:
            raise WorkflowError(f"step {step.id} depends on {', '.join(unknown)}, which is not an earlier step")
        known.add(step.id)
    if not steps:
        raise WorkflowError("the plan has no steps")
    return _words(whole, "goal"), steps


def uncovered(criteria: Sequence[str], steps: Sequence[Step]) -> list[str]:
    """Return the acceptance criteria that no step verifies."""
    named = criteria_named(step.verify for step in steps)
    return [one for one in criteria if one not in named]


def plan_markdown(goal: str, steps: Sequence[Step]) -> str:
    """Return a plan as the document that people approve."""
    rows: list[str] = []
    for number, step in enumerate(steps, 1):
        rows.append(f"{number}. {step.title} ({step.size})")
        rows.append(f"   {step.do}")
        rows += [f"   Files: {', '.join(step.files)}"] * bool(step.files)
        rows += [f"   After: {', '.join(step.depends_on)}"] * bool(step.depends_on)
        rows.append(f"   Verify: {step.verify}")
        rows += [f"   Risk: {step.risk}"] * bool(step.risk)
    risks = "\n".join(f"- {step.title}: {step.risk}" for step in steps if step.risk) or "None are known."
    parts = {
        "Goal": goal or "See the specification.",
        "Findings": "In the specification and the assessment.",
        "Steps": "\n".join(rows),
        "Risks": risks,
        "Out of scope": "What the specification does not ask for.",
    }
    return "\n\n".join(f"# {name}\n\n{text}" for name, text in parts.items()) + "\n"


@dataclass(frozen=True, slots=True)
class Package:
    """Work that is independent of other packages: the `steps` of the plan that it does, which files it changes
    (`owns`), and which others it depends on (`reads`)."""

    id: str
    agent: str
    owns: tuple[str, ...]
    reads: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


def packages_in(text: str) -> list[Package]:
    """Read packages. Raises WorkflowError where they are too few, or naming two that overlap."""
    found: list[Package] = []
    for at, row in enumerate(_rows(text, "packages"), 1):
        owns, reads, steps = (tuple(_texts(row, key)) for key in ("owns", "reads", "steps"))
        if not _words(row, "id") or not owns:
            raise WorkflowError(f"package {at} lacks {'an id' if not _words(row, 'id') else 'what it owns'}")
        if any(one.startswith("/") or ".." in one.split("/") for one in (*owns, *reads)):
            raise WorkflowError(f"package {at}: what it owns and reads is relative to the project")
        if row.get("isolation", "worktree") != "worktree":
            raise WorkflowError(f"package {at}: its isolation is worktree")
        found.append(Package(_words(row, "id"), _words(row, "agent") or "executor", owns, reads, steps))
    for at, one in enumerate(found):
        for other in found[:at]:
            if one.id == other.id:
                raise WorkflowError(f"two packages are called {one.id}")
            if _clash(one.owns, other.owns):
                raise WorkflowError(f"the packages {other.id} and {one.id} may own the same files")
            for reader, owner in ((one, other), (other, one)):
                if _clash(reader.reads, owner.owns):
                    told = f"{reader.id} reads what {owner.id} owns, so they are not independent"
                    raise WorkflowError(f"{told}: make one package of them, or name what it reads more closely")
    if len(found) < _FEWEST_PACKAGES:
        raise WorkflowError(
            f"{len(found)} packages are too few to be worth it ({_FEWEST_PACKAGES} at least): do the work in one go"
        )
    return found


def _clash(some: Iterable[str], others: Sequence[str]) -> bool:
    return any(_may_overlap(one, other) for one in some for other in others)


def _may_overlap(one: str, other: str) -> bool:
    """Tell whether two patterns may name the same file: whether what they name for certain is one below the other."""
    first, second = _certain(one), _certain(other)
    length = min(len(first), len(second))
    return first[:length] == second[:length]


def _certain(pattern: str) -> list[str]:
    parts = pattern.rstrip("/").split("/")
    return parts[: next((at for at, part in enumerate(parts) if _WILD.search(part)), len(parts))]


def _json(text: str, what: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise WorkflowError(f"{what} must be JSON") from None


def _rows(text: str, what: str) -> list[Mapping[str, Any]]:
    value = _json(text, what)
    return _listed(value if isinstance(value, Mapping) else {what: value}, what)


def _listed(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = value.get(key)
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise WorkflowError(f"{key} must be a list of objects")
    return rows


def _words(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value.strip() if isinstance(value, str) else ""


def _texts(row: Mapping[str, Any], key: str) -> list[str]:
    value = row.get(key)
    return [one for one in value if isinstance(one, str) and one.strip()] if isinstance(value, list) else []
