"""What all sessions of a process have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from north_lsp.agent.calls.abandoned_tasks import Detached
from north_lsp.agent.costs.recorder import CostKeeper
from north_lsp.agent.models.models import Models
from north_lsp.agent.turn.retry import RetrySettings
from north_lsp.background import Background
from north_lsp.shell.pool import Keeper
from north_lsp.storage.locations import Locations
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_file import SettingsFile

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry


@dataclass(frozen=True)
class Environment:
    """What all sessions of a process share. `load_tools` may take a while at first, so it is called on a thread;
    `background` owns what may outlive a turn."""

    locations: Locations
    environ: Mapping[str, str]
    models: Models
    load_tools: Callable[[], "Registry"]
    background: Background
    retry: RetrySettings
    costs: CostKeeper
    detached: Detached
    settings_file: SettingsFile
    shells: Keeper | None = None

    @property
    def settings(self) -> Settings:
        """Those of now: the user may have changed them since."""
        return self.settings_file.current()
