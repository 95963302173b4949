"""The layers of settings, each above the one before: defaults, the user's file, the project's, the editor's own
settings, and what holds for a session alone. Knows no file of the user's: `settings.py` reads that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path

from north_lsp.errors import Problem
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_regular
from north_lsp.storage.setting import Declared, PartlyWrong, declared, filled
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_reader import (
    Layer,
    Origin,
    SettingsError,
    did_you_mean,
    found_in,
    read_value,
    unknown_in,
)
from north_lsp.storage.user_settings import opened

NOT_IN_EDITORS = frozenset({"selectedModel", "auth.broker.token"})
"""North itself writes the first; the second is a secret, and editors copy their settings to other machines."""

_MIXED = "the opened folder may have set it, as this editor does not tell your own settings apart"
_ONLY_YOU = f"it has no effect: {_MIXED}; set it in your own settings file"
_ONLY_STRICTER = f"it has no effect: {_MIXED}, and so it can only make it stricter; set it in your own settings file"


@dataclass(frozen=True)
class Layered:
    """The settings that apply, and the layers that they were made of, the weakest first."""

    settings: Settings
    layers: Sequence[Layer]
    origins: Mapping[str, Origin]

    def origin(self, key: str) -> Origin:
        """Tell which layer a setting's value comes from."""
        return self.origins.get(key, "default")

    def shown(self, key: str) -> object:
        """Return the value that applies, as it could be written."""
        row, origin = declared(Settings)[key], self.origin(key)
        value = row.value_in(self.settings)
        layer = next((one for one in self.layers if one.origin == origin), None)
        if layer is not None and key in layer.written and layer.values.get(key) == value:
            return layer.written[key]
        return as_written(value)

    def below(self, key: str) -> Sequence[tuple[Origin, object]]:
        """Return what the other layers say of a setting, the strongest first."""
        origin = self.origin(key)
        found = [(one.origin, one) for one in reversed(self.layers) if key in one.values and one.origin != origin]
        return [(name, layer.written.get(key, as_written(layer.values[key]))) for name, layer in found]


def as_written(value: object) -> object:
    """Return a value as JSON could have it; what North made of it otherwise is described."""
    if isinstance(value, tuple | list):
        return [as_written(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): as_written(one) for name, one in value.items()}
    return str(value) if is_dataclass(value) else value


def merged(layers: Sequence[Layer]) -> Layered:
    """Put layers on top of each other. As long as nobody knows what one of them says, no later one counts."""
    rows = declared(Settings)
    values: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    problems: list[str] = []
    for layer in layers:
        problems += layer.problems
        for key, value in layer.values.items():
            below = values.get(key, rows[key].setting.default)
            if not _only_narrows(layer, rows[key]):
                values[key], origins[key] = value, layer.origin
                continue
            narrowed = stricter(rows[key], below, value)
            if narrowed is None:
                problems.append(_refused(layer, rows[key]))
            elif narrowed == value or narrowed != below:  # else it changes nothing
                values[key], origins[key] = narrowed, layer.origin
        if layer.is_unknown:
            break
    return Layered(replace(filled(Settings, values), problems=tuple(problems)), tuple(layers), origins)


def _only_narrows(layer: Layer, row: Declared) -> bool:
    return layer.as_project and row.setting.project == "stricter"


def stricter(row: Declared, below: object, value: object) -> object:
    """Return what applies where a value may only make a setting stricter than what is below it: both lists together,
    the smaller number, else the strictest value; None for a value that is not stricter."""
    match below, value:
        case tuple(), tuple():
            return tuple(dict.fromkeys((*below, *value)))
        case ((int() | float()), (int() | float())) if row.kind in (int, float):
            return min(below, value)
        case _:
            return value if value == below or (row.setting.guards and value == row.setting.strict) else None


def _refused(layer: Layer, row: Declared) -> str:
    setting = row.setting
    if layer.origin == "editor":
        told = f"the editor's setting north.{setting.key}: {_ONLY_STRICTER}"
    else:
        told = f"the project's settings: {setting.key} has no effect: a project can only make it stricter than you do"
    return Problem(told, None, setting.key)


def given_layer(origin: Origin, written: Mapping[str, object], *, as_project: bool = False) -> Layer:
    """Make the layer of what an editor or a session has, by the settings' keys. A wrong value is left out,
    so that what is below counts, or replaced by the strictest where it guards anything. `as_project`: it may say no
    more than a project's own file."""
    rows = declared(Settings)
    values: dict[str, object] = {}
    right: dict[str, object] = {}
    problems: list[str] = []
    whose = "the editor's setting north." if origin == "editor" else "the setting "

    def note(key: str, what: str) -> None:
        problems.append(Problem(f"{whose}{key}: {what}", None, key))

    for key in unknown_in(written, {name for row in rows.values() for name in row.setting.names}):
        note(key, f"it is unknown and has no effect{did_you_mean(key, rows)}")
    for key, row in rows.items():
        value = next((one for name in row.setting.names if (one := found_in(written, name)) is not None), None)
        if value is None:
            continue
        if origin == "editor" and key in NOT_IN_EDITORS:
            note(key, "it has no effect there, only in the file")
            continue
        if as_project and row.setting.project == "no":
            note(key, _ONLY_YOU)
            continue
        try:
            values[key] = read_value(row, value)
            right[key] = value
        except PartlyWrong as error:
            values[key] = error.rest
            for what in error.problems:
                note(key, f"it {what}")
        except ValueError as error:
            if row.setting.guards:
                values |= {name: rows[name].setting.strict for name in (key, *row.setting.tightens)}
            note(key, f"it {error}")
    return Layer(origin, values, right, tuple(problems), as_project=as_project)


def project_file(root: Path) -> Path:
    """Return where a project's settings are."""
    return root / ".north" / "settings.json"


def read_project(root: Path) -> Layer:
    """Read a project's file. Raises SettingsError for one that cannot be read."""
    path = project_file(root)
    try:
        if not path.resolve().is_relative_to(root.resolve()):
            raise SettingsError(path, 1, 1, "it points outside the project, so it is not read")
        return opened(path, read_regular(path, MAX_CONFIG_BYTES)).read(Settings, "project")
    except FileNotFoundError:
        return Layer("project", {}, as_project=True)
    except OSError as error:
        raise SettingsError(path, 1, 1, error.strerror or str(error)) from None


def without_project(error: SettingsError, good: Layer | None) -> Layer:
    """Return what applies while a project's file cannot be read: what it said before (`good`); without that, the
    strictest of what it may make stricter."""
    if good is not None:
        told = "until the file is fixed, what it said before is used"
        return replace(good, problems=(Problem(f"{error}; {told}", error.path), *good.problems))
    rows = declared(Settings).items()
    strictest = {key: row.setting.strict for key, row in rows if row.setting.project == "stricter"}
    told = "until the file is fixed, what it may restrict is as strict as it can be: nothing is edited, say"
    return Layer("project", strictest, {}, (Problem(f"{error}; {told}", error.path),), as_project=True)
