"""Questions in a plain LSP client: nothing is approved by accident, and a long command can be read whole."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import pytest

from north_lsp.agent.ports.editor import Choice, CommandReview, EditReview
from north_lsp.lsp.editor import PlainEditor
from north_lsp.lsp.initialize import read_client
from north_lsp.lsp.progress import Progress
from north_lsp.rpc.messages import RpcError
from north_lsp.tools.base import Command
from north_lsp.workspace.proposal import EditProposal
from tests.support.edits import MemoryEditor

Answering = Callable[[str, dict[str, Any]], object]


class Client:
    """Its answers; `shown` is what the document said while the question was open."""

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        self.requests: list[tuple[str, dict[str, Any]]] = []

    async def request(self, method: str, params: dict[str, Any], *, cancellable: bool = False) -> object:
        self.requests.append((method, params))
        return self.answering(method, params)

    def asked(self) -> dict[str, Any]:
        return next(params for method, params in self.requests if method == "window/showMessageRequest")


def editor(answering: Answering, *, documents: bool = True, **north: object) -> tuple[PlainEditor, Client]:
    capabilities = {"window": {"showDocument": {"support": documents}}}
    client = read_client({"capabilities": capabilities, "initializationOptions": {"north": north}})
    peer = Client(answering)
    return PlainEditor(cast(Any, peer), MemoryEditor(), client, Progress(cast(Any, peer), is_shown=False)), peer


def review(command: str, **more: Any) -> CommandReview:
    return CommandReview("c", Command(command, Path("/r"), 60, None), "t", True, rule="`ls` without options", **more)


def first(method: str, params: dict[str, Any]) -> object:
    """A client whose user only confirms: the first action."""
    return params["actions"][0] if "actions" in params else {"success": True}


async def test_confirming_a_question_without_choosing_refuses() -> None:
    one, client = editor(first)
    assert (await one.review_command(review("ls"))).kind == "deny"
    titles = [action["title"] for action in client.asked()["actions"]]
    assert titles == [
        "Deny",
        "Run",
        "Always run this command",
        "Always run commands like this",
        "Run every command without asking",
    ]
    proposal = EditProposal("p", "c", (), "an edit")
    assert (await one.review_edit(EditReview(proposal, "t", True))).kind == "reject"
    assert await one.choose(Choice("i", "Go on?", (("yes", "Go on"), ("no", "Stop")))) == "no"


async def test_an_exact_text_that_would_not_count_is_not_offered() -> None:
    one, client = editor(first)
    await one.review_command(review("ls", may_remember_text=False))
    titles = [action["title"] for action in client.asked()["actions"]]
    assert titles == ["Deny", "Run", "Always run commands like this", "Run every command without asking"]


@pytest.mark.parametrize("answer", [None, {}, {"title": "run"}, {"title": "Run "}, "Run", ["Run"], {"title": None}])
async def test_whatever_is_no_action_refuses(answer: object) -> None:
    one, _ = editor(lambda method, params: answer)
    assert (await one.review_command(review("ls"))).kind == "deny"


async def test_a_failing_question_refuses() -> None:
    def failing(method: str, params: dict[str, Any]) -> object:
        raise RpcError(-32601, "no such method")

    one, _ = editor(failing)
    assert (await one.review_command(review("a\nb"))).kind == "deny"


LONG = "set -e\n" + "\n".join(f"echo {number} \u202e evil" for number in range(500))


async def test_a_long_command_is_a_read_only_document_while_it_is_asked_about() -> None:
    seen: list[tuple[str, int, Path]] = []

    def answering(method: str, params: dict[str, Any]) -> object:
        if method == "window/showDocument":
            assert params["takeFocus"] is False
            path = Path(unquote(urlsplit(params["uri"]).path))
            seen.append((path.read_text(), path.stat().st_mode & 0o777, path))
            return {"success": True}
        assert seen[0][2].exists()
        return {"title": "Run"}

    one, client = editor(answering)
    assert (await one.review_command(review(LONG))).kind == "run"
    ((text, mode, path),) = seen
    assert [method for method, _ in client.requests] == ["window/showDocument", "window/showMessageRequest"]
    assert mode == 0o400
    assert text.count("\n") == LONG.count("\n") + 1
    assert "echo 499" in text
    assert "\u202e" not in text
    assert not path.parent.exists()
    message = client.asked()["message"]
    assert "echo 499" in message
    assert "The whole command is open next to this in command.sh" in message
    assert os.path.basename(path) == "command.sh"


@pytest.mark.parametrize(("command", "documents"), [("ls", True), (LONG, False)])
async def test_no_document_where_none_is_needed_or_none_can_be_shown(command: str, documents: bool) -> None:
    one, client = editor(first, documents=documents)
    await one.review_command(review(command))
    assert [method for method, _ in client.requests] == ["window/showMessageRequest"]
    assert "open beside" not in client.asked()["message"]


async def test_a_document_that_is_not_shown_is_not_promised() -> None:
    one, client = editor(lambda method, params: {"success": False} if "Document" in method else None)
    await one.review_command(review(LONG))
    assert "open beside" not in client.asked()["message"]


async def test_the_command_cannot_speak_for_north_and_dangers_are_a_warning() -> None:
    one, client = editor(first)
    await one.review_command(review("ls\n\nIn the sandbox: it cannot do anything.", warnings=("deletes it all",)))
    asked = client.asked()
    assert asked["type"] == 2
    assert "\n    In the sandbox" in asked["message"]
    assert "\nIn the sandbox" not in asked["message"]
    assert "This command deletes it all." in asked["message"]


async def test_where_nobody_can_be_asked_nothing_waits_and_the_reason_is_told() -> None:
    one, client = editor(first, hasUI=False)
    decision = await one.review_command(review("sudo x", warnings=("becomes another user",), reasons=("no rule",)))
    assert decision.kind == "deny"
    assert decision.comment is not None
    assert "nobody can be asked here" in decision.comment
    assert "this command becomes another user; no rule" in decision.comment
    assert (await one.review_edit(EditReview(EditProposal("p", "c", (), "e"), "t", True))).kind == "reject"
    assert await one.choose(Choice("i", "q", (("yes", "y"), ("no", "n")))) is None
    assert client.requests == []
