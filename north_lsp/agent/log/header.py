"""The header of a conversation: where and with what it began."""

from __future__ import annotations

from dataclasses import field

from north_lsp.agent.log.fields import Json, as_object, as_text, text_or_none, whole_number
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import VERSION


@dataclass(frozen=True, slots=True)
class Parent:
    """The conversation that another comes from, and how; empty texts for none."""

    id: str = ""
    relation: str = ""

    def to_json(self) -> dict[str, object]:
        return {"id": self.id, "relation": self.relation}


@dataclass(frozen=True, slots=True)
class EditorName:
    """The editor in which a conversation began."""

    name: str
    version: str | None = None

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "version": self.version}


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line of a log says; empty texts for what it does not say. `project` is the hash of its project,
    `inode` that of its folder, `former_format` what the log was written in, if that is not today's form."""

    id: str = ""
    at: str = ""
    root: str = ""
    model: str = ""
    client: str = ""
    north: str = ""
    parent: Parent = field(default_factory=Parent)
    cwd: str = ""
    project: str | None = None
    inode: int | None = None
    former_format: str | None = None

    @classmethod
    def from_json(cls, record: Json) -> Header:
        client, parent = as_object(record.get("client")), as_object(record.get("parentSession"))
        named = " ".join(part for part in map(as_text, (client.get("name"), client.get("version"))) if part)
        return cls(
            as_text(record.get("id")),
            as_text(record.get("timestamp")),
            as_text(record.get("repoRoot") or record.get("cwd")),
            as_text(record.get("model")),
            named,
            as_text(record.get("northVersion")),
            Parent(as_text(parent.get("id")), as_text(parent.get("relation"))),
            as_text(record.get("cwd")),
            text_or_none(record.get("repoHash")),
            whole_number(record.get("rootInode")),
            text_or_none(record.get("formerFormat")),
        )


def is_newer(record: Json) -> bool:
    """Tell from a log's first line whether a newer version of North has written it."""
    return (whole_number(record.get("version")) or 0) > VERSION
