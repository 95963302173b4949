"""What tools can know of a session: its roots, which files are closed, and the texts as the user sees them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.edit_settings import EditSettings
from north_lsp.storage.limits import Limits
from north_lsp.storage.read_settings import ReadSettings
from north_lsp.workspace.files.ignore import IgnoreRules
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.language_features import LanguageFeatures
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.seen import Seen


@dataclass(frozen=True, slots=True)
class FoundTool:
    """A tool that a search found; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, object]


class Finder(Protocol):
    """Searches for tools, which are then offered to the model."""

    def find(self, query: str, limit: int) -> list[FoundTool]: ...


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


@dataclass(frozen=True)
class Workspace:
    """What tools can know of the session: the roots, the ignore rules, unsaved texts, and what was shown before.

    `ignore` has the rules of each root, `read_unsaved` gives the editor's text of a file that it has open, or None, and
    `private` are folders of North's own that no tool touches. `revert` prepares undoing the last applied changes, all
    or those of one file; `conversations` returns another conversation of the project as Markdown, or the list of them.
    Both raise ToolError. `command_seconds` is the default timeout of a command, and `language` asks the editor's
    language servers, where it lets them be asked. `rule` returns a rule's text by its name, and raises ToolError;
    so do `skill`, `skill_path` and `memory`. `remember` notes a text of some kind for later conversations, if the user
    agrees.
    `resource` reads what an MCP server has, and raises ToolError; so do `attached_resource` and `attached_page`, with
    what the user has named there and on the web, and `agent`, with what an agent has handed in.
    """

    roots: Roots
    ignore: Mapping[Path, IgnoreRules]
    read_unsaved: Callable[[Path], Awaitable[str | None]]
    unsaved_texts: Callable[[], Awaitable[Mapping[Path, str]]]
    seen: Seen
    private: tuple[Path, ...] = ()
    outputs: Outputs | None = None
    edits: EditSettings = field(default_factory=EditSettings)
    revert: Callable[[str | None, int], Awaitable[Sequence[FileChange]]] | None = None
    conversations: Callable[[str], str] | None = None
    finder: Finder | None = None
    reading: ReadSettings = field(default_factory=ReadSettings)
    command_seconds: float = 60.0
    language: LanguageFeatures | None = None
    rule: Callable[[str], str] | None = None
    skill: Callable[[str], str] | None = None
    skill_path: Callable[[str], Path] | None = None
    memory: Callable[[str], str] | None = None
    remember: Callable[[str, str], Awaitable[str]] | None = None
    resource: Callable[[str], Awaitable[str]] | None = None
    attached_resource: Callable[[str], Awaitable[str]] | None = None
    attached_page: Callable[[str], Awaitable[str]] | None = None
    agent: Callable[[str], str] | None = None

    @property
    def limits(self) -> Limits:
        return self.reading.limits

    @cached_property
    def trees(self) -> Trees:
        """The lists of the roots' files, kept up to date."""
        return Trees(self.roots, self.ignore, self.private, self.reading.index_limit)
