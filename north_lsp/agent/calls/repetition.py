"""Detects a model that goes around in circles: the same call with the same result again, or edits that keep failing."""

from __future__ import annotations

import json
from collections import Counter

from north_lsp.agent.ports.results import Result
from north_lsp.providers.base import ToolCall

NOTED, STOPPED = 3, 6
FAILED_EDITS = 2


class Repetition:
    """Watches the results of a turn's calls, in their order."""

    def __init__(self) -> None:
        self._last: tuple[str, str, str] | None = None
        self._times = 0
        self._failed: Counter[str] = Counter()

    @property
    def is_endless(self) -> bool:
        return self._times >= STOPPED

    @property
    def times(self) -> int:
        return self._times

    def note(self, call: ToolCall, result: Result, *, writes: bool) -> str:
        """Return the result's text for the model, with a remark where one is due."""
        key = (call.name, json.dumps(call.arguments, sort_keys=True, default=str), result.text)
        self._times = self._times + 1 if key == self._last else 1
        self._last = key
        remarks: list[str] = []
        if self._times >= NOTED:
            remarks.append(
                f"This is the {_ordinal(self._times)} time in a row that the same call gave the same result."
                " Do something else."
            )
        path = str(call.arguments.get("path", ""))
        if writes and path:
            self._failed[path] = self._failed[path] + 1 if result.is_error else 0
            if self._failed[path] >= FAILED_EDITS:
                remarks.append(
                    f"{self._failed[path]} edits of {path} have failed: read the region again, then use its exact text"
                    " or make all changes in one batch."
                )
        return with_note(result.text, " ".join(remarks)) if remarks else result.text


def with_note(text: str, note: str) -> str:
    """Add a remark to a result's text: as a field if it is one of our JSON envelopes, otherwise as a last line."""
    try:
        envelope = json.loads(text)
    except ValueError:
        envelope = None
    if isinstance(envelope, dict) and "ok" in envelope:
        return json.dumps(envelope | {"note": note}, ensure_ascii=False, separators=(",", ":"))
    return f"{text}\n\n[{note}]"


def _ordinal(number: int) -> str:
    return {3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}.get(number, f"{number}th")
