"""The commands for agents and their tasks."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, Host, Reply, UsageError


async def _agents(host: Host, words: Sequence[str]) -> Reply:
    first, _, rest = (words[0] if words else "").partition(" ")
    if not words:
        return Reply(await host.agents())
    if first == "new" and rest.strip():
        return Reply("", host.draft_of_agent(rest.strip()))
    raise UsageError


async def _tasks(host: Host, words: Sequence[str]) -> Reply:
    match list(words):
        case []:
            return Reply(await host.tasks())
        case ["cancel", id]:
            return Reply(host.cancel_task(id))
        case ["show", id]:
            return Reply(await host.task(id))
        case _:
            raise UsageError


AGENTS = (
    Command(
        "agents", "Show the agents that a model can use, or have one written", _agents, "[new <what it does>]",
        takes_text=True,
    ),
    Command("tasks", "Show what agents work on, the conversation of one, or cancel one", _tasks, "[show|cancel <id>]"),
)  # fmt: skip
