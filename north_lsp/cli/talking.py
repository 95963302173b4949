"""What commands say on standard error, and how they ask."""

import sys
from collections.abc import Callable


def complain(text: str) -> None:
    """Say what is wrong."""
    from north_lsp.display import visible

    sys.stderr.write(f"north-lsp: {visible(text)}\n")


def agrees(ask: Callable[[str], str], question: str) -> bool:
    """Ask a question; anything but a yes is a no."""
    return ask(f"{question} [y/N] ").strip().lower() in ("y", "yes")
