"""Settings that the user has made in the editor instead of the file: there they win over the file's."""

from collections.abc import Mapping
from dataclasses import replace

from north_lsp.errors import Problem
from north_lsp.storage.setting import PartlyWrong, declared, filled
from north_lsp.storage.settings import STRICT, Settings
from north_lsp.storage.settings_reader import read_value

NOT_IN_EDITORS = frozenset({"selectedModel", "auth.broker.token"})
"""North itself writes the first; the second is a secret, and editors copy their settings to other machines."""


def with_editor_settings(settings: Settings, written: Mapping[str, object]) -> Settings:
    """Return the settings with those of the editor, by their keys, on top. A wrong value is left out, or replaced by
    the strictest, as in the file. As long as nobody knows what the file says, the editor loosens nothing."""
    if not written or replace(settings, problems=()) == STRICT:
        return settings
    rows = declared(Settings)
    values = {key: row.value_in(settings) for key, row in rows.items()}
    problems: list[str] = []

    def note(key: str, what: str) -> None:
        problems.append(Problem(f"the editor's setting north.{key}: {what}", None, key))

    for key, value in written.items():
        row = rows.get(key)
        if row is None or key in NOT_IN_EDITORS:
            note(key, "it is unknown and has no effect" if row is None else "it has no effect there, only in the file")
            continue
        try:
            values[key] = read_value(row, value)
        except PartlyWrong as error:
            values[key] = error.rest
            for what in error.problems:
                note(key, f"it {what}")
        except ValueError as error:
            values |= {name: rows[name].setting.strict for name in (key, *row.setting.tightens)}
            note(key, f"it {error}")
    return replace(filled(Settings, values), problems=(*settings.problems, *problems))
