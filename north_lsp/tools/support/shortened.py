"""Shortens what other programs and hosts have said at length, for a model."""

from __future__ import annotations

MAX_BYTES = 16 * 1024
"""What is longer is shortened."""
_HEAD, _TAIL, _LINE = 100, 20, 1000


def shortened(text: str) -> tuple[str, str, tuple[tuple[int, int], ...]]:
    """Return a text with its middle left out, what is missing in words, and which lines are still there."""
    lines = text.split("\n")
    left = len(lines) - _HEAD - _TAIL
    if left <= 1:
        cut = "\n".join(one if len(one) <= _LINE else f"{one[:_LINE]} …" for one in lines)
        return cut[:MAX_BYTES], "long lines are cut off", ((1, len(lines)),)
    parts = [*lines[:_HEAD], f"... {left} more lines ...", *lines[-_TAIL:]]
    short = "\n".join(one if len(one) <= _LINE else f"{one[:_LINE]} …" for one in parts)
    shown = ((1, _HEAD), (len(lines) - _TAIL + 1, len(lines)))
    return _cut(short), f"{left} lines are left out", shown


def _cut(text: str) -> str:
    """Cut a text that is still too long, in its middle."""
    most = 2 * MAX_BYTES
    return text if len(text) <= most else f"{text[: most // 2]}\n... cut off ...\n{text[-most // 2 :]}"
