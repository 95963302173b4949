"""What a refused command says: always a sentence, and what can be typed where the words were wrong."""

from collections.abc import Sequence

import anyio
import pytest

from north_lsp.display import sentence
from north_lsp.slash.base import Command, CommandError, Reply, UsageError
from north_lsp.slash.groups import GROUPS, OTHERS, grouped
from north_lsp.slash.parsing import Invocation
from north_lsp.slash.registry import Commands

_ANYTHING = {"checkpoint", "compact", "conversations", "handoff", "label", "model", "move", "rename", "restore"}
_ANYTHING |= {"config", "delete", "resume", "tree"}  # each takes any words
_WRONG = ("--no-such", "words", "and", "more")


def refusal(name: str, *words: str) -> str:
    """Return what a command says to these words; it has no conversation, so it must refuse before it needs one."""

    async def run() -> None:
        await Commands().run(Invocation(name, words, f"/{name} {' '.join(words)}"), None)  # type: ignore[arg-type]

    with pytest.raises(CommandError) as refused:
        anyio.run(run)
    return sentence(str(refused.value))


@pytest.mark.parametrize(
    "command", [one for one in Commands().all() if one.name not in _ANYTHING], ids=lambda one: one.name
)
def test_every_command_with_wrong_words_says_in_one_form_what_can_be_typed(command: Command) -> None:
    if command.name == "login":  # it may have been a key
        assert refusal("login", *_WRONG).startswith("Never type a key into a conversation.")
        return
    said = refusal(command.name, *_WRONG)
    typed = f"`/{command.name} {command.hint}`" if command.hint else f"`/{command.name}`, with nothing after it"
    assert said.startswith(f"Usage: {typed}."), said
    assert said.endswith("."), said


def test_what_the_hint_does_not_say_follows_the_usage() -> None:
    assert refusal("undo", "0") == "Usage: `/undo [n] [file] [overwrite|merge]`. The number must be between 1 and 1000."
    assert refusal("rename") == "Usage: `/rename <title>`. A title cannot be empty."


def test_help_of_one_command_that_is_not_there() -> None:
    assert refusal("help", "udno").startswith("There is no command /udno. Did you mean /undo?")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("there is no rule 'x': the rules are none", "There is no rule 'x': the rules are none."),
        ("it could not be moved: Permission denied", "It could not be moved: Permission denied."),
        ("why?", "Why?"),
        ("Done.", "Done."),
        ("`--env` needs a value", "`--env` needs a value."),
        ("/undo: a quotation mark is not closed", "/undo: a quotation mark is not closed."),
        ("models.yml could not be read", "models.yml could not be read."),
        ("a.py has changed", "a.py has changed."),
        ("north-lsp is too old", "north-lsp is too old."),
        ("several match:\n\n- `a`: one\n- `b`: two", "Several match:\n\n- `a`: one\n- `b`: two"),
        ("it says:\n\n```\nfoo\n```", "It says:\n\n```\nfoo\n```"),
        ("", ""),
        ("open this page: https://a.example/b?c=d", "Open this page: https://a.example/b?c=d"),
    ],
)
def test_a_message_is_shown_as_a_sentence(text: str, shown: str) -> None:
    assert sentence(text) == shown
    assert sentence(shown) == shown


def test_every_command_is_in_one_group_and_no_group_names_another() -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert sorted(named) == [one.name for one in Commands().all()]


def test_help_shows_the_groups_and_what_is_not_norths_own_at_the_end() -> None:
    async def run(host: object, words: Sequence[str]) -> Reply:
        raise UsageError

    commands = Commands()
    commands.templates = [Command("mine", "Do it my way", run)]

    async def help() -> str:
        return (await commands.run(Invocation("help", (), "/help"), None)).text  # type: ignore[arg-type]

    text = anyio.run(help)
    assert text.startswith("**Conversations**\n\n- `/new`: Begin a new conversation\n")
    assert text.endswith(f"**{OTHERS}**\n\n- `/mine`: Do it my way")
    assert [title for title, _ in grouped(commands.all())] == [*GROUPS, OTHERS]
    assert text.count("\n- `/") == len(commands.all())
