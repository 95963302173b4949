"""The resources that all sessions of a process share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.agent.costs.recorder import CostRecorder
from north_lsp.agent.models.model_services import Models
from north_lsp.agent.ports.extension_events import ExtensionEvents
from north_lsp.agent.ports.servers import Connect
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.session.process.switching import Switches
from north_lsp.agent.turn.retry import RetrySettings
from north_lsp.background import Background
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.extension_places import places_of
from north_lsp.shell.pool import ShellPool
from north_lsp.storage.locations import Locations
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_file import SettingsFile
from north_lsp.storage.switches import is_off

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry


@dataclass(frozen=True)
class ProcessParts:
    """The resources that all sessions of a process share. `load_tools` may take a while the first time, so it is called
    in a thread; `remembered` are the projects whose memory this process has worked on; `switches` notify extensions
    when the user goes to another conversation."""

    load_tools: Callable[[], Registry]
    retry: RetrySettings
    abandoned: AbandonedTasks
    switches: Switches
    shells: ShellPool | None = None
    connect: Connect | None = None
    remembered: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Environment:
    """The shared parts. `background` owns what may outlive a turn."""

    locations: Locations
    environ: Mapping[str, str]
    models: Models
    background: Background
    costs: CostRecorder
    settings_file: SettingsFile
    process: ProcessParts

    def masked(self, secrets: Secrets) -> Environment:
        """Return the same resources with the placeholders of a conversation: its models are never told a secret."""
        return replace(self, models=self.models.masked(secrets))

    @property
    def extensions(self) -> ExtensionEvents:
        """The user's extensions, which are told of what happens."""
        return ExtensionEvents(places_of(self.locations.config, self.settings.models))

    @property
    def settings(self) -> Settings:
        """The current settings: the user may have changed them since the start."""
        return self.settings_file.current()

    @property
    def notifies(self) -> bool:
        """Whether clients are to notify the user."""
        return self.settings.turns.notifications == "on" and not is_off(self.environ, "NORTH_NOTIFICATIONS")

    def of(self, root: Path, is_distrusted: Callable[[], bool]) -> Environment:
        """Return the environment of a session in a project, whose own settings count unless it is distrusted."""
        return replace(self, settings_file=self.settings_file.of(root, is_distrusted))
