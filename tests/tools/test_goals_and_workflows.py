"""Goals and workflows as data: what is stored comes back, and what is wrong is named."""

import json

import pytest

from north_lsp.agent.log.goals import goal_from_json, goal_to_json
from north_lsp.tools.goals import Evidence, Goal, GoalError, parse_goal
from north_lsp.tools.workflows import (
    WORKFLOWS,
    WorkflowError,
    criteria_in,
    ensure_leads,
    packages_in,
    slug_of,
    steps_in,
    uncovered,
    unknowns_in,
    workflow_called,
)


def example() -> Goal:
    goal = Goal("It works").with_criterion("made", "test -f x").with_criterion("tidy")
    return goal.judged("c1", "met", Evidence("2026-01-02", "exit code 0", "call-1", "s1"))


def test_a_goal_comes_back_as_it_was_stored() -> None:
    assert goal_from_json(json.loads(json.dumps(goal_to_json(example())))) == example()


@pytest.mark.parametrize("stored", [None, 1, [], {}, {"statement": 1}])
def test_what_is_no_goal_is_none(stored: object) -> None:
    assert goal_from_json(stored) is None


def test_a_damaged_goal_is_read_as_far_as_it_goes() -> None:
    rows = [{"id": "c1", "text": "made", "status": "none", "evidence": [1]}, 2]
    read = goal_from_json({"statement": "x", "status": "odd", "criteria": rows})
    assert read is not None
    assert (read.status, [one.status for one in read.criteria]) == ("active", ["open"])


def test_evidence_is_stale_after_another_change() -> None:
    assert example().missing("s1") == ["c2 is open: tidy"]
    assert example().missing("s2")[0].startswith("c1 is stale")


def test_what_people_do_not_change_keeps_its_evidence() -> None:
    edited = parse_goal(example().document("s2").replace("tidy", "quick"), example())
    assert edited.criteria[0] == example().criteria[0]
    assert (edited.criteria[1].text, edited.criteria[1].status) == ("quick", "open")


def test_whatever_a_model_writes_is_read_again_as_it_is() -> None:
    goal = Goal("It works").with_criterion("said `today`", "test `date` = x").with_criterion("say: `x`")
    goal = goal.with_criterion("made\n- [x] c9: all of it", "ls").judged("c1", "met", Evidence("now", "x", "", "s"))
    assert [one.text for one in goal.criteria][-1] == "made - [x] c9: all of it"
    assert parse_goal(goal.document("t"), goal) == goal
    blocked = Goal("It\nworks", goal.criteria, "blocked", "no\n- [x] disk")
    assert parse_goal(blocked.document("s"), goal) == goal
    with pytest.raises(GoalError, match="one line"):
        goal.with_criterion("both", "ls\npwd")


@pytest.mark.parametrize(("text", "says"), [("- x", "the first line"), ("# x\ny", "line 2"), ("# x\n- [ ] ", "line 2")])
def test_a_goal_that_cannot_be_read_names_the_line(text: str, says: str) -> None:
    with pytest.raises(GoalError, match=says):
        parse_goal(text, None)


def test_every_phase_leads_somewhere_that_is_a_phase_or_an_end() -> None:
    for workflow in WORKFLOWS.values():
        ends = {"done", "abandoned", "blocked"}
        assert {to for after in workflow.phases.values() for to in after} <= {*workflow.phases, *ends}
        assert workflow.held <= {*workflow.phases}
        with pytest.raises(WorkflowError, match="cannot go from"):
            ensure_leads(workflow, workflow.first, "done")


def test_a_workflow_is_known_by_its_other_name() -> None:
    assert workflow_called("ralplan").name == "plan"
    assert workflow_called("parallelise").name == "parallelize"
    with pytest.raises(WorkflowError, match="known: clarify"):
        workflow_called("none")


def test_a_folder_gets_a_name_of_its_own() -> None:
    assert slug_of("../A Login: page!", ["a-login-page", "a-login-page-2"]) == "a-login-page-3"
    assert slug_of("…", []) == "work"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/**", "src/a.py"),
        ("src", "src/a.py"),
        ("**/*.py", "src/a.py"),
        ("*.py", "docs/**"),
        ("src/a*", "src/ab.py"),
        ("src/a.py", "src/a.py"),
    ],
)
def test_packages_that_may_own_the_same_files_are_refused(one: str, other: str) -> None:
    rows = [{"id": "a", "owns": [one]}, {"id": "b", "owns": [other]}, {"id": "c", "owns": ["else.txt"]}]
    with pytest.raises(WorkflowError, match="a and b may own the same"):
        packages_in(json.dumps(rows))


@pytest.mark.parametrize("owns", [["/etc"], ["../x"], []])
def test_what_a_package_owns_is_in_the_project(owns: list[str]) -> None:
    with pytest.raises(WorkflowError):
        packages_in(json.dumps([{"id": "a", "owns": owns}]))


def test_packages_side_by_side_are_fine() -> None:
    rows = [{"id": name, "owns": [f"{name}/**", f"{name}.txt"]} for name in "abc"]
    assert [one.id for one in packages_in(json.dumps(rows))] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({}, "lacks id"),
        ({"impact": "huge"}, "impact is"),
        ({"status": "maybe"}, "status is"),
        ({"status": "assumed"}, "say in `source`"),
    ],
)
def test_an_unknown_says_what_it_lacks(row: dict[str, str], says: str) -> None:
    whole = {"id": "u", "question": "?", "why": "y", "impact": "low", "default": "d"} if row else {}
    with pytest.raises(WorkflowError, match=says):
        unknowns_in(json.dumps([whole | row]))


def test_criteria_that_no_step_verifies_are_named() -> None:
    spec = "# Acceptance criteria\n\n- A1: one\n2. **A2** two\n\nA10 ten\n\n# Risks\n\n- A3\n"
    step = {"id": "s", "title": "t", "do": "d", "verify": "A1, and A10"}
    assert criteria_in(spec) == ["A1", "A2", "A10"]
    assert uncovered(criteria_in(spec), steps_in(json.dumps({"steps": [step]}))[1]) == ["A2"]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"steps": [1]}', '{"steps": []}', "[" * 5000])
def test_a_plan_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(WorkflowError):
        steps_in(text)
