"""Between the log's entries and the model's messages: one form each way, both pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from north_lsp.agent.log.partial_json import read_partial
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
from north_lsp.storage.entries import message_of

Entry = Mapping[str, Any]

INTERRUPTED = '{"ok":false,"error":{"code":"CANCELLED","message":"interrupted before a result was produced"}}'
FILE_BLOCK = "NORTH_FILE"  # the name under which the results of files in an answer's text are stored
_NO_ANSWER = "(no answer)"
_GO_ON = "(go on)"


def block_to_log(block: Block) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(thinking, signature, redacted):
            stored: dict[str, Any] = {"type": "thinking", "thinking": thinking}
            return (
                stored | ({"signature": signature} if signature else {}) | ({"redacted": redacted} if redacted else {})
            )
        case ToolCall(id, name, arguments, problem):
            call = {"type": "tool_call", "id": id, "name": name, "arguments": dict(arguments)}
            return call | ({"problem": problem} if problem else {})


def block_from_log(stored: Mapping[str, Any]) -> Block | None:
    match stored.get("type"):
        case "text":
            return Text(str(stored.get("text", "")))
        case "thinking":
            return Thinking(str(stored.get("thinking", "")), stored.get("signature"), stored.get("redacted"))
        case "tool_call":
            arguments = stored.get("arguments")
            fields = arguments if isinstance(arguments, dict) else {}
            if not fields and stored.get("cut"):  # what was there of them when the process was killed
                fields = read_partial(str(stored["cut"])).settled
            return ToolCall(str(stored["id"]), str(stored.get("name", "")), fields, stored.get("problem"))
        case _:
            return None


def blocks_of(message: Mapping[str, Any]) -> tuple[Block, ...]:
    content = message.get("content") or ()
    return tuple(block for part in content if isinstance(part, Mapping) and (block := block_from_log(part)) is not None)


def text_of(message: Mapping[str, Any]) -> str:
    """What the user typed (a user message's text parts)."""
    return "\n\n".join(part["text"] for part in message.get("content") or () if part.get("type") == "text")


def _user_text(message: Mapping[str, Any]) -> str:
    """What the model reads of a user message: the words, then each attachment in a block of its own."""
    parts = []
    for part in message.get("content") or ():
        match part.get("type"):
            case "text" | "context":
                parts.append(part["text"])
            case "file_mention":
                lines = f' lines="{part["range"]}"' if part.get("range") else ""
                tag = "selection" if part.get("range") else "file"
                parts.append(f'<{tag} path="{part["path"]}"{lines}>\n{part["preview"]}\n</{tag}>')
    return "\n\n".join(parts)


def messages_of(path: Iterable[Entry], model: Model) -> list[Message]:
    """The messages for a model and an active path."""
    transcript = Transcript(model)
    transcript.add(path)
    return transcript.messages


class Transcript:
    """The messages for a model, of entries that are added as they come. They are repaired: every call has exactly one
    result, directly behind it, whoever asked has an answer before he asks again, and the last word is not the model's.
    Thinking that another model signed is left out, since only its own can read it."""

    def __init__(self, model: Model) -> None:
        self.messages: list[Message] = []
        self._model = model
        self._fixed = 0  # messages that nothing can change any more
        self._open: list[_Stored] = []  # what was stored behind those, an answer first

    def add(self, path: Iterable[Entry]) -> None:
        del self.messages[self._fixed :]
        stored = [*self._open, *(one for entry in path if (one := self._stored(entry)) is not None)]
        begins = [index for index, one in enumerate(stored) if index and one.blocks]
        for begin, end in pairwise([0, *begins, len(stored)]):
            self._open, self._fixed = stored[begin:end], len(self.messages)
            self._add_part(self._open)

    def _stored(self, entry: Entry) -> "_Stored | None":
        if entry.get("type") != "message":
            return None
        message = message_of(entry)
        if message.get("role") == "assistant":
            return _Stored("assistant", message, () if is_excluded(entry) else _useful_blocks(message, self._model))
        return None if is_excluded(entry) else _Stored(str(message.get("role")), message)

    def _add_part(self, part: Sequence["_Stored"]) -> None:
        """An answer with its results, and what the user said behind it."""
        unanswered = False
        for index, one in enumerate(part):
            match one.role:
                case "assistant" if one.blocks:
                    if self.messages and isinstance(self.messages[-1], AssistantMessage):
                        self.messages.append(UserMessage(_GO_ON))
                    self.messages.extend(_answer(one, _results_behind(part, index)))
                case "assistant":
                    unanswered = True
                case "toolResult" if one.message.get("toolName") != FILE_BLOCK:
                    pass
                case "user" | "bashExecution" | "toolResult":
                    if unanswered and self.messages and not isinstance(self.messages[-1], AssistantMessage):
                        # It was asked, and nothing came that could be sent back.
                        self.messages.append(AssistantMessage((Text(_NO_ANSWER),)))
                    unanswered = False
                    self.messages.append(UserMessage(_said(one)))
                case _:
                    pass


@dataclass(frozen=True, slots=True)
class _Stored:
    """`blocks` are those of an answer that a model can be given: none where there is nothing, or it shall not be."""

    role: str
    message: Mapping[str, Any]
    blocks: tuple[Block, ...] = ()


def _said(stored: _Stored) -> str:
    """What the model reads of something that is not its own."""
    match stored.role:
        case "toolResult":
            return f"[North] The file {_result(stored.message).text}"
        case "bashExecution":
            return _own_command_text(stored.message)
        case _:
            return _user_text(stored.message) or "(empty message)"


def broke_off(path: Sequence[Entry]) -> bool:
    """Whether the model was stopped before it had done what it was asked for."""
    for entry in reversed(path):
        if entry.get("type") == "message" and not is_excluded(entry):
            match entry["message"].get("role"):
                case "assistant":
                    return bool(entry["message"].get("stopReason") != "stop")
                case "user" | "toolResult":
                    return True
    return False


def _results_behind(part: Sequence[_Stored], index: int) -> dict[str, ToolResult]:
    """The results of one answer's calls: they stand before the next answer. Ids may come again later."""
    results: dict[str, ToolResult] = {}
    for stored in part[index + 1 :]:
        if stored.role == "assistant":
            break
        if stored.role == "toolResult":
            result = _result(stored.message)
            results[result.call_id] = result
    return results


def _own_command_text(message: Mapping[str, Any]) -> str:
    """What the model reads of a command that the user ran."""
    code = message.get("exitCode")
    ended = f"exit code {code}" if code is not None else "it did not end by itself"
    return f"I ran this command myself:\n{message.get('command', '')}\n\n({ended})\n{message.get('output', '')}"


def is_excluded(entry: Entry) -> bool:
    """Whether no model gets it."""
    message = entry.get("message")
    excluded = entry.get("excludeFromContext")
    return not isinstance(message, Mapping) or bool(excluded or message.get("excludeFromContext"))


def _useful_blocks(stored: Mapping[str, Any], model: Model) -> tuple[Block, ...]:
    """What a model can be given of an answer; nothing where it said nothing, or only thought."""
    is_own = (stored.get("provider"), stored.get("model")) == (model.provider.id, model.id)
    blocks = [block for block in blocks_of(stored) if is_own or not isinstance(block, Thinking)]
    useful = tuple(block for block in blocks if not isinstance(block, Text) or block.text.strip())
    return useful if any(isinstance(block, Text | ToolCall) for block in useful) else ()


def _answer(stored: _Stored, results: Mapping[str, ToolResult]) -> Sequence[Message]:
    calls = [block for block in stored.blocks if isinstance(block, ToolCall)]
    answer = AssistantMessage(stored.blocks, model=str(stored.message.get("model") or ""))
    return [answer, *(results.get(call.id) or ToolResult(call.id, call.name, INTERRUPTED, True) for call in calls)]


def _result(stored: Mapping[str, Any]) -> ToolResult:
    text = "\n".join(part.get("text", "") for part in stored.get("content") or () if part.get("type") == "text")
    images = tuple(
        Image(str(part.get("mimeType")), str(part.get("data")))
        for part in stored.get("content") or ()
        if part.get("type") == "image"
    )
    call_id, tool = str(stored.get("toolCallId")), str(stored.get("toolName"))
    return ToolResult(call_id, tool, text, bool(stored.get("isError")), images)
