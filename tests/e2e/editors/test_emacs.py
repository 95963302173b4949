"""Emacs with eglot, as docs/start/emacs.md sets it up, with the real server: the chat document and reviews."""

from tests.e2e.editors.bed import keep
from tests.e2e.editors.emacs import emacs, lisp
from tests.e2e.nvim.test_plugin import Bed, bed
from tests.e2e.nvim.with_model import asking, model
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer, call

__all__ = ["bed", "model"]


def test_a_conversation_is_written_while_it_is_answered_and_comes_back(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look. "), Gate("go"), Say("It is defined in hello/greeting.py.")))
    with emacs(bed, **asking(bed, model)) as it:
        it.open_chat()
        it.type("explain greet")
        it.act("North: send")
        it.see("I will look")
        keep(it.screen, "emacs-streams")
        model.open("go")
        it.see("is defined in")
        keep(it.screen, "emacs-answered")
        it.act("North: new conversation")
        it.until("(= 2 (length (all-chats)))")
        it.keep_only_chat_without("explain greet")
        it.act("North: other conversations")
        it.choose("Which conversation", "explain greet")
        it.until(f"(and {it.has('explain greet')} {it.has('is defined in')})")
        keep(it.screen, "emacs-resumed")


def test_an_edit_is_decided_by_hunk_in_the_file_and_undone(bed: Bed) -> None:
    gap = "#\n" * 12
    text = f"ITEM = 1\n{gap}ITEM = 2\n"
    many = bed.project / "many.py"
    many.write_text(text)
    with emacs(bed) as it:
        it.visit(str(many), 1)
        it.open_chat()
        it.type('replace "ITEM" by "ENTRY" in many.py')
        it.act("North: send")
        it.choose("Choose an option", "Decide in the document")
        it.visit(str(many), 1)
        keep(it.screen, "emacs-review")
        it.act("North: reject")
        it.visit(str(many), 14)
        it.act("North: accept (+1/-1)")
        it.see("I replaced")
        it.until(
            f'(equal (with-current-buffer "many.py" (buffer-string)) {lisp(text.replace("ITEM = 2", "ENTRY = 2"))})'
        )
        it.open_chat()
        it.act("North: undo the last change")
        it.until(f'(equal (with-current-buffer "many.py" (buffer-string)) {lisp(text)})')
        keep(it.screen, "emacs-undone")


def test_a_command_is_approved_and_a_turn_is_stopped(bed: Bed, model: ModelServer) -> None:
    model.script(
        answer(call("shell_run", command="touch made")),
        answer(Say("It is made.")),
        answer(Say("I will look"), Gate("never")),
    )
    with emacs(bed, **asking(bed, model)) as it:
        it.open_chat()
        it.type("run `touch made`")
        it.act("North: send")
        it.choose("touch made", "Run")
        it.screen.keys("C-l")  # after asking, Emacs does nothing on its own before the next key
        it.see("It is made.")
        assert (bed.project / "made").exists()
        it.screen.keys("M->")
        it.type("explain greet")
        it.act("North: send")
        it.see("I will look")
        it.act("North: stop")
        it.see("Stopped")
        keep(it.screen, "emacs-stopped")
