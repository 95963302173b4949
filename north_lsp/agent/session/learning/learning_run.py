"""One run over the topics of a project: which model is asked, with which tools, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.costs.limits import LimitReached
from north_lsp.agent.models.aside import AsideRequests
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.session.learning.learning_mask import learning_mask
from north_lsp.agent.session.learning.learning_progress import LearningProgress
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.errors import ToolError
from north_lsp.providers.base import Usage
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model

if TYPE_CHECKING:
    from north_lsp.agent.learning.explorer import Explorer
    from north_lsp.agent.learning.topics import Topic

_ROLES = ("fast", "default")


class LearningRun:
    """`learned` has the text of each topic so far, or why there is none; `cost_usd` is what they cost."""

    def __init__(self, choice: ModelChoice, means: TurnMeans, progress: LearningProgress) -> None:
        self.learned: dict[str, str] = {}
        self.cost_usd = 0.0
        self._choice = choice
        self._means = means
        self._progress = progress

    @property
    def has_learned(self) -> bool:
        """Whether anything was learned."""
        from north_lsp.agent.learning.topics import is_learned

        return any(map(is_learned, self.learned.values()))

    async def learn(self, context: TurnContext, wanted: Sequence[Topic], folder: str) -> str | None:
        """Learn topics. Returns why it ended before the last one; None if it did not."""
        try:
            await self._progress.begin()
            why = await self._learn(context, wanted, folder)
            await (await self._means.parts()).account.report_rest(self._choice.model)
            return why
        except (ValueError, MissingCredential, LimitReached, ToolError) as error:
            return str(error)

    async def _learn(self, context: TurnContext, wanted: Sequence[Topic], folder: str) -> str | None:
        from north_lsp.agent.learning.explorer import CannotLearn, NotLearned
        from north_lsp.agent.learning.topics import not_learned

        explorer = await self._explorer(context)
        for topic in wanted:
            await self._progress.at(topic.title)
            try:
                with self._means.ports.diagnostics.measured("learning_topic", topic=topic.title) as outcome:
                    text = await explorer.learn(topic, folder, partial(self._progress.at, topic.title))
                    outcome.ok = True
                self._progress.done(topic.title)
            except CannotLearn as error:
                return str(error)
            except NotLearned as error:
                text = not_learned(str(error))
                self._progress.done(topic.title, str(error))
            self.learned[topic.title] = text
        return None

    async def _explorer(self, context: TurnContext) -> Explorer:
        """Make what explores. Raises ValueError, MissingCredential, ToolError."""
        from north_lsp.agent.learning.explorer import Explorer, Look
        from north_lsp.agent.learning.models import learning_model

        environment = self._means.environment
        model = learning_model(self._choice, environment.environ, _ROLES)
        provider = await environment.models.providers.get(model)
        mask = await anyio.to_thread.run_sync(learning_mask, self._means.stored, environment)
        account = (await self._means.parts()).account

        def count(asked: Model, usage: Usage) -> None:
            account.record(asked, usage)
            self.cost_usd += asked.prices.cost(usage)

        requests = AsideRequests(self._means.stored.log, "learn", count)
        look = Look(context.tools, context.workspace, mask)
        return Explorer(requests, account, model, provider, look, mask, context.settings.retry_base_delay_ms / 1000)
