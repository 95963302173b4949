"""Between the log's entries and the model's messages: one form each way, both pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from north_lsp.agent.partial_json import read_partial
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

Entry = Mapping[str, Any]

INTERRUPTED = '{"ok":false,"error":{"code":"CANCELLED","message":"interrupted before a result was produced"}}'
FILE_BLOCK = "NORTH_FILE"  # the name under which the results of files in an answer's text are stored
_EMPTY_ANSWER = "(no answer)"


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
    """The messages for a model and an active path, repaired: every call has exactly one result, directly behind it.
    Thinking that another model signed is left out, since only its own can read it."""
    messages: list[Message] = []
    entries = [entry["message"] for entry in path if entry.get("type") == "message" and not _excluded(entry)]
    for index, stored in enumerate(entries):
        match stored.get("role"):
            case "user":
                messages.append(UserMessage(_user_text(stored) or "(empty message)"))
            case "toolResult" if stored.get("toolName") == FILE_BLOCK:
                messages.append(UserMessage(f"[North] The file {_result(stored).text}"))
            case "assistant":
                messages.extend(_answer(stored, _results_behind(entries, index), model))
            case "bashExecution":
                messages.append(UserMessage(_own_command_text(stored)))
    return messages


def broke_off(path: Sequence[Entry]) -> bool:
    """Whether the model was stopped before it had done what it was asked for."""
    for entry in reversed(path):
        if entry.get("type") == "message" and not _excluded(entry):
            match entry["message"].get("role"):
                case "assistant":
                    return bool(entry["message"].get("stopReason") != "stop")
                case "user" | "toolResult":
                    return True
    return False


def _results_behind(entries: Sequence[Mapping[str, Any]], index: int) -> dict[str, ToolResult]:
    """The results of one answer's calls: they stand before the next answer. Ids may come again later."""
    results: dict[str, ToolResult] = {}
    for stored in entries[index + 1 :]:
        if stored.get("role") == "assistant":
            break
        if stored.get("role") == "toolResult":
            result = _result(stored)
            results[result.call_id] = result
    return results


def _own_command_text(message: Mapping[str, Any]) -> str:
    """What the model reads of a command that the user ran."""
    code = message.get("exitCode")
    ended = f"exit code {code}" if code is not None else "it did not end by itself"
    return f"I ran this command myself:\n{message.get('command', '')}\n\n({ended})\n{message.get('output', '')}"


def _excluded(entry: Entry) -> bool:
    message = entry.get("message")
    excluded = entry.get("excludeFromContext")
    return not isinstance(message, Mapping) or bool(excluded or message.get("excludeFromContext"))


def _answer(stored: Mapping[str, Any], results: Mapping[str, ToolResult], model: Model) -> Sequence[Message]:
    is_own = (stored.get("provider"), stored.get("model")) == (model.provider.id, model.id)
    blocks = [block for block in blocks_of(stored) if is_own or not isinstance(block, Thinking)]
    useful = tuple(block for block in blocks if not isinstance(block, Text) or block.text.strip())
    if not any(isinstance(block, Text | ToolCall) for block in useful):
        # Thinking alone, or nothing: an answer that failed. The alternation of roles still needs something here.
        return [AssistantMessage((Text(_EMPTY_ANSWER),))]
    calls = [block for block in useful if isinstance(block, ToolCall)]
    answer = AssistantMessage(useful, model=str(stored.get("model") or ""))
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
