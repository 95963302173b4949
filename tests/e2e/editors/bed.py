"""Where the other editors are, how each is set up by its page of `docs/start`, and screens that are kept for people."""

import re
import subprocess
import textwrap
from functools import cache
from pathlib import Path

from tests.e2e.nvim.screen import Screen

_PAGES = Path(__file__).parents[3] / "docs" / "start"
_ARTIFACTS = Path(__file__).parents[1] / "artifacts" / "editors"


@cache
def editors() -> Path:
    """The folder of the unpacked editors, set up first when they are not there yet."""
    setup = Path(__file__).parents[1] / "setup-editors.sh"
    folder = subprocess.run([setup], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return Path(folder) / "bin"


def documented(editor: str, language: str) -> str:
    """The configuration of an editor that the manual shows: the first example in this language."""
    page = _PAGES / f"{editor}.md"
    found = re.search(rf"^( *)```{language}\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert found, f"{page.name} has no example in {language}"
    return textwrap.dedent(found[2])


def keep(screen: Screen, name: str) -> None:
    """Keep what the screen shows, for people to look at."""
    _ARTIFACTS.mkdir(parents=True, exist_ok=True)
    (_ARTIFACTS / f"{name}.txt").write_text(screen.text())
