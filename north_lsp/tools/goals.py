"""A goal: what is to be reached, by which criteria, and the evidence that each is met. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from north_lsp.lazy_dataclass import dataclass

GoalAction = Literal["set", "add_criterion", "evidence", "block", "complete", "view"]
Status = Literal["active", "blocked", "complete"]
CriterionStatus = Literal["open", "met", "failed"]
_MARKS: Mapping[CriterionStatus, str] = {"open": " ", "met": "x", "failed": "!"}
_MOST = 50


class GoalError(ValueError):
    """A goal cannot be changed so; the text says why."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a criterion counts as met: a text, or the call that ran its command. `state` names the last change of files
    when it was so: after another change it is stale."""

    at: str
    text: str = ""
    artifact: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One that has a `command` is met by a run of it alone."""

    id: str
    text: str
    command: str = ""
    status: CriterionStatus = "open"
    evidence: tuple[Evidence, ...] = ()

    def is_fresh(self, state: str) -> bool:
        """Tell whether it is met by evidence that is newer than the last change of files."""
        return self.status == "met" and any(one.state == state for one in self.evidence)


@dataclass(frozen=True, slots=True)
class Goal:
    """What a conversation is to reach; `blocked` says what is in the way."""

    statement: str
    criteria: tuple[Criterion, ...] = ()
    status: Status = "active"
    blocked: str = ""

    def with_criterion(self, text: str, command: str = "") -> Goal:
        """Return the goal with one more criterion, whose text becomes one line of the document. Raises GoalError."""
        if not text.strip():
            raise GoalError("a criterion needs a text")
        if len(command.strip().splitlines()) > 1:
            raise GoalError("the command of a criterion is one line")
        if len(self.criteria) >= _MOST:
            raise GoalError(f"a goal has at most {_MOST} criteria")
        numbers = [int(one.id[1:]) for one in self.criteria if one.id[1:].isdigit()]
        made = Criterion(f"c{max(numbers, default=0) + 1}", " ".join(text.split()), command.strip())
        return replace(self, criteria=(*self.criteria, made), status="active", blocked="")

    def criterion(self, id: str) -> Criterion:
        """Return a criterion. Raises GoalError naming what there is."""
        found = next((one for one in self.criteria if one.id == id), None)
        if found is None:
            known = ", ".join(one.id for one in self.criteria) or "none"
            raise GoalError(f"there is no criterion {id[:40]!r}; known: {known}")
        return found

    def judged(self, id: str, status: CriterionStatus, evidence: Evidence) -> Goal:
        """Return the goal with evidence for a criterion. Raises GoalError."""
        old = self.criterion(id)
        new = replace(old, status=status, evidence=(*old.evidence, evidence))
        rows = tuple(new if one.id == id else one for one in self.criteria)
        return replace(self, criteria=rows, status="active", blocked="")

    def missing(self, state: str) -> list[str]:
        """Say what keeps it from being complete, a line for each criterion."""
        found: list[str] = [] if self.criteria else ["it has no criteria"]
        for one in self.criteria:
            if one.status != "met":
                found.append(f"{one.id} is {one.status}: {one.text}")
            elif not one.is_fresh(state):
                found.append(f"{one.id} is stale, files have changed since its evidence: {one.text}")
        return found

    def document(self, state: str | None) -> str:
        """Return it as Markdown, for people and for the model; None for a `state` that is not known."""
        rows = [_row(one, state) for one in self.criteria]
        why = f": {' '.join(self.blocked.split())}" if self.blocked else ""
        return "\n".join([f"# {' '.join(self.statement.split())}", f"Status: {self.status}{why}", "", *rows])


def parse_goal(text: str, old: Goal | None) -> Goal:
    """Read the document that people edit: a heading, and a line for each criterion, with its command between backticks
    at the end. Evidence of criteria that stay as they were is kept. Raises GoalError naming the line."""
    statement = ""
    goal = Goal("")
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("Status:"):
            continue
        if bare.startswith("# ") and not statement:
            statement = bare[2:].strip()
        elif bare.startswith(("- ", "* ")):
            goal = _with_row(goal, bare[2:].strip(), number, old)
        else:
            raise GoalError(f"line {number} is neither a heading nor a criterion (`- [ ] …`): {bare[:80]}")
    if not statement:
        raise GoalError("the first line must be a heading with what is to be reached: `# …`")
    return replace(goal, statement=statement)


def _with_row(goal: Goal, row: str, number: int, old: Goal | None) -> Goal:
    if row[:1] == "[" and row[2:3] == "]":
        row = row[3:].strip()
    row = row.removesuffix("(stale)").strip()
    first, _, rest = row.partition(": ")
    row = rest.strip() if first[:1] == "c" and first[1:].isdigit() else row
    known = next((one for one in (old.criteria if old else ()) if row == _words(one)), None)
    text, command = (known.text, known.command) if known is not None else _text_and_command(row)
    try:
        made = goal.with_criterion(text, command)
    except GoalError as error:
        raise GoalError(f"line {number}: {error}") from None
    last = made.criteria[-1]
    same = [one for one in (old.criteria if old else ()) if (one.text, one.command) == (last.text, last.command)]
    if not same:
        return made
    return replace(made, criteria=(*made.criteria[:-1], replace(same[0], id=last.id)))


def _text_and_command(row: str) -> tuple[str, str]:
    """Read a row that the user has written or changed."""
    command = ""
    if row.endswith("`") and row.count("`") >= 2:
        row, _, command = row[:-1].rpartition("`")
    return row.strip().removesuffix(":").strip(), command


def _words(one: Criterion) -> str:
    return one.text + (f": `{one.command}`" if one.command else "")


def _row(one: Criterion, state: str | None) -> str:
    stale = " (stale)" if state is not None and one.status == "met" and not one.is_fresh(state) else ""
    return f"- [{_MARKS[one.status]}] {one.id}: {_words(one)}{stale}"


@dataclass(frozen=True, slots=True)
class GoalChange:
    """What a model asks for: an action, with what it needs."""

    action: GoalAction
    statement: str = ""
    criteria: Sequence[tuple[str, str]] = ()
    id: str = ""
    text: str = ""
    command: str = ""
