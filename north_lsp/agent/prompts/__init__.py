"""Every text that is sent to a model, as Markdown files with `{{name}}` places."""

import re
from functools import cache
from importlib.resources import files


@cache
def _template(name: str) -> str:
    return files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip()


def render(name: str, **values: str) -> str:
    """A prompt with its places filled. Raises KeyError for a place without a value."""
    return re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], _template(name))
