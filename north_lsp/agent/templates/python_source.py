"""What a command written in Python says of itself, read from its text: nothing of it is run. Pure."""

from __future__ import annotations

import ast
from dataclasses import replace

from north_lsp.agent.templates.template import Template, checked
from north_lsp.display import one_line

_NAME = "COMMAND"
_RUN = "run"


def parse_python(text: str, about: Template) -> Template:
    """Make a template of a Python file with `COMMAND = {"name", "description", "usage"}` and a function
    `run(ctx, args)`; `about` has what its place says."""
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        return replace(about, why=f"it is not Python: line {error.lineno or 1}: {one_line(error.msg, 200)}")
    except (ValueError, RecursionError, MemoryError):  # a NUL, or brackets of thousands of levels
        return replace(about, why="it is not Python")
    told = next((value for one in body if (value := _assigned(one)) is not None), None)
    if told is None:
        return replace(about, why=f"it must set `{_NAME}` to a literal dict of strings")
    if not any(isinstance(one, ast.AsyncFunctionDef | ast.FunctionDef) and one.name == _RUN for one in body):
        return replace(about, why=f"it has no function `{_RUN}(ctx, args)`")
    name = (told.get("name", "").strip().removeprefix("/") or about.name).lower()
    usage = one_line(told.get("usage", ""), 100).removeprefix(f"/{name}").strip()
    return checked(
        replace(about, name=name, body=text, description=one_line(told.get("description", ""), 500), hint=usage)
    )


def _assigned(statement: ast.stmt) -> dict[str, str] | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == _NAME:
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name == _NAME:
            pass
        case _:
            return None
    try:
        told = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    if not isinstance(told, dict):
        return None
    return {key: one for key, one in told.items() if isinstance(key, str) and isinstance(one, str)}
