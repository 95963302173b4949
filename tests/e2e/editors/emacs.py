"""Emacs on a terminal, set up by the manual: a person types on the screen, emacsclient tells how things stand."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.editors.bed import documented, editors
from tests.e2e.nvim.bed import until
from tests.e2e.nvim.screen import Screen
from tests.e2e.nvim.test_plugin import FILE, Bed

_ONLY_HERE = """
(setq native-comp-jit-compilation nil resize-mini-windows t inhibit-startup-screen t
      make-backup-files nil auto-save-default nil
      server-socket-dir "{folder}" use-short-answers t ring-bell-function 'ignore)
(server-start)
"""


@dataclass
class Emacs:
    screen: Screen
    socket: str

    def ask(self, expression: str) -> str:
        """Evaluate an expression, and return how Lisp prints its value."""
        command: list[str | Path] = [editors() / "emacsclient", "-s", self.socket, "--eval", expression]
        result = subprocess.run(command, capture_output=True, text=True)
        return result.stdout.strip() if result.returncode == 0 else ""

    def until(self, expression: str) -> None:
        """Wait until an expression is true."""

        def answer() -> bool:
            return self.ask(expression) not in ("", "nil")

        # Emacs tells of changes when it has been idle for a while, which it is not while it is asked.
        until(answer, lambda: f"{expression}; the screen:\n{self.screen.text()}", pause=1)

    def open_chat(self) -> None:
        """Open the chat document."""
        self.run("north-chat")
        self.until("(is-chat (window-buffer))")

    def see(self, words: str) -> None:
        """Wait until a text is on the screen."""
        self.screen.wait_for(re.escape(words))

    def has(self, words: str) -> str:
        """The expression for whether a chat document in a window has a text."""
        return f"(seq-some (lambda (one) (has-text one {lisp(words)})) (chats-in-windows))"

    def keep_only_chat_without(self, words: str) -> None:
        """Close the chat documents that have a text, and show the other one in the only window."""
        self.ask(f"(keep-only-chat-without {lisp(words)})")
        self.until(f"(and (= 1 (length (window-list))) (= 1 (length (chats-in-windows))) (not {self.has(words)}))")

    def type(self, text: str) -> None:
        """Type a text, and wait until it is there. Emacs forgets typed keys when it is asked something meanwhile."""
        self.screen.write(text)
        self.see(text)

    def run(self, command: str) -> None:
        """Call a command by its name, as a person does."""
        self.screen.keys("M-x")
        self.screen.wait_for(r"^M-x")
        self.screen.write(command)
        self.screen.wait_for(rf"^M-x {command}( |$)")  # a message may stand behind it
        self.screen.keys("Enter")

    def choose(self, prompt: str, title: str) -> None:
        """Answer what the minibuffer asks."""
        self.until(f"(and (active-minibuffer-window) (string-match-p {lisp(prompt)} (minibuffer-prompt-text)))")
        if self.ask("(minibuffer-text)") != '""':  # a question of the server comes with an answer filled in
            self.screen.keys("C-a", "C-k")
        self.screen.write(title)
        self.screen.wait_for(rf": {re.escape(title)}( |$)")
        self.screen.keys("Enter")
        self.until(f"(not (and (active-minibuffer-window) (equal (minibuffer-text) {lisp(title)})))")

    def act(self, title: str) -> None:
        """Take a code action."""
        self.run("eglot-code-actions")
        self.choose("Pick an action", title)

    def visit(self, file: str, line: int) -> None:
        """Go to a line of a file, in this window."""
        self.ask(f"(progn (select-window (get-largest-window)) (find-file {lisp(file)}) (goto-line {line}))")
        self.until(f"(equal (buffer-file-name (window-buffer)) {lisp(file)})")


def lisp(text: str) -> str:
    """A text as Lisp writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_HELPERS = """
(defun is-chat (buffer) (string-prefix-p "chat.md" (buffer-name buffer)))
(defun all-chats () (seq-filter #'is-chat (buffer-list)))
(defun chats-in-windows () (seq-filter #'is-chat (mapcar #'window-buffer (window-list))))
(defun has-text (buffer words)
  (with-current-buffer buffer (save-excursion (goto-char (point-min)) (search-forward words nil t))))
(defun keep-only-chat-without (words)
  (dolist (chat (all-chats))
    (when (has-text chat words) (with-current-buffer chat (set-buffer-modified-p nil)) (kill-buffer chat)))
  (switch-to-buffer (car (all-chats)))
  (delete-other-windows))
(defun minibuffer-text () (with-selected-window (active-minibuffer-window) (minibuffer-contents-no-properties)))
(defun minibuffer-prompt-text () (with-selected-window (active-minibuffer-window) (or (minibuffer-prompt) "")))
"""


@contextmanager
def emacs(bed: Bed, **env: str) -> Iterator[Emacs]:
    """Start Emacs with a file of the sample open, and wait until North looks at it."""
    init = bed.folder / "init.el"
    init.write_text(documented("emacs", "elisp") + _HELPERS + _ONLY_HERE.format(folder=bed.folder))
    (bed.project / ".git").mkdir(exist_ok=True)
    command: list[str | Path] = [editors() / "emacs", "-nw", "-Q", "-l", init, FILE]
    environ = bed.environ({"HOME": str(bed.folder)} | env)
    with Screen(command, columns=110, rows=40, cwd=bed.project, env=environ) as screen:
        one = Emacs(screen, str(bed.folder / "server"))
        one.until('(and (get-buffer "greeting.py") (with-current-buffer "greeting.py" (eglot-managed-p)))')
        yield one
