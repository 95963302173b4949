"""The question about a command as ACP has it, and what an answer means."""

import json
from pathlib import Path
from typing import Any

import pytest

from north_lsp.acp.initialize import Client
from north_lsp.acp.questions import command_decision, command_permission
from north_lsp.agent.editor import CommandDecision, CommandReview
from north_lsp.tools.base import Command


def question(client: Client, **more: Any) -> dict[str, Any]:
    command = Command("npm run dev", Path("/r"), 60, "to see it", background=more.pop("background", False))
    return command_permission("s", CommandReview("c", command, "t", True, **more), client)


def options(params: dict[str, Any]) -> list[str]:
    return [option["optionId"] for option in params["options"]]


def test_a_terminal_is_offered_where_the_editor_has_one() -> None:
    assert options(question(Client(has_terminals=True), may_use_terminal=True))[:2] == ["run", "terminal"]
    assert "terminal" not in options(question(Client(has_terminals=True)))
    assert "terminal" not in options(question(Client(), may_use_terminal=True))


def test_everything_that_matters_is_in_the_question() -> None:
    text = json.dumps(question(Client(), warnings=("deletes a whole folder tree",))["toolCall"])
    for part in ("npm run dev", "In /r, at most 60 s, unattended", "to see it", "deletes a whole folder tree"):
        assert part in text
    assert "in the background" in json.dumps(question(Client(), background=True)["toolCall"])


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
