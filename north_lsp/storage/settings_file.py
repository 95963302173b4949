"""The current settings: each of their files is read again when it has changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.locations import Locations
from north_lsp.storage.noting import note_problem
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_layers import (
    Layered,
    given_layer,
    merged,
    project_file,
    read_project,
    without_project,
)
from north_lsp.storage.settings_reader import Layer, Origin, SettingsError
from north_lsp.storage.user_settings import load_user_layer


class Given:
    """Settings that are in no file: what the user has set in the editor, or for a session alone."""

    def __init__(self, origin: Origin, written: Mapping[str, object]) -> None:
        self.origin: Origin = origin
        self.written = dict(written)
        self.as_project = False
        self.revision = 0

    def replace(self, written: Mapping[str, object], *, as_project: bool = False) -> None:
        self.written, self.as_project = dict(written), as_project
        self.revision += 1

    def layer(self) -> Layer:
        return given_layer(self.origin, self.written, as_project=self.as_project)


@dataclass
class _Project:
    """The project of a session; `good` is what its file said when it could last be read."""

    root: Path
    is_closed: Callable[[], bool]
    good: Layer | None = None

    def __post_init__(self) -> None:
        self._file = str(project_file(self.root))

    def look(self) -> object:
        """Return the state of the file; None if there is none, or it does not count."""
        state = _state(self._file)
        return None if state is None or self.is_closed() else state

    def layer(self) -> Layer:
        try:
            self.good = read_project(self.root)
        except SettingsError as error:
            return without_project(error, self.good)
        return self.good


class SettingsFile:
    """The settings of a process: those of the user's file, with what the user has set in the editor on top. `of` gives
    those of a session. Settings that a session has got do not change until it asks again."""

    def __init__(self, locations: Locations, editor: Mapping[str, object] | None = None) -> None:
        self.locations = locations
        self.session = Given("session", {})
        self._editor = Given("editor", editor or {})
        self._project: _Project | None = None
        self._own = tuple(str(locations.config / name) for name in ("config.json", "config.yml"))
        self._stamp: object = None
        self._layered = merged(())
        self._told: set[str] = set()

    def of(self, root: Path, is_distrusted: Callable[[], bool]) -> SettingsFile:
        """Return the settings of a session in a project, whose own file counts unless the project is distrusted."""
        own = SettingsFile(self.locations)
        own._editor, own._project, own._told = self._editor, _Project(root, is_distrusted), set(self._told)
        return own

    @property
    def root(self) -> Path | None:
        """The project's folder; None for the settings of the process."""
        return self._project.root if self._project is not None else None

    def current(self) -> Settings:
        """Return the settings; as long as no file has changed, that costs a `stat` for each."""
        return self.layered().settings

    def layered(self) -> Layered:
        """Return the settings with the layers that they are made of."""
        project = self._project.look() if self._project is not None else None
        own = tuple(map(_state, self._own))
        stamp = (own, project, self._editor.revision, self.session.revision)
        if stamp != self._stamp:
            between = [self._project.layer()] if self._project is not None and project is not None else []
            layers = [load_user_layer(self.locations), *between, self._editor.layer(), self.session.layer()]
            self._layered, self._stamp = merged(layers), stamp
        return self._layered

    def forget(self) -> None:
        """Read every file again with the next question, and tell its problems again."""
        self._stamp = None
        self._told.clear()

    @property
    def files(self) -> list[Path]:
        """The files that there are."""
        own = [Path(path) for path in self._own]
        project = [project_file(self._project.root)] if self._project is not None else []
        return [path for path in (*own, *project) if path.is_file()]

    def take_editor(self, editor: Mapping[str, object], *, as_project: bool = False) -> None:
        """Take what the user has set in the editor from now on, by the settings' keys. `as_project`: files of the
        opened folder may have set some of it, so it may say no more than a project's own file."""
        self._editor.replace(editor, as_project=as_project)

    def take_problems(self) -> list[str]:
        """Return what is wrong in the settings, for the user, each problem once; North's log has it, too."""
        problems = self.current().problems
        new = [problem for problem in problems if problem not in self._told]
        self._told = set(problems)
        for problem in new:
            note_problem(problem)
        return new


def _state(path: str) -> object:
    """Return what is different once a file has changed; None if there is none. A turn asks some fifty times, so paths
    are texts here."""
    try:
        seen = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return (error.errno,)
    return seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino
