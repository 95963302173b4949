"""Adds a ready-made provider to models.yml: plans the change, shows it, writes it."""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.models_path import find_file
from north_lsp.providers.catalog.presets import PresetError, difference, find_preset, has_provider, with_provider
from north_lsp.storage.files import MAX_CONFIG_BYTES, private_directory, read_regular, write_atomic


@dataclass(frozen=True, slots=True)
class Addition:
    """A planned change. `before` and `after` are the texts of the file at `path`, which need not exist yet."""

    id: str
    path: Path
    before: str
    after: str

    @property
    def difference(self) -> str:
        return difference(self.path, self.before, self.after)

    def write(self) -> None:
        """Write the file. Blocks. Raises OSError, also if the file has changed since `before` was read."""
        private_directory(self.path.parent)
        path, now, mode = self.path.resolve(), "", 0o644
        with suppress(FileNotFoundError):
            now, mode = read_regular(path, MAX_CONFIG_BYTES).decode("utf-8-sig", "replace"), path.stat().st_mode & 0o777
        if now != self.before:
            raise OSError(errno.ESTALE, "it has changed since the diff was shown: try again")
        write_atomic(path, self.after.encode(), mode)


class ModelsText:
    """The user's models.yml as it is now. Reading it blocks, and raises PresetError if it cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.path = find_file(folder) or folder / "models.yml"
        try:
            self.text = read_regular(self.path, MAX_CONFIG_BYTES).decode("utf-8-sig")
        except FileNotFoundError:
            self.text = ""
        except (OSError, UnicodeDecodeError) as error:
            raise PresetError(f"{self.path} cannot be read: {error}") from None

    def has(self, id: str) -> bool:
        return has_provider(self.text, id)

    def free_name(self, id: str) -> str:
        number = 2
        while self.has(f"{id}-{number}"):
            number += 1
        return f"{id}-{number}"

    def with_preset(self, preset: str, id: str | None, address: str | None, *, replace: bool = False) -> Addition:
        """Plan to add the preset under an id and address. Raises PresetError."""
        found = find_preset(preset)
        name = id or found.id
        after = with_provider(self.path, self.text, found, name, address, replace=replace)
        return Addition(name, self.path, self.text, after)
