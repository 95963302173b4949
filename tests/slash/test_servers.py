"""`/mcp add` says in words how a server is reached."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from north_lsp.slash.base import CommandError
from north_lsp.slash.parsing import Invocation
from north_lsp.slash.registry import Commands


class Host:
    """Notes what is added."""

    added: Mapping[str, object]

    async def add_server_by_form(self, name: str) -> str:
        return f"a form for {name or 'any'}"

    async def add_server(self, name: str, entry: Mapping[str, object]) -> str:
        self.added = entry
        return name


@pytest.mark.parametrize(
    ("words", "entry"),
    [
        (["--", "uvx", "server", "--url", "x"], {"command": "uvx", "args": ["server", "--url", "x"]}),
        (["--env", "A=b=c", "--", "uvx"], {"command": "uvx", "args": [], "env": {"A": "b=c"}}),
        (["--url", "https://a"], {"url": "https://a"}),
        (
            ["--header", "X-A=1", "--url", "https://a", "--token", "t"],
            {"url": "https://a", "headers": {"X-A": "1", "Authorization": "Bearer t"}},
        ),
    ],
)
async def test_what_is_added(words: list[str], entry: dict[str, object]) -> None:
    host = Host()
    await Commands().run(Invocation("mcp", ("add", "new", *words), ""), cast(Any, host))
    assert host.added == entry


@pytest.mark.parametrize(("words", "told"), [((), "a form for any"), (("new",), "a form for new")])
async def test_without_words_about_it_a_form_is_shown(words: tuple[str, ...], told: str) -> None:
    reply = await Commands().run(Invocation("mcp", ("add", *words), ""), cast(Any, Host()))
    assert reply.text == told


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--url"], "needs a value"),
        (["--url", "a", "--", "b"], "--url <address>"),
        (["--"], "--url <address>"),
        (["--token", "t", "--", "b"], "belong to an address"),
        (["--env", "A=b", "--url", "a"], "belongs to a command"),
        (["--env", "A", "--", "b"], "a name and a value"),
        (["--url", "a", "--url", "b"], "`--url` is not an option"),
        (["uvx", "server"], "`uvx` is not an option"),
    ],
)
async def test_what_makes_no_sense_is_refused(words: list[str], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        await Commands().run(Invocation("mcp", ("add", "new", *words), ""), cast(Any, Host()))


def test_settings_that_nobody_is_shown_are_not_kept() -> None:
    commands = Commands(secret_settings=frozenset({"web.key"}))
    assert commands.hides(Invocation("config", (), "/config web.key abc"))
    assert not commands.hides(Invocation("config", (), "/config web.timeout 5"))
    assert not commands.hides(Invocation("undo", (), "/undo web.key"))


def test_keys_in_a_command_are_not_kept() -> None:
    assert Commands().hides(Invocation("mcp", (), "/mcp add a --url b --token c"))
    assert not Commands().hides(Invocation("mcp", (), "/mcp add a -- c"))
