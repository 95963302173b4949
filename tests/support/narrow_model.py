"""A model server that plays no script: it refuses what is over its window, writes summaries, and otherwise looks at
files and answers."""

import json
from typing import Any

from tests.support.model_server import ModelServer, RecordedRequest
from tests.support.script import Answer, Fail, Part, Say, Tokens, answer, call

_CHARACTERS_A_TOKEN = 3.8
SUMMARY = {"goal": "Go through everything", "progress": "Much was read.", "shortSummary": "Reading everything"}


class NarrowModel(ModelServer):
    """`window` is in tokens. `turns` says how many calls the model makes for each prompt."""

    def __init__(self, window: int, calls: int = 1) -> None:
        super().__init__()
        self.window = window
        self.calls = calls
        self.overflows = 0
        self.summaries: list[dict[str, Any]] = []
        self.sent_tokens = 0

    def take(self, request: RecordedRequest) -> Answer | None:
        self.requests.append(request)
        size = tokens_of(request.body)
        if size > self.window:
            self.overflows += 1
            text = f"This model's maximum context length is {self.window} tokens."
            return answer(Fail(400, "context_length_exceeded", text))
        used = Tokens(input=size, output=50)
        if is_summary(request.body):
            self.summaries.append(request.body)
            return answer(Say(json.dumps(SUMMARY)), used)
        self.sent_tokens += size
        made = calls_since_prompt(request.body)
        parts: list[Part] = [call("read_file", path="http/client.py", startLine=1, endLine=40)]
        return answer(*(parts if made < self.calls else [Say("I have read it.")]), used)


def tokens_of(body: dict[str, Any]) -> int:
    return round(len(json.dumps(body, ensure_ascii=False)) / _CHARACTERS_A_TOKEN)


def is_summary(body: dict[str, Any]) -> bool:
    return "You write summaries of conversations" in json.dumps(body, ensure_ascii=False)[:20_000] and not body.get(
        "tools"
    )


def calls_since_prompt(body: dict[str, Any]) -> int:
    """Return how many results a request has after its last prompt."""
    items = body.get("messages") or body.get("input") or body.get("contents") or []
    count = 0
    for item in reversed(items):
        text = json.dumps(item)
        is_result = item.get("role") == "tool" or any(
            word in text for word in ('"tool_result"', '"function_call_output"', '"functionResponse"')
        )
        if is_result:
            count += 1
        elif item.get("role") == "user":
            break
    return count
