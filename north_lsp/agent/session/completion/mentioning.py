"""What a user may mean by the letters after an `@`: files and folders, the names of rules, skills and earlier
conversations, symbols, and what else can be mentioned."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import anyio.to_thread

from north_lsp.agent.context.conversation_context import ConversationContext
from north_lsp.agent.templates.conversation_templates import ConversationTemplates
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.listing import list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.workspace.files.completion import Completion, PathCompletion
from north_lsp.workspace.project_root import project_hash
from north_lsp.workspace.workspace import Workspace

_LONGEST_SECONDS = 1.0
_KINDS = ("rule", "skill", "conversation")
_SOURCES = (
    ("diff", "What git shows as changed since the last commit"),
    ("problems", "What the editor shows as wrong"),
    ("symbol:", "A function, a class … by its name"),
    ("web:", "A page of the web: @web:https://…"),
)
_OF_LANGUAGE = ("problems", "symbol:")
_FEW = 5
"""How many names are offered beside files, as long as only the beginning of a kind is written."""
_LEAST_LETTERS = 2


@dataclass(frozen=True, slots=True)
class FoundName:
    """What can be mentioned as `@kind:name`, or without a name as `@kind`; `detail` is what it is about."""

    kind: str
    name: str
    detail: str

    @property
    def spelled(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind


@dataclass(frozen=True, slots=True)
class Completed:
    """The completions of a mention, by kind; the best first in each."""

    paths: Completion
    names: tuple[FoundName, ...] = ()

    @property
    def is_incomplete(self) -> bool:
        return self.paths.is_incomplete


class Mentioning:
    """Completes mentions in one conversation, whose `id` is not offered."""

    def __init__(
        self,
        id: str,
        workspace: Workspace,
        context: ConversationContext,
        templates: ConversationTemplates,
        locations: Locations,
    ) -> None:
        self._id = id
        self._workspace = workspace
        self._context = context
        self._templates = templates
        self._locations = locations
        self._paths = PathCompletion(workspace.trees)
        self._lock = threading.Lock()

    async def complete(self, query: str, limit: int) -> Completed:
        """Return what the user may mean by a beginning; an incomplete answer after a while."""
        paths: Completion | None = None
        names: list[FoundName] | None = None
        with anyio.move_on_after(_LONGEST_SECONDS):
            async with anyio.create_task_group() as tasks:

                async def find_paths() -> None:
                    nonlocal paths
                    paths = await self._find_paths(query, limit)

                tasks.start_soon(find_paths)
                names = await self._names(query, limit)
        found = paths if paths is not None else Completion(is_incomplete=True)
        if names is None:
            return Completed(Completion(found.found, is_incomplete=True))
        return Completed(found, tuple(names))

    async def _find_paths(self, query: str, limit: int) -> Completion:
        unsaved = tuple(await self._workspace.editor.unsaved_texts())
        return await anyio.to_thread.run_sync(self._paths.complete, query, limit, unsaved, abandon_on_cancel=True)

    async def _names(self, query: str, limit: int) -> list[FoundName] | None:
        """Return the names that may be meant: of one kind behind `kind:`, a few of each that begins so before it. None
        if they cannot be looked for now."""
        kind, colon, wanted = query.casefold().partition(":")
        if not colon:
            sources = [FoundName(name, "", detail) for name, detail in self._sources() if name.startswith(kind)]
            kinds = [each for each in _KINDS if each.startswith(kind)] if len(kind) >= _LEAST_LETTERS else []
            found = await self._known(kinds)
            return None if found is None else [*sources, *(one for each in found for one in each[:_FEW])][:limit]
        if kind == "symbol":
            return await self._symbols(query.partition(":")[2], limit)
        known = await self._known([kind] if kind in _KINDS else [])
        if known is None:
            return None
        fitting = [
            one for each in known for one in each if wanted in one.name.casefold() or wanted in one.detail.casefold()
        ]
        return sorted(fitting, key=lambda one: wanted not in one.name.casefold())[:limit]

    def _sources(self) -> list[tuple[str, str]]:
        has_language = self._workspace.language is not None
        return [(name, detail) for name, detail in _SOURCES if has_language or name not in _OF_LANGUAGE]

    async def _symbols(self, query: str, limit: int) -> list[FoundName]:
        if self._workspace.language is None or not query:
            return []
        try:
            found = await self._workspace.language.find_symbols(query)
        except ToolError:
            return []
        named: dict[str, FoundName] = {}
        for one in found:
            name = one.name.partition("(")[0]
            if name and not any(map(str.isspace, name)):
                detail = f"{one.kind} in {one.container or one.place.path.name}".strip()
                named.setdefault(name, FoundName("symbol", name, one_line(detail, 200)))
        wanted = query.casefold()
        return sorted(named.values(), key=lambda one: not one.name.casefold().startswith(wanted))[:limit]

    async def _known(self, kinds: list[str]) -> list[list[FoundName]] | None:
        return await anyio.to_thread.run_sync(self._look, kinds, abandon_on_cancel=True) if kinds else []

    def _look(self, kinds: list[str]) -> list[list[FoundName]] | None:
        """Return all names of some kinds; None if an earlier request that hangs has not let go of the disk."""
        ways: dict[str, Callable[[], list[tuple[str, str]]]] = {
            "rule": self._rules,
            "skill": self._skills,
            "conversation": self._conversations,
        }
        if not self._lock.acquire(timeout=_LONGEST_SECONDS):
            return None
        try:
            return [[FoundName(kind, name, one_line(detail, 200)) for name, detail in ways[kind]()] for kind in kinds]
        finally:
            self._lock.release()

    def _rules(self) -> list[tuple[str, str]]:
        return [(rule.name, rule.description or rule.shown) for rule in self._context.known_rules()]

    def _skills(self) -> list[tuple[str, str]]:
        return [(one.name.removeprefix("skill:"), one.description) for one in self._templates.known_skills()]

    def _conversations(self) -> list[tuple[str, str]]:
        rows = list_conversations(self._locations, repo_hash=project_hash(self._workspace.roots.main))
        return [(row.id, row.name) for row in rows if row.id != self._id]
