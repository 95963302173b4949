"""The entries that shorten what models get of a conversation. What they replace stays in the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from north_lsp.agent.log.fields import FIXED, Json, as_list, as_object, as_text, text_or_none, unknown, whole_number
from north_lsp.lazy_dataclass import dataclass

Reason = Literal["manual", "threshold", "overflow", "handoff", "summary"]
"""Why a conversation was summarized: the user asked, the window was nearly full, the model refused it for its length,
another conversation goes on from there; "summary" comes from logs of other formats."""

PRUNED = "pruned"
_KEYS = FIXED | {
    "summary", "shortSummary", "structured", "firstKeptEntryId", "tokensBefore", "tokensAfter", "reason", "details",
    "model",
}  # fmt: skip
_BY_EXTENSION, _KEPT = "fromExtension", "preserveData"
TEXT_SECTIONS = ("goal", "progress", "criticalContext")
LIST_SECTIONS = ("decisions", "constraints", "openTasks", "importantFiles", "nextSteps")
"""The sections of a structured summary."""
_SECTIONS = (
    ("goal", "Goal"),
    ("constraints", "Constraints"),
    ("decisions", "Decisions"),
    ("progress", "Progress"),
    ("openTasks", "Open tasks"),
    ("importantFiles", "Important files"),
    ("criticalContext", "Critical context"),
    ("nextSteps", "Next steps"),
)


@dataclass(frozen=True, slots=True)
class FileNames:
    """The files that the replaced part read and changed, relative to the project where they are in it; the newest are
    last."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, stored: object) -> FileNames:
        lists = as_object(stored)
        read, modified = (tuple(map(as_text, as_list(lists.get(key)))) for key in ("readFiles", "modifiedFiles"))
        return cls(read, modified)

    def to_json(self) -> dict[str, Any]:
        return {"readFiles": list(self.read), "modifiedFiles": list(self.modified)}


@dataclass(frozen=True, slots=True)
class CompactionEntry:
    """A summary in place of everything before the entry `first_kept` (its own id: of everything). Tokens are
    estimates of a whole request before and after; `model` wrote the summary, or an extension did (`by_extension`), and
    `kept` is what extensions want to be kept with it."""

    summary: str
    first_kept: str
    tokens_before: int = 0
    tokens_after: int | None = None
    reason: str = "summary"
    short: str = ""
    structured: Json | None = None
    files: FileNames = field(default_factory=FileNames)
    model: str = ""
    by_extension: bool = False
    kept: Json = field(default_factory=dict)
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> CompactionEntry:
        """Read a record of the log. Raises ValueError if it has no summary: then it replaces nothing."""
        structured = record.get("structured")
        sections = structured if isinstance(structured, Mapping) else None
        summary = as_text(record.get("summary")).strip() or (in_markdown(sections) if sections is not None else "")
        if not summary:
            raise ValueError("a compaction without a summary")
        by_extension, kept = record.get(_BY_EXTENSION) is True, as_object(record.get(_KEPT))
        known = _KEYS | ({_BY_EXTENSION} if by_extension else set()) | ({_KEPT} if kept else set())
        return cls(
            summary,
            as_text(record.get("firstKeptEntryId")),
            whole_number(record.get("tokensBefore")) or 0,
            whole_number(record.get("tokensAfter")),
            as_text(record.get("reason")) or "summary",
            as_text(record.get("shortSummary")),
            sections,
            FileNames.from_json(record.get("details")),
            text_or_none(record.get("model")) or "",
            by_extension,
            kept,
            unknown(record, known),
        )

    def to_json(self) -> dict[str, Any]:
        stored: dict[str, Any] = {"type": "compaction", "summary": self.summary, "firstKeptEntryId": self.first_kept}
        stored |= {"shortSummary": self.short} if self.short else {}
        stored |= {"structured": dict(self.structured)} if self.structured is not None else {}
        stored |= {"tokensBefore": self.tokens_before, "reason": self.reason, "details": self.files.to_json()}
        stored |= {"tokensAfter": self.tokens_after} if self.tokens_after is not None else {}
        stored |= ({"model": self.model} if self.model else {}) | ({_BY_EXTENSION: True} if self.by_extension else {})
        return stored | ({_KEPT: dict(self.kept)} if self.kept else {}) | dict(self.more)


@dataclass(frozen=True, slots=True)
class PrunedEntry:
    """Results whose text models no longer get: how many tokens each had, by the entry's id (0: not known)."""

    results: Mapping[str, int]
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> PrunedEntry:
        ids, counts = as_list(record["ids"]), as_list(record.get("tokens"))
        found = {as_text(id): whole_number(counts[at]) or 0 if at < len(counts) else 0 for at, id in enumerate(ids)}
        return cls(found, unknown(record, FIXED | {"customType", "ids", "tokens"}))

    def to_json(self) -> dict[str, Any]:
        stored = {"ids": list(self.results), "tokens": list(self.results.values())}
        return {"type": "custom", "customType": PRUNED, **stored, **self.more}


def in_markdown(sections: Json) -> str:
    """Render a structured summary; empty if there is nothing in it."""
    parts = []
    for key, title in _SECTIONS:
        value = sections.get(key)
        rows = [as_text(row).strip() for row in value] if isinstance(value, list) else None
        text = as_text(value).strip() if rows is None else "\n".join(f"- {row}" for row in rows if row)
        if text:
            parts.append(f"## {title}\n\n{text}")
    return "\n\n".join(parts)
