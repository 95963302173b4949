"""What is shown while a model is waited for before it is asked again."""

from pathlib import Path
from typing import cast

import pytest

from north_lsp.agent.log.entries import logged_from_json
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.marks import RetryEntry
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Event, RetryEnded, RetryWaiting
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.status import Status
from north_lsp.agent.turn.retry import Retries, RetryControl, RetrySettings, Wait
from north_lsp.agent.turn.retry_wait import RetryWait
from north_lsp.providers.base import AssistantMessage, Failed
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.diagnostics_log import DiagnosticsLog
from north_lsp.storage.locations import Locations


class Watching:
    """An editor that notes what it is shown."""

    def __init__(self) -> None:
        self.shown: list[Event] = []

    async def show(self, event: Event) -> None:
        self.shown.append(event)


@pytest.mark.parametrize("shown", [True, False])
async def test_a_wait_that_is_over_before_it_begins_is_told_like_any_other(tmp_path: Path, shown: bool) -> None:
    """A busy machine may take longer to say that it waits than the wait itself."""
    watching = Watching()
    editor = cast(Editor, watching)
    log = DiagnosticsLog(Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state"), "info")
    ports = Ports(editor, Status(editor), Diagnostics(log))
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    kept = Log(
        Conversation.create(
            locations,
            repo_root=tmp_path,
            repo_hash="0" * 16,
            cwd=tmp_path,
            model="test",
            client=None,
            north_version="0",
        )
    )
    waiting = RetryWait(Retries(RetrySettings()), RetryControl(RetrySettings()), ports, kept)
    failure = Failed("overloaded", "overloaded", AssistantMessage(()), 529)
    assert await waiting.wait(Wait("turn", 0.0, 1, 3, shown), failure)
    await waiting.ended()
    log.close()
    entries = [one.entry for one in kept.path()]
    waits = [
        RetryEntry(one.retry_id, 1, 3, "overloaded", "overloaded", "over")
        for one in entries
        if isinstance(one, RetryEntry)
    ]
    assert entries == waits
    assert len(waits) == shown
    assert [logged_from_json(one.to_json() | {"id": "a", "parentId": None}).entry for one in waits] == waits
    told = [(event.state, event.is_first) for event in watching.shown if isinstance(event, RetryWaiting)]
    assert told == ([("waiting", True), ("over", False)] if shown else [])
    assert [event.attempt for event in watching.shown if isinstance(event, RetryEnded)] == [1]
