"""What is read of a command in Python without running it."""

from pathlib import Path

import pytest

from north_lsp.agent.templates.python_source import parse_python
from north_lsp.agent.templates.template import Template

RUN = "async def run(ctx, args):\n    pass\n"


def read(text: str) -> Template:
    return parse_python(text, Template("file", "python", "north", "user", Path("/a/file.py"), "file.py"))


def test_it_says_what_it_is_called_and_takes() -> None:
    found = read(f'COMMAND = {{"name": "Ticket", "description": "Fetch", "usage": "/ticket <n>", "x": 1}}\n{RUN}')
    assert (found.name, found.description, found.hint, found.why) == ("ticket", "Fetch", "<n>", "")
    assert read("COMMAND: dict[str, str] = {}\ndef run(ctx, args): ...").name == "file"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def run(", "it is not Python: line 1"),
        ("\0", "it is not Python"),
        ("(" * 5000, "it is not Python"),
        (RUN, "it must set `COMMAND`"),
        (f"COMMAND = dict(name=open('x'))\n{RUN}", "it must set `COMMAND`"),
        (f"COMMAND = [1]\n{RUN}", "it must set `COMMAND`"),
        ("COMMAND = {}", "it has no function `run(ctx, args)`"),
        (f'COMMAND = {{"name": "a b"}}\n{RUN}', "its name is not made of letters"),
    ],
)
def test_what_is_wrong_with_it_is_said(text: str, why: str) -> None:
    assert read(text).why.startswith(why)
