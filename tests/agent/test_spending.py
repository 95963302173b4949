"""What models may cost."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio

from north_lsp.agent.costs import CostKeeper
from north_lsp.agent.spending import Spending
from north_lsp.providers.base import AssistantMessage, Done, Failed, ModelRequest, StreamEvent
from north_lsp.storage.costs import Costs, Spent
from north_lsp.storage.locations import Locations
from north_lsp.storage.model_settings import ModelSettings
from north_lsp.storage.settings import load_settings


class Answers:
    """A provider that always answers; counts its requests."""

    requests = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.requests += 1
        yield Done("stop", AssistantMessage(()))

    async def aclose(self) -> None:
        """Nothing to close."""


async def test_no_request_is_made_beyond_a_limit(tmp_path: Path) -> None:
    locations = Locations(tmp_path, tmp_path, tmp_path)
    spent = 0.7
    async with anyio.create_task_group() as tasks:
        costs = CostKeeper(Costs(locations), tasks)
        spending = Spending(ModelSettings(session_limit_usd=1.0), locations, costs, lambda: spent)
        provider = Answers()
        guarded = spending.guard(provider)

        async def last() -> StreamEvent:
            return [event async for event in guarded.stream(ModelRequest("m", "", [], [], 1))][-1]

        assert isinstance(await last(), Done)
        assert await spending.warning() is None
        spent = 0.85
        assert await spending.warning() == "$0.85 of the $1.00 for this conversation are spent (cost.sessionLimitUsd)"
        assert await spending.warning() is None  # once
        (tmp_path / "config.json").write_text('{"cost.sessionLimitUsd": 1}')
        spent = 1.0
        failed = await last()
        assert isinstance(failed, Failed)
        assert failed.message.startswith("the limit of $1.00 for this conversation is reached ($1.00 were spent)")
        assert "raise cost.sessionLimitUsd" in failed.message
        assert not failed.retryable
        assert provider.requests == 1
        (tmp_path / "config.json").write_text('{"cost": {"sessionLimitUsd": 2.5}}')  # raised meanwhile
        assert isinstance(await last(), Done)
        await guarded.aclose()


async def test_the_limit_of_a_day_counts_all_conversations(tmp_path: Path) -> None:
    locations = Locations(tmp_path, tmp_path, tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"cost.dayLimitUsd": 3}))
    settings = load_settings(locations).models
    async with anyio.create_task_group() as tasks:
        spending = Spending(settings, locations, CostKeeper(Costs(locations), tasks), lambda: 0.0)
        assert await spending.reached() is None
        Costs(locations).add([Spent("m", 1, 1, 0, 0, 2.5)])
        assert await spending.warning() == "$2.50 of the $3.00 for today are spent (cost.dayLimitUsd)"
        Costs(locations).add([Spent("m", 1, 1, 0, 0, 0.5)])
        assert "for today is reached" in (await spending.reached() or "")


def test_without_limits_nothing_stands_between(tmp_path: Path) -> None:
    locations = Locations(tmp_path, tmp_path, tmp_path)
    provider = Answers()

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            costs = CostKeeper(Costs(locations), tasks)
            assert Spending(ModelSettings(), locations, costs, lambda: 9.0).guard(provider) is provider

    anyio.run(run)
