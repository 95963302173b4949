"""The current settings: the file is read again when it has changed."""

import os
from collections.abc import Mapping

from north_lsp.storage.editor_settings import with_editor_settings
from north_lsp.storage.locations import Locations
from north_lsp.storage.noting import note_problem
from north_lsp.storage.settings import Settings, load_settings


class SettingsFile:
    """The settings file, one object per process, with what the user has set in the editor on top. Settings that a
    session has got do not change until it asks again."""

    def __init__(self, locations: Locations, editor: Mapping[str, object] | None = None) -> None:
        self._locations = locations
        self._editor = editor or {}
        self._stamp: object = None
        self._settings = Settings()
        self._told: set[str] = set()

    def current(self) -> Settings:
        """Return the settings; as long as the file has not changed, that costs one `stat`."""
        stamp = self._look()
        if stamp != self._stamp:
            self._settings, self._stamp = with_editor_settings(load_settings(self._locations), self._editor), stamp
        return self._settings

    def take_editor(self, editor: Mapping[str, object]) -> None:
        """Take what the user has set in the editor from now on, by the settings' keys."""
        self._editor, self._stamp = editor, None

    def take_problems(self) -> list[str]:
        """Return what is wrong in the file, for the user, each problem once; North's log has it, too."""
        problems = self.current().problems
        new = [problem for problem in problems if problem not in self._told]
        self._told = set(problems)
        for problem in new:
            note_problem(problem)
        return new

    def _look(self) -> object:
        try:
            seen = os.stat(self._locations.config / "config.json")
        except OSError as error:
            return (error.errno,)
        return seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino
