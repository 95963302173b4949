"""The texts that are written for models alone, as Markdown files.

A file may have `{{name}}`, `{{#if name}}…{{/if}}` for what is only there with a value, and `{{#each name}}…{{/each}}`
for a list, with the places of its rows inside. What is filled in is never read as a template.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from north_lsp.lazy_pattern import lazy_pattern

Values = Mapping[str, "str | Sequence[Mapping[str, str]]"]
_BLOCK = lazy_pattern(r"\{\{#(if|each) (\w+)\}\}(.*?)\{\{/\1\}\}|\{\{(\w+)\}\}", re.DOTALL)


@cache
def _template(name: str) -> str:
    return Path(__file__).with_name(f"{name}.md").read_text("utf-8").strip()


def render(name: str, **values: str | Sequence[Mapping[str, str]]) -> str:
    """Fill a prompt. Raises KeyError for a place without a value."""
    return fill(_template(name), values).strip()


def fill(template: str, values: Values) -> str:
    """Fill the places of a template; blocks of one kind are not put into each other. Raises KeyError for a place
    without a value."""

    def filled(place: re.Match[str]) -> str:
        kind, name, inside, plain = place.groups()
        value = values[plain or name]
        if plain:
            return str(value)
        if kind == "if":
            return fill(inside, values) if value else ""
        rows = [] if isinstance(value, str) else value
        return "".join(fill(inside, {**values, **row}).removeprefix("\n") for row in rows)

    return _BLOCK.sub(filled, template)
