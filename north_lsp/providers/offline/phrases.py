"""The offline model's wording, from `phrases.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


def phrase(name: str, /, **values: object) -> str:
    """Return the text of that name with its placeholders filled in. Raises KeyError if the file has no such name."""
    return _phrases()[name].format(**values)


@cache
def _phrases() -> dict[str, str]:
    loaded = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))
    return {name: str(text).strip("\n") for name, text in loaded.items()}
