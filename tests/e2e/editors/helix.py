"""Helix on a terminal, set up by the manual. It has no channel of its own: all is typed and seen on the screen."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e.editors.bed import documented, editors
from tests.e2e.nvim.bed import until
from tests.e2e.nvim.screen import Screen
from tests.e2e.nvim.test_plugin import FILE, Bed


@dataclass
class Helix:
    screen: Screen

    def command(self, words: str) -> None:
        """Run a command of Helix's command line."""
        self.screen.keys("Escape")
        self.screen.wait_for(r"^ NOR ")
        self.screen.write(f":{words}")
        self.screen.wait_for(rf"^:{re.escape(words)}$")
        self.screen.keys("Enter")
        self.screen.wait_until_gone(r"^:")

    def open_chat(self) -> None:
        """Open the chat document, as soon as the server has told its commands."""

        def opened() -> bool:
            self.command("lsp-workspace-command north.openChat")
            return (
                until(
                    lambda: re.search(r"chat\.md|not supported|[Nn]o active|[Nn]o language", self.screen.text()),
                    lambda: f"an answer to the command:\n{self.screen.text()}",
                )[0]
                == "chat.md"
            )

        until(opened, lambda: f"the chat document:\n{self.screen.text()}")

    def type(self, text: str) -> None:
        """Insert a text at the end of what is shown."""
        self.screen.keys("Escape")
        self.screen.wait_for(r"^ NOR ")
        self.screen.write("geA")
        self.screen.wait_for(r"^ INS ")
        self.screen.write(text)
        self.screen.wait_for(re.escape(text))
        self.screen.keys("Escape")
        self.screen.wait_for(r"^ NOR ")

    def act(self, title: str) -> None:
        """Take a code action from the menu, whose first row is chosen when it opens."""
        self.screen.write(" a")
        self.screen.wait_for(r"North: ")
        rows = re.findall(r"North: (.*?) *(?:│|$)", self.screen.text(), re.MULTILINE)
        for _ in range(rows.index(title)):
            self.screen.keys("Down")
        self.screen.keys("Enter")


@contextmanager
def helix(bed: Bed, **env: str) -> Iterator[Helix]:
    """Start Helix with a file of the sample open."""
    configuration = bed.folder / "configuration" / "helix"
    configuration.mkdir(parents=True)
    (configuration / "languages.toml").write_text(documented("Helix", "toml"))
    (configuration / "config.toml").write_text("[editor.lsp]\ndisplay-messages = true\n")
    (bed.project / ".git").mkdir(exist_ok=True)
    environ = bed.environ({"HOME": str(bed.folder), "XDG_CONFIG_HOME": str(configuration.parent)} | env)
    with Screen([editors() / "hx", FILE], columns=110, rows=40, cwd=bed.project, env=environ) as screen:
        screen.wait_for("SALUTATION")
        yield Helix(screen)
