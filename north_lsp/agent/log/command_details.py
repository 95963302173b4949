"""What the log has of a command that a model ran, or of a call of an MCP server, beside its output: how it ended, and
whether it is evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from north_lsp.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from north_lsp.agent.log.fields import Json
    from north_lsp.shell.results import CommandResult

GOT_INPUT: Mapping[str, object] = {"gotInput": True}
"""The details of a call that wrote to a job: what was run before that is no evidence any more."""
_OF_AGENTS = ("exitCode", "jobId", "gotInput", "onlyLooks", "cancelled")


@dataclass(frozen=True, slots=True)
class CommandDetails:
    """How a command ended, as its result has it: it `ended` with an `exit_code`, None if the shell ended with it, or it
    was `begun` as a job. `unfit` says why it is not evidence; None for one that an older North ran."""

    ended: bool = False
    exit_code: int | None = None
    timed_out: bool = False
    begun: bool = False
    got_input: bool = False
    only_looks: bool = False
    unfit: str | None = None
    cancelled: bool = False

    @classmethod
    def of(cls, details: Json) -> CommandDetails:
        """Read the details that a tool has given to its result; those of other tools say nothing."""
        code, unfit = details.get("exitCode"), details.get("unfit")
        return cls(
            "exitCode" in details,
            code if isinstance(code, int) else None,
            details.get("timedOut") is True,
            "jobId" in details,
            details.get("gotInput") is True,
            details.get("onlyLooks") is True,
            None if unfit is None else str(unfit),
            details.get("cancelled") is True,
        )


def details_of_command(
    ran: CommandResult, number: int | None, *, truncated: bool, looks: bool, unfit: str, auto: bool
) -> dict[str, object]:
    """Make the details of a command that has ended; `number` is that of its whole output."""
    details: dict[str, object] = {
        "exitCode": ran.exit_code,
        "cancelled": False,
        "timedOut": ran.timed_out,
        "durationMs": ran.duration_ms,
        "cwd": str(ran.cwd),
        "truncated": truncated,
        "onlyLooks": looks,
        "unfit": unfit,
    }
    details |= {"autoApproved": True} if auto else {}
    return details if number is None else details | {"artifactId": str(number), "outputId": str(number)}


def details_of_job(id: str, pid: int, cwd: Path, number: int | None) -> dict[str, object]:
    """Make the details of a command that runs as a job from now on."""
    details: dict[str, object] = {"jobId": id, "pid": pid, "cwd": str(cwd)}
    return details if number is None else details | {"artifactId": str(number)}


def details_of_server(server: str, tool: str, *, looks: bool) -> dict[str, object]:
    """Make the details of a call of an MCP server's tool; `looks`: it says that it only reads, and is believed."""
    return {"serverName": server, "mcpToolName": tool, "provider": "mcp", "onlyLooks": looks}


def details_of_agents_call(details: Json) -> dict[str, object]:
    """Return what is kept of the details of an agent's call: what evidence is judged by, and how it ended."""
    return {name: details[name] for name in _OF_AGENTS if name in details}
