"""The settings of now: the file is read again when it has changed."""

import os

from north_lsp.storage.locations import Locations
from north_lsp.storage.settings import Settings, load_settings


class SettingsFile:
    """One for a process. What was asked for by a session stays as it was until the session asks again."""

    def __init__(self, locations: Locations) -> None:
        self._locations = locations
        self._stamp: object = None
        self._settings = Settings()
        self._told: set[str] = set()

    def current(self) -> Settings:
        """The settings; costs one look at the file's entry while it has not changed."""
        stamp = self._look()
        if stamp != self._stamp:
            self._settings, self._stamp = load_settings(self._locations), stamp
        return self._settings

    def take_problems(self) -> list[str]:
        """What is wrong in the file, each once, for the user."""
        problems = self.current().problems
        new = [problem for problem in problems if problem not in self._told]
        self._told = set(problems)
        return new

    def _look(self) -> object:
        try:
            seen = os.stat(self._locations.config / "config.json")
        except OSError as error:
            return (error.errno,)
        return seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino
