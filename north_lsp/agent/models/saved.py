"""The model that the user chose last, which new conversations start with."""

from __future__ import annotations

from north_lsp.storage.locations import Locations
from north_lsp.storage.settings_write import save_text_setting


class SavedModel:
    """The saved model of one process; other processes read it from the settings when they start."""

    def __init__(self, locations: Locations, selector: str | None) -> None:
        self._locations = locations
        self.selector = selector

    def save(self, selector: str) -> None:
        """Keep a selector for this process in any case, and write it to the settings. Blocks. Raises OSError."""
        self.selector = selector
        save_text_setting(self._locations, "selectedModel", selector)
