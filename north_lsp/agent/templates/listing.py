"""Lists templates for people, in Markdown. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.agent.templates.template import Kind, Template, Templates
from north_lsp.display import one_line, visible

_TITLES: dict[Kind, str] = {
    "skill": "Skills",
    "command": "Commands",
    "prompt": "Prompt templates",
    "python": "Commands in Python",
}


def templates_markdown(templates: Sequence[Template], problems: Sequence[str] = ()) -> str:
    """List all templates by kind: how each is called, where it is, and what is wrong with it; then other problems."""
    blocks = []
    for kind, title in _TITLES.items():
        rows = [_row(one) for one in templates if one.kind == kind]
        if rows:
            blocks.append("\n".join([f"**{title}**", "", *rows]))
    if problems:
        blocks.append("\n".join(["**Problems**", "", *(f"- {visible(one)}" for one in problems)]))
    return "\n\n".join(blocks)


def _row(one: Template) -> str:
    hint = f" {one.hint}" if one.hint else ""
    problems = "".join(f"; {visible(problem)}" for problem in one.problems)
    state = f" Not used: {visible(one.why)}." if one.why else ""
    place = Templates().placed(one, one_line(one.shown, 300))
    description = f": {one_line(one.description, 200)}" if one.description else ""
    return f"- `/{one_line(one.name, 120)}{hint}`{description} ({place}{problems}).{state}"
