"""What avante.nvim sends in an open session: the words that its user has just sent, as if they had been said before.
Each of the last messages is a block of its own, and a sentence says that a session is continued."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from north_lsp.agent.log.prompt import Part, TextPart
from north_lsp.lazy_pattern import lazy_pattern

_MESSAGE = lazy_pattern(r"<previous_user_message>(?P<words>(?s:.*))</previous_user_message>")
_CONTINUED = lazy_pattern(
    r"<system_context>Continuing from previous session with \d+ recent user messages</system_context>"
)


def newest_alone(parts: Sequence[Part], typed: Callable[[], Collection[str]]) -> tuple[Part, ...]:
    """Return a prompt with the newest message as what it is. That is the first, unless it was `typed` in this session
    before and another was not. The others are left out of a session that has messages itself; in a new one they tell of
    another conversation. A prompt of any other shape stays as it is."""
    if not parts or not _is(parts[-1], _CONTINUED):
        return tuple(parts)
    messages = [(at, found["words"]) for at, part in enumerate(parts) if (found := _is(part, _MESSAGE))]
    if not messages:
        return tuple(parts)
    before = typed()
    newest, words = next((one for one in messages if one[1] not in before), messages[0])
    left_out = {at for at, _ in messages} if before else set()
    rest = enumerate(parts[:-1])
    return tuple(TextPart(words) if at == newest else part for at, part in rest if at == newest or at not in left_out)


def _is(part: Part, pattern: re.Pattern[str]) -> re.Match[str] | None:
    return pattern.fullmatch(part.text) if isinstance(part, TextPart) else None
