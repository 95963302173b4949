"""North: a coding agent that lives inside the editor."""

from __future__ import annotations

__version__ = "0.1.0"
