"""Completes code at the cursor by a small model, where the user has switched that on."""

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.models.aside import AsideRequests
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.prompts import render
from north_lsp.agent.session.model_turns import TurnMeans
from north_lsp.agent.session.titles import title_model
from north_lsp.display import fenced
from north_lsp.errors import ToolError
from north_lsp.providers.base import Block, Done, ModelRequest, Text, UserMessage
from north_lsp.providers.credentials import MissingCredential
from north_lsp.workspace.workspace import Workspace

_SECONDS = 15.0
_MOST_TOKENS = 400
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

    async def complete(self, path: Path, text: str, offset: int) -> str:
        """Return what belongs at an offset of a file's text; empty if that is nothing, or cannot be known."""
        environment = self._means.environment
        model = title_model(self._choice, environment.models.catalog, environment.environ)
        if not self.is_on or model is None or await self._limit_is_reached():
            return ""
        try:
            resolved = await anyio.to_thread.run_sync(self._workspace().trees.resolve, str(path))
            provider = await environment.models.providers.get(model)
        except (ToolError, MissingCredential):
            return ""
        before, after = text[max(0, offset - _BEFORE) : offset], text[offset : offset + _AFTER]
        parts = ("The file:", resolved.relative, "Before the cursor:", fenced(before), "After it:", fenced(after))
        lean = model.with_level("off")
        asked = (UserMessage("\n\n".join(parts)),)
        request = ModelRequest(model.id, render("complete_code"), asked, (), _MOST_TOKENS, reasoning=lean.reasoning)
        with anyio.move_on_after(_SECONDS):
            match await self._requests.ask(request, model, provider):
                case Done(_, message):
                    return _inserted(message.blocks, before, after)
                case _:
                    pass
        return ""

    async def _limit_is_reached(self) -> bool:
        """Tell whether the user's limits leave nothing for what nobody has asked for."""
        turns = self._means.environment.settings.turns
        usage = self._means.history.usage(self._choice.model.window)
        spent = usage.cost_usd if usage is not None else 0.0
        if 0 < turns.session_limit_usd <= spent:
            return True
        return 0 < turns.day_limit_usd <= await self._means.environment.costs.today()


def _inserted(blocks: Sequence[Block], before: str, after: str) -> str:
    """Return the text to insert: without a fence around it, and without what is there already."""
    text = "".join(block.text for block in blocks if isinstance(block, Text))[:_LONGEST].replace("\r\n", "\n")
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
