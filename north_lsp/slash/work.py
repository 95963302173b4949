"""The commands for the goal of a conversation, for workflows, and for the skill that is active."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, Reply, UsageError

_NONE = "There is no goal. `/goal set` takes one: a heading, and a line for each criterion."


class HostForWork(Protocol):
    """What commands about goals, workflows and skills ask of a session. Every method may raise CommandError."""

    def goal(self) -> str:
        """Return the goal in Markdown; empty if there is none."""
        ...

    async def set_goal(self, text: str) -> str:
        """Replace the goal by one in Markdown; an empty text drops it. Say which of its commands change files; empty
        if none does."""
        ...

    async def confirm_criterion(self, id: str) -> None:
        """Take the user's word that a criterion of the goal is met."""
        ...

    def continued_work(self) -> str:
        """Return the prompt that has the model continue the workflow, or else with the goal."""
        ...

    async def work(self) -> str:
        """Say where the workflow is, and list those of the project, in Markdown."""
        ...

    async def begin_work(self, name: str, words: str) -> str:
        """Begin a workflow; return the prompt that tells the model."""
        ...

    async def resume_work(self, slug: str) -> str:
        """Take a workflow of the project up in this conversation; return where it is."""
        ...

    async def stop_work(self) -> None: ...

    def active_skill(self) -> str:
        """Return the skill that is active with its phase, in Markdown; empty for none."""
        ...

    async def stop_skill(self) -> None:
        """Have no skill be active any more."""
        ...

    async def archive_work(self, slug: str) -> None: ...


async def _goal(host: HostForWork, words: Sequence[str]) -> Reply:
    text, changes = words[0] if words else "", ""
    if text == "drop":
        await host.set_goal("")
        return Reply("The goal is dropped.")
    match text.split(None, 1):
        case ["set", *_]:
            changes = await host.set_goal(text.removeprefix("set").strip())
        case ["confirm", id]:
            await host.confirm_criterion(id)
        case [_, *_]:
            raise UsageError("A goal is in Markdown.")
    told = f"\n\nThese commands may change files, but running them does not make evidence stale: {changes}."
    warning = told if changes else ""
    return Reply((host.goal() or _NONE) + warning)


async def _work(host: HostForWork, words: Sequence[str]) -> Reply:
    match (words[0] if words else "").split(None, 2):
        case [] | ["list"]:
            return Reply(await host.work())
        case ["start", name, rest]:
            return Reply("", prompt=await host.begin_work(name, rest))
        case ["start", name]:
            return Reply("", prompt=await host.begin_work(name, ""))
        case ["resume", slug]:
            where = await host.resume_work(slug)
            return Reply(where, prompt="Continue the workflow where it is: look at it with the tool `workflow` first.")
        case ["continue"]:
            return Reply("", prompt=host.continued_work())
        case ["stop"]:
            await host.stop_work()
            return Reply("The workflow has ended; its documents stay.")
        case ["archive", slug]:
            await host.archive_work(slug)
            return Reply(f"`{slug}` is archived: it is not listed any more.")
        case _:
            raise UsageError


async def _skill(host: HostForWork, words: Sequence[str]) -> Reply:
    match list(words):
        case []:
            return Reply(
                f"The skill {host.active_skill()} is active." if host.active_skill() else "No skill is active."
            )
        case ["stop"]:
            await host.stop_skill()
            return Reply("No skill is active any more. What the model was told of it stays in the conversation.")
        case _:
            raise UsageError("`/skill:<name>` calls a skill, `/skills` lists them.")


WORK = (
    Command("skill", "Show the skill that is active and its phase, or end it", _skill, "[stop]"),
    Command(
        "goal",
        "Show or change the goal of this conversation",
        _goal,
        "[set <goal>|confirm <criterion>|drop]",
        takes_text=True,
    ),
    Command(
        "work",
        "Start, resume or end a workflow: clarify, plan, execute-and-verify, parallelize",
        _work,
        "[start <workflow> <what> [--auto] [--research]|resume <slug>|continue|stop|archive <slug>]",
        takes_text=True,
    ),
)
