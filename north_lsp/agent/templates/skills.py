"""Skills: how a model is told of them, and how it reads their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from north_lsp.agent.context.documents import cut, documents_in, framed, read_document, size_of
from north_lsp.agent.context.globs import matching_glob
from north_lsp.agent.context.telling import context_block
from north_lsp.agent.log.messages import News
from north_lsp.agent.templates.template import Template
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.storage.skill_settings import SkillSettings
from north_lsp.workspace.paths import Roots

Gate = Callable[[Path], object]
"""Raises ToolError for a file that tools may not read."""
_MAX_LIST_BYTES = 8 * 1024
_MAX_DESCRIPTION = 200
_MAX_NAMED = 50
_PREFIX = "skill:"


def list_of_skills(templates: Sequence[Template]) -> list[str]:
    """List the skills that a model can load, a line each, as far as there is room."""
    lines: list[str] = []
    left = _MAX_LIST_BYTES
    skills = [one for one in templates if one.kind == "skill" and not one.always]
    for at, skill in enumerate(skills):
        line = f"- {_name(skill)}: {one_line(skill.description, _MAX_DESCRIPTION)}".replace("<", "&lt;")
        left -= len(line.encode()) + 1
        if left < 0:
            return [*lines, f"[{len(skills) - at} more are left out: there is no room for them]"]
        lines.append(line)
    return lines


def skills_in_full(templates: Sequence[Template], max_bytes: int) -> list[dict[str, str]]:
    """Return the names and texts of the skills that need not be loaded, cut if they are too long together."""
    rows: list[dict[str, str]] = []
    left = max_bytes
    for one in templates:
        if one.kind == "skill" and one.always and left > 0:
            name = _name(one)
            body = cut(one.body, left, f"[truncated: read skill://{name}]")
            left -= size_of(body)
            rows.append({"name": name, "text": framed(one.level, body)})
    return rows


def news_of_skills(templates: Iterable[Template], paths: Iterable[Path], roots: Sequence[Path]) -> list[News]:
    """Return what a model has to know of the skills that are about files: which one to load, each once."""
    relative = [path.relative_to(root).as_posix() for path in paths for root in roots if path.is_relative_to(root)]
    found: list[News] = []
    for one in templates:
        about = next((name for name in relative if matching_glob(one.globs, name) is not None), None)
        if one.kind == "skill" and not one.always and about is not None:
            told = f"The skill {_name(one)} is about {one_line(about, 300)}: load it before you work on that."
            found.append(News(context_block(told), one.name))
    return found


def skill_file(address: str, skills: Sequence[Template], gate: Gate) -> str:
    """Read `<name>`, or `<name>/<file>` from the skill's folder. Raises ToolError NOT_FOUND naming what there is,
    OUTSIDE_WORKSPACE for a file that is not in that folder, and what the `gate` raises, which decides on files of the
    project."""
    skill, rest = _found(address, skills)
    return read_document(_file(skill, rest, gate))[0] if rest else skill.body


def skill_path(address: str, skills: Sequence[Template], gate: Gate) -> Path:
    """Return where `<name>`, or `<name>/<file>` is. Raises what `skill_file` raises."""
    skill, rest = _found(address, skills)
    return _file(skill, rest, gate) if rest else skill.path


def unwanted(skill: Template, settings: SkillSettings) -> str:
    """Say which of the settings does not want a skill; empty if all do."""
    if not settings.enabled:
        return "the setting `skills.enabled` is off"
    name, is_on = settings.switch(skill.provider, skill.level)
    if not is_on:
        return f"the setting `{name}` is off"
    short = _name(skill)
    if any(fnmatchcase(short, one.lower()) for one in settings.ignored):
        return "the setting `skills.ignoredSkills` names it"
    if settings.included and not any(fnmatchcase(short, one.lower()) for one in settings.included):
        return "the setting `skills.includeSkills` does not name it"
    return ""


def _found(address: str, skills: Sequence[Template]) -> tuple[Template, str]:
    name, _, rest = address.strip("/").partition("/")
    skill = next((one for one in skills if _name(one) == name.lower()), None)
    if skill is None:
        known = ", ".join(_name(one) for one in skills[:_MAX_NAMED]) or "none"
        raise ToolError("NOT_FOUND", f"there is no skill {one_line(name, 100)!r}", f"skills: {known}")
    return skill, rest


def _file(skill: Template, rest: str, gate: Gate) -> Path:
    folder = skill.path.parent
    relative = unquote(rest)
    if relative.startswith("/") or ".." in Path(relative).parts:
        raise ToolError("OUTSIDE_WORKSPACE", f"{one_line(relative, 200)} is not in the folder of the skill")
    path = Roots.of(folder).resolve(relative).path
    if skill.level == "project":
        gate(path)
    if not path.is_file():
        files = ", ".join(os.path.relpath(one, folder) for one in _open_files(skill, gate))
        raise ToolError("NOT_FOUND", f"the skill has no file {one_line(relative, 200)}", f"files: {files}")
    return path


def _open_files(skill: Template, gate: Gate) -> Iterator[Path]:
    for path in documents_in(skill.path.parent, ("",), deep=True)[0][:_MAX_NAMED]:
        with suppress(ToolError):
            if skill.level == "project":
                gate(path)
            yield path


def _name(skill: Template) -> str:
    return skill.name.removeprefix(_PREFIX)
