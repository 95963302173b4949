"""Asks a small model what comes next where the user types: the rest of what has begun, or the edit that follows from
the last ones. Only where the user has switched that on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.models.aside import AsideRequests
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.prompts import render
from north_lsp.agent.session.completion import next_edit
from north_lsp.agent.session.completion.next_edit import NextEdit, RecentEdit
from north_lsp.agent.session.keeping.titles import title_model
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.display import fenced
from north_lsp.errors import ToolError
from north_lsp.providers.base import Done, ModelRequest, Text, UserMessage
from north_lsp.providers.credentials import MissingCredential
from north_lsp.workspace.workspace import Workspace

_SECONDS = 15.0
_MOST_TOKENS = 400
_MOST_TOKENS_OF_EDIT = 2000
_BEFORE, _AFTER = 6000, 2000
_LONGEST = 4000


class CodeCompletion:
    """Completes code for one session. Nothing of a closed file is sent, and nothing once a cost limit is reached."""

    def __init__(self, means: TurnMeans, choice: ModelChoice, workspace: Callable[[], Workspace]) -> None:
        self._means = means
        self._choice = choice
        self._workspace = workspace
        self._requests = AsideRequests(means.stored.log, "completion", means.environment.costs.record)

    @property
    def is_on(self) -> bool:
        return self._means.environment.settings.models.complete_inline

    @property
    def predicts(self) -> bool:
        return self._means.environment.settings.models.predict_edits

    async def complete(self, path: Path, text: str, offset: int) -> str:
        """Return what belongs at an offset of a file's text; empty if that is nothing, or cannot be known."""
        relative = await self._name(path)
        if not self.is_on or relative is None:
            return ""
        before, after = text[max(0, offset - _BEFORE) : offset], text[offset : offset + _AFTER]
        parts = ("The file:", relative, "Before the cursor:", fenced(before), "After it:", fenced(after))
        end = await self._ask("complete_code", "\n\n".join(parts), _MOST_TOKENS)
        return _inserted(_said(end)[:_LONGEST], before, after) if end is not None else ""

    async def next_edit(self, path: Path, text: str, offset: int, recent: Sequence[RecentEdit]) -> NextEdit | None:
        """Return the edit near an offset of a file's text that follows from the last ones; None if there is none, or it
        cannot be known."""
        relative = await self._name(path)
        named = [(name, edit) for edit in recent if (name := await self._name(edit.path)) is not None]
        if not self.predicts or relative is None or not named:
            return None
        asked = await anyio.to_thread.run_sync(next_edit.question, relative, text, offset, named)
        if asked is None:
            return None
        end = await self._ask("next_edit", asked, _MOST_TOKENS_OF_EDIT)
        if end is None or end.reason != "stop":
            return None
        return await anyio.to_thread.run_sync(next_edit.predicted, text, offset, _said(end), recent)

    async def _name(self, path: Path) -> str | None:
        """Return how a file is called in the project; None for one of which nothing may be sent."""
        try:
            return (await anyio.to_thread.run_sync(self._workspace().trees.resolve, str(path))).relative
        except ToolError:
            return None

    async def _ask(self, prompt: str, asked: str, most_tokens: int) -> Done | None:
        """Ask the small model; None if there is none, or it does not answer."""
        environment = self._means.environment
        model = title_model(self._choice, environment.models.catalog, environment.environ)
        if model is None or await self._limit_is_reached():
            return None
        try:
            provider = await environment.models.providers.get(model)
        except MissingCredential:
            return None
        lean = model.with_level("off")
        request = ModelRequest(
            model.id, render(prompt), (UserMessage(asked),), (), most_tokens, reasoning=lean.reasoning
        )
        with anyio.move_on_after(_SECONDS):
            end = await self._requests.ask(request, model, provider)
            return end if isinstance(end, Done) else None
        return None

    async def _limit_is_reached(self) -> bool:
        """Tell whether the user's limits leave nothing for what nobody has asked for."""
        turns = self._means.environment.settings.turns
        usage = self._means.history.usage(self._choice.model.window)
        spent = usage.cost_usd if usage is not None else 0.0
        if 0 < turns.session_limit_usd <= spent:
            return True
        return 0 < turns.day_limit_usd <= await self._means.environment.costs.today()


def _said(end: Done) -> str:
    return "".join(block.text for block in end.message.blocks if isinstance(block, Text))


def _inserted(said: str, before: str, after: str) -> str:
    """Return the text to insert: without a fence around it, and without what is there already."""
    text = said.replace("\r\n", "\n")
    lines = text.strip("\n").split("\n")
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```":
        text = "\n".join(lines[1:-1])
    line = before.rpartition("\n")[2]
    if line.strip() and text.startswith(line):
        text = text[len(line) :]
    rest = after.partition("\n")[0]
    if rest.strip() and text.endswith(rest):
        text = text.removesuffix(rest)
    return text if text.strip() else ""
