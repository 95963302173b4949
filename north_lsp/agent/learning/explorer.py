"""Has a model explore a project for one topic of its profile: with tools that read, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from north_lsp.agent.costs.account import Account
from north_lsp.agent.learning.topics import Topic
from north_lsp.agent.models.aside import AsideRequests, until_done
from north_lsp.agent.ports.results import ok
from north_lsp.agent.prompts import render
from north_lsp.errors import ToolError
from north_lsp.providers.base import (
    AssistantMessage,
    Done,
    Failed,
    Message,
    ModelRequest,
    Provider,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from north_lsp.providers.model import Model
from north_lsp.tools.registry import Registry
from north_lsp.workspace.seen import Seen
from north_lsp.workspace.workspace import Addresses, Workspace

ROUNDS = 5
LINES = 40
_TOOLS = (
    "detect_languages",
    "find_code_block",
    "find_files",
    "get_file_outline",
    "get_line_count",
    "hotfiles",
    "list_root",
    "read_around",
    "read_file",
    "read_readme",
    "search_text",
)
_MOST_CALLS = 8
_LONGEST_RESULT = 12_000
_MOST_TOKENS = 4_000
_LAST = "\n\n[That was the last round: write the text now.]"
_FOR_ALL = ("auth", "quota_exhausted")

Looking = Callable[[str], Awaitable[None]]
"""Is told what is looked at."""


class NotLearned(ValueError):
    """One topic could not be learned; the text says why."""


class CannotLearn(NotLearned):
    """Raised when no topic can be learned: the next one would fail in the same way."""


class Look:
    """What a model can look at in one project: other conversations, earlier outputs and addresses are out of reach,
    and what it sees counts as not seen by the conversation's model."""

    def __init__(self, registry: Registry, workspace: Workspace, mask: Callable[[str], str]) -> None:
        self._registry = registry
        self._workspace = replace(workspace, seen=Seen(), addresses=Addresses())
        self._mask = mask

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(one for one in self._registry.specs("ask") if one.name in _TOOLS)

    async def run(self, call: ToolCall, looking: Looking) -> ToolResult:
        """Run a call; what goes wrong is told to the model."""
        try:
            if call.problem is not None:
                raise ToolError("INVALID_INPUT", call.problem)
            if call.name not in _TOOLS:
                raise ToolError("NOT_FOUND", f"there is no tool called {call.name[:64]!r} here")
            tool, args = self._registry.check(call.name, call.arguments, "ask")
            if (reader := tool.reader) is None:
                raise ToolError("DENIED", f"{call.name} is not read-only")
            await looking(tool.title(dict(call.arguments)))
            output = await reader.run(args, self._workspace)
        except ToolError as error:
            return ToolResult(call.id, call.name, f"{error.code}: {error}", is_error=True)
        text = self._mask(output.text if output.text is not None else ok(output.data))
        if len(text) > _LONGEST_RESULT:
            text = f"{text[:_LONGEST_RESULT]}\n[{len(text) - _LONGEST_RESULT} more characters: read a part of it]"
        return ToolResult(call.id, call.name, text, is_error=output.failed)


class Explorer:
    """One model that explores a project. `mask` takes secrets out of what it writes."""

    def __init__(
        self,
        requests: AsideRequests,
        account: Account,
        model: Model,
        provider: Provider,
        look: Look,
        mask: Callable[[str], str],
        first_wait_seconds: float,
    ) -> None:
        self._requests = requests
        self._account = account
        self._model = model.with_level("off")
        self._provider = provider
        self._look = look
        self._mask = mask
        self._first_wait_seconds = first_wait_seconds

    async def learn(self, topic: Topic, folder: str, looking: Looking) -> str:
        """Return the text of a topic. Raises NotLearned, LimitReached."""
        messages: list[Message] = [UserMessage(render("learn_topic", title=topic.title, text=topic.text))]
        system = render("learn_system", rounds=str(ROUNDS), lines=str(LINES), folder=folder)
        for round in range(ROUNDS + 1):
            answer = await self._ask(system, messages)
            if not answer.calls or round == ROUNDS:
                return self._written(answer.text)
            results = [await self._look.run(one, looking) for one in answer.calls[:_MOST_CALLS]]
            results += [_too_many(one) for one in answer.calls[_MOST_CALLS:]]
            if round == ROUNDS - 1:
                results[-1] = replace(results[-1], text=results[-1].text + _LAST)
            messages += [answer, *results]
        raise AssertionError("the last round returns")

    async def _ask(self, system: str, messages: Sequence[Message]) -> AssistantMessage:
        model, specs = self._model, self._look.specs
        longest = min(_MOST_TOKENS, model.output_limit)
        request = ModelRequest(model.id, system, tuple(messages), specs, longest, reasoning=model.reasoning)

        async def ask() -> Done | Failed:
            await self._account.check(model)
            return await self._requests.ask(request, model, self._provider)

        end = await until_done(ask, self._first_wait_seconds)
        if isinstance(end, Done):
            return replace(end.message, model=model.id)
        raise CannotLearn(end.message) if end.kind in _FOR_ALL else NotLearned(end.message)

    def _written(self, text: str) -> str:
        rows = self._mask(text).strip().split("\n")
        if rows == [""]:
            raise NotLearned(f"the model made {ROUNDS} rounds of calls and wrote nothing")
        more = len(rows) - LINES
        return "\n".join([*rows[: LINES - 1], f"[{more + 1} more lines were left out]"] if more > 0 else rows)


def _too_many(call: ToolCall) -> ToolResult:
    text = f"INVALID_INPUT: at most {_MOST_CALLS} calls at once"
    return ToolResult(call.id, call.name, text, is_error=True)
