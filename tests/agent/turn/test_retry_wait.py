"""What is shown while a model is waited for before it is asked again."""

from pathlib import Path
from typing import cast

import pytest

from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Event, RetryEnded, RetryWaiting
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.status import Status
from north_lsp.agent.turn.retry import Retries, RetryControl, RetrySettings, Wait
from north_lsp.agent.turn.retry_wait import RetryWait
from north_lsp.providers.base import AssistantMessage, Failed
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
    waiting = RetryWait(Retries(RetrySettings()), RetryControl(RetrySettings()), ports)
    failure = Failed("overloaded", "overloaded", AssistantMessage(()), 529)
    assert await waiting.wait(Wait("turn", 0.0, 1, 3, shown), failure)
    await waiting.ended()
    log.close()
    told = [(event.state, event.is_first) for event in watching.shown if isinstance(event, RetryWaiting)]
    assert told == ([("waiting", True), ("over", False)] if shown else [])
    assert [event.attempt for event in watching.shown if isinstance(event, RetryEnded)] == [1]
