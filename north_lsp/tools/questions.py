"""Questions that a model asks the user. Pure."""

from __future__ import annotations

from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """An answer that the model offers."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """One question; with `several`, any number of options may be chosen. `recommended` is the place of an option."""

    id: str
    text: str
    options: tuple[Option, ...]
    several: bool = False
    recommended: int | None = None
