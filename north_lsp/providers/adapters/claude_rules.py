"""What Claude asks of the messages in a request, whichever API carries them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

LEAST_BUDGET = 1024
LOOKBACK_BLOCKS = 18
"""The vendor looks for a cached prefix at most 20 blocks before a point."""

Messages = Sequence[Mapping[str, Any]]
Test = Callable[[Mapping[str, Any]], bool]


def last_answer(messages: Messages) -> int | None:
    """Return the index of the last message of the model's; None if there is none."""
    return next((at for at in reversed(range(len(messages))) if messages[at]["role"] == "assistant"), None)


def tool_loop_can_think(messages: Messages, has_calls: Test, has_results: Test, begins_with_thinking: Test) -> bool:
    """Return whether thinking may be on. The vendor refuses it in the middle of a tool loop that did not begin with
    thinking that can be sent back (because another model began it, or a server that does not report its thinking)."""
    index = last_answer(messages)
    if index is None or not has_calls(messages[index]):
        return True
    while index >= 2 and has_results(messages[index - 1]):
        index -= 2
    return begins_with_thinking(messages[index])


def end_of_cached(messages: Messages) -> int | None:
    """Return the index of the message that needs a point of its own because the last answer with its results is longer
    than the vendor's lookback: the last one of the request before, where that request's cache was written."""
    last = last_answer(messages)
    if not last or sum(len(message["content"]) for message in messages[last:]) <= LOOKBACK_BLOCKS:
        return None
    return last - 1
