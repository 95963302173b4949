"""What tools can know of a session: its files, and what its internal addresses lead to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Protocol

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.edit_settings import EditSettings
from north_lsp.storage.limits import Limits
from north_lsp.storage.read_settings import ReadSettings
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.language_features import LanguageFeatures
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.seen import Seen


class UnsavedTexts(Protocol):
    """The texts of files that the editor has open."""

    async def unsaved_texts(self) -> Mapping[Path, str]:
        """Return the texts in the editor that may differ from the disk's, as far as the editor reports them."""
        ...

    async def read_unsaved(self, path: Path) -> str | None:
        """Return the text of a file that is open in the editor (unsaved changes included), or None. Raises
        UnsavedUnknown if the editor does not say."""
        ...


class NoneUnsaved:
    """The texts of an editor that has no file open."""

    async def unsaved_texts(self) -> Mapping[Path, str]:
        return {}

    async def read_unsaved(self, path: Path) -> str | None:
        return None


class Outputs(Protocol):
    """The full texts of earlier results, by number."""

    def numbers(self) -> list[int]:
        """Return those that a model can read."""
        ...

    def is_closed(self, number: int) -> bool:
        """Tell whether no model may read a result."""
        ...

    def read(self, number: int) -> str:
        """Return the full text of a result. Raises ToolError NOT_FOUND."""
        ...


class SkillFiles(Protocol):
    """The files of the skills that can be loaded."""

    def skill(self, address: str) -> str:
        """Read what is at `skill://`. Raises ToolError NOT_FOUND naming what there is."""
        ...

    def skill_path(self, address: str) -> Path:
        """Return the file that stands behind `skill://`. Raises ToolError NOT_FOUND naming what there is."""
        ...


@dataclass(frozen=True, slots=True)
class Addresses:
    """What internal addresses lead to (`artifact://`, `conversation://`, `rule://`, `skill://`, `memory://`,
    `mcp://`, `agent://`): each reads what follows the scheme, and raises ToolError; None where there is nothing of its
    kind. `conversations` also lists the other conversations of the project."""

    outputs: Outputs | None = None
    conversations: Callable[[str], str] | None = None
    rule: Callable[[str], str] | None = None
    skills: SkillFiles | None = None
    memory: Callable[[str], str] | None = None
    resource: Callable[[str], Awaitable[str]] | None = None
    agent: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """How tools behave; `command_seconds` is the default timeout of a command."""

    edits: EditSettings = field(default_factory=EditSettings)
    reading: ReadSettings = field(default_factory=ReadSettings)
    command_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Workspace:
    """What tools can know of the session: the trees of its roots, which are also the gate for paths; the texts that its
    `editor` has open, and its language servers, where it lets them be asked; what the model has seen of all that; and
    what internal addresses lead to."""

    trees: Trees
    editor: UnsavedTexts = field(default_factory=NoneUnsaved)
    seen: Seen = field(default_factory=Seen)
    settings: ToolSettings = field(default_factory=ToolSettings)
    language: LanguageFeatures | None = None
    addresses: Addresses = field(default_factory=Addresses)

    @property
    def roots(self) -> Roots:
        return self.trees.roots

    @property
    def private(self) -> tuple[Path, ...]:
        """Folders of North's own that no tool touches."""
        return self.trees.private

    @property
    def limits(self) -> Limits:
        return self.settings.reading.limits

    def under(self, settings: ToolSettings) -> Workspace:
        """Return the same workspace under other settings."""
        return replace(self, settings=settings, trees=self.trees.limited(settings.reading.index_limit))
