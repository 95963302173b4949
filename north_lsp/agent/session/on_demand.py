"""The parts of a session that are made when somebody asks for them: neither opening a session nor a turn needs them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from north_lsp.agent.edits.checkpoints import Checkpoints
    from north_lsp.agent.log.log import Log
    from north_lsp.agent.session.completion.code_completion import CodeCompletion
    from north_lsp.agent.session.keeping.exporting import Exports
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.agent.session.navigation.navigation import MovingSession, Navigation
    from north_lsp.agent.session.process.environment import Environment
    from north_lsp.agent.session.services.surroundings import ModelSurroundings
    from north_lsp.agent.session.turns.compacting import CompactedSession, Compacting
    from north_lsp.agent.session.turns.model_turns import TurnMeans

    class _Whole(LiveSession, MovingSession, CompactedSession, Protocol):
        _log: Log
        _checkpoints: Checkpoints
        _environment: Environment
        _means: TurnMeans
        _surroundings: ModelSurroundings


class OnDemand:
    """The parts of one session that are made late; the session derives from this class."""

    @property
    def _whole(self) -> _Whole:
        return cast("_Whole", self)

    @cached_property
    def exports(self) -> Exports:
        """Exports of the conversation."""
        from north_lsp.agent.session.keeping.exporting import Exports

        one = self._whole
        return Exports(one._log, one.roots[0], one._environment, lambda: one._surroundings.exported(one.mode))

    @cached_property
    def navigation(self) -> Navigation:
        """Going back, branches and copies."""
        from north_lsp.agent.session.navigation.branch_summary import BranchSummaries
        from north_lsp.agent.session.navigation.drafts import DraftMaker
        from north_lsp.agent.session.navigation.navigation import Navigation

        one = self._whole
        drafts = DraftMaker(one.workspace.roots, one._checkpoints.content)
        summaries = BranchSummaries(one._log, one.choice, one._environment, one.roots[0], one.questions)
        environment = one._environment
        return Navigation(
            one,
            one._log,
            drafts,
            summaries,
            environment.locations,
            environment.process.switches,
            environment.extensions,
        )

    @cached_property
    def compacting(self) -> Compacting:
        """Summaries that the user asks for."""
        from north_lsp.agent.session.turns.compacting import Compacting

        return Compacting(self._whole, self._whole._means, self._whole._surroundings)

    @cached_property
    def code_completion(self) -> CodeCompletion:
        """Completions of code, and next edits."""
        from north_lsp.agent.session.completion.code_completion import CodeCompletion

        one = self._whole
        return CodeCompletion(one._means, one.choice, lambda: one.workspace)
