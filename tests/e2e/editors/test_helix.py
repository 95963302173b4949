"""Helix, as docs/start/helix.md sets it up, with the real server: the chat document and reviews."""

from tests.e2e.editors.bed import keep
from tests.e2e.editors.helix import helix
from tests.e2e.nvim.bed import until
from tests.e2e.nvim.test_plugin import Bed, bed
from tests.e2e.nvim.with_model import asking, model
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer

__all__ = ["bed", "model"]


def test_a_conversation_is_written_while_it_is_answered_and_comes_back(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look. "), Gate("go"), Say("It is defined in hello/greeting.py.")))
    with helix(bed, **asking(bed, model)) as it:
        it.open_chat()
        it.type("explain greet")
        it.act("send")
        it.screen.wait_for("I will look")
        keep(it.screen, "helix-streams")
        model.open("go")
        it.screen.wait_for("is defined in")
        keep(it.screen, "helix-answered")
        it.command("write")
        it.screen.wait_for(r"chat\.md' written")  # it would end with what it has not written yet
    (document,) = (bed.folder / "data" / "conversations").glob("*/chat.md")
    with helix(bed) as it:
        it.open_chat()
        it.open_document(document)
        it.screen.wait_for("explain greet")
        it.act("continue this conversation")
        it.wait_until_idle()
        it.type("list files")
        it.act("send")
        until(lambda: "- ✓ List" in it.end(), it.screen.text, pause=0.2)
        keep(it.screen, "helix-resumed")


def test_an_edit_is_decided_by_hunk_in_the_file_and_undone(bed: Bed) -> None:
    gap = "#\n" * 12
    text = f"ITEM = 1\n{gap}ITEM = 2\n"
    many = bed.project / "many.py"
    many.write_text(text)
    with helix(bed) as it:
        it.command(f"open {many}")
        it.open_chat()
        it.type('replace "ITEM" by "ENTRY" in many.py')
        it.act("send")
        it.screen.wait_for("North asks")
        keep(it.screen, "helix-asks")
        it.command(f"open {many}")
        it.screen.wait_for(" 1  ITEM = 1")
        it.act("reject")
        it.screen.write("ge")
        it.act("accept (+1/-1)")
        it.screen.wait_for("ENTRY = 2")
        it.screen.wait_for("ITEM = 1")
        it.open_document()
        it.screen.write("ge")
        it.screen.wait_for("I replaced")
        keep(it.screen, "helix-edited")
        it.act("undo the last change")
        it.command(f"open {many}")
        it.screen.wait_for("ITEM = 2")
        it.command("write!")
        until(lambda: many.read_text() == text, lambda: f"{many.read_text()}\n{it.screen.text()}")


def test_a_command_is_approved(bed: Bed) -> None:
    with helix(bed) as it:
        it.open_chat()
        it.type("run `touch made`")
        it.act("send")
        it.screen.wait_for("North asks")
        it.act("run")
        it.screen.wait_for("This was North's offline model")
        assert (bed.project / "made").exists()


def test_a_turn_is_stopped(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look"), Gate("never")))
    with helix(bed, **asking(bed, model)) as it:
        it.open_chat()
        it.type("explain greet")
        it.act("send")
        it.screen.wait_for("I will look")
        it.act("stop")
        it.screen.wait_for("Stopped")
        keep(it.screen, "helix-stopped")
