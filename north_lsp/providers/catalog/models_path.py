"""Where the user's list of models is."""

from __future__ import annotations

from pathlib import Path

NAMES = ("models.yml", "models.yaml", "models.jsonc", "models.json")


def find_file(config_dir: Path) -> Path | None:
    """Return the first file of `NAMES` that exists, None if none does."""
    return next((path for name in NAMES if (path := config_dir / name).exists()), None)
