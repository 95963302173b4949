"""Asks the user in a form for the address or command of a new server. The form asks for no keys: it takes names of
variables."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from north_lsp.agent.ports.editor import UserInterface
from north_lsp.agent.ports.forms import ChoiceField, Form, TextField, Value
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.entries import new_entry_id

_KINDS = (
    ("stdio", "A program on this machine"),
    ("http", "An address"),
    ("sse", "An address, by the older transport (SSE)"),
)
_MOST = 4000
_VARIABLE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")


async def ask_for_server(editor: UserInterface, name: str) -> tuple[str, Mapping[str, object]] | None:
    """Return the name and the entry of a server; None if the user does not want one after all. Raises ValueError, also
    for an editor without forms."""
    form = Form(
        f"mcp-{new_entry_id(())}",
        "Add an MCP server to your own file",
        (
            TextField("name", "Name", "Letters, digits and . _ -", default=name or None, most=100),
            ChoiceField("kind", "What it is", _KINDS, default="stdio"),
            TextField("place", "Command line or address", "As in `uvx mcp-server-git`, or https://…", most=_MOST),
            TextField(
                "variable",
                "Variable with its key",
                "The name of a variable of your environment, not the key: it is passed to the program, or sent to the "
                "address as a token",
                required=False,
                most=200,
            ),
        ),
    )
    answer = await editor.fill(form)
    if answer is None:
        raise ValueError(
            "your editor has no forms: `/mcp add <name> --url <address>`, or `/mcp add <name> -- <command>`"
        )
    if answer.kind == "cancelled" and answer.problem:
        raise ValueError(f"the form cannot be used: {answer.problem}")
    return (str(answer.values["name"]).strip(), entry_of(answer.values)) if answer.kind == "accepted" else None


def entry_of(values: Mapping[str, Value]) -> Mapping[str, object]:
    """Return the entry that a filled form means. Raises ValueError."""
    place, variable = str(values["place"]).strip(), str(values.get("variable") or "").strip().strip("${}")
    if variable and not _VARIABLE.fullmatch(variable):
        raise ValueError("the variable's name may have letters, digits and `_`: write its name, not its value")
    value = f"${{{variable}}}"
    if values["kind"] == "stdio":
        try:
            words = shlex.split(place)
        except ValueError as error:
            raise ValueError(f"the command line cannot be read: {error}") from None
        if not words:
            raise ValueError("the command line is empty")
        return {"command": words[0], "args": words[1:]} | ({"env": {variable: value}} if variable else {})
    headers = {"headers": {"Authorization": f"Bearer {value}"}} if variable else {}
    return {"type": values["kind"], "url": place, **headers}
