"""Slash commands in a live session: found in a prompt, run at once, and stored in the conversation."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.approvals.listing import described, what_it_allows
from north_lsp.agent.approvals.out_of_git import git_would_take, keep_out
from north_lsp.agent.costs.totals import spent_by_model
from north_lsp.agent.log.choices import SlashEntry
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.modes import MODES, find_mode
from north_lsp.agent.log.projection import slash_shown
from north_lsp.agent.log.prompt import Part, TextPart
from north_lsp.agent.log.transcript import broke_off
from north_lsp.agent.planning.plan_place import plan_file, read_plan
from north_lsp.agent.planning.todo import user_change
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import AnswerDelta, CommandInfo, CommandsChanged, TodoWanted
from north_lsp.agent.servers.session_servers import SessionServers
from north_lsp.agent.session.python_commands import PythonCommands
from north_lsp.agent.session.slash_agents import AgentsHost
from north_lsp.agent.session.slash_changes import ChangesHost
from north_lsp.agent.session.slash_compaction import CompactionHost
from north_lsp.agent.session.slash_config import ConfigHost
from north_lsp.agent.session.slash_context import ContextHost
from north_lsp.agent.session.slash_conversations import ConversationsHost
from north_lsp.agent.session.slash_exports import ExportsHost
from north_lsp.agent.session.slash_keeping import KeepingHost
from north_lsp.agent.session.slash_learning import LearningHost
from north_lsp.agent.session.slash_places import PlacesHost
from north_lsp.agent.session.slash_providers import ProvidersHost
from north_lsp.agent.session.slash_servers import ServersHost, prompt_commands
from north_lsp.agent.session.slash_upkeep import UpkeepHost
from north_lsp.agent.session.slash_work import WorkHost
from north_lsp.agent.templates.conversation_templates import ConversationTemplates
from north_lsp.agent.templates.template import Template
from north_lsp.display import one_line, sentence, visible
from north_lsp.errors import ToolError
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.thinking import LEVELS, as_level
from north_lsp.slash.base import Command, CommandError, Costs, Host, Reply, Spent
from north_lsp.slash.parsing import Found, Invocation, find_command
from north_lsp.slash.registry import Commands
from north_lsp.storage.approvals import Permission, Switch
from north_lsp.storage.trust import described as trust_in_words
from north_lsp.tools.todo_list import TodoError

if TYPE_CHECKING:
    from north_lsp.agent.session.environment import Environment
    from north_lsp.agent.session.live import LiveSession


class SlashCommands:
    """The slash commands of one session."""

    def __init__(
        self,
        log: Log,
        editor: Editor,
        host: Host,
        templates: ConversationTemplates,
        commands: Commands,
        python: PythonCommands,
    ) -> None:
        self._log = log
        self._editor = editor
        self._host = host
        self._templates = templates
        self._commands = commands
        self._python = python

    @property
    def infos(self) -> tuple[CommandInfo, ...]:
        return tuple(CommandInfo(one.name, one.description, one.hint) for one in self._commands.all())

    async def offer_prompts(self, servers: SessionServers) -> None:
        """Have the prompts of MCP servers be commands from now on."""
        self._commands.prompts = {one.name: one for one in prompt_commands(servers)}
        await self.refresh()
        await self._editor.show(CommandsChanged(self.infos))

    async def refresh(self) -> bool:
        """Read the templates again; return whether there are others."""
        changed = await self._templates.load()
        if changed:
            self._commands.templates = [_offered(one) for one in self._templates.offered]
        return changed

    def shown(self, parts: tuple[Part, ...]) -> str:
        """Return the typed text of a prompt as it may be stored: empty for one that may have a key in it."""
        text = "\n\n".join(part.text for part in parts if isinstance(part, TextPart)).strip()
        command = find_command(text, self._commands).command
        return "" if command is not None and self._commands.hides(command) else text

    async def take(self, parts: tuple[Part, ...]) -> tuple[Part, ...] | None:
        """Run the command in a prompt, if there is one; returns what is left for the model, None if nothing is.
        Attachments of a command are sent along with the prompt that the command makes."""
        words = [part for part in parts if isinstance(part, TextPart)]
        if not words or "/" not in words[0].text:
            return parts
        found = find_command(words[0].text, self._commands)
        if found.command is None and await self._calls_template(found):
            return parts
        if (own := self._templates.find_python(found.unknown)) is not None:
            return await self._run_python(own, parts, words[0].text)
        if found.unknown:
            return await self._take_unknown(parts, words[0], found.unknown)
        if found.command is None:
            return _with_text(parts, words[0], found.text)
        typed = " ".join(part.text.strip() for part in words)
        command = find_command(typed, self._commands).command or found.command
        try:
            reply = await self._commands.run(command, self._host)
        except CommandError as error:
            await self._keep(command.typed, command, sentence(str(error)), ok=False)
            return None
        if reply.text or not reply.prompt:
            await self._keep(command.typed, command, reply.text, ok=True)
        if reply.then is not None:
            await reply.then()
        attached = tuple(part for part in parts if not isinstance(part, TextPart))
        return (*attached, TextPart(reply.prompt, is_made=True)) if reply.prompt else None

    async def _run_python(self, own: Template, parts: tuple[Part, ...], typed: str) -> tuple[Part, ...] | None:
        """Run a command in Python; returns the prompt that takes its place, None if it makes none."""
        words = typed.strip().removeprefix(f"/{own.name}").strip()
        invocation = Invocation(own.name, (words,) if words else (), typed.strip())
        try:
            text = await self._python.run(own, words)
        except CommandError as error:
            await self._keep(typed.strip(), invocation, sentence(str(error)), ok=False)
            return None
        if not text.strip():
            await self._keep(typed.strip(), invocation, "", ok=True)
            return None
        attached = tuple(part for part in parts if not isinstance(part, TextPart))
        return (*attached, TextPart(text, is_made=True))

    async def _take_unknown(self, parts: tuple[Part, ...], words: TextPart, name: str) -> tuple[Part, ...] | None:
        """Ask what is meant by a word that looks like a command; it is not sent without an answer."""
        near = self._commands.nearest(name)
        options = [("near", f"Use /{near}")] if near is not None else []
        options += [("text", "Send it to the model as text"), ("none", "Do not send it")]
        match await self._host.choose(f"There is no command /{name}. What did you mean?", options):
            case "near":
                return await self.take(_with_text(parts, words, words.text.replace(f"/{name}", f"/{near}", 1)))
            case "text":
                return parts
            case _:
                told = self._commands.unknown(name)
                await self._keep(f"/{name}", Invocation(name, (), ""), told, ok=False)
                return None

    async def _calls_template(self, found: Found) -> bool:
        """Tell whether a prompt calls a template, or has one's name behind a backslash: the words become part of the
        conversation as they were typed."""
        if not found.unknown and not found.is_escaped:
            return False
        if await self.refresh():
            await self._editor.show(CommandsChanged(self.infos))
        return self._templates.called(found.text) is not None

    async def take_harmless(self, parts: tuple[Part, ...]) -> bool:
        """Run the command in a prompt if it is one that may run where the conversation cannot be written. What it says
        is shown, and not stored."""
        words = [part for part in parts if isinstance(part, TextPart)]
        found = find_command(words[0].text, self._commands).command if words else None
        if found is None or not self._commands.is_harmless(found):
            return False
        then: Callable[[], Awaitable[None]] | None = None
        try:
            reply = await self._commands.run(found, self._host)
            text, then = reply.text, reply.then
        except CommandError as error:
            text = sentence(str(error))
        await self._editor.show(AnswerDelta(self._log.reserve_id(), f"{text}\n\n"))
        if then is not None:
            await then()
        return True

    async def _keep(self, typed: str, invocation: Invocation, output: str, *, ok: bool) -> None:
        args = list(invocation.args)
        if self._commands.hides(invocation):
            bare, args = f"/{invocation.name}", []
            typed = bare if typed == bare else f"{bare} …"
        for event in slash_shown(self._log.append(SlashEntry(typed, invocation.name, tuple(args), output, ok))):
            await self._editor.show(event)


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

    def __init__(self, session: "LiveSession", log: Log, editor: Editor, environment: "Environment") -> None:
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
        return Costs(spent_by_model(self._log.entries()), rows, sorted(totals["byDay"].items()))

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
        return f"Git ignores your own files in `.north` now, by `{visible(str(path))}`; nothing is committed of that."

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
            raise CommandError(f"{visible(str(error))}. The list is as it was.") from None

    async def change_todo(self, op: str, text: str) -> None:
        try:
            await self._session.todo.edit([user_change(op, text, self._session.todo.now)])
        except TodoError as error:
            raise CommandError(f"{visible(str(error))}. The list is as it was.") from None

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


def _with_text(parts: tuple[Part, ...], words: TextPart, text: str) -> tuple[Part, ...]:
    return tuple(replace(words, text=text) if part is words else part for part in parts)


def _offered(template: Template) -> Command:
    """Make a template a command to be shown among the others; its calls are found when a prompt is delivered."""

    async def run(host: Host, words: Sequence[str]) -> Reply:
        raise CommandError(f"/{template.name} is not run like a command")

    origin = "" if template.provider == "builtin" else f" ({template.level})"
    return Command(template.name, f"{template.description}{origin}", run, template.hint)


def _switch(kind: str) -> Switch:
    return "editsAutoAccept" if kind == "edits" else "shellAutoApprove"
