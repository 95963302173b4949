"""Converts the log's entries to messages for the model. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from north_lsp.agent.log.branch_summaries import BranchSummaryEntry
from north_lsp.agent.log.compactions import CompactionEntry
from north_lsp.agent.log.context import context_of
from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Entry, Logged
from north_lsp.agent.log.messages import AnswerEntry, Mention, PromptEntry
from north_lsp.agent.log.results import OwnCommandEntry, ResultEntry
from north_lsp.agent.prompts import render
from north_lsp.display import visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from north_lsp.providers.model import Model

INTERRUPTED = '{"ok":false,"error":{"code":"CANCELLED","message":"interrupted before a result was produced"}}'
FILE_BLOCK = "NORTH_FILE"  # the name under which the results of files in an answer's text are stored
_Said = PromptEntry | CustomMessageEntry | ResultEntry | OwnCommandEntry | CompactionEntry | BranchSummaryEntry
_FRAME = lazy_pattern(r"<(?=/?(?:summary|read-files|modified-files)\b)", re.IGNORECASE)
_NO_ANSWER = "(no answer)"
_GO_ON = "(continue)"


def messages_of(path: Sequence[Logged], model: Model) -> list[Message]:
    """Return the messages of an active path for a model."""
    transcript = Transcript(model)
    transcript.add(context_of(path))
    return transcript.messages


def message_of(entry: Entry) -> Message | None:
    """Return an entry as a message of its own, to be measured; None for one that models do not get."""
    match entry:
        case AnswerEntry(excluded=False) if entry.blocks:
            return AssistantMessage(entry.blocks, model=entry.model)
        case ResultEntry(excluded=False):
            return ToolResult(entry.call_id, entry.tool, entry.text, entry.is_error, entry.images)
        case PromptEntry(excluded=False) | CustomMessageEntry(excluded=False):
            return UserMessage(_said(entry), entry.images)
        case OwnCommandEntry(excluded=False) | CompactionEntry() | BranchSummaryEntry():
            return UserMessage(_said(entry))
        case _:
            return None


class Transcript:
    """The messages for a model, from entries that are added as they come; a summary comes before what it leaves. They
    are repaired: every call has exactly one result, directly after it; two prompts have an answer between them; the
    last message is not the model's. Thinking that another model signed is left out, since only that model can read
    it."""

    def __init__(self, model: Model) -> None:
        self.messages: list[Message] = []
        self._model = model
        self._fixed = 0  # messages that can no longer change
        self._open: list[_Stored] = []  # what was stored after those, beginning with an answer

    def add(self, path: Iterable[Logged]) -> None:
        del self.messages[self._fixed :]
        stored = [*self._open, *(one for entry in path if (one := self._stored(entry)) is not None)]
        begins = [index for index, one in enumerate(stored) if index and one.blocks]
        for begin, end in pairwise([0, *begins, len(stored)]):
            self._open, self._fixed = stored[begin:end], len(self.messages)
            self._add_part(self._open)

    def _stored(self, logged: Logged) -> _Stored | None:
        match logged.entry:
            case AnswerEntry() as entry:
                return _Stored(entry, () if entry.excluded else _useful_blocks(entry, self._model))
            case PromptEntry() | ResultEntry() | OwnCommandEntry() as entry if not entry.excluded:
                return _Stored(entry)
            case CustomMessageEntry(excluded=False) | CompactionEntry() | BranchSummaryEntry() as entry:
                return _Stored(entry)
            case _:
                return None

    def _add_part(self, part: Sequence[_Stored]) -> None:
        """Add an answer with its results, and what the user said after it."""
        unanswered = False
        for index, one in enumerate(part):
            match one.entry:
                case AnswerEntry() if one.blocks:
                    if self.messages and isinstance(self.messages[-1], AssistantMessage):
                        self.messages.append(UserMessage(_GO_ON))
                    self.messages.extend(_answer(one, _results_after(part, index)))
                case AnswerEntry():
                    unanswered = True
                case ResultEntry(tool=tool) if tool != FILE_BLOCK:
                    pass
                case (
                    PromptEntry()
                    | CustomMessageEntry()
                    | OwnCommandEntry()
                    | ResultEntry()
                    | CompactionEntry()
                    | BranchSummaryEntry()
                ) as said:
                    if unanswered and self.messages and not isinstance(self.messages[-1], AssistantMessage):
                        # The model was asked, and nothing came that could be sent back.
                        self.messages.append(AssistantMessage((Text(_NO_ANSWER),)))
                    unanswered = False
                    images = said.images if isinstance(said, PromptEntry | CustomMessageEntry) else ()
                    self.messages.append(UserMessage(_said(said), images))


@dataclass(frozen=True, slots=True)
class _Stored:
    """An entry and, if it is an answer, the `blocks` of it that a model can be given: none if there are none, or if it
    is excluded."""

    entry: AnswerEntry | _Said
    blocks: tuple[Block, ...] = ()


def _said(entry: _Said) -> str:
    """Return the text that the model reads for an entry that is not its own."""
    match entry:
        case ResultEntry():
            return f"[North] The file {entry.text}"
        case OwnCommandEntry():
            return _own_command_text(entry)
        case CompactionEntry():
            return summary_text(entry)
        case BranchSummaryEntry():
            return entry.for_model
        case CustomMessageEntry(text=text):
            return text or ("" if entry.images else "(empty message)")
        case PromptEntry():
            return _user_text(entry) or ("" if entry.images else "(empty message)")


def said_by_user(entry: PromptEntry | OwnCommandEntry) -> str:
    """Return the text that the model reads for something that the user said or ran."""
    return _said(entry)


def summary_text(entry: CompactionEntry) -> str:
    """Return the text that the model reads in place of what was summarized."""
    files = (("read-files", entry.files.read), ("modified-files", entry.files.modified))
    lists = [f"<{tag}>\n" + "\n".join(names) + f"\n</{tag}>" for tag, names in files if names]
    return render("compacted", summary="\n\n".join([_FRAME.sub("&lt;", entry.summary), *lists]))


def _user_text(prompt: PromptEntry) -> str:
    """Return the user's text, then each attachment in a block of its own."""
    parts = []
    for part in prompt.parts:
        match part:
            case Mention(path, preview, range):
                kind = "selection" if range else "folder" if path.endswith("/") else "file"
                tag, lines = _free_tag(kind, preview), f' lines="{range}"' if range else ""
                name = visible(path).replace("\n", " ").replace('"', "&quot;")
                parts.append(f'<{tag} path="{name}"{lines}>\n{preview}\n</{tag}>')
            case Image():
                pass  # it goes along as such
            case _:
                parts.append(part.text)
    return "\n\n".join(parts)


def _free_tag(tag: str, body: str) -> str:
    """Return the tag for a text that has to stay as it is: one that the text cannot close, with a number if need be."""
    closed = {match[1].lower() for match in re.finditer(rf"<\s*/\s*({tag}(?:-\d+)?)", body, re.IGNORECASE)}
    tags = (tag, *(f"{tag}-{number}" for number in range(2, len(closed) + 2)))
    return next(one for one in tags if one not in closed)


def broke_off(path: Sequence[Logged]) -> bool:
    """Tell whether the model was stopped before it had finished."""
    for one in reversed(path):
        match one.entry:
            case AnswerEntry(excluded=False, stop_reason=reason):
                return reason != "stop"
            case PromptEntry(excluded=False) | ResultEntry(excluded=False):
                return True
            case _:
                pass
    return False


def _results_after(part: Sequence[_Stored], index: int) -> dict[str, ToolResult]:
    """Collect the results of one answer's calls: those before the next answer, since later answers may reuse the
    ids."""
    results: dict[str, ToolResult] = {}
    for stored in part[index + 1 :]:
        match stored.entry:
            case AnswerEntry():
                break
            case ResultEntry(call_id, tool) as result:
                results[call_id] = ToolResult(call_id, tool, result.text, result.is_error, result.images)
            case _:
                pass
    return results


def _own_command_text(entry: OwnCommandEntry) -> str:
    """Return the text that the model reads for a command that the user ran, or that a template has called."""
    code = entry.exit_code
    ended = f"(exit code {code})" if code is not None else "(it did not end on its own)"
    if entry.called_by:
        was_run = code is not None or entry.cancelled
        parts = [f"/{entry.called_by} asks for the output of this command:", entry.command, ""]
        parts += [ended, entry.output] if was_run else [entry.output]
    else:
        parts = ["I ran this command myself:", entry.command, "", ended, entry.output]
    return "\n".join([*parts, entry.left_out] if entry.left_out else parts)


def _useful_blocks(answer: AnswerEntry, model: Model) -> tuple[Block, ...]:
    """Return the blocks of an answer that a model can be given; none if it said nothing, or only thought."""
    is_own = (answer.provider, answer.model) == (model.provider.id, model.id)
    blocks = [block for block in answer.blocks if is_own or not isinstance(block, Thinking)]
    useful = tuple(block for block in blocks if not isinstance(block, Text) or block.text.strip())
    return useful if any(isinstance(block, Text | ToolCall) for block in useful) else ()


def _answer(stored: _Stored, results: Mapping[str, ToolResult]) -> Sequence[Message]:
    assert isinstance(stored.entry, AnswerEntry)
    calls = [block for block in stored.blocks if isinstance(block, ToolCall)]
    answer = AssistantMessage(stored.blocks, model=stored.entry.model)
    return [answer, *(results.get(call.id) or ToolResult(call.id, call.name, INTERRUPTED, True) for call in calls)]
