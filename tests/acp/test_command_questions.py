"""The question about a command as ACP has it, and what an answer means."""

import json
from pathlib import Path
from typing import Any

import pytest

from north_lsp.acp.editor import AcpEditor
from north_lsp.acp.initialize import Client, read_client
from north_lsp.acp.questions import command_decision, command_permission
from north_lsp.agent.ports.editor import Choice, CommandDecision, CommandReview, EditReview
from north_lsp.tools.base import Command
from north_lsp.workspace.proposal import EditProposal


def question(client: Client, **more: Any) -> dict[str, Any]:
    command = Command("npm run dev", Path("/r"), 60, "to see it", background=more.pop("background", False))
    return command_permission("s", CommandReview("c", command, "t", True, **more), client)


def options(params: dict[str, Any]) -> list[str]:
    return [option["optionId"] for option in params["options"]]


def test_a_terminal_is_offered_where_the_editor_has_one() -> None:
    knows = Client(has_terminals=True, knows_north=True)
    assert options(question(knows, may_use_terminal=True))[:2] == ["run", "terminal"]
    assert "terminal" not in options(question(Client(has_terminals=True), may_use_terminal=True))
    assert "terminal" not in options(question(knows))
    assert "terminal" not in options(question(Client(knows_north=True), may_use_terminal=True))


def test_what_could_not_be_remembered_is_not_offered() -> None:
    knows = Client(knows_north=True)
    assert options(question(knows, rule="`ls`")) == ["run", "always", "rule", "all", "deny"]
    assert options(question(knows, rule="`ls`", may_remember_text=False)) == ["run", "rule", "all", "deny"]
    assert options(question(Client(), rule="`ls`", may_remember_text=False)) == ["run", "deny"]


def test_everything_that_matters_is_in_the_question() -> None:
    text = json.dumps(question(Client(), warnings=("deletes a whole folder tree",))["toolCall"])
    for part in ("npm run dev", "In /r, at most 60 s. It gets no input", "to see it", "deletes a whole folder tree"):
        assert part in text
    assert "in the background" in json.dumps(question(Client(), background=True)["toolCall"])


async def test_where_nobody_can_be_asked_nothing_waits_and_the_reason_is_told() -> None:
    client = read_client({"clientCapabilities": {"_meta": {"north": {"hasUI": False}}}})
    nothing: Any = None
    editor = AcpEditor(nothing, "s", client, nothing, nothing, nothing)
    command = Command("git push --force", Path("/r"), 60, None)
    decision = await editor.review_command(CommandReview("c", command, "t", True, ("rewrites history",)))
    assert decision.kind == "deny"
    assert decision.comment is not None
    assert "nobody can be asked here" in decision.comment
    assert "this command rewrites history" in decision.comment
    assert await editor.choose(Choice("i", "q", (("yes", "y"), ("no", "n")))) is None
    assert (await editor.review_edit(EditReview(EditProposal("p", "c", (), "e"), "t", True))).kind == "reject"


@pytest.mark.parametrize(
    ("chosen", "extra", "decision"),
    [
        ("run", {}, CommandDecision("run")),
        ("run", {"command": "other", "comment": " so "}, CommandDecision("run", "so", "other")),
        ("terminal", {"command": "other"}, CommandDecision("terminal", None, "other")),
        ("always", {"command": "other"}, CommandDecision("always")),
        ("run", {"command": 7}, CommandDecision("deny")),
        ("deny", {"comment": "no"}, CommandDecision("deny", "no")),
        (None, {"command": "other"}, CommandDecision("deny")),
        ("stop", {}, CommandDecision("stop")),
    ],
)
def test_what_an_answer_means(chosen: str | None, extra: dict[str, Any], decision: CommandDecision) -> None:
    assert command_decision({"_meta": {"north": extra}}, chosen) == decision
