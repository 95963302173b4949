"""`north-lsp completion`: a script that completes its commands, options and values, for bash, zsh or fish."""

from __future__ import annotations

from collections.abc import Callable


def completion(shell: str, say: Callable[[str], object]) -> int:
    """Print the script for a shell, and return the exit code."""
    from north_lsp.cli.completion import bash, fish, zsh
    from north_lsp.cli.completion.table import table

    writers = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}
    say(writers[shell](table()))
    return 0
