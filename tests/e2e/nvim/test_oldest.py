"""What matters most of the plugin, in the oldest Neovim that it is for (Debian's): tests of the other files, again."""

import pytest

from tests.e2e.editors.bed import editors
from tests.e2e.nvim.test_chat import (
    test_both_windows_come_and_go_together,
    test_code_has_colors_and_is_copied,
    test_model_thinking_and_mode_are_chosen_from_lists,
    test_thinking_and_calls_that_look_are_folded,
)
from tests.e2e.nvim.test_completion import (
    test_files_behind_an_at_sign_and_what_is_chosen_goes_along,
    test_slash_commands_at_the_beginning_only,
)
from tests.e2e.nvim.test_conversations import test_what_was_shown_last_goes_on_after_neovim_was_left
from tests.e2e.nvim.test_inline import test_hunks_are_left_out_and_taken_in_again
from tests.e2e.nvim.test_plugin import (
    Bed,
    bed,
    test_a_command_is_shown_whole_and_approved,
    test_a_killed_server_brings_the_conversation_back,
    test_a_server_that_is_missing_is_told_with_what_to_do,
    test_an_accepted_edit_is_one_undo_step,
    test_an_answer_is_shown_while_it_comes,
    test_stop,
)
from tests.e2e.nvim.with_model import model

__all__ = [
    "bed",
    "model",
    "test_a_command_is_shown_whole_and_approved",
    "test_a_killed_server_brings_the_conversation_back",
    "test_a_server_that_is_missing_is_told_with_what_to_do",
    "test_an_accepted_edit_is_one_undo_step",
    "test_an_answer_is_shown_while_it_comes",
    "test_both_windows_come_and_go_together",
    "test_code_has_colors_and_is_copied",
    "test_files_behind_an_at_sign_and_what_is_chosen_goes_along",
    "test_hunks_are_left_out_and_taken_in_again",
    "test_model_thinking_and_mode_are_chosen_from_lists",
    "test_slash_commands_at_the_beginning_only",
    "test_stop",
    "test_thinking_and_calls_that_look_are_folded",
    "test_what_was_shown_last_goes_on_after_neovim_was_left",
]


@pytest.fixture(autouse=True)
def _oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORTH_E2E_NVIM", str(editors() / "nvim"))


def test_it_is_the_oldest(bed: Bed) -> None:
    with bed.nvim() as nvim:
        assert nvim.lua("local v = vim.version() return { v.major, v.minor }") == [0, 10]
