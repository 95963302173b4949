"""Where the other editors are, how each is set up by `docs/editors.md`, and screens that are kept for people."""

import re
import subprocess
from functools import cache
from pathlib import Path

from tests.e2e.nvim.screen import Screen

_PAGE = Path(__file__).parents[3] / "docs" / "editors.md"
_ARTIFACTS = Path(__file__).parents[1] / "artifacts" / "editors"


@cache
def editors() -> Path:
    """The folder of the unpacked editors, set up first when they are not there yet."""
    setup = Path(__file__).parents[1] / "setup-editors.sh"
    folder = subprocess.run([setup], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return Path(folder) / "bin"


def documented(editor: str, language: str) -> str:
    """The configuration of an editor that the manual shows."""
    found = re.search(rf"\*\*{editor}\*\*.*?```{language}\n(.*?)```", _PAGE.read_text(), re.DOTALL)
    assert found, f"{_PAGE.name} has no configuration of {editor}"
    return found[1]


def keep(screen: Screen, name: str) -> None:
    """Keep what the screen shows, for people to look at."""
    _ARTIFACTS.mkdir(parents=True, exist_ok=True)
    (_ARTIFACTS / f"{name}.txt").write_text(screen.text())
