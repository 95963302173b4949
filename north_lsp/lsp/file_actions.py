"""Code actions on any file: ask about what is selected, have it explained, tested or documented, and fix what a
diagnostic says. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from north_lsp.agent.log.prompt import FileLink, Part
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lsp.broken_code import CODE as BROKEN
from north_lsp.rpc.messages import invalid_params
from north_lsp.uris import local_path

COMMAND = "north.action"
_AUTOMATIC = 2
_MOST_PROBLEMS = 10
_LONGEST_MESSAGE = 500
_PROMPTS = {
    "explain": "Explain {}.",
    "tests": "Write tests for {}.",
    "document": "Document {} in the code, in the style of the project.",
    "fix": "Fix this in {}:",
}
_TITLES = {
    "ask": "North: ask about the selection",
    "explain": "North: explain the selection",
    "tests": "North: write tests for the selection",
    "document": "North: document the selection",
}


@dataclass(frozen=True, slots=True)
class Task:
    """What a code action stands for: a prompt to send, or None where the user writes one after a `mention`."""

    prompt: str | None
    mention: str


def actions(params: Mapping[str, Any], *, asks: bool) -> list[dict[str, Any]]:
    """Return the code actions for a place of a file. Where the editor requests them on its own, only those for what is
    selected or wrong there. `asks`: there is a place where the user can continue writing a question."""
    uri, range, context = document_uri(params), params.get("range"), params.get("context")
    context = context if isinstance(context, dict) else {}
    problems = list(_problems(context.get("diagnostics")))
    about = {"uri": uri, "range": range}
    found = []
    if problems:
        told = problems[0]["message"] if len(problems) == 1 else f"{len(problems)} problems"
        fix = about | {"what": "fix", "problems": problems[:_MOST_PROBLEMS]}
        found.append(_action(f"North: fix {one_line(told, 60)}", "quickfix", fix))
    is_selected = isinstance(range, dict) and range.get("start") != range.get("end")
    if is_selected or context.get("triggerKind") != _AUTOMATIC:
        for what, title in _TITLES.items():
            if what == "ask" and not asks:
                continue
            shown = title if is_selected else title.replace("the selection", "this line")
            found.append(_action(shown, "refactor.north", about | {"what": what}))
    return wanted(found, params)


def wanted(found: list[dict[str, Any]], params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return those of some code actions that are of the kinds that the editor wants."""
    context = params.get("context")
    only = context.get("only") if isinstance(context, dict) else None
    if not isinstance(only, list):
        return found
    return [one for one in found if any(_is_kind(one["kind"], kind) for kind in only)]


def _is_kind(kind: str, wanted: object) -> bool:
    return kind == wanted or (isinstance(wanted, str) and (not wanted or kind.startswith(f"{wanted}.")))


def _action(title: str, kind: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "kind": kind, "command": {"title": title, "command": COMMAND, "arguments": [given]}}


def document_uri(params: Mapping[str, Any]) -> object:
    """Return the address of the document that a request is about, whatever it is; None if there is none."""
    document = params.get("textDocument")
    return document.get("uri") if isinstance(document, dict) else None


def _problems(diagnostics: object) -> Iterator[dict[str, Any]]:
    for row in diagnostics if isinstance(diagnostics, list) else ():
        if not isinstance(row, dict) or not isinstance(row.get("message"), str) or not _is_wrong(row):
            continue
        try:
            line = int(row["range"]["start"]["line"])
        except (KeyError, TypeError, ValueError):
            continue
        known = {key: str(row[key])[:80] for key in ("source", "code") if isinstance(row.get(key), str | int)}
        yield {"line": line, "message": row["message"][:_LONGEST_MESSAGE], **known}


def _is_wrong(row: Mapping[str, Any]) -> bool:
    """Return whether a diagnostic is about a problem: North's own are, apart from those about what it proposes."""
    return row.get("source") != "north" or row.get("code") == BROKEN


def read_task(given: Mapping[str, Any], root: Path) -> Task:
    """Read the argument of a code action's command. Raises RpcError."""
    what, path = given.get("what"), local_path(given.get("uri"))
    if path is None:
        raise invalid_params("arguments[0].uri", "must name a file")
    lines = selected_lines(given)
    name = one_line(path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path), 1000)
    at = "" if lines is None else f":{lines[0]}" if lines[0] == lines[1] else f":{lines[0]}-{lines[1]}"
    spelled = f'@"{name}"' if " " in name else f"@{name}{at}"
    if what == "ask":
        return Task(None, f"{spelled} ")
    if what not in _PROMPTS:
        raise invalid_params("arguments[0].what", f"must be ask, {', '.join(_PROMPTS)}, not {what!r}")
    place = "this file" if lines is None else f"line {lines[0]}" if lines[0] == lines[1] else f"lines {at[1:]}"
    prompt = _PROMPTS[what].format(f"{place} of {name}" if lines is not None else name)
    if what == "fix":
        rows = [one for one in given.get("problems") or () if isinstance(one, dict)]
        prompt = "\n\n".join([prompt, "\n".join(map(_problem, rows))]).strip()
    return Task(prompt, spelled)


def _problem(row: Mapping[str, Any]) -> str:
    named = " ".join(str(row[key]) for key in ("source", "code") if row.get(key))
    line = row.get("line")
    place = f"line {line + 1}: " if isinstance(line, int) else ""
    return f"- {place}{one_line(str(row.get('message')), _LONGEST_MESSAGE)}" + (f" ({named})" if named else "")


def selected_lines(given: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the selected lines, from 1; None if there is no range."""
    range = given.get("range") or {}
    try:
        first, last = int(range["start"]["line"]) + 1, int(range["end"]["line"]) + 1
        if range["end"].get("character") == 0 and last > first:
            last -= 1  # a selection of whole lines ends at the start of the next one
    except (TypeError, KeyError, ValueError):
        return None
    return first, max(first, last)


def file_part(given: Mapping[str, Any]) -> tuple[Part, ...]:
    """Return the file, or its selected lines, that a prompt is about."""
    uri = given.get("uri")
    return (FileLink(uri, selected_lines(given)),) if isinstance(uri, str) else ()
