"""Which files are looked into rather than read, by the endings of their names. Loads nothing that can read them."""

from __future__ import annotations

from pathlib import Path

from north_lsp.workspace.formats.pictures import PICTURES
from north_lsp.workspace.paths import Resolved

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")
DATABASES = (".sqlite", ".sqlite3", ".db")
DOCUMENTS = (".pdf", ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp")


def split_archive_path(resolved: Resolved, raw_path: str) -> tuple[Path | None, str]:
    """Return the file to look into, or None if it is to be read as it is, and the part that is asked for inside it
    (which may not exist)."""
    name = resolved.path.name.lower()
    at = raw_path.find(f"{resolved.path.name}:")
    archive_path = raw_path[at + len(resolved.path.name) + 1 :] if at >= 0 else ""
    known = (*ARCHIVES, *DATABASES, *DOCUMENTS, *PICTURES, ".ipynb")
    return (resolved.path, archive_path) if name.endswith(known) else (None, archive_path)
