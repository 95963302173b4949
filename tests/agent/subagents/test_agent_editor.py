"""What an agent's editor asks in the client of its conversation."""

from typing import cast

import anyio
import pytest

from north_lsp.agent.log.log import Log
from north_lsp.agent.ports.editor import Choice, Editor
from north_lsp.agent.ports.events import CallNamed, Event
from north_lsp.agent.subagents.agent_editor import AgentEditor, Names
from north_lsp.agent.subagents.progress import Progress
from north_lsp.agent.subagents.working_time import WorkingTime
from north_lsp.vocabulary import Kind


class Client:
    """The conversation's editor, which notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Choice] = []

    async def show(self, event: Event) -> None:
        pass

    async def choose(self, choice: Choice) -> str | None:
        self.asked.append(choice)
        return None


@pytest.mark.parametrize(("kind", "call_id"), [("other", "agent:1-web:call_0"), ("fetch", "")])
async def test_a_question_is_of_the_call_that_was_shown(kind: Kind, call_id: str) -> None:
    async def changed() -> None:
        pass

    client, time = Client(), WorkingTime(anyio.CancelScope())
    names, progress = Names("1-web", "web"), Progress("1-web", "web")
    editor = AgentEditor(cast(Editor, client), names, progress, changed, anyio.Lock(), time, cast(Log, None))
    await editor.show(CallNamed("call_0", "mcp_a_b", kind, "Call b"))
    await editor.choose(Choice("call_0", "Call b?", (), call_id="call_0"))
    await editor.choose(Choice("limit-1", "Continue?", ()))
    (of_call, other) = client.asked
    assert (of_call.call_id, of_call.id) == (call_id, "agent:1-web:call_0")
    assert of_call.question == "web (1-web): Call b?"
    assert (other.call_id, other.id) == ("", "limit-1")
