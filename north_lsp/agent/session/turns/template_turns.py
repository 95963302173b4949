"""What a template that a prompt calls wants of its turn: a model, that nothing is changed, only some tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import PromptEntry, Words
from north_lsp.agent.log.prompt import typed
from north_lsp.agent.log.unfinished import Unfinished
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.templates.conversation_templates import ConversationTemplates
from north_lsp.agent.templates.template import NO_WISHES, Template, Wishes
from north_lsp.agent.turn.queue import QueuedPrompt
from north_lsp.display import one_line, visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Provider
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model
from north_lsp.vocabulary import Mode

if TYPE_CHECKING:
    from north_lsp.tools.base import Tool


@dataclass(frozen=True)
class TemplateTurn:
    """The wishes for one turn, and the template that they come from; and the `commands` that are run before it, each
    with the name of its template."""

    wishes: Wishes = NO_WISHES
    template: Template | None = None
    commands: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def mode(self, mode: Mode) -> Mode:
        return "ask" if self.wishes.only_reads and mode == "agent" else mode

    async def model(self, choice: ModelChoice, editor: Editor) -> tuple[Model, Provider] | None:
        """Return the model to ask; None for the chosen one. A template of the project names none of another provider:
        no project says where a conversation is sent. The user is told who answers, or why that one does not."""
        wanted, template = self.wishes.model, self.template
        if not wanted or template is None or choice.models.catalog.is_left_open(wanted):
            return None
        try:
            model = await choice.find(wanted)
            if template.level == "project" and model.provider.id != choice.model.provider.id:
                raise ValueError(f"a project may choose only among the models of {choice.model.provider.title}")
            provider = await choice.provider_of(model)
        except (UnknownModel, ValueError, MissingCredential) as error:
            told = f"/{template.name} wants the model {one_line(wanted, 100)}, which cannot be used ({error})"
            await editor.show(Notice("warning", visible(f"{told}; {choice.model.title} answers")))
            return None
        if model.selector == choice.model.selector and model.level is None:
            return None
        await editor.show(Notice("info", visible(f"{model.title} answers, as /{template.name} asks.")))
        return model.with_level(model.level or choice.model.level), provider

    async def context(self, context: TurnContext, editor: Editor) -> TurnContext:
        """Leave out the tools that the template does not name. Where it names none that there is, all stay, and the
        user is told."""
        words, template = self.wishes.tools, self.template
        if words is None or template is None:
            return context
        tools = context.tools
        kept, unknown = await anyio.to_thread.run_sync(_chosen, words, tools.tools())
        if unknown:
            names = ", ".join(one_line(one, 60) for one in unknown[:10])
            more = "" if kept else ", so it has all of them"
            await editor.show(
                Notice("warning", visible(f"/{template.name} names tools that do not exist: {names}{more}"))
            )
        if not kept and unknown:
            return context
        return replace(context, tools=tools.without(*(one.name for one in tools.tools() if one.name not in kept)))


def _chosen(words: Sequence[str], tools: Sequence[Tool]) -> tuple[set[str], list[str]]:
    from north_lsp.agent.subagents.tool_words import NEVER, chosen_tools

    found, unknown = chosen_tools(words, tools)
    there = {tool.name for tool in tools} - {"search_tools"}  # all that is left is described
    return {tool.name for tool in found} | (NEVER & there if found else set()), unknown


async def template_turn(
    templates: ConversationTemplates, log: Log, batch: Sequence[QueuedPrompt], left: Unfinished | None
) -> TemplateTurn:
    """Return what holds for the turn of these prompts, or of the prompt of a turn that is `left` to be continued."""
    if left is not None:
        await templates.load()
        prompts = [one.entry for one in log.path() if one.id == left.prompt_id and isinstance(one.entry, PromptEntry)]
        texts = [part.text for entry in prompts for part in entry.parts if isinstance(part, Words)]
    else:
        texts = [text for one in batch for text in typed(one.parts)[:1]]
    if not texts:
        return TemplateTurn()
    called = [one for text in texts if left is None and (one := templates.called(text)) is not None and one.commands]
    return TemplateTurn(*templates.wishes(texts[0]), tuple((one.name, one.commands) for one in called))
