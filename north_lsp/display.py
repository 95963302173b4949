"""Make untrusted text safe to show: characters that are invisible, or that would control a terminal or the reading
direction, become visible marks. For everything that people see, above all approval prompts. Imports nothing of ours."""

from __future__ import annotations

import re
from datetime import datetime

from north_lsp.lazy_pattern import lazy_pattern

_ESCAPES = lazy_pattern(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system commands: titles, links, clipboard
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # device control and other strings
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colors, cursor
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]",
)
_UNFINISHED = lazy_pattern(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)\Z")
_EMOJI = "[\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff\ufe0f]"
_LONGEST_EMOJI = 32
_UNFINISHED_EMOJI = lazy_pattern(f"{_EMOJI}[\ufe0e\ufe0f]*(?:\u200d{_EMOJI}[\ufe0e\ufe0f]*)*\u200d?\\Z")
_WORD_FIRST = lazy_pattern(r"(?!north-lsp\b)[a-z][a-z'’-]*(?:[\s,;:?!]|\.?\Z|\.\s)")
_HIDDEN = lazy_pattern(
    # Within an emoji, the variation selectors and the joiner are part of the character.
    f"(?<={_EMOJI})\u200d(?={_EMOJI})|(?<={_EMOJI})[\ufe0e\ufe0f]|(?P<hidden>"
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff])"
)


def _mark(match: re.Match[str]) -> str:
    return f"<U+{ord(match[0]):04X}>" if match["hidden"] else match[0]


def visible(text: str) -> str:
    """Return text for people: line feeds and tabs stay, every other invisible character becomes `<U+XXXX>`."""
    return _HIDDEN.sub(_mark, text.replace("\r\n", "\n"))


def unfinished_escape(text: str) -> int:
    """Return the offset of an escape sequence that the next piece of text may complete, or the text's length."""
    found = _UNFINISHED.search(text)
    return len(text) if found is None else found.start()


def unfinished_emoji(text: str) -> int:
    """Return the offset of an emoji that the next piece of text may complete, or the text's length."""
    start = max(0, len(text) - _LONGEST_EMOJI)
    found = _UNFINISHED_EMOJI.search(text, start)
    return len(text) if found is None else found.start()


def one_line(text: str, limit: int = 80) -> str:
    """Return the text as a title: white space collapsed, hidden characters marked, cut with an ellipsis."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def titled(text: str, limit: int = 80) -> str:
    """Return a title that ends in a count (`… - 3 matches`). If it is too long, the part before the count is cut."""
    name, dash, count = text.rpartition(" - ")
    if not dash or len(one_line(text, len(text) * 10)) <= limit or len(count) > limit // 2:
        return one_line(text, limit)
    return f"{one_line(name, limit - len(count) - len(dash))}{dash}{one_line(count, limit)}"


def fenced(text: str, language: str = "") -> str:
    """Return the text as a Markdown code block whose fence the text cannot close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def sentence(text: str) -> str:
    """Return a message that stands alone as it is shown everywhere: with a capital, and with a full stop at its end.
    A name of something at its beginning (`models.yml`, a path, a command) and a list, code or an address at its end
    stay."""
    said = text.strip()
    if _WORD_FIRST.match(said):
        said = said[0].upper() + said[1:]
    last = said.rpartition("\n")[2].lstrip()
    is_list, is_address = last.startswith(("- ", "* ", "|", "```")), "://" in last.rpartition(" ")[2]
    is_open = bool(last) and last[-1] not in ".!?:…" and not is_list and not is_address
    return f"{said}." if is_open else said


def tokens_shown(count: int) -> str:
    """Format a number of tokens for a narrow place: `950`, `42.5K`, `1.2M`."""
    for size, unit in ((1_000_000, "M"), (1_000, "K")):
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return str(count)


def money(dollars: float) -> str:
    """Format US dollars, with more digits for small amounts."""
    if dollars <= 0:
        return "$0.00"
    if dollars < 0.0005:
        return "<$0.001"
    if dollars < 0.01:
        return f"${dollars:.3f}"
    return f"${dollars:.2f}" if dollars < 99.995 else f"${dollars:,.0f}"


def counted(number: int, name: str) -> str:
    """Return a number of things with their name, which ends in an s unless there is one (`1 file`, `2 files`)."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def ago(moment: str, now: datetime) -> str:
    """Tell how long ago a moment (`2025-12-10T10:20:30.000Z`) was; after a week, its date."""
    try:
        seconds = (now - datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError):
        return "at an unknown time"
    minutes = int(seconds // 60)
    if minutes < 1:
        return "just now"
    for size, unit in ((60, "minute"), (24 * 60, "hour"), (7 * 24 * 60, "day")):
        if minutes < size:
            count = minutes // {"minute": 1, "hour": 60, "day": 24 * 60}[unit]
            return f"{counted(count, unit)} ago"
    return f"on {moment[:10]}"


def without_escapes(text: str) -> str:
    """Remove terminal escape sequences from a command's output. Other hidden characters are left for `visible`."""
    return _ESCAPES.sub("", text)
