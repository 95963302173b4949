"""Where a slash command begins and ends, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.commands.parsing import find_commands

NAMES = {"mode", "model", "undo"}


@pytest.mark.parametrize(
    ("text", "commands", "rest"),
    [
        ("/mode ask", [("mode", ("ask",))], ""),
        ("/mode ask /model 'a b'", [("mode", ("ask",)), ("model", ("a b",))], ""),
        ("/undo 2\nNow do it again", [("undo", ("2",))], "Now do it again"),
        ("First\n  /undo\nthen", [("undo", ())], "First\nthen"),
        ('/model "/mode x"', [("model", ("/mode x",))], ""),
        ("what does /mode ask do?", [], "what does /mode ask do?"),
        ("/mode/ask is a path", [], "/mode/ask is a path"),
        ("/mode.py", [], "/mode.py"),
        ("/modest", [], "/modest"),
        ("```\n/undo\n```", [], "```\n/undo\n```"),
        ("\\/undo is a command", [], "/undo is a command"),
    ],
)
def test_commands_and_what_remains(text: str, commands: list[tuple[str, tuple[str, ...]]], rest: str) -> None:
    found = find_commands(text, NAMES)
    assert [(one.name, one.args) for one in found.invocations] == commands
    assert found.text == rest


@pytest.mark.parametrize(
    ("text", "unknown"),
    [("/udno", "udno"), ("/udno 3", "udno"), ("/usr/bin/x", ""), ("/x.py", ""), ("see /udno", ""), ("\\/udno", "")],
)
def test_a_word_that_looks_like_a_command(text: str, unknown: str) -> None:
    assert find_commands(text, NAMES).unknown == unknown


def test_a_quotation_mark_without_a_partner_is_said() -> None:
    (one,) = find_commands("/model 'x", NAMES).invocations
    assert one.problem


@given(st.text(alphabet=st.sampled_from("/modelun \n`\\'\"x."), max_size=60))
def test_any_text_is_read_and_only_commands_go(text: str) -> None:
    found = find_commands(text, NAMES)
    if not found.invocations:
        assert found.text in (text, text.replace("\\/", "/", 1))
    for one in found.invocations:
        assert one.typed in text
        assert one.name in NAMES
