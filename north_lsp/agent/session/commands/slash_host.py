"""A live session, as slash commands see it. Loaded with the first command that is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.approvals.listing import described, what_it_allows
from north_lsp.agent.approvals.out_of_git import git_would_take, keep_out
from north_lsp.agent.costs.totals import spent_by_model
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.modes import MODES, find_mode
from north_lsp.agent.log.transcript import broke_off
from north_lsp.agent.planning.plan_place import plan_file, read_plan
from north_lsp.agent.planning.todo import user_change
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import TodoWanted
from north_lsp.agent.session.commands.slash_agents import AgentsHost
from north_lsp.agent.session.commands.slash_changes import ChangesHost
from north_lsp.agent.session.commands.slash_compaction import CompactionHost
from north_lsp.agent.session.commands.slash_config import ConfigHost
from north_lsp.agent.session.commands.slash_context import ContextHost
from north_lsp.agent.session.commands.slash_conversations import ConversationsHost
from north_lsp.agent.session.commands.slash_exports import ExportsHost
from north_lsp.agent.session.commands.slash_keeping import KeepingHost
from north_lsp.agent.session.commands.slash_learning import LearningHost
from north_lsp.agent.session.commands.slash_places import PlacesHost
from north_lsp.agent.session.commands.slash_providers import ProvidersHost
from north_lsp.agent.session.commands.slash_servers import ServersHost
from north_lsp.agent.session.commands.slash_upkeep import UpkeepHost
from north_lsp.agent.session.commands.slash_work import WorkHost
from north_lsp.display import counted, one_line, visible
from north_lsp.errors import ToolError
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.thinking import LEVELS, as_level
from north_lsp.slash.base import CommandError, Costs, Spent
from north_lsp.storage.approvals import Permission, Switch
from north_lsp.storage.trust import described as trust_in_words
from north_lsp.tools.todo_list import TodoError

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.agent.session.process.environment import Environment


class SessionHost(
    ChangesHost,
    CompactionHost,
    ConfigHost,
    ContextHost,
    ConversationsHost,
    ExportsHost,
    KeepingHost,
    AgentsHost,
    LearningHost,
    PlacesHost,
    ProvidersHost,
    ServersHost,
    UpkeepHost,
    WorkHost,
):
    """A session, as slash commands see it."""

    def __init__(self, session: LiveSession, log: Log, editor: Editor, environment: Environment) -> None:
        ChangesHost.__init__(self, session)
        CompactionHost.__init__(self, session)
        ConfigHost.__init__(self, environment, editor)
        ConversationsHost.__init__(self, session, editor, environment)
        AgentsHost.__init__(self, session)
        LearningHost.__init__(self, session)
        PlacesHost.__init__(self, session)
        KeepingHost.__init__(self, session, environment)
        UpkeepHost.__init__(self, session, environment)
        ContextHost.__init__(self, session, environment)
        ProvidersHost.__init__(self, session, environment)
        ServersHost.__init__(self, session)
        WorkHost.__init__(self, session, log)
        self._log = log
        self._todo_shown_in = editor
        self._listed: list[Permission] | None = None

    @property
    def mode(self) -> str:
        return self._session.mode

    @property
    def modes(self) -> Sequence[tuple[str, str]]:
        return [(mode.id, mode.description) for mode in MODES]

    async def set_mode(self, id: str) -> None:
        try:
            mode = find_mode(id)
        except ValueError as error:
            raise CommandError(str(error)) from None
        await self._session.set_mode(mode)

    @property
    def model(self) -> str:
        return self._session.choice.model.selector

    @property
    def models(self) -> Sequence[tuple[str, str]]:
        return [(model.selector, model.title) for model in self._session.choice.offered]

    async def set_model(self, selector: str) -> str:
        try:
            model = await self._session.choice.find(selector)
        except (UnknownModel, ValueError) as error:
            raise CommandError(str(error)) from None
        await self._session.choice.choose(model)
        return model.title

    @property
    def thinking(self) -> tuple[str, Sequence[str]]:
        model = self._session.choice.model
        if model.thinking is None:
            return model.level or "", ()
        return model.thinking.clamp(model.level or model.thinking.default), model.thinking.levels

    async def set_thinking(self, level: str) -> None:
        known = as_level(level)
        if level == "on":
            thinking = self._session.choice.model.thinking
            known = self._session.choice.last_thinking() or (thinking.default if thinking is not None else "medium")
        if known is None:
            raise CommandError(f"there is no thinking level {one_line(level)!r}: use on, {', '.join(LEVELS)}")
        await self._session.choice.set_thinking_level(known)

    async def costs(self) -> Costs:
        totals = await self._environment.costs.totals()
        rows: list[Spent] = []
        for name, row in totals["byModel"].items():
            models = self._environment.models.catalog.models  # older versions wrote the id alone
            known = next((model for model in models if name in (model.selector, model.id)), None)
            priced = known is None or known.prices.known
            selector = known.selector if known is not None else name
            counts = [int(row.get(key) or 0) for key in ("inputTokens", "cacheReadTokens", "cacheWriteTokens")]
            output = int(row.get("outputTokens") or 0)
            rows.append(Spent(selector, sum(counts), output, float(row.get("costUsd") or 0.0), priced))
        missing = ""
        if (problem := self._environment.costs.not_stored()) is not None:
            count, why = problem
            missing = (
                f"The costs of {counted(count, 'request')} could not be stored ({why}): they are not in these sums, "
                "and are tried again with the next request."
            )
        return Costs(spent_by_model(self._log.entries()), rows, sorted(totals["byDay"].items()), missing)

    async def reset_costs(self) -> None:
        try:
            await self._environment.costs.reset()
        except OSError as error:
            raise CommandError(f"the costs could not be reset: {error.strerror or error}") from None

    def queued(self) -> Sequence[tuple[str, str]]:
        return [(word.kind, word.text) for word in self._session.queue.waiting]

    @property
    def is_unfinished(self) -> bool:
        return broke_off(self._log.path())

    def cancel(self) -> bool:
        running = self._session.is_running
        self._session.cancel()
        return running

    async def permissions(self) -> str:
        self._listed = await self._session.approvals.listed()
        more = "\n\n`/permissions revoke <n>` revokes one." if self._listed else ""
        trusted = self._session.approvals.trusted
        none = f"{trust_in_words(trusted)} None of these apply.\n\n" if trusted and not trusted[0] else ""
        return none + described(self._listed) + more

    async def revoke(self, number: int) -> str:
        listed = self._listed if self._listed is not None else await self._session.approvals.listed()
        if not 1 <= number <= len(listed):
            raise CommandError(f"there is no permission {number}: `/permissions` lists them")
        chosen = listed[number - 1]
        if not await self._session.approvals.revoke(chosen.id):
            raise CommandError(f"{what_it_allows(chosen)} was already revoked")
        return f"Revoked: {what_it_allows(chosen)}."

    @property
    def auto(self) -> Mapping[str, bool]:
        approvals = self._session.approvals
        return {"edits": approvals.edits_auto_accepted, "shell": approvals.commands_auto_approved}

    async def set_auto(self, kind: str, *, on: bool) -> None:
        approvals = self._session.approvals
        change = approvals.set_edits_auto_accepted if kind == "edits" else approvals.set_commands_auto_approved
        await change(on)

    async def accept_for_conversation(self, kind: str) -> None:
        await self._session.approvals.accept_for_conversation(_switch(kind))

    def only_for_conversation(self, kind: str) -> bool:
        return self._session.approvals.only_for_conversation(_switch(kind))

    async def git_would_take_switches(self) -> bool:
        return await anyio.to_thread.run_sync(git_would_take, self._session.roots[0])

    async def keep_switches_out_of_git(self) -> str:
        try:
            path = await anyio.to_thread.run_sync(keep_out, self._session.roots[0])
        except OSError as error:
            raise CommandError(f"nothing was added: {error.strerror or error}") from None
        return f"Git ignores your own files in `.north` now, by `{visible(str(path))}`; so none of them is committed."

    def trust(self) -> str:
        return trust_in_words(self._session.approvals.trusted)

    async def set_trust(self, *, on: bool) -> None:
        await self._session.approvals.set_trusted(on, "user")

    def plan(self) -> str:
        text = read_plan(self._log)
        if not text:
            return "There is no plan. `/plan on` has the model work one out."
        return f"The plan is in `{visible(str(plan_file(self._log)))}`:\n\n{visible(text)}"

    def todo(self) -> str:
        return visible(self._session.todo.document)

    async def open_todo(self) -> None:
        await self._todo_shown_in.show(TodoWanted())

    async def set_todo(self, text: str) -> None:
        try:
            await self._session.todo.replace(text)
        except TodoError as error:
            raise CommandError(f"{visible(str(error))}. The list is unchanged.") from None

    async def change_todo(self, op: str, text: str) -> None:
        try:
            await self._session.todo.edit([user_change(op, text, self._session.todo.now)])
        except TodoError as error:
            raise CommandError(f"{visible(str(error))}. The list is unchanged.") from None

    def jobs(self) -> str:
        rows = [f"- {job.id}: `{one_line(job.command, 200)}` {job.state()}" for job in self._session.jobs.all()]
        return "\n".join(rows) or "Nothing was started in the background."

    async def end_job(self, id: str) -> str:
        try:
            job = self._session.jobs.find(id)
        except ToolError as error:
            raise CommandError(f"{error}; {error.hint}") from None
        await self._session.jobs.kill(job)
        return f"Job {job.id} {job.state()}."

    async def choose(self, question: str, options: Sequence[tuple[str, str]], detail: str = "") -> str | None:
        return await self._session.questions.choose(question, options, detail)


def _switch(kind: str) -> Switch:
    return "editsAutoAccept" if kind == "edits" else "shellAutoApprove"
