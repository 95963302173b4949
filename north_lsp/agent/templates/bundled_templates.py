"""The templates that are bundled with North: `bundled/<name>.md`, which has nothing but what a model gets."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from north_lsp.agent.templates.template import Template

_FOLDER = Path(__file__).parent / "bundled"
_KNOWN = (
    ("clarify", "Ask what is unclear before work begins", "<task>"),
    ("commit", "Commit the changes with a message that says why", "[--split] [--changelog] [what to stress]"),
    ("explain", "Explain code", "[a file, a symbol, or a question]"),
    ("fix", "Find the cause of an error and fix it", "[an error, a failing test, or a symptom]"),
    ("init", "Write AGENTS.md for this project", "[what to stress]"),
    ("review", "Review the changes that are not committed yet, or what you name", "[files, a branch, or a commit]"),
    ("tests", "Write tests", "[a file or a symbol]"),
)
"""The name of each, its description, and the words that it takes."""


@cache
def bundled_templates() -> tuple[Template, ...]:
    """Read the templates that are bundled with North."""
    return tuple(_read(*one) for one in _KNOWN)


def _read(name: str, description: str, hint: str) -> Template:
    path = _FOLDER / f"{name}.md"
    body = path.read_text("utf-8").strip()
    return Template(name, "command", "builtin", "user", path, "North's own", body, description, hint)
