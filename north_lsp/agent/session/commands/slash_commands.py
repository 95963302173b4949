"""Slash commands in a live session: found in a prompt, run at once, and stored in the conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from north_lsp.agent.log.choices import SlashEntry
from north_lsp.agent.log.projection import slash_shown
from north_lsp.agent.log.prompt import TextPart
from north_lsp.agent.ports.events import AnswerDelta, CommandInfo, CommandsChanged
from north_lsp.display import sentence
from north_lsp.slash.base import Command, CommandError
from north_lsp.slash.parsing import Invocation, find_command

if TYPE_CHECKING:
    from north_lsp.agent.log.log import Log
    from north_lsp.agent.log.prompt import Part
    from north_lsp.agent.ports.editor import Editor
    from north_lsp.agent.servers.session_servers import SessionServers
    from north_lsp.agent.session.commands.python_commands import PythonCommands
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.agent.session.process.environment import Environment
    from north_lsp.agent.templates.conversation_templates import ConversationTemplates
    from north_lsp.agent.templates.template import Template
    from north_lsp.slash.base import Reply
    from north_lsp.slash.host import Host
    from north_lsp.slash.parsing import Found
    from north_lsp.slash.registry import Commands


class SlashCommands:
    """The slash commands of one session. What they run on is made for the first one."""

    def __init__(
        self,
        session: LiveSession,
        log: Log,
        editor: Editor,
        environment: Environment,
        templates: ConversationTemplates,
        commands: Commands,
    ) -> None:
        self._session = session
        self._log = log
        self._editor = editor
        self._environment = environment
        self._templates = templates
        self._commands = commands

    @cached_property
    def _host(self) -> Host:
        from north_lsp.agent.session.commands.slash_host import SessionHost

        return SessionHost(self._session, self._log, self._editor, self._environment)

    @cached_property
    def _python(self) -> PythonCommands:
        from north_lsp.agent.session.commands.python_commands import PythonCommands

        return PythonCommands(self._session, self._log, self._editor, self._environment.locations)

    @property
    def infos(self) -> tuple[CommandInfo, ...]:
        return tuple(CommandInfo(one.name, one.description, one.hint) for one in self._commands.all())

    async def offer_prompts(self, servers: SessionServers, waiting: Callable[[], AbstractContextManager[None]]) -> None:
        """Have the prompts of MCP servers be commands from now on. `waiting` is around what the user may give up."""
        from north_lsp.agent.session.commands.slash_servers import prompt_commands

        self._commands.prompts = {one.name: one for one in prompt_commands(servers, waiting)}
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


def _with_text(parts: tuple[Part, ...], words: TextPart, text: str) -> tuple[Part, ...]:
    return tuple(replace(words, text=text) if part is words else part for part in parts)


def _offered(template: Template) -> Command:
    """Make a template a command to be shown among the others; its calls are found when a prompt is delivered."""

    async def run(host: Host, words: Sequence[str]) -> Reply:
        raise CommandError(f"/{template.name} is not run like a command")

    origin = "" if template.provider == "builtin" else f" ({template.level})"
    return Command(template.name, f"{template.description}{origin}", run, template.hint)
