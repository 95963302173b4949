"""What is a slash command and what is none: one, at the beginning of a prompt; everything after it is its arguments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.slash.parsing import find_command

NAMES = {"mode", "model", "undo", "help"}


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("/mode ask", "mode", ("ask",)),
        ("  /undo", "undo", ()),
        ("/help /undo", "help", ("/undo",)),
        ("/mode ask /model 'a b'", "mode", ("ask", "/model", "a b")),
        ("/undo 2\nand do it again", "undo", ("2", "and", "do", "it", "again")),
        ('/model "/mode x"', "model", ("/mode x",)),
    ],
)
def test_a_command_and_its_words(text: str, name: str, args: tuple[str, ...]) -> None:
    found = find_command(text, NAMES)
    assert found.command is not None
    assert (found.command.name, found.command.args, found.command.typed) == (name, args, text.strip())
    assert not found.text


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (text, text)
        for text in (
            "First\n  /undo\nthen",
            "what does /mode ask do?",
            "/mode/ask is a path",
            "/mode.py",
            "```\n/undo\n```",
        )
    ]
    + [("\\/undo is a command", "/undo is a command")],
)
def test_what_is_text(text: str, rest: str) -> None:
    found = find_command(text, NAMES)
    assert (found.command, found.unknown, found.text) == (None, "", rest)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("/udno", "udno"),
        ("/udno 3", "udno"),
        ("/modest", "modest"),
        ("/usr/bin/x", ""),
        ("/x.py", ""),
        ("see /udno", ""),
        ("\\/udno", ""),
    ],
)
def test_a_word_that_looks_like_a_command(text: str, unknown: str) -> None:
    assert find_command(text, NAMES).unknown == unknown


def test_a_quotation_mark_without_a_partner_is_said() -> None:
    one = find_command("/model 'x", NAMES).command
    assert one is not None
    assert one.problem


@given(st.text(alphabet=st.sampled_from("/modelun \n`\\'\"x."), max_size=60))
def test_any_text_is_a_command_or_text(text: str) -> None:
    found = find_command(text, NAMES)
    if found.command is None:
        assert found.text in (text, text.replace("\\/", "/", 1))
    else:
        assert (found.command.typed, found.text) == (text.strip(), "")
        assert found.command.name in NAMES
