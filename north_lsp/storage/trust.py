"""Whether the user trusts a project: kept with the user's own data, never in the project.

Undecided is not distrust: nothing in the project itself allows anything here, and what the user allowed in it is the
user's own word. Distrust suspends that as well, without losing it.
"""

from __future__ import annotations

from typing import Literal

from north_lsp.storage.entries import timestamp
from north_lsp.storage.files import MAX_CONFIG_BYTES, json_bytes, private_directory, read_json, short_lock, write_atomic
from north_lsp.storage.locations import Locations

By = Literal["user", "editor"]


class Trust:
    """The trust in one project, read again each time, so that other processes' changes count at once."""

    def __init__(self, locations: Locations, project_hash: str) -> None:
        self._locations = locations
        self._lock_name = f"trust-{project_hash}"
        self._path = locations.project(project_hash) / "trust.json"
        self._unsaved: tuple[bool, By] | None = None

    def decided(self) -> tuple[bool, By] | None:
        """Return the decision and whose it is; None if there is none. A file that cannot be read counts as distrust."""
        if self._unsaved is not None:
            return self._unsaved
        try:
            content = read_json(self._path, MAX_CONFIG_BYTES)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return False, "user"
        match content:
            case {"trusted": True, "by": "editor"}:
                return True, "editor"
            case {"trusted": True}:
                return True, "user"
            case {"trusted": False, "by": "editor"}:
                return False, "editor"
            case _:
                return False, "user"

    def is_distrusted(self) -> bool:
        decided = self.decided()
        return decided is not None and not decided[0]

    def decide(self, trusted: bool, by: By) -> OSError | None:
        """Store a decision. An editor's trust does not lift the user's own distrust. What cannot be stored holds for
        this object's life, and the error is returned."""
        if trusted and by == "editor" and self.decided() == (False, "user"):
            return None
        content = {"version": 1, "trusted": trusted, "decidedAt": timestamp(), "by": by}
        try:
            with short_lock(self._locations, self._lock_name):
                private_directory(self._path.parent)
                write_atomic(self._path, json_bytes(content), 0o600)
        except OSError as error:
            self._unsaved = trusted, by
            return error
        self._unsaved = None
        return None


def described(decided: tuple[bool, By] | None) -> str:
    """Describe a decision for people."""
    if decided is None:
        return "You have not decided whether to trust this workspace: what you allowed in it applies."
    trusted, by = decided
    whose = "you said so" if by == "user" else "the editor says so"
    if trusted:
        return f"This workspace is trusted ({whose}): what you allowed in it applies."
    return f"This workspace is not trusted ({whose}): every command and every edit asks first."
