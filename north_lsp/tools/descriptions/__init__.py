"""What the model is told about each tool: one Markdown file per tool."""

from functools import cache
from importlib.resources import files


@cache
def description(name: str) -> str:
    return files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip()
