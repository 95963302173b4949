"""The checked options of the command line and the environment. Imports nothing heavy: it runs before the first
answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from north_lsp.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from north_lsp.providers.catalog.catalog import Catalog
    from north_lsp.providers.catalog.model_selection import Allowed, Choice
    from north_lsp.storage.model_settings import ModelSettings
    from north_lsp.vocabulary import Mode


class UsageError(Exception):
    """The user must change something before North can start; the text is one line that says what to do."""


@dataclass(frozen=True)
class Options:
    """The options. `model` and `mode` are None if not given; `path` is the folder of `--path`."""

    environ: Mapping[str, str]
    path: Path | None = None
    model: str | None = None
    mode: Mode | None = None
    log_level: str | None = None

    def check_model(self) -> None:
        """Refuse, for a command in a terminal, a model that was named and cannot be used. Raises UsageError."""
        if self.model is not None:
            self.choose_model(None)

    def load_catalog(self, models: ModelSettings | None = None) -> Catalog:
        """Load the shipped models and the user's, with the keys that are stored. Reads files; also the settings, unless
        they are given as `models`."""
        from north_lsp.providers.catalog.loading import load_catalog
        from north_lsp.providers.keys.broker import broker_of
        from north_lsp.providers.keys.sources import Keys
        from north_lsp.storage.credentials import CredentialStore
        from north_lsp.storage.locations import Locations
        from north_lsp.storage.user_settings import load_settings

        locations = Locations.from_environment(self.environ)
        if models is None:
            models = load_settings(locations).models  # problems in it are reported where it is used
        known = load_catalog(locations.config, self.environ, models)
        known.keys = Keys(CredentialStore(locations), broker_of(models, self.environ))
        known.keys.refresh()
        return known

    def choose_model(self, saved: str | None, known: Catalog | None = None, allowed: Allowed | None = None) -> Choice:
        """Choose the model to start with: the one asked for, else the first enabled one, else the saved choice, else
        the default of what has a key.

        Raises UsageError if the one asked for is unknown or lacks its key; such a saved one is skipped.
        """
        from north_lsp.providers.catalog.model_list import UnknownModel
        from north_lsp.providers.catalog.model_selection import ALL_MODELS, choose
        from north_lsp.providers.credentials import MissingCredential

        known = known or self.load_catalog()
        try:
            return choose(known, self.environ, asked=self.model, saved=saved, allowed=allowed or ALL_MODELS)
        except (UnknownModel, MissingCredential) as error:
            raise UsageError(str(error)) from None

    def model_to_serve(self, saved: str | None, known: Catalog, allowed: Allowed) -> Choice:
        """Choose as `choose_model` does, but for an editor, where nobody reads what a process prints when it ends: a
        model that was asked for and cannot be used is chosen, and says so in the chat."""
        from north_lsp.providers.catalog.model_selection import Choice
        from north_lsp.providers.catalog.unknown import asked_for

        if self.model is None:
            return self.choose_model(saved, known, allowed)
        return Choice(asked_for(known, self.model))
