"""The texts that are written for models alone, as Markdown files with `{{name}}` placeholders."""

import re
from functools import cache
from importlib.resources import files


@cache
def _template(name: str) -> str:
    return files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip()


def render(name: str, **values: str) -> str:
    """Fill the placeholders of a prompt. Raises KeyError for one without a value."""
    return re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], _template(name))
