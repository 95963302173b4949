"""What slash commands act on: the conversation that they were typed in. Each group has its own part."""

from __future__ import annotations

from typing import Protocol

from north_lsp.slash.agents import HostForAgents
from north_lsp.slash.approvals import HostForApprovals
from north_lsp.slash.builtin import HostForConversation
from north_lsp.slash.changes import HostForChanges
from north_lsp.slash.compaction import HostForCompaction
from north_lsp.slash.config import HostForConfig
from north_lsp.slash.context import HostForContext
from north_lsp.slash.conversations import HostForConversations
from north_lsp.slash.exports import HostForExports
from north_lsp.slash.keeping import HostForKeeping
from north_lsp.slash.learning import HostForLearning
from north_lsp.slash.places import HostForPlaces
from north_lsp.slash.planning import HostForPlanning
from north_lsp.slash.providers import HostForProviders
from north_lsp.slash.servers import HostForServers
from north_lsp.slash.upkeep import HostForUpkeep
from north_lsp.slash.work import HostForWork


class Host(
    HostForAgents,
    HostForApprovals,
    HostForConversation,
    HostForChanges,
    HostForCompaction,
    HostForConfig,
    HostForContext,
    HostForConversations,
    HostForExports,
    HostForKeeping,
    HostForLearning,
    HostForPlaces,
    HostForPlanning,
    HostForProviders,
    HostForServers,
    HostForUpkeep,
    HostForWork,
    Protocol,
):
    """What commands of all groups ask of a session. Every method may raise CommandError."""
