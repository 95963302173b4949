"""A tool of a server, as models are offered it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from north_lsp.agent.log.command_details import details_of_server
from north_lsp.agent.ports.servers import OfferedTool, Origin, ServerAnswer
from north_lsp.agent.servers.server import Server
from north_lsp.errors import ToolError
from north_lsp.tools.base import DescribedTool, Digest, Host, Output, Question, R
from north_lsp.tools.support.shortened import MAX_BYTES, shortened
from north_lsp.vocabulary import Mode
from north_lsp.workspace.workspace import Workspace

_MOST_BYTES = 1024 * 1024
_MAX_ERROR = 4000
_ORIGINS: Mapping[Origin, str] = {"client": "your editor", "user": "your own configuration", "project": "this project"}


def origin_in_words(origin: Origin, source: str) -> str:
    """Say who names a server, and where."""
    return _ORIGINS[origin] + (f" ({source})" if origin != "client" else "")


class ServerTool(DescribedTool):
    """One tool of one server, as it was described when the turn began."""

    kind = "other"
    needs = frozenset({"network"})
    discoverable = True

    def __init__(self, name: str, server: Server, offered: OfferedTool) -> None:
        spec = server.spec
        self.name = name
        self.server = spec.name
        self.description = offered.description or f"The tool {offered.name} of the MCP server {spec.name}."
        self.schema = offered.schema
        self.is_believed = offered.only_reads and not server.has_changed(offered)
        """The server says that it only reads, and has said so from the beginning."""
        self.modes: frozenset[Mode] = frozenset({"ask", "agent", "plan"} if self.is_believed else {"agent"})
        self._server = server
        self._offered = offered

    def title(self, args: dict[str, Any]) -> str:
        return f"{self._server.spec.name}: {self._offered.name}"

    @property
    def digest(self) -> str:
        """Return a fingerprint of the tool as it is described now, and of the server that describes it."""
        spec, offered = self._server.spec, self._offered
        # An editor may give a server another port, or another token, each time.
        of_server = [spec.name, spec.origin, spec.digest if spec.origin != "client" else ""]
        described = [*of_server, offered.name, offered.description, offered.schema, offered.only_reads]
        return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()

    @property
    def asks(self) -> bool:
        """Whether a call of it needs the user's word. A project's own file can spare nobody a question, and an editor's
        entry, which may come from a project, only as far as the server says that a tool only reads."""
        spec = self._server.spec
        if spec.origin == "project":
            return True
        is_named = spec.origin == "user" and self._offered.name in spec.auto_approve
        return not (self.is_believed or (is_named and not self._server.has_changed(self._offered)))

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        spec, offered = self._server.spec, self._offered
        whose = origin_in_words(spec.origin, spec.source)
        question = Question(self.name, spec.name, offered.name, dict(args), self.digest, whose, self.asks)
        refused = await host.permit(question)
        if refused is not None:
            return refused
        answer = await host.reach(lambda report: self._server.call(offered, args, report))
        return self._output(answer)

    def _output(self, answer: ServerAnswer) -> Output:
        spec = self._server.spec
        text = answer.text.encode("utf-8", "replace")[:_MOST_BYTES].decode("utf-8", "ignore")
        if answer.failed:
            raise ToolError("REMOTE_ERROR", f"Error: {text[:_MAX_ERROR] or 'the tool failed without saying why'}")
        details = details_of_server(spec.name, self._offered.name, looks=self.is_believed)
        title = self.title({})
        if len(text.encode("utf-8", "replace")) <= MAX_BYTES:
            return Output(title, text=text or "(no text)", details=details, pictures=answer.pictures)
        short, more, shown = shortened(text)
        digest = Digest({"content": short}, text, more, shown)
        return Output(title, {"content": text}, details=details, digest=digest, pictures=answer.pictures)
