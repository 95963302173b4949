"""The parts of a session that are made when somebody asks for them: opening a session needs none of them. They are
most of what is loaded for a session, and the client that opens one waits for none of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from north_lsp.agent.costs.limits import Spending
    from north_lsp.agent.edits.checkpoints import Checkpoints
    from north_lsp.agent.log.log import Log
    from north_lsp.agent.ports.diagnostics import Diagnostics
    from north_lsp.agent.ports.running_calls import RunningCalls
    from north_lsp.agent.ports.session_ports import Ports
    from north_lsp.agent.ports.status import Status, WatchedEditor
    from north_lsp.agent.session.commands.slash_commands import SlashCommands
    from north_lsp.agent.session.completion.code_completion import CodeCompletion
    from north_lsp.agent.session.completion.mentioning import Mentioning
    from north_lsp.agent.session.configuration import Configuration
    from north_lsp.agent.session.intake import PromptedSession, PromptIntake
    from north_lsp.agent.session.keeping.exporting import Exports
    from north_lsp.agent.session.keeping.remembering import Remembering
    from north_lsp.agent.session.learning.learning import Learning, LearningSession
    from north_lsp.agent.session.learning.memory import Memory, RememberingSession
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.agent.session.navigation.navigation import MovingSession, Navigation
    from north_lsp.agent.session.opening.opened import Stored
    from north_lsp.agent.session.process.environment import Environment
    from north_lsp.agent.session.running_work import RunningWork
    from north_lsp.agent.session.services.settings import SessionSettings
    from north_lsp.agent.session.services.shell import SessionShell
    from north_lsp.agent.session.services.surroundings import ModelSurroundings
    from north_lsp.agent.session.tasks.agents import Agents, AgentsSession
    from north_lsp.agent.session.turns.compacting import CompactedSession, Compacting
    from north_lsp.agent.session.turns.delivery import PromptDelivery
    from north_lsp.agent.session.turns.model_turns import TurnMeans
    from north_lsp.agent.session.turns.preparing import Preparation
    from north_lsp.agent.session.turns.unsent import UnsentPrompts
    from north_lsp.agent.templates.conversation_templates import ConversationTemplates
    from north_lsp.agent.turn.history import History
    from north_lsp.agent.turn.retry import RetryControl
    from north_lsp.slash.registry import Commands

    class _Whole(
        LiveSession,
        MovingSession,
        CompactedSession,
        PromptedSession,
        LearningSession,
        RememberingSession,
        AgentsSession,
        Protocol,
    ):
        _log: Log
        _stored: Stored
        _checkpoints: Checkpoints
        _environment: Environment
        _diagnostics: Diagnostics
        _editor: WatchedEditor
        _settings: SessionSettings
        _spending: Spending
        _shell: SessionShell
        _work: RunningWork
        retry_control: RetryControl
        running_calls: RunningCalls
        status: Status
        unsent: UnsentPrompts


class OnDemand:
    """The parts of one session that are made late; the session derives from this class."""

    @property
    def _whole(self) -> _Whole:
        return cast("_Whole", self)

    # -- what a prompt needs -----------------------------------------------------------------------------------------

    @cached_property
    def intake(self) -> PromptIntake:
        """What takes the user's prompts."""
        from north_lsp.agent.session.intake import PromptIntake
        from north_lsp.agent.session.turns.model_turns import ModelTurns
        from north_lsp.agent.session.turns.prompts import Prompts
        from north_lsp.agent.session.turns.turns import Turns

        one = self._whole
        prompts = Prompts(one.queue, self._delivery, one.unsent)
        models = ModelTurns(self._means, self._surroundings, one.choice, prompts, self.remembering, one.retry_control)
        turns = Turns(prompts, self._preparation, models, one._shell, one.left_turn, one._work.gate, self._ports)
        return PromptIntake(one, one._log, self._slash, one._shell, turns, one._work, one._environment)

    @cached_property
    def _history(self) -> History:
        from north_lsp.agent.turn.history import History

        return History(self._whole._log)

    @cached_property
    def _delivery(self) -> PromptDelivery:
        from north_lsp.agent.session.turns.delivery import PromptDelivery
        from north_lsp.agent.session.turns.mentioned_pages import MentionedPages
        from north_lsp.agent.session.turns.prompt_reading import PromptReader

        one = self._whole

        async def page(address: str) -> str:
            return await MentionedPages(one._log, self._means, one._environment).read(address)

        reader = PromptReader(one._settings, one._checkpoints.keep, one.servers.attach, page)
        return PromptDelivery(one._stored, one.queue, reader, one.choice, one._editor, one.saved, self.templates)

    @cached_property
    def _preparation(self) -> Preparation:
        from north_lsp.agent.session.turns.preparing import Preparation

        one = self._whole
        return Preparation(one._settings, one._stored, one._shell, one.choice, self._delivery, one.servers, self._ports)

    @cached_property
    def _ports(self) -> Ports:
        from north_lsp.agent.ports.session_ports import Ports
        from north_lsp.agent.session.learning.memory_notes import MemoryNotes
        from north_lsp.workspace.project_root import project_hash

        one = self._whole
        notes = MemoryNotes(one._stored, one._environment, one.questions, project_hash(one.workspace.roots.main))
        extensions = one._environment.extensions
        return Ports(one._editor, one.status, one._diagnostics, one.running_calls, extensions, notes.remember)

    @cached_property
    def _means(self) -> TurnMeans:
        from north_lsp.agent.session.turns.model_turns import TurnMeans

        one = self._whole
        return TurnMeans(
            one._stored, self._history, one._shell, one._environment, one._spending, self._ports, one.saved
        )

    @property
    def _surroundings(self) -> ModelSurroundings:
        return self._surroundings_and_agents[0]

    @property
    def agents(self) -> Agents:
        """The agents that work for this conversation."""
        return self._surroundings_and_agents[1]

    @cached_property
    def _surroundings_and_agents(self) -> tuple[ModelSurroundings, Agents]:
        """Made together: the agents are among the tools, and what they have to say among the news."""
        from north_lsp.agent.session.services.surroundings import ModelSurroundings
        from north_lsp.agent.session.tasks.agents import Agents
        from north_lsp.agent.templates.active_skill import skill_tools

        one, templates = self._whole, self.templates
        made = ModelSurroundings(one._stored, one._environment, one._settings, one.choice, one.servers)
        made.offer(lambda: skill_tools(one._log, templates))
        return made, Agents(one, self._means, made)

    @cached_property
    def remembering(self) -> Remembering:
        """What is kept so that the user finds the conversation again."""
        from north_lsp.agent.session.keeping.remembering import Remembering

        one = self._whole
        parts = one._log, one.saved, one.choice, one._environment, one._diagnostics
        return Remembering(*parts, one.roots[0], lambda: one.window)

    @cached_property
    def learning(self) -> Learning:
        """Learning the project."""
        from north_lsp.agent.session.learning.learning import Learning

        return Learning(self._whole, self._means, self._surroundings)

    @cached_property
    def memory(self) -> Memory:
        """The memory of the project."""
        from north_lsp.agent.session.learning.memory import Memory

        return Memory(self._whole, self._means)

    # -- commands and names ------------------------------------------------------------------------------------------

    @cached_property
    def _commands(self) -> Commands:
        from north_lsp.slash.registry import Commands
        from north_lsp.storage.settings import SECRETS

        return Commands(secret_settings=SECRETS)

    @cached_property
    def templates(self) -> ConversationTemplates:
        """File commands, prompt templates and skills."""
        from north_lsp.agent.templates.conversation_templates import ConversationTemplates

        one = self._whole
        environment, context = one._environment, one._stored.context
        made = ConversationTemplates(
            one.workspace,
            environment.locations,
            environment.environ,
            one._stored.approvals.trust,
            self._commands,
            lambda: environment.settings.context,
        )
        context.skills, context.more_rules = made.skills_for_model, made.news_for
        context.servers = one.servers.instructions
        return made

    @cached_property
    def _slash(self) -> SlashCommands:
        from north_lsp.agent.session.commands.slash_commands import SlashCommands

        one = self._whole
        return SlashCommands(one, one._log, one._editor, one._environment, self.templates, self._commands)

    @cached_property
    def mentioning(self) -> Mentioning:
        """What `@` completes."""
        from north_lsp.agent.session.completion.mentioning import Mentioning

        one = self._whole
        return Mentioning(one.id, one.workspace, one._stored.context, self.templates, one._environment.locations)

    @cached_property
    def configuration(self) -> Configuration:
        """The settings, as the user sees and changes them."""
        from north_lsp.agent.session.configuration import Configuration

        return Configuration(self._whole._environment.settings_file)

    # -- what turns do not need either -------------------------------------------------------------------------------

    @cached_property
    def exports(self) -> Exports:
        """Exports of the conversation."""
        from north_lsp.agent.session.keeping.exporting import Exports

        one = self._whole
        return Exports(one._log, one.roots[0], one._environment, lambda: self._surroundings.exported(one.mode))

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

        return Compacting(self._whole, self._means, self._surroundings)

    @cached_property
    def code_completion(self) -> CodeCompletion:
        """Completions of code, and next edits."""
        from north_lsp.agent.session.completion.code_completion import CodeCompletion

        one = self._whole
        return CodeCompletion(self._means, one.choice, lambda: one.workspace)
