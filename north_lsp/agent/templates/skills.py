"""Skills: how a model is told of them, and how it reads their files."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from north_lsp.agent.context.documents import documents_in, read_document
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
    """List the skills among templates, a line each, as far as there is room."""
    lines: list[str] = []
    left = _MAX_LIST_BYTES
    skills = [one for one in templates if one.kind == "skill"]
    for at, skill in enumerate(skills):
        line = f"- {_name(skill)}: {one_line(skill.description, _MAX_DESCRIPTION)}".replace("<", "&lt;")
        left -= len(line.encode()) + 1
        if left < 0:
            return [*lines, f"[{len(skills) - at} more are left out: there is no room for them]"]
        lines.append(line)
    return lines


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


def switched(found: Iterable[Template], settings: SkillSettings) -> Iterator[Template]:
    """Say of each skill that the settings do not want which of them that is."""
    for one in found:
        yield replace(one, why=why) if one.kind == "skill" and (why := _why_not(one, settings)) else one


def _why_not(skill: Template, settings: SkillSettings) -> str:
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
    return skill.why


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
