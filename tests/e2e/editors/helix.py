"""Helix on a terminal, set up by the manual. It has no channel of its own: all is typed and seen on the screen."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.editors.bed import documented, editors
from tests.e2e.nvim.bed import until
from tests.e2e.nvim.screen import Screen
from tests.e2e.nvim.test_plugin import FILE, Bed


@dataclass
class Helix:
    screen: Screen
    folder: Path

    def command(self, words: str) -> None:
        """Run a command of Helix's command line."""
        self.leave_typing()
        self.screen.write(f":{words}")
        self.screen.wait_for(rf"^:{re.escape(words)}$")
        self.screen.keys("Enter")
        self.screen.wait_until_gone(r"^:")

    def leave_typing(self) -> None:
        """Be in normal mode. An Escape that nobody waited for would make a chord of the next key."""
        if not re.search(r"^ NOR ", self.screen.text(), re.MULTILINE):
            self.screen.keys("Escape")
            self.screen.wait_for(r"^ NOR ")

    def open_chat(self) -> None:
        """Open the chat document, as soon as the server has told its commands. This Helix opens no document for a
        server, which says where it is instead."""

        def told() -> bool:
            self.command("lsp-workspace-command north.openChat")
            answer = until(
                lambda: re.search(r"conversation is in|not supported|[Nn]o active|[Nn]o language", self.screen.text()),
                lambda: f"an answer to the command:\n{self.screen.text()}",
            )
            return answer[0] == "conversation is in"

        until(told, lambda: f"the chat document:\n{self.screen.text()}")
        self.open_document()

    def open_document(self, path: Path | None = None) -> None:
        """Open a chat document, without a path the one that was written last."""
        written = (self.folder / "data" / "conversations").glob("*/chat.md")
        self.command(f"open {path or max(written, key=lambda one: one.stat().st_mtime)}")
        self.screen.wait_for(r"^ NOR .*chat\.md")

    def wait_until_idle(self) -> None:
        """Wait until the sign of progress has left the line below the chat document."""
        self.screen.wait_for(r"^ NOR   \S*chat\.md")

    def end(self) -> str:
        """Go to the end, which is further down with each piece of an answer, and return what the screen shows."""
        self.screen.write("ge")
        return self.screen.text()

    def type(self, text: str) -> None:
        """Insert a text at the end of what is shown, as one change: this Helix may tell of several in a wrong order."""
        self.leave_typing()
        self.screen.write("geA")
        self.screen.wait_for(r"^ INS ")
        self.screen.paste(text)
        self.screen.wait_for(re.escape(text))
        self.leave_typing()

    def act(self, title: str) -> None:
        """Take a code action from the menu, whose first row is chosen when it opens."""
        self.screen.write(" a")
        self.choose(r"\sNorth: (\S.*?) *$", title)

    def choose(self, row: str, title: str) -> None:
        """Choose a row of a menu, whose first row is chosen when it opens."""
        self.screen.wait_for(row)
        rows = re.findall(row, self.screen.text(), re.MULTILINE)
        # What is beside the menu may follow a row at once.
        place = next((index for index, one in enumerate(rows) if one.startswith(title)), None)
        assert place is not None, self.screen.text()
        for _ in range(place):
            self.screen.keys("Down")
        self.screen.keys("Enter")
        self.screen.wait_until_gone(row)


@contextmanager
def helix(bed: Bed, **env: str) -> Iterator[Helix]:
    """Start Helix with a file of the sample open."""
    configuration = bed.folder / "configuration" / "helix"
    configuration.mkdir(parents=True, exist_ok=True)
    (configuration / "languages.toml").write_text(documented("helix", "toml"))
    (configuration / "config.toml").write_text("[editor.lsp]\ndisplay-messages = true\n")
    (bed.project / ".git").mkdir(exist_ok=True)
    environ = bed.environ({"HOME": str(bed.folder), "XDG_CONFIG_HOME": str(configuration.parent)} | env)
    with Screen([editors() / "hx", FILE], columns=150, rows=40, cwd=bed.project, env=environ) as screen:
        screen.wait_for("SALUTATION")
        yield Helix(screen, bed.folder)
