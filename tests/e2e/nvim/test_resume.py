"""Which conversation is shown when another one is wanted while one is being opened: the last one, whole and alone."""

from pathlib import Path

import pytest

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_conversations import PROMPT, two_conversations
from tests.e2e.nvim.test_plugin import IDLE, Bed, ask, bed, chat, in_chat, replace_select

__all__ = ["bed"]

ID = "require('north.state').session_id"


def logs(bed: Bed) -> list[Path]:
    return list((bed.folder / "data" / "conversations").glob("*.jsonl"))


@pytest.fixture
def stored(bed: Bed) -> tuple[str, str]:
    """Two stored conversations: one about greetings, and one about files."""
    with bed.nvim() as nvim:
        two_conversations(nvim)
    (greetings,) = [log.stem for log in logs(bed) if "explain greet" in log.read_text()]
    (files,) = [log.stem for log in logs(bed) if log.stem != greetings]
    return greetings, files


def shows_greetings(nvim: Nvim, id: str) -> None:
    nvim.until(f"{ID} == '{id}' and {in_chat('is defined in')} and {IDLE}")
    assert chat(nvim).count("## You\n\nexplain greet") == 1


def test_what_is_asked_behind_a_resume_is_asked_in_that_conversation(bed: Bed, stored: tuple[str, str]) -> None:
    with bed.nvim() as nvim:
        nvim.command(f"North resume {stored[0]}")
        ask(nvim, "find tidy")
        nvim.until(f"{in_chat('tidy')} and {IDLE}")
        shows_greetings(nvim, stored[0])
        assert chat(nvim).index("explain greet") < chat(nvim).index("## You\n\nfind tidy")
    assert [log.stem for log in logs(bed) if "find tidy" in log.read_text()] == [stored[0]]


def test_the_last_of_two_is_shown(bed: Bed, stored: tuple[str, str]) -> None:
    with bed.nvim() as nvim:
        nvim.command(f"North resume {stored[1]}")
        nvim.command(f"North resume {stored[0]}")
        shows_greetings(nvim, stored[0])
        assert "list files" not in chat(nvim)


def test_one_that_does_not_come_has_nothing_asked_elsewhere(bed: Bed, stored: tuple[str, str]) -> None:
    with bed.nvim() as nvim:
        replace_select(nvim, "")
        nvim.command("North resume nowhere")
        ask(nvim, "find tidy")
        nvim.until(f"{PROMPT} == 'find tidy' and {IDLE}")
        assert chat(nvim) == ""


def switch(*ids: str) -> str:
    """Lua that has these shown at once, one after the other, before any of them can have come."""
    return "".join(f" require('north.conversation').switch('{id}', vim.fn.getcwd())" for id in ids)


def test_one_is_shown_in_place_of_a_new_one_that_is_being_begun(bed: Bed, stored: tuple[str, str]) -> None:
    with bed.nvim() as nvim:
        nvim.lua("require('north.conversation').begin()" + switch(stored[0]))
        shows_greetings(nvim, stored[0])
        nvim.lua("require('north.conversation').new()" + switch(stored[0]))
        shows_greetings(nvim, stored[0])


@pytest.mark.parametrize("before", [[1], [0], [1, 0, 1]])
def test_one_is_shown_in_place_of_another_that_is_being_loaded(
    bed: Bed, stored: tuple[str, str], before: list[int]
) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        nvim.until(f"{ID} ~= nil and {IDLE}")
        nvim.lua(
            "closed = {} local client = vim.lsp.get_clients({ name = 'north' })[1] local request = client.rpc.request"
            " client.rpc.request = function(method, params, ...)"
            " if method == 'session/close' then table.insert(closed, params.sessionId) end"
            " return request(method, params, ...) end"
        )
        nvim.lua(switch(*[stored[index] for index in before], stored[0]))
        shows_greetings(nvim, stored[0])
        assert "list files" not in chat(nvim)
        left = stored[1] if before != [0] else None  # nothing is left for the same one
        assert nvim.lua("return closed[2]") == left  # behind the one that was there first


def test_a_new_one_takes_the_place_of_another_that_is_being_loaded(bed: Bed, stored: tuple[str, str]) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        nvim.until(IDLE)
        nvim.lua(switch(stored[0]) + " require('north.conversation').new()")
        nvim.until(f"{ID} ~= nil and {IDLE}")
        assert nvim.lua(f"return {ID}") not in stored
        assert chat(nvim) == ""


def test_who_has_gone_on_is_not_taken_to_it(bed: Bed, stored: tuple[str, str]) -> None:
    with bed.nvim() as nvim:
        nvim.command(f"North resume {stored[0]}")
        nvim.command("split README.md")
        shows_greetings(nvim, stored[0])
        assert nvim.lua("return vim.fn.expand('%')") == "README.md"
