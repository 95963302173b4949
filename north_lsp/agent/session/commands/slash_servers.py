"""The slash command about MCP servers, as far as it needs a session."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from north_lsp.agent.ports.servers import OfferedPrompt, OfferedTool
from north_lsp.agent.servers.notices import Held
from north_lsp.agent.servers.server import Server
from north_lsp.agent.servers.session_servers import Row, SessionServers
from north_lsp.display import counted, fenced, one_line, visible
from north_lsp.errors import ToolError
from north_lsp.slash.base import Command, CommandError, Reply
from north_lsp.slash.host import Host

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession

_ORIGINS = {"client": "the editor", "user": "yours", "project": "this project"}
_STATES = {
    "connecting": "connecting",
    "ready": "ready",
    "failed": "failed",
    "lost": "lost, being connected again",
    "off": "off",
}
_HELD: dict[Held, str] = {
    "off": "switched off",
    "untrusted": "not started, since this workspace is not trusted: `/trust on`",
    "new": "not started, since it is new: `/mcp enable {name}`",
    "changed": "not started, since it has changed: `/mcp enable {name}`",
    "unusable": "cannot be used",
}
_SHOWN_TOOLS = 30
_LOG_LINES = 50


def prompt_commands(servers: SessionServers, waiting: Callable[[], AbstractContextManager[None]]) -> list[Command]:
    """Make a command of each prompt that a server has. `waiting` is around what the user may give up."""
    commands: dict[str, Command] = {}
    for server, prompt in servers.prompts():
        name = f"mcp:{_word(server.spec.name)}:{_word(prompt.name)}"
        hint = " ".join(f"<{one.name}>" if one.required else f"[{one.name}]" for one in prompt.arguments)
        about = prompt.description or f"A prompt of the MCP server {server.spec.name}"
        commands.setdefault(name, Command(name, about, partial(_call_prompt, server, prompt, waiting), hint))
    return list(commands.values())


async def _call_prompt(
    server: Server,
    prompt: OfferedPrompt,
    waiting: Callable[[], AbstractContextManager[None]],
    host: Host,
    words: Sequence[str],
) -> Reply:
    """Fetch a prompt: its words are given by name (`topic=…`) or in order, the last of which takes the rest."""
    left = [one.name for one in prompt.arguments]
    given: dict[str, str] = {}
    rest: list[str] = []
    for word in words:
        name, found, value = word.partition("=")
        if found and name in left:
            given[name] = value
            left.remove(name)
        else:
            rest.append(word)
    while rest and left:
        last = len(left) == 1
        given[left.pop(0)] = " ".join(rest) if last else rest[0]
        rest = [] if last else rest[1:]
    if missing := [one.name for one in prompt.arguments if one.required and one.name not in given]:
        raise CommandError(f"this prompt needs {', '.join(missing)}")
    if rest:
        raise CommandError(f"this prompt takes {', '.join(one.name for one in prompt.arguments) or 'no words'}")
    text: str | None = None
    try:
        with waiting():
            text = await server.prompt(prompt.name, given)
    except ToolError as error:
        raise CommandError(error.message) from None
    if text is None:
        raise CommandError("it was cancelled before the server had answered")
    if not text.strip():
        raise CommandError("the server's prompt is empty")
    return Reply("", text)


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-") or "prompt"


class ServersHost:
    """The part of a slash command's `Host` that is about MCP servers. Every method may raise CommandError."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session

    async def servers(self) -> str:
        await self._session.servers.settle()
        rows = self._session.servers.rows()
        problems = [f"- {one_line(problem, 300)}" for problem in self._session.servers.problems]
        if not rows:
            none = (
                "No MCP servers are set up. Define them in `mcp.json` in your configuration folder, or in `.mcp.json` "
            )
            none += "here."
            return "\n".join([none, *problems])
        return "\n".join([*map(_described, rows), *problems])

    async def switch_server(self, name: str, *, on: bool) -> str:
        servers = self._session.servers
        await servers.settle()
        with self._storing(name):
            await servers.switch(name, on=on)
        return f"The MCP server `{name}` is {'on' if on else 'off'} in this project."

    async def reconnect_servers(self, name: str | None) -> str:
        await self._session.servers.settle()
        try:
            found = await self._session.servers.reconnect(name)
        except KeyError as error:
            raise CommandError(self._unknown(str(error.args[0]))) from None
        if not found:
            return await self.servers()
        return "\n".join(_state_of(server) for server in found)

    async def add_server(self, name: str, entry: Mapping[str, object]) -> str:
        from north_lsp.agent.servers.own_servers import add_server

        await self._session.servers.settle()
        try:
            path, server = await add_server(self._session.servers, name, entry)
        except ValueError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"this could not be stored: {error.strerror or error}") from None
        told = f"The MCP server `{name}` is in `{visible(str(path))}` now."
        return f"{told}\n{_state_of(server)}{_tools_of(server)}" if server is not None else told

    async def add_server_by_form(self, name: str) -> str:
        from north_lsp.agent.servers.adding import ask_for_server

        with self._session.questions.waiting():
            try:
                found = await ask_for_server(self._session.questions.editor, name)
            except ValueError as error:
                raise CommandError(str(error)) from None
            return await self.add_server(*found) if found is not None else "No MCP server was added."
        return "No MCP server was added: it was cancelled."

    async def remove_server(self, name: str) -> str:
        from north_lsp.agent.servers.own_servers import remove_server

        await self._session.servers.settle()
        with self._storing(name):
            path = await remove_server(self._session.servers, name)
        return f"The MCP server `{name}` is not in `{visible(str(path))}` any more."

    @contextmanager
    def _storing(self, name: str) -> Iterator[None]:
        """Make what goes wrong as something about a server is stored the command's error."""
        try:
            yield
        except KeyError:
            raise CommandError(self._unknown(name)) from None
        except ValueError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"this could not be stored: {error.strerror or error}") from None

    @contextmanager
    def _refusing(self, name: str, what: str) -> Iterator[None]:
        """Make what goes wrong with a server the command's error, which begins with `what` unless it is unknown."""
        try:
            yield
        except KeyError:
            raise CommandError(self._unknown(name)) from None
        except (ValueError, OSError) as error:
            raise CommandError(f"{what}: {error}") from None

    async def sign_in_to_server(self, name: str) -> str:
        from north_lsp.agent.servers.signing_in import sign_in

        session = self._session
        await session.servers.settle()
        with session.questions.waiting():
            with self._refusing(name, "you are not signed in"):
                await sign_in(session.servers, name, session.questions.editor)
            return f"You are signed in to the MCP server `{name}`.\n{await self.reconnect_servers(name)}"
        return "You have not signed in: it was cancelled."

    async def sign_out_of_server(self, name: str) -> str:
        from north_lsp.agent.servers.signing_in import sign_out

        await self._session.servers.settle()
        with self._refusing(name, "this could not be done"):
            was_in = await sign_out(self._session.servers, name)
        if not was_in:
            return f"You are not signed in to the MCP server `{name}`."
        return f"North has no sign-in to the MCP server `{name}` any more.\n{await self.reconnect_servers(name)}"

    def server_log(self, name: str) -> str:
        for row in self._session.servers.rows():
            if row.spec.name == name:
                lines = list(row.server.log)[-_LOG_LINES:] if row.server is not None else []
                return fenced("\n".join(lines)) if lines else f"The MCP server `{name}` has logged nothing."
        raise CommandError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        names = ", ".join(row.spec.name for row in self._session.servers.rows() if not row.shadowed)
        return f"there is no MCP server {one_line(name)!r}: there is {names or 'none'}"


def _described(row: Row) -> str:
    spec = row.spec
    whose = _ORIGINS[spec.origin] + (f", {one_line(spec.source, 200)}" if spec.origin != "client" else "")
    if row.shadowed:
        return f"- `{spec.name}` ({whose}): not used, since another file defines a server with this name"
    if row.server is not None:
        return f"{_state_of(row.server)} ({whose}; `{one_line(spec.address, 200)}`){_tools_of(row.server)}"
    said = _HELD[row.held or "off"].format(name=spec.name)
    return f"- `{spec.name}` ({whose}): {said}{f': {spec.problem}' if row.held == 'unusable' else ''}"


def _state_of(server: Server) -> str:
    said = _STATES[server.state] + (f": {server.error}" if server.error and server.state != "ready" else "")
    skipped = f", {counted(server.skipped, 'message')} that could not be read" if server.skipped else ""
    title = f", {server.title}" if server.title and server.state == "ready" else ""
    return f"- `{server.spec.name}`: {said}{title}{skipped}"


def _tools_of(server: Server) -> str:
    if not server.tools:
        return "".join(f"\n  - {one_line(problem, 200)}" for problem in server.problems)
    rows = [f"{counted(len(server.tools), 'tool')}: {_names(server.tools)}"]
    if changed := [tool for tool in server.tools if server.has_changed(tool)]:
        way = f"`/mcp enable {server.spec.name}` accepts them as they are now"
        told = "need approval, since their descriptions have changed since they were first seen"
        rows.append(f"{told}: {_names(changed)} ({way})")
    rows += [one_line(problem, 200) for problem in server.problems]
    return "".join(f"\n  - {row}" for row in rows)


def _names(tools: Sequence[OfferedTool]) -> str:
    names = [f"`{one_line(tool.name)}`" for tool in tools]
    left = len(names) - _SHOWN_TOOLS
    return ", ".join(names[:_SHOWN_TOOLS]) + (f" and {left} more" if left > 0 else "")
