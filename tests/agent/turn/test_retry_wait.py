"""What is shown while a model is waited for before it is asked again."""

from collections.abc import Callable, Iterator
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


FAILURE = Failed("overloaded", "overloaded", AssistantMessage(()), 529)


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    return Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")


@pytest.fixture
def ports_of(locations: Locations) -> Iterator[Callable[[Watching], Ports]]:
    log = DiagnosticsLog(locations, "info")
    yield lambda editor: Ports(cast(Editor, editor), Status(cast(Editor, editor)), Diagnostics(log))
    log.close()


@pytest.fixture
def kept(locations: Locations, tmp_path: Path) -> Log:
    return Log(
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


@pytest.mark.parametrize("shown", [True, False])
async def test_a_wait_that_is_over_before_it_begins_is_told_like_any_other(
    ports_of: Callable[[Watching], Ports], kept: Log, shown: bool
) -> None:
    """A busy machine may take longer to say that it waits than the wait itself."""
    watching = Watching()
    waiting = RetryWait(Retries(RetrySettings()), RetryControl(RetrySettings()), ports_of(watching), kept)
    assert await waiting.wait(Wait("turn", 0.0, 1, 3, shown), FAILURE)
    await waiting.ended()
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


@pytest.mark.parametrize("goes_on", [True, False])
async def test_who_ends_a_wait_as_soon_as_it_is_shown_is_heard(
    ports_of: Callable[[Watching], Ports], kept: Log, goes_on: bool
) -> None:
    control = RetryControl(RetrySettings())

    class Quick(Watching):
        async def show(self, event: Event) -> None:
            if isinstance(event, RetryWaiting) and event.is_first:
                assert control.is_waiting
                (control.now if goes_on else control.abort)()

    waiting = RetryWait(Retries(RetrySettings()), control, ports_of(Quick()), kept)
    assert await waiting.wait(Wait("turn", 100_000.0, 1, 3, True), FAILURE) == goes_on
    assert not control.is_waiting
