"""The commands that North comes with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.display import money, one_line
from north_lsp.slash.agents import AGENTS
from north_lsp.slash.approvals import APPROVALS
from north_lsp.slash.base import Command, Costs, Reply, Spent, UsageError
from north_lsp.slash.changes import CHANGES
from north_lsp.slash.compaction import COMPACTION
from north_lsp.slash.config import CONFIG
from north_lsp.slash.context import CONTEXT
from north_lsp.slash.conversations import CONVERSATIONS
from north_lsp.slash.exports import EXPORTS
from north_lsp.slash.keeping import KEEPING
from north_lsp.slash.learning import LEARNING
from north_lsp.slash.places import PLACES
from north_lsp.slash.planning import PLANNING
from north_lsp.slash.providers import PROVIDERS
from north_lsp.slash.servers import SERVERS
from north_lsp.slash.upkeep import UPKEEP
from north_lsp.slash.work import WORK

_DAYS = 7
_ALONE = "A prompt is one command, or text for the model: send the rest as a separate prompt."
_CONTINUE = "Continue exactly where you stopped."


class HostForConversation(Protocol):
    """What commands about modes, models, costs and the queue ask of a session. Every method may raise CommandError."""

    @property
    def mode(self) -> str: ...

    @property
    def modes(self) -> Sequence[tuple[str, str]]:
        """The ids of the modes, and what each means."""
        ...

    async def set_mode(self, id: str) -> None: ...

    @property
    def model(self) -> str: ...

    @property
    def models(self) -> Sequence[tuple[str, str]]:
        """The selectors and names of the models that can be used now."""
        ...

    async def set_model(self, selector: str) -> str:
        """Choose a model; return the name of the one chosen."""
        ...

    @property
    def thinking(self) -> tuple[str, Sequence[str]]:
        """The level, and those that the model has: none for one that does not think."""
        ...

    async def set_thinking(self, level: str) -> None:
        """Set one of the levels, or `on`."""
        ...

    async def costs(self) -> Costs: ...

    async def reset_costs(self) -> None:
        """Reset what all conversations have used and cost."""
        ...

    async def continue_last(self) -> str:
        """Have the editor open the last conversation of its window, else the project's newest, in place of a new one
        in which nothing was said."""
        ...

    def queued(self) -> Sequence[tuple[str, str]]:
        """Return the kind and text of all queued prompts."""
        ...

    @property
    def is_unfinished(self) -> bool:
        """Whether the model was stopped before it had done what it was asked for."""
        ...

    def cancel(self) -> bool:
        """Cancel what is running; return whether anything was."""
        ...

    async def choose(self, question: str, options: Sequence[tuple[str, str]], detail: str = "") -> str | None:
        """Ask the user to choose; return the option's id, None if nobody chose. `detail` is Markdown below the
        question."""
        ...


def _take_no_words(words: Sequence[str]) -> None:
    if words:
        raise UsageError(_ALONE)


async def _mode(host: HostForConversation, words: Sequence[str]) -> Reply:
    if not words:
        rows = [f"- `{id}`{' (now)' if id == host.mode else ''}: {meaning}" for id, meaning in host.modes]
        return Reply("\n".join(rows))
    if len(words) > 1:
        raise UsageError(_ALONE)
    await host.set_mode(words[0])
    return Reply(f"The mode is `{host.mode}`, from the next prompt on.")


async def _model(host: HostForConversation, words: Sequence[str]) -> Reply:
    if not words:
        rows = [f"- `{selector}`: {name}" for selector, name in host.models]
        return Reply("\n".join([f"The model is `{host.model}`. Choose another with `/model <name>`:", "", *rows]))
    return Reply(f"The model is {await host.set_model(' '.join(words))}, from the next request on.")


async def _thinking(host: HostForConversation, words: Sequence[str]) -> Reply:
    if len(words) > 1:
        raise UsageError
    if words:
        await host.set_thinking(words[0].lower())
    level, levels = host.thinking
    if not levels:
        kept = f" `{level}` will apply to models that have one." if level else ""
        return Reply(f"`{host.model}` has no thinking level.{kept}")
    if words:
        return Reply(f"Thinking is `{level}`, from the next request on.")
    return Reply(f"Thinking is `{level}`. Others: {', '.join(f'`{one}`' for one in levels if one != level)}.")


async def _cancel(host: HostForConversation, words: Sequence[str]) -> Reply:
    _take_no_words(words)
    return Reply("Cancelled." if host.cancel() else "Nothing is running.")


async def _queue(host: HostForConversation, words: Sequence[str]) -> Reply:
    _take_no_words(words)
    names = {"steer": "for this turn", "followUp": "for its end"}
    rows = [f"{index}. {one_line(text)} ({names[kind]})" for index, (kind, text) in enumerate(host.queued(), 1)]
    return Reply("\n".join(rows) or "The queue is empty.")


async def _continue(host: HostForConversation, words: Sequence[str]) -> Reply:
    _take_no_words(words)
    if host.is_unfinished:
        return Reply("", _CONTINUE)
    return Reply(await host.continue_last())


async def _costs(host: HostForConversation, words: Sequence[str]) -> Reply:
    if words:
        return await _reset_costs(host, words)
    costs = await host.costs()
    parts = ["**This conversation**", *_table(costs.session), "", "**All time**", *_table(costs.all_time)]
    if costs.days:
        parts += ["", "**Last days**", *(f"- {day}: {money(amount)}" for day, amount in costs.days[-_DAYS:])]
    if costs.missing:
        parts += ["", costs.missing]
    return Reply("\n".join(parts))


async def _reset_costs(host: HostForConversation, words: Sequence[str]) -> Reply:
    if list(words) != ["reset"]:
        raise UsageError
    question = "Reset what the models have used and cost in all conversations?"
    if await host.choose(question, (("reset", "Reset it"), ("keep", "Keep it"))) != "reset":
        return Reply("The costs are kept.")
    await host.reset_costs()
    return Reply("The costs of all conversations are counted from zero now.")


def _table(rows: Sequence[Spent]) -> list[str]:
    """Make rows by provider, then model, with the sum of a provider and the total."""
    if not rows:
        return ["- nothing yet"]
    groups: dict[str, list[Spent]] = {}
    for row in rows:
        provider, found, _ = row.model.partition("/")
        groups.setdefault(provider if found else "", []).append(row)
    lines: list[str] = []
    for provider, members in sorted(groups.items()):
        if provider and len(members) > 1:
            lines.append(f"- {provider}: {_amount(members)}")
        for row in sorted(members, key=lambda row: row.model):
            counts = f"{row.input:,} tokens in, {row.output:,} out"
            lines.append(f"{'  ' if provider and len(members) > 1 else ''}- `{row.model}`: {counts}, {_amount([row])}")
    unpriced = [f"`{row.model}`" for row in rows if not row.priced]
    total = f"- **Total: {_amount(rows)}**"
    return [*lines, total, *([f"- no price is known for {', '.join(unpriced)}"] if unpriced else [])]


def _amount(rows: Sequence[Spent]) -> str:
    unknown = "+?" if any(not row.priced for row in rows) else ""
    return money(sum(row.cost_usd for row in rows)) + unknown


COMMANDS = (
    Command("cancel", "Stop what is running", _cancel),
    Command("continue", "Continue an answer that broke off or, in a new conversation, the last one", _continue),
    Command("costs", "Show or reset what the models have used and cost", _costs, "[reset]"),
    Command("mode", "Show or change the mode", _mode, "[ask|plan|agent]"),
    Command("model", "Show or change the model", _model, "[name]"),
    Command("queue", "Show the queued prompts", _queue),
    Command("thinking", "Show or change how much the model thinks", _thinking, "[on|off|level]"),
    *AGENTS,
    *APPROVALS,
    *CHANGES,
    *COMPACTION,
    *CONFIG,
    *CONTEXT,
    *CONVERSATIONS,
    *EXPORTS,
    *LEARNING,
    *PLACES,
    *KEEPING,
    *PLANNING,
    *WORK,
    *PROVIDERS,
    *SERVERS,
    *UPKEEP,
)
