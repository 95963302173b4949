"""What a user may mean by the letters behind an `@`: files and folders, and the names of rules, skills and earlier
conversations."""

import anyio
import anyio.to_thread

from north_lsp.agent.context.conversation_context import ConversationContext
from north_lsp.agent.templates.conversation_templates import ConversationTemplates
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.listing import list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.workspace.files.completion import Completion, PathCompletion
from north_lsp.workspace.project_root import project_hash
from north_lsp.workspace.workspace import Workspace

_LONGEST_SECONDS = 1.0
_KINDS = ("rule", "skill", "conversation")
_FEW = 5
"""How many names are offered beside files, as long as only the beginning of a kind is written."""
_LEAST_LETTERS = 2


@dataclass(frozen=True, slots=True)
class FoundName:
    """What can be mentioned as `@kind:name`; `detail` is what it is about."""

    kind: str
    name: str
    detail: str

    @property
    def spelled(self) -> str:
        return f"{self.kind}:{self.name}"


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

    async def paths(self, query: str, limit: int) -> Completion:
        """Return what the user may mean by the beginning of a path; an incomplete answer after a while."""
        with anyio.move_on_after(_LONGEST_SECONDS):
            unsaved = tuple(await self._workspace.unsaved_texts())
            return await anyio.to_thread.run_sync(self._paths.complete, query, limit, unsaved, abandon_on_cancel=True)
        return Completion(is_incomplete=True)

    async def names(self, query: str, limit: int) -> list[FoundName]:
        """Return the names that may be meant: of one kind behind `kind:`, a few of each that begins so before it."""
        kind, colon, wanted = query.casefold().partition(":")
        if colon:
            known = await self._known(kind) if kind in _KINDS else []
            fitting = [one for one in known if wanted in one.name.casefold() or wanted in one.detail.casefold()]
            return sorted(fitting, key=lambda one: wanted not in one.name.casefold())[:limit]
        if len(kind) < _LEAST_LETTERS:
            return []
        return [one for each in _KINDS if each.startswith(kind) for one in (await self._known(each))[:_FEW]][:limit]

    async def _known(self, kind: str) -> list[FoundName]:
        return [FoundName(kind, name, one_line(detail, 200)) for name, detail in await self._named(kind)]

    async def _named(self, kind: str) -> list[tuple[str, str]]:
        match kind:
            case "rule":
                return [(rule.name, rule.description or rule.shown) for rule in await self._context.rules()]
            case "skill":
                await self._templates.load()
                skills = (one for one in self._templates.callable if one.kind == "skill")
                return [(one.name.removeprefix("skill:"), one.description) for one in skills]
            case _:
                return await anyio.to_thread.run_sync(self._conversations)

    def _conversations(self) -> list[tuple[str, str]]:
        rows = list_conversations(self._locations, repo_hash=project_hash(self._workspace.roots.main))
        return [(row.id, row.name) for row in rows if row.id != self._id]
