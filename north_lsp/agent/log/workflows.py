"""The workflow in the log: which one is active on a path, and in which phase."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from north_lsp.agent.log.fields import FIXED, Json, as_list, as_object, as_text, unknown
from north_lsp.lazy_dataclass import dataclass

SKILL_STATE = "skill_state"
_RENAMED = {"parallelise": "parallelize"}
"""Workflows by the names that earlier versions wrote."""


@dataclass(frozen=True, slots=True)
class SkillStateEntry:
    """The conversation is in a phase of a workflow, whose folder `slug` names; without a `skill`: in none any more.
    `options` are those that it was begun with."""

    skill: str
    phase: str = ""
    slug: str = ""
    note: str = ""
    options: tuple[str, ...] = ()
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> SkillStateEntry:
        data, known = as_object(record.get("data")), FIXED | {"customType", "data"}
        skill, phase, slug, note = (as_text(data.get(key)) for key in ("skill", "phase", "slug", "note"))
        skill = _RENAMED.get(skill, skill) if slug else skill
        options = tuple(map(as_text, as_list(data.get("options"))))
        return cls(skill, phase, slug, note, options, unknown(record, known))

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"skill": self.skill, "phase": self.phase, "slug": self.slug, "note": self.note}
        data |= {"options": [*self.options]} if self.options else {}
        return {"type": "custom", "customType": SKILL_STATE, "data": data, **self.more}
