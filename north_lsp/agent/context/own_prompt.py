"""Texts that replace North's instructions or are added to them: the user's own and, with trust, the project's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from north_lsp.agent.context.documents import Place, cut, read_document, size_of, users_own
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.locations import Locations

_SYSTEM = "SYSTEM.md"
_APPEND = "APPEND_SYSTEM.md"
_MAX_BYTES = 32 * 1024
_NOT_IN_NAMES = lazy_pattern(r"[^\w.:@+-]")


@dataclass(frozen=True, slots=True)
class OwnText:
    """A text and the file that it comes from."""

    text: str
    shown: str


@dataclass(frozen=True, slots=True)
class OwnPrompt:
    """What replaces North's instructions, and what is added to them."""

    instead: OwnText | None = None
    added: OwnText | None = None
    problems: tuple[str, ...] = ()


def own_prompt(locations: Locations, folders: Sequence[Path], inside: Place | None) -> OwnPrompt:
    """Find the texts: the nearest of these folders' (outer ones first), else the user's. Without `inside`, which
    decides what may be read there, the folders' own are left out: they could change how North behaves."""
    problems: list[str] = []
    near = [(folder / ".north", inside) for folder in reversed(folders)] if inside is not None else []
    places: list[tuple[Path, Place | None]] = [*near, (locations.config, None)]
    instead, added = (_first(name, places, problems) for name in (_SYSTEM, _APPEND))
    return OwnPrompt(instead, added, tuple(problems))


def model_hint(locations: Locations, provider: str, model: str) -> OwnText | None:
    """Read the user's own addition for one model: `<config>/models/<provider>__<model>.md`."""
    name = _NOT_IN_NAMES.sub("_", f"{provider}__{model}")[:200]
    return _first(f"{name}.md", [(locations.config / "models", None)], [])


def _first(name: str, places: Sequence[tuple[Path, Place | None]], problems: list[str]) -> OwnText | None:
    for folder, place in places:
        path = folder / name
        if not path.is_file():
            continue
        try:
            real, shown = place.resolve(path) if place is not None else users_own(path)
            text = read_document(real)[0].strip()
        except ToolError as error:
            problems.append(f"{name} is not used: {one_line(error.message, 300)}")
            return None
        if size_of(text) > _MAX_BYTES:
            problems.append(f"{shown} was cut: it has more than {_MAX_BYTES // 1024} KB")
        if text:
            return OwnText(cut(text, _MAX_BYTES, "[truncated]"), shown)
    return None
