"""Shortened results: what is too long enters the conversation once in a short form, and stays readable in full."""

from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.base import Digest

COMMAND_HEAD, COMMAND_TAIL = 20, 10


def shortened(digest: Digest, tool: str, artifacts: Artifacts) -> dict[str, object]:
    """The data for the model, with the way to the rest; the whole is kept."""
    number = artifacts.add(tool, digest.full)
    note = f"{digest.more}; the whole: expand_output with outputId {number}, or artifact://{number}"
    return digest.data | {"outputId": str(number), "digestNote": note}


def shortened_text(text: str, tool: str, artifacts: Artifacts, number: int | None = None) -> str:
    """The output of a command: its beginning and its end, if it has many more lines than those. `number` is that of the
    artifact that has the whole already."""
    lines = text.rstrip("\n").split("\n")
    left = len(lines) - COMMAND_HEAD - COMMAND_TAIL
    if left <= 1:
        return text
    number = artifacts.add(tool, text) if number is None else number
    note = f"... {left} more lines: expand_output with outputId {number} ..."
    closing = f"Complete output: artifact://{number}"
    return "\n".join([*lines[:COMMAND_HEAD], note, *lines[-COMMAND_TAIL:], closing])
