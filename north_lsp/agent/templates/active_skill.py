"""The skill that a conversation works by: a model calls it, or its user; its phases, if it declares some, are moved
along. What is active follows from the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from north_lsp.agent.log.call_details import details_of_skill
from north_lsp.agent.log.context import context_of
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import News, PromptEntry
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.agent.planning.workflow_course import skill_on, state_on
from north_lsp.agent.templates.conversation_templates import ConversationTemplates, text_of
from north_lsp.agent.templates.template import Template
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.tools.base import DescribedTool, Host, Output, R
from north_lsp.vocabulary import Mode
from north_lsp.workspace.workspace import Workspace

_PREFIX = "skill:"
_SKILL, _PHASE = "skill", "skill_phase"
_MOST_NAMED = 50
_MODES: frozenset[Mode] = frozenset({"ask", "agent", "plan"})
_TEXT = {"type": "string"}
_SKILL_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"name": _TEXT, "args": _TEXT},
    "required": ["name"],
}
_PHASE_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"to": _TEXT, "note": _TEXT},
    "required": ["to"],
}


def skill_tools(log: Log, templates: ConversationTemplates) -> Sequence[DescribedTool]:
    """Return the tools that a model is offered for the skills there are: none without skills."""
    known, skills = [one for one in templates.callable if one.kind == "skill"], ActiveSkill(log, templates)
    with_phases = [_SkillPhase(skills)] if any(one.phases for one in known) else []
    return [_Skill(skills), *with_phases] if known else []


class ActiveSkill:
    """Loads skills in one conversation and moves the active one between its phases."""

    def __init__(self, log: Log, templates: ConversationTemplates) -> None:
        self._log = log
        self._templates = templates

    async def load(self, name: str, words: str) -> Output:
        """Give a model the text of a skill, which is active then. Raises ToolError naming the skills there are."""
        await self._templates.load()
        skill = self._find(name)
        short, text = _name(skill), text_of(skill, words)
        if not words and self._is_active(short) and self._is_known(skill):
            return Output(f"{short} is active", text=f"The skill {short} is active already: its text is above.")
        begin_skill(self._log, skill)
        return Output(f"Use the skill {short}", text=text, details=details_of_skill(short))

    async def move(self, to: str, note: str) -> Output:
        """Go to another phase that the active skill declares. Raises ToolError naming them."""
        await self._templates.load()
        state = skill_on(self._log)
        if state is None:
            hint = "load one with the tool skill; the phases of a workflow are those of the tool workflow"
            raise ToolError("INVALID_INPUT", "no skill with phases is active", hint)
        phases = self._find(state.skill).phases
        if to not in phases or to == state.phase:
            allowed = ", ".join(one for one in phases if one != state.phase) or "none"
            told = f"{state.skill} cannot go from {state.phase} to {one_line(to, 60)!r}"
            raise ToolError("INVALID_INPUT", told, f"allowed: {allowed}")
        self._log.append(SkillStateEntry(state.skill, to, note=note))
        return Output(f"{state.skill}: {to}", text=f"{state.skill} is in the phase {to} now.")

    def _skills(self) -> Iterator[Template]:
        return (one for one in self._templates.callable if one.kind == "skill")

    def _find(self, name: str) -> Template:
        wanted = name.strip().lower().removeprefix(_PREFIX)
        found = next((one for one in self._skills() if _name(one) == wanted), None)
        if found is None:
            known = ", ".join(list(map(_name, self._skills()))[:_MOST_NAMED]) or "none"
            raise ToolError("NOT_FOUND", f"there is no skill {one_line(name, 100)!r}", f"skills: {known}")
        return found

    def _is_active(self, name: str) -> bool:
        state = skill_on(self._log)
        return state is not None and state.skill == name

    def _is_known(self, skill: Template) -> bool:
        """Tell whether the model still has the skill's text as it is."""
        return any(skill.body in text for one in context_of(self._log.path()) for text in _texts(one))


def begin_skill(log: Log, skill: Template) -> None:
    """Record that a skill is active, unless a workflow is."""
    if state_on(log) is None:
        log.append(SkillStateEntry(_name(skill), skill.initial_phase))


def _texts(one: Logged) -> Iterator[str]:
    match one.entry:
        case ResultEntry(tool=tool) as result if tool == _SKILL:
            yield result.text
        case PromptEntry(parts=parts):
            yield from (part.text for part in parts if isinstance(part, News))
        case _:
            pass


def _name(skill: Template) -> str:
    return skill.name.removeprefix(_PREFIX)


def _given(args: Mapping[str, Any], name: str) -> str:
    value = args.get(name)
    return value.strip() if isinstance(value, str) else ""


class _Skill(DescribedTool):
    """The tool `skill`."""

    name = _SKILL
    kind = "think"
    needs = frozenset({"read"})
    modes = _MODES
    description = "Loads a skill, by its name in the list of skills: instructions for a particular kind of work."
    schema = _SKILL_SCHEMA

    def __init__(self, skills: ActiveSkill) -> None:
        self._skills = skills

    def title(self, args: dict[str, Any]) -> str:
        return f"Use the skill {one_line(_given(args, 'name') or '…', 60)}"

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.look(partial(self._skills.load, _given(args, "name"), _given(args, "args")))


class _SkillPhase(DescribedTool):
    """The tool `skill_phase`."""

    name = _PHASE
    kind = "think"
    needs = frozenset({"read"})
    modes = _MODES
    description = "Takes the active skill to another of its phases."
    schema = _PHASE_SCHEMA

    def __init__(self, skills: ActiveSkill) -> None:
        self._skills = skills

    def title(self, args: dict[str, Any]) -> str:
        return f"Continue with the phase {one_line(_given(args, 'to') or '…', 60)}"

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.look(partial(self._skills.move, _given(args, "to"), _given(args, "note")))
