"""Has a model summarize what the user leaves behind by going back, for the model that continues from there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import anyio

from north_lsp.agent.costs.estimates import tokens_of
from north_lsp.agent.log.branch_summaries import ROOT, BranchSummaryEntry
from north_lsp.agent.log.checkpoints import CheckpointEntry
from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Entry, Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry, shown_prompt
from north_lsp.agent.log.results import OwnCommandEntry, ResultEntry
from north_lsp.agent.log.seen_files import sightings_of
from north_lsp.agent.models.aside import AsideRequests
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.prompts import render
from north_lsp.agent.session.keeping.titles import title_model
from north_lsp.agent.session.process.asking import Questions
from north_lsp.agent.session.process.environment import Environment
from north_lsp.providers.base import Done, Failed, ModelRequest, Text, UserMessage
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model
from north_lsp.storage.keeping_settings import KeepingSettings

_SECONDS = 120.0
_MOST_TOKENS = 4000  # some models think before they write
_MOST_FILES = 100
_LONGEST_RESULT = 2000
_LONGEST_ARGUMENTS = 500


class NoSummary(ValueError):
    """There is no summary, so nothing has moved; the text says why."""


class BranchSummaries:
    """The summaries of one conversation. `root` is the project's folder. A cancel that gives up `questions` ends a
    request, too."""

    def __init__(
        self, log: Log, choice: ModelChoice, environment: Environment, root: Path, questions: Questions
    ) -> None:
        self._log = log
        self._choice = choice
        self._environment = environment
        self._root = root
        self._questions = questions

    @property
    def is_offered(self) -> bool:
        """Whether the user wants to be asked each time."""
        return self._settings.branch_summary

    @property
    def _settings(self) -> KeepingSettings:
        return self._environment.settings.keeping

    def left_behind(self, leaf: str | None) -> Sequence[Logged]:
        """Return the entries that are left by going to another leaf: those after the last common one. None of them is
        worth a summary if nothing was said."""
        left = self._log.left_by(leaf)
        return left if any(True for _ in _rows(left)) else ()

    async def write(self, left: Sequence[Logged], instructions: str = "") -> BranchSummaryEntry:
        """Have a model summarize what is left; `instructions` are the user's own. Raises NoSummary, also if the user
        gives it up."""
        model = self._model()
        budget = model.window - self._settings.branch_summary_reserve
        text = _within(left, lambda row: tokens_of(len(row)), budget)
        asked = f"{text}\n\nThe programmer wants of the summary: {instructions}" if instructions else text
        with self._questions.waiting():
            summary = await self._answer(model, asked)
            last = self._log.leaf
            return BranchSummaryEntry(last if last is not None else ROOT, summary, *_files(left, self._root))
        raise NoSummary("the summary was cancelled; the conversation has not moved")

    def _model(self) -> Model:
        """Return the small model, else the one that answers. Raises NoSummary."""
        catalog, environ = self._environment.models.catalog, self._environment.environ
        model = title_model(self._choice, catalog, environ) or self._choice.model
        if model.api == "offline" or model.problem or not catalog.is_available(model, environ):
            raise NoSummary(f"{model.title} cannot write a summary: choose another model, or go back without one")
        return model

    async def _answer(self, model: Model, text: str) -> str:
        said, why = "", "it took too long"
        with anyio.move_on_after(_SECONDS):
            try:
                provider = await self._environment.models.providers.get(model)
            except MissingCredential as error:
                raise NoSummary(f"there is no summary: {error}") from None
            reasoning = model.with_level("off").reasoning
            messages = (UserMessage(text),)
            request = ModelRequest(model.id, render("branch_summary"), messages, (), _MOST_TOKENS, reasoning=reasoning)
            costs = self._environment.costs
            match await AsideRequests(self._log, "branch_summary", costs.record).ask(request, model, provider):
                case Done(_, message):
                    said = "\n\n".join(block.text for block in message.blocks if isinstance(block, Text)).strip()
                    why = "the model said nothing"
                case Failed(_, reason, _):
                    why = reason
        if not said:
            raise NoSummary(f"there is no summary, so the conversation has not moved: {why}")
        return said


def _within(left: Sequence[Logged], tokens: Callable[[str], int], budget: int) -> str:
    """Return what was said, in order; of what is too long together, the newest."""
    kept: list[str] = []
    for row in reversed(list(_rows(left))):
        budget -= tokens(row)
        if budget < 0 and kept:
            kept.append("(What came before is left out.)")
            break
        kept.append(row if budget >= 0 else row[-_LONGEST_RESULT:])
    return "\n\n".join(reversed(kept))


def _rows(entries: Iterable[Logged]) -> Iterator[str]:
    for one in entries:
        if row := _row(one.entry):
            yield row


def _row(entry: Entry) -> str:
    match entry:
        case PromptEntry(by_north=False, excluded=False) as prompt:
            return f"Programmer: {shown_prompt(prompt)}"
        case AnswerEntry(excluded=False) as answer:
            said = "\n\n".join(block.text for block in answer.blocks if isinstance(block, Text)).strip()
            calls = [
                f"[calls {call.name} {_short(str(dict(call.arguments)), _LONGEST_ARGUMENTS)}]" for call in answer.calls
            ]
            return f"Assistant: {' '.join([said, *calls]).strip()}" if said or calls else ""
        case ResultEntry(tool=tool, excluded=False) as result:
            return f"Result of {tool}: {_short(result.text, _LONGEST_RESULT)}"
        case OwnCommandEntry(command, output, excluded=False):
            return f"The programmer ran {command}: {_short(output, _LONGEST_RESULT)}"
        case CustomMessageEntry(text=text, excluded=False):
            return f"Message of an extension: {_short(text, _LONGEST_RESULT)}"
        case BranchSummaryEntry(summary=summary):
            return f"Summary of a branch that was left earlier: {summary}"
        case _:
            return ""


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} […]"


def _files(left: Sequence[Logged], root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files that were read and those that were changed, the newest last; also before earlier summaries."""
    read: dict[str, None] = {}
    modified: dict[str, None] = {}
    for one in left:
        match one.entry:
            case BranchSummaryEntry(read=earlier, modified=changed):
                read |= dict.fromkeys(earlier)
                modified |= dict.fromkeys(changed)
            case CheckpointEntry(files=files, status="applied"):
                modified |= dict.fromkeys(file.new_relative or file.relative for file in files if not file.folder)
            case _:
                read |= dict.fromkeys(_relative(path, root) for path in sightings_of([one]))
    only_read = [name for name in read if name not in modified]
    return tuple(only_read[-_MOST_FILES:]), tuple([*modified][-_MOST_FILES:])


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
