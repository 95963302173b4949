"""What models get of a project's memory: its summary as a part of the system text, and its files by address."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from north_lsp.agent.context.documents import cut, framed
from north_lsp.agent.context.own_prompt import OwnText
from north_lsp.agent.context.project import ProjectContext
from north_lsp.agent.costs.estimates import characters_of
from north_lsp.agent.prompts import render
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.storage.locations import Locations
from north_lsp.storage.memory_files import NOTES, SUMMARY, MemoryFiles
from north_lsp.storage.memory_settings import MemorySettings
from north_lsp.workspace.project_root import project_hash

_ROOT = "root"
_CUT = "[truncated: read `memory://root`]"
_MOST_NAMED = 20
_OFF = ToolError("UNAVAILABLE", "memory is disabled", "continue without it: the user can switch `memories.enabled` on")


def with_memory(project: ProjectContext, locations: Locations, root: Path, settings: MemorySettings) -> ProjectContext:
    """Add the summary of the project's memory, if memory is on and there is one. One that cannot be read is a problem
    to be told."""
    if not settings.enabled or settings.summary_tokens == 0:
        return project
    files = MemoryFiles(locations, project_hash(root))
    try:
        summary, names = files.read(SUMMARY).strip(), files.names()
    except OSError as error:
        told = f"the project's memory in {one_line(str(files.folder), 300)} cannot be read: {error.strerror or error}"
        return replace(project, problems=(*project.problems, told))
    if not summary:
        return project
    skills = ", ".join(f"`memory://{_ROOT}/{name}`" for name in names if name.startswith("skills/"))
    text = framed("project", cut(summary, int(characters_of(settings.summary_tokens)), _CUT))
    shown = OwnText(render("memory_guidance", text=text, skills=skills), one_line(str(files.folder / SUMMARY), 300))
    return replace(project, memory=shown)


def memory_text(address: str, locations: Locations, root: Path, settings: MemorySettings) -> str:
    """Read `root`, the summary, or `root/<file>`. Raises ToolError: UNAVAILABLE while memory is off, NOT_FOUND naming
    what there is."""
    if not settings.enabled:
        raise _OFF
    files = MemoryFiles(locations, project_hash(root))
    top, _, rest = address.strip("/").partition("/")
    name = unquote(rest) or SUMMARY
    try:
        text = files.read(name) if top == _ROOT else ""
        if text:
            return text
        known = [f"memory://{_ROOT}/{one}" for one in files.names() if one != SUMMARY][:_MOST_NAMED]
    except ValueError:
        known = [f"memory://{_ROOT}/MEMORY.md", f"memory://{_ROOT}/{NOTES}"]
    except OSError as error:
        raise ToolError("IO_ERROR", f"the memory cannot be read: {error.strerror or error}") from error
    there = ", ".join(known) or "nothing yet"
    raise ToolError("NOT_FOUND", f"there is no memory://{one_line(address, 200)}", f"there is: {there}")
