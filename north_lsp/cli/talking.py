"""How commands talk: warnings on standard error, questions, and colors and progress on terminals only."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO


def complain(text: str) -> None:
    """Say what is wrong."""
    from north_lsp.display import visible

    sys.stderr.write(f"north-lsp: {visible(text)}\n")


def agrees(ask: Callable[[str], str], question: str) -> bool:
    """Ask a question; anything but a yes is a no."""
    return ask(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def is_colored(stream: TextIO) -> bool:
    """Return whether a stream takes colors: a terminal that can, unless NO_COLOR is set; FORCE_COLOR is a yes."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show on a terminal what is waited for, and take it away afterwards."""
    shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if shown:
        sys.stderr.write(text)
        sys.stderr.flush()
    try:
        yield
    finally:
        if shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
