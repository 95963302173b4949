"""The rules that are bundled with North: what models are known to do wrong while they write."""

from __future__ import annotations

import re
from functools import cache

from north_lsp.agent.ports.stream_rules import Condition, StreamRule
from north_lsp.agent.prompts import render
from north_lsp.lazy_dataclass import dataclass

_COMMENT = r"^[ \t]*(?:#|//|/\*+|\*|<!--|--|;+|%+)[ \t]*"
_DOTS = r"(?:\.{3}|…)"
_LEFT_OUT = (
    rf"{_COMMENT}[\[(]?(?:"
    rf"{_DOTS}[^\n]{{0,40}}\b(?:rest|remain\w*|existing|unchanged|omitted|previous|same)\b"
    rf"|(?:the )?(?:rest|remainder) of (?:the |this )?(?:file|code|function|method|class|module)\b"
    r"[^\n]{0,30}\b(?:unchanged|omitted|the same|as before|as is|here)\b"
    rf"|(?:existing|previous|remaining|unchanged) (?:code|content|implementation|methods|functions)[^\n]{{0,40}}{_DOTS}"
    r")"
)
_MARKERS = r"^(?:<{7}|>{7}) \S"
_SERVERS = (
    r"(?:npm|pnpm|yarn|bun)(?: run)? (?:dev|start|serve|watch)\b",
    r"next dev|ng serve|webpack serve|vite(?: dev| preview)?(?: -[^\"&;|]*)?(?=[\"&;|])",
    r"python3? -m http\.server|flask run|(?:uvicorn|gunicorn|hypercorn) \S|manage\.py runserver",
    r"rails s(?:erver)?\b|php -S \S|jekyll serve|hugo server|mkdocs serve",
)
_SERVER = r'\A(?!.*"background"\s*:\s*true).*"command"\s*:\s*"(?:[^"\\]|\\.)*' + rf"\b(?:{'|'.join(_SERVERS)})"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A rule with its pattern, which takes linear time; `at_end`: it needs the whole of a call's arguments."""

    rule: StreamRule
    pattern: re.Pattern[str]
    at_end: bool = False


@cache
def built_in() -> tuple[BuiltIn, ...]:
    """Return the rules of North's own, all of them."""
    return (
        BuiltIn(_rule("no-elided-code", _LEFT_OUT, "tool:edit_*"), re.compile(_LEFT_OUT, re.MULTILINE | re.IGNORECASE)),
        BuiltIn(_rule("no-conflict-markers", _MARKERS, "tool:edit_*"), re.compile(_MARKERS, re.MULTILINE)),
        BuiltIn(
            _rule("no-blocking-server", _SERVER, "tool:shell_run", interrupts=False),
            re.compile(_SERVER, re.DOTALL),
            at_end=True,
        ),
    )


def _rule(name: str, pattern: str, scope: str, *, interrupts: bool = True) -> StreamRule:
    return StreamRule(name, render(f"rule_{name}"), Condition((pattern,), (), (scope,), interrupts))
