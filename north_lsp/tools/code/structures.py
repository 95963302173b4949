"""Shared by the structure tools: reads a file and parses it on a thread."""

from __future__ import annotations

from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.support.limits import Notices
from north_lsp.tools.support.texts import Source, existing_text
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.languages import language_of
from north_lsp.workspace.paths import Resolved
from north_lsp.workspace.structure.model import Structure
from north_lsp.workspace.structure.parsing import structure_of
from north_lsp.workspace.text import Text
from north_lsp.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed file. `language` is the id, None for an unknown one."""

    resolved: Resolved
    text: Text
    source: Source
    language: str | None
    structure: Structure


async def parsed_file(path: str, workspace: Workspace, notices: Notices) -> Parsed:
    """Read and parse a file, and note it as seen by the model. Raises ToolError."""
    resolved, text, source, notice = await existing_text(path, workspace)
    notices += [notice] if notice else []
    language = language_of(resolved.path.name)
    id = language.id if language is not None else None
    structure = await on_thread(structure_of, id or "", text.text)
    if structure.errors:
        lines = ", ".join(map(str, structure.errors[:5]))
        notices.append(f"the parser failed at line {lines}; patterns found what it could not place")
    # An outline shows part of the file, though none of its lines.
    workspace.seen.note(resolved.path, text.tag, ())
    return Parsed(resolved, text, source, id, structure)
