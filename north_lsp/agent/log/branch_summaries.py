"""The entry that says what was done on a branch that the user has left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from north_lsp.agent.log.fields import FIXED, NOTHING, Json, as_object, given, text_or_none, unknown
from north_lsp.agent.prompts import render
from north_lsp.lazy_dataclass import dataclass

ROOT = "root"
"""Stands for the branch's last entry where there was none."""
_KEYS = FIXED | {"fromId", "summary", "details"}
_LISTS = frozenset({"readFiles", "modifiedFiles"})


@dataclass(frozen=True, slots=True)
class BranchSummaryEntry:
    """A summary of the branch that ended with the entry `from_id`, for the model and for people; `read` and `modified`
    are the files that were read and changed there, also before earlier summaries."""

    from_id: str | None
    summary: str
    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    details: Json = field(default_factory=dict)
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> BranchSummaryEntry:
        """Read a record of the log. Raises TypeError if it is malformed."""
        match record:
            case {"summary": str(summary)} if isinstance(record.get("details", NOTHING), Mapping):
                details = as_object(record.get("details"))
                read, modified = (_names(details.get(key, [])) for key in ("readFiles", "modifiedFiles"))
                more = unknown(details, _LISTS)
                return cls(text_or_none(record.get("fromId")), summary, read, modified, more, unknown(record, _KEYS))
            case _:
                raise TypeError("not a summary")

    @classmethod
    def supplied(cls, given: Json, leaf: str | None) -> BranchSummaryEntry:
        """Make the entry of a summary that an extension has written, of the branch that ends with `leaf`. Raises
        TypeError if it is malformed."""
        record = {"fromId": leaf if leaf is not None else ROOT, "summary": given.get("summary"), "fromExtension": True}
        return cls.from_json(record | ({"details": given["details"]} if "details" in given else {}))

    def to_json(self) -> dict[str, Any]:
        files = {"readFiles": list(self.read)} if self.read else {}
        files |= {"modifiedFiles": list(self.modified)} if self.modified else {}
        details = {"details": files | dict(self.details)} if files or self.details else {}
        return {"type": "branch_summary", **given(fromId=self.from_id), "summary": self.summary, **details, **self.more}

    @property
    def is_supplied(self) -> bool:
        """Whether an extension has written it."""
        return self.more.get("fromExtension") is True

    @property
    def for_model(self) -> str:
        """The text that the model reads."""
        parts = [self.summary, _listed("read-files", self.read), _listed("modified-files", self.modified)]
        return render("branch_left", summary="\n\n".join(part for part in parts if part))

    @property
    def for_people(self) -> str:
        """The text that people read, in Markdown."""
        return f"**Summary of the branch that was left**\n\n{self.summary}\n\n"


def _names(stored: object) -> tuple[str, ...]:
    if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
        raise TypeError("not a list of names")
    return tuple(stored)


def _listed(tag: str, names: Sequence[str]) -> str:
    return "\n".join([f"<{tag}>", *names, f"</{tag}>"]) if names else ""
