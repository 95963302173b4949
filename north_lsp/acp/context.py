"""`_north/context`: what the next request of a session has, and where each part comes from; and what a client tells of
its editor with a prompt (`_meta.north.editorState`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, cast, get_args

from north_lsp.acp import params as read
from north_lsp.agent.log.editor_state import EditorProblem, EditorState, Severity
from north_lsp.display import visible
from north_lsp.rpc.messages import invalid_params

if TYPE_CHECKING:
    from north_lsp.agent.context.report import Report
    from north_lsp.agent.log.prompt import Part
    from north_lsp.agent.session.session import Session
    from north_lsp.rpc.messages import Params
    from north_lsp.rpc.peer import Call, Handler

_FIELD = "_meta.north.editorState"
_MOST = 100
_MAX_TEXT = 2_000


def context_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def context(params: Params, call: Call) -> object:
        return _told(await session_of(params).context_report())

    return {"_north/context": context}


def _told(report: Report) -> dict[str, object]:
    return {
        "tokens": report.tokens,
        "bytes": report.bytes,
        "window": report.window,
        "parts": [
            {**asdict(part), "title": visible(part.title), "source": visible(part.source)} for part in report.parts
        ],
        "items": [
            {key: visible(value) if isinstance(value, str) else value for key, value in asdict(one).items()}
            for one in report.items
        ],
        "problems": [visible(problem) for problem in report.problems],
        "secrets": report.secrets,
        "markdown": report.markdown,
    }


def with_editor(params: Params, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Add what the client tells of its editor to a prompt. Raises RpcError for a state that is not one."""
    north = read.meta(params).get("north")
    state = north.get("editorState") if isinstance(north, dict) else None
    return parts if state is None else (*parts, _state(state))


def _state(value: object) -> EditorState:
    if not isinstance(value, dict):
        raise invalid_params(_FIELD, "must be an object")
    active = value.get("active")
    if active is None:
        active = {}
    if not isinstance(active, dict):
        raise invalid_params(f"{_FIELD}.active", "must be an object")
    uri = active.get("uri")
    line = active.get("line")
    return EditorState(
        None if uri is None else _text(uri, "active.uri"),
        None if line is None else _line(line, "active.line"),
        _lines(active.get("selection"), "active.selection"),
        _lines(active.get("inView"), "active.inView"),
        _names(value.get("visible"), "visible"),
        _names(value.get("open"), "open"),
        _names(value.get("unsaved"), "unsaved"),
        tuple(
            (_text(row.get("uri"), f"recentEdits[{at}].uri"), _line(row.get("line"), f"recentEdits[{at}].line"))
            for at, row in enumerate(_rows(value.get("recentEdits"), "recentEdits"))
        ),
        tuple(_problem(row, f"problems[{at}]") for at, row in enumerate(_rows(value.get("problems"), "problems"))),
    )


def _problem(row: dict[str, object], field: str) -> EditorProblem:
    severity = row.get("severity")
    if severity not in get_args(Severity):
        raise invalid_params(f"{_FIELD}.{field}.severity", f"must be {', '.join(get_args(Severity))}")
    message = _text(row.get("message"), f"{field}.message")
    return EditorProblem(_line(row.get("line"), f"{field}.line"), cast(Severity, severity), message)


def _rows(value: object, field: str) -> list[dict[str, object]]:
    rows = _list(value, field)
    for at, row in enumerate(rows):
        if not isinstance(row, dict):
            raise invalid_params(f"{_FIELD}.{field}[{at}]", "must be an object")
    return cast(list[dict[str, object]], rows)


def _names(value: object, field: str) -> tuple[str, ...]:
    return tuple(_text(name, f"{field}[{at}]") for at, name in enumerate(_list(value, field)))


def _list(value: object, field: str) -> list[object]:
    """Read a list; what is more than North could tell a model is left out."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise invalid_params(f"{_FIELD}.{field}", "must be a list")
    return value[:_MOST]


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise invalid_params(f"{_FIELD}.{field}", "must be a string")
    return value[:_MAX_TEXT]


def _line(value: object, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**31:
        raise invalid_params(f"{_FIELD}.{field}", "must be a line number from 1")
    return value


def _lines(value: object, field: str) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        raise invalid_params(f"{_FIELD}.{field}", "must be the first and the last line")
    first, last = _line(value[0], f"{field}[0]"), _line(value[1], f"{field}[1]")
    return first, max(first, last)
