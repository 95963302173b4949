"""What is typed in a shell after `north-lsp`, and what its completions offer, whatever the shell."""

from collections.abc import Set
from pathlib import Path

LINES: dict[str, Set[str]] = {
    "north-lsp d": {"demo", "doctor", "docs"},
    "north-lsp --path . demo --y": {"--yes"},
    "north-lsp --model docs mod": {"models"},
    "north-lsp acp --mode p": {"plan"},
    "north-lsp conversations ex": {"export"},
    "north-lsp completion ": {"bash", "zsh", "fish"},
    "north-lsp docs glo": {"glossary"},
    "north-lsp login anth": {"anthropic"},
    "north-lsp settings get shell.timeo": {"shell.timeoutS"},
    "north-lsp setup provider --preset open": {"openrouter"},
    "north-lsp --path fold": {"folder"},
    "north-lsp import note": {"notes.jsonl"},
}
NOTHING = ("north-lsp --model fold", "north-lsp conversations list ex", "north-lsp settings list shell.timeo")
"""Lines after which nothing is offered: free text, and what only another action takes."""


def make_files(folder: Path) -> None:
    """Make what the lines name."""
    (folder / "folder").mkdir()
    (folder / "folder.txt").touch()
    (folder / "notes.jsonl").touch()
