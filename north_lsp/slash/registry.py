"""The commands by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from north_lsp.slash.base import Command, CommandError, Reply, UsageError
from north_lsp.slash.builtin import COMMANDS
from north_lsp.slash.groups import grouped

if TYPE_CHECKING:
    from north_lsp.slash.host import Host
    from north_lsp.slash.parsing import Invocation


class Commands(Collection[str]):
    """The commands by name. A second command of the same name is left out; `problems` names it. `templates` are what
    else can be called: they are listed, and not run from here. `prompts` are commands of MCP servers, which come and
    go. `secret_settings` are those that nobody is shown."""

    def __init__(self, commands: Iterable[Command] = (), secret_settings: frozenset[str] = frozenset()) -> None:
        self._secret_settings = secret_settings
        self.problems: list[str] = []
        self.templates: Sequence[Command] = ()
        self.prompts: Mapping[str, Command] = {}
        self._commands: dict[str, Command] = {}
        for command in (
            *COMMANDS,
            *commands,
            Command("help", "Show the slash commands", self._help, "[command]", is_harmless=True),
        ):
            if command.name in self._commands:
                self.problems.append(f"there is already a command /{command.name}")
            else:
                self._commands[command.name] = command

    def __contains__(self, name: object) -> bool:
        return name in self._commands or name in self.prompts

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)

    def all(self) -> Sequence[Command]:
        """Return what can be called, by name: the commands, and the templates."""
        return sorted(
            (*self._commands.values(), *self.prompts.values(), *self.templates), key=lambda command: command.name
        )

    def hides(self, invocation: Invocation) -> bool:
        """Tell whether what was typed with a command must be kept out of the conversation."""
        command = self._commands.get(invocation.name)
        if command is None:
            return False
        words = command.private_words | (self._secret_settings if command.names_settings else frozenset())
        return command.is_private or any(word in invocation.typed for word in words)

    def is_harmless(self, invocation: Invocation) -> bool:
        """Tell whether a command runs also where the conversation cannot be written."""
        command = self._commands.get(invocation.name)
        return command is not None and command.is_harmless

    async def run(self, invocation: Invocation, host: Host) -> Reply:
        """Run a command. Raises CommandError."""
        command = self._commands.get(invocation.name) or self.prompts[invocation.name]
        words = invocation.args
        if command.takes_text:
            text = invocation.typed.removeprefix(f"/{command.name}").strip()
            words = (text,) if text else ()
        elif invocation.problem:
            raise CommandError(f"/{invocation.name}: {invocation.problem}")
        try:
            return await command.run(host, words)
        except UsageError as error:
            raise CommandError(f"{usage(command)} {error}".strip()) from None

    def nearest(self, name: str) -> str | None:
        """Return the command whose name is like a word; None if none is."""
        near = get_close_matches(name, [command.name for command in self.all()], 1)
        return near[0] if near else None

    def unknown(self, name: str) -> str:
        """Return what to tell the user about a word that is not a command."""
        near = self.nearest(name)
        meant = f" Did you mean /{near}?" if near is not None else ""
        return f"There is no command /{name}.{meant} To send it as text, begin it with `\\/`."

    async def _help(self, host: Host, words: Sequence[str]) -> Reply:
        if len(words) > 1:
            raise UsageError
        name = words[0].lstrip("/") if words else ""
        chosen = [command for command in self.all() if not words or command.name == name]
        if not chosen:
            raise CommandError(self.unknown(name))
        if words:
            return Reply(_row(chosen[0]))
        parts = [f"**{group}**\n\n" + "\n".join(map(_row, members)) for group, members in grouped(chosen)]
        return Reply("\n\n".join(parts))


def usage(command: Command) -> str:
    """Return what can be typed, as a sentence."""
    if not command.hint:
        return f"Usage: `/{command.name}`, with nothing after it."
    return f"Usage: `/{command.name} {command.hint}`."


def _row(command: Command) -> str:
    return f"- `/{command.name}{' ' + command.hint if command.hint else ''}`: {command.description}"
