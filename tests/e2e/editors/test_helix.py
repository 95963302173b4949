"""Helix, as docs/editors.md sets it up, with the real server: the chat document and reviews."""

from tests.e2e.editors.bed import keep
from tests.e2e.editors.helix import helix
from tests.e2e.nvim.test_plugin import Bed, bed

__all__ = ["bed"]


def test_a_conversation_is_written_while_it_is_answered_and_comes_back(bed: Bed) -> None:
    with helix(bed, NORTH_OFFLINE_DELAY_MS="20") as it:
        it.open_chat()
        keep(it.screen, "helix-chat")
        it.type("explain greet")
        it.act("send")
        it.screen.wait_for("I will look")
        keep(it.screen, "helix-streams")
        it.screen.wait_for("This was North's offline model")
        keep(it.screen, "helix-answered")
