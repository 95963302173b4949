"""What a model answers that was asked for a summary: read leniently, rendered the same way every time. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from north_lsp.agent.log.compactions import LIST_SECTIONS, TEXT_SECTIONS, in_markdown
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass

_LONGEST_SHORT = 200


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary in Markdown; `structured` is what it was made of, None if the model did not keep to the form."""

    text: str
    short: str = ""
    structured: Mapping[str, Any] | None = None


def read_summary(answer: str) -> Summary | None:
    """Read an answer in the form that was asked for; None if it is not in it."""
    begin, end = answer.find("{"), answer.rfind("}")
    try:
        value = json.loads(answer[begin : end + 1]) if 0 <= begin < end else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    sections: dict[str, Any] = {key: _text(value[key]) for key in TEXT_SECTIONS if _text(value.get(key))}
    sections |= {key: rows for key in LIST_SECTIONS if (rows := _rows(value.get(key)))}
    text = in_markdown(sections)
    if not text:
        return None
    short = one_line(_text(value.get("shortSummary")) or _text(value.get("goal")), _LONGEST_SHORT)
    return Summary(text, short, sections)


def raw_summary(answer: str) -> Summary | None:
    """Take an answer as it is; None if there is nothing in it."""
    text = answer.strip()
    return Summary(text, one_line(text, _LONGEST_SHORT)) if text else None


def _text(value: object) -> str:
    match value:
        case str():
            return value.strip()
        case list():
            return "\n".join(f"- {row}" for row in _rows(value))
        case _:
            return ""


def _rows(value: object) -> list[str]:
    rows = value if isinstance(value, list) else [value]
    texts = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows if row is not None]
    return [text.strip() for text in texts if text.strip()]
