"""What an agent uses counts for its conversation, with its name as the purpose."""

from __future__ import annotations

from north_lsp.agent.costs.account import Account
from north_lsp.agent.log.log import Log
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.subagents.agent_editor import AgentEditor
from north_lsp.agent.subagents.progress import Progress
from north_lsp.providers.base import Usage
from north_lsp.providers.model import Model


class AgentAccount(Account):
    """Records what one agent spends. `account` and `log` are those of the conversation, whose model is `asker`."""

    def __init__(self, account: Account, log: Log, asker: Model, progress: Progress, editor: AgentEditor) -> None:
        self._account = account
        self._conversation_log = log
        self._asker = asker
        self._progress = progress
        self._agents_editor = editor

    async def check(self, model: Model, editor: Editor | None = None) -> None:
        with self._agents_editor.time.stopped():  # it may ask the user
            await self._account.check(self._asker, editor or self._agents_editor)

    def record(self, model: Model, usage: Usage) -> None:
        cost = model.prices.split(usage)
        self._account.record(model, usage)
        self._conversation_log.record_usage(f"task:{self._progress.agent}", model.selector, usage, cost)
        self._progress.tokens += usage.input + usage.output + usage.cache_read + usage.cache_write
        self._progress.cost_usd += cost.total

    async def report(self, model: Model) -> None:
        await self._account.report(self._asker)

    async def report_rest(self, model: Model) -> None:
        await self._account.report_rest(self._asker)
