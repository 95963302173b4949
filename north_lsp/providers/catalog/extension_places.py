"""Where the user's extensions in Python are: in North's own folder, and where the setting `extensions` says. Loads
nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.model_settings import ModelSettings


@dataclass(frozen=True, slots=True)
class ExtensionPlaces:
    """`folder` first, then what is `more`: files, and folders of them; without those that are `disabled`."""

    folder: Path
    more: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()

    @property
    def may_have_any(self) -> bool:
        """Whether there is anything to look at, or to complain of."""
        return bool(self.more or self.disabled) or self.folder.is_dir()

    def files(self) -> Sequence[Path]:
        """Return the files of all extensions, disabled ones, too: each once, whatever names lead to it."""
        found = list(_files_in(self.folder))
        for path in self._more():
            found += [path] if path.is_file() else _files_of(path)
        first: dict[str, Path] = {}
        for path in found:
            first.setdefault(os.path.realpath(path), path)
        return list(first.values())

    def enabled(self) -> Sequence[Path]:
        """Return the files of the extensions that are used."""
        return [path for path in self.files() if item_of(path) not in self.disabled]

    def problems(self) -> Sequence[str]:
        """Return what the settings name that is not there."""
        there = {item_of(path) for path in self.files()}
        gone = [("disabledExtensions", one) for one in self.disabled if one not in there]
        gone += [("extensions", str(path)) for path in self._more() if not (path.is_file() or _files_of(path))]
        told = [f"the setting `{name}` names {one_line(one, 300)}, which does not exist" for name, one in gone]
        unclear = [one for one in self.more if not os.path.isabs(os.path.expanduser(one))]
        return told + [f"the setting `extensions` names {one_line(one, 300)!r}: name a whole path" for one in unclear]

    def _more(self) -> Sequence[Path]:
        """Return the whole paths that the settings name: what depends on where North runs could be the project's."""
        paths = (Path(os.path.expanduser(one)) for one in self.more)
        return [path for path in paths if path.is_absolute()]


def places_of(config: Path, settings: ModelSettings) -> ExtensionPlaces:
    """Return where the user's extensions are; `config` is the folder of North's settings."""
    return ExtensionPlaces(config / "extensions", settings.extensions, settings.disabled_extensions)


def item_of(path: Path) -> str:
    """Return what `disabledExtensions` calls the extension whose file this is."""
    return f"extension-module:{path.parent.name if path.name == '__init__.py' else path.stem}"


def _files_of(folder: Path) -> Sequence[Path]:
    """Return the extensions that a named folder has: itself, or those in it."""
    own = folder / "__init__.py"
    return [own] if own.is_file() else _files_in(folder)


def _files_in(folder: Path) -> Sequence[Path]:
    try:
        rows = sorted(folder.iterdir())
    except OSError:
        return ()
    files = [path / "__init__.py" if path.is_dir() else path for path in rows]
    return [path for path in files if path.suffix == ".py" and path.is_file()]
