"""How the words of a call get into a template."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.templates.expansion import expanded, mentions, with_commands_named


@pytest.mark.parametrize(
    ("body", "words", "text"),
    [
        ("Fix $1 in $2.", "a b", "Fix a in b."),
        ("Fix $1 in $2.", "'a b' c", "Fix a b in c."),
        ("Fix $1, $2.", "a", "Fix a, ."),
        ("Fix $1.", 'a "b c', "Fix a."),
        ("Fix $2.", 'a "b c', "Fix b c."),
        ("All: $ARGUMENTS; $@", "a  'b'", "All: a  'b'; a  'b'"),
        ("All: {{args}}, {{ arguments }}", "a b", "All: a b, a b"),
        ("No place.", "a b", "No place.\n\na b"),
        ("No place.", " ", "No place."),
        ("It costs $100 or $12.", "", "It costs $100 or $12."),
        ("$1", "$2 $ARGUMENTS", "$2"),
    ],
)
def test_words_come_where_the_template_wants_them(body: str, words: str, text: str) -> None:
    assert expanded(body, words) == text


@given(st.text(max_size=200), st.text(alphabet="ab'\"\\ $1@{}", max_size=60))
def test_any_words_can_be_put_into_any_text(body: str, words: str) -> None:
    text = expanded(body, words)
    if "$" not in body and "{{" not in body:
        assert text.startswith(body)
        assert text.endswith(words.strip())


def test_commands_are_named_and_never_run_from_here() -> None:
    body = "Changes: !`git diff --stat`\nand !{git log -1}, not `!`.\n!`ls $1`"
    assert with_commands_named(body, "src/a.py") == (
        "Changes: (the output of `git diff --stat`; if it is not below, run it)\n"
        "and (the output of `git log -1`; if it is not below, run it), not `!`.\n"
        "(the output of `ls src/a.py`; if it is not below, run it)",
        ["git diff --stat", "ls src/a.py", "git log -1"],
    )


@pytest.mark.parametrize("words", ["a; rm b", "$(id)", "'a b'", "`id`", "*", "~", "a|b", "!x", "\\"])
def test_words_that_are_more_than_words_to_a_shell_get_into_no_command(words: str) -> None:
    for place in ("$1", '"$1"', "$ARGUMENTS", "{{args}}"):
        text, commands = with_commands_named(f"!`echo {place}`", words)
        assert (text, commands) == (f"(the output of `echo {place}`: run it)", [])


def test_words_on_several_lines_get_into_a_command_as_one() -> None:
    assert with_commands_named("!`echo $ARGUMENTS`", "a\n  'b'")[1] == ["echo a b"]


def test_files_are_mentioned_as_words_of_their_own() -> None:
    body = "Follow @docs/style.md and @{a file.md}, (@src/a.py). Not me@example.org, `@code`, @docs/style.md."
    assert mentions(body) == ["docs/style.md", "a file.md", "src/a.py"]
