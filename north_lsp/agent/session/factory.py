"""Makes sessions: new ones, and ones from a stored conversation. An adapter only says which editor each one gets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp import __version__
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.log.choices import ModeEntry, ServiceTierEntry, ThinkingEntry
from north_lsp.agent.log.chosen import chosen_on
from north_lsp.agent.log.context import context_of
from north_lsp.agent.log.header import EditorName
from north_lsp.agent.log.images import gone_from
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.modes import DEFAULT_MODE
from north_lsp.agent.log.seen_files import sightings_of
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.secrets.log_veil import LogVeil
from north_lsp.agent.secrets.masking import is_on, secrets_in
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.session.keeping.unsaved import NOT_SAVED, saves
from north_lsp.agent.session.opening.left_turn import LeftTurn
from north_lsp.agent.session.opening.opened import Start, Stored
from north_lsp.agent.session.opening.other_folders import place_of
from north_lsp.agent.session.opening.unveiling import unveil
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.process.switching import Switches
from north_lsp.agent.session.services.settings import settings_of_tools
from north_lsp.agent.session.session import Session
from north_lsp.display import counted
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.model_selection import ALL_MODELS, Allowed, Choice
from north_lsp.providers.model import Model
from north_lsp.providers.thinking import as_level
from north_lsp.storage.approvals import Approvals
from north_lsp.storage.artifacts import Artifacts
from north_lsp.storage.blobs import Blobs
from north_lsp.storage.conversation import Conversation, ConversationBusy, UnknownConversation
from north_lsp.storage.diagnostics_log import DiagnosticsLog
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.files import inode_of, note_use
from north_lsp.storage.locks import LockHeld
from north_lsp.storage.memory_log import MemoryLog
from north_lsp.vocabulary import Mode
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.language_features import LanguageFeatures
from north_lsp.workspace.paths import Roots, extra_roots
from north_lsp.workspace.project_root import project_hash
from north_lsp.workspace.seen import Seen
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from north_lsp.agent.context.conversation_context import ConversationContext


@dataclass(frozen=True)
class Defaults:
    """The defaults of new sessions; `client` names the editor, and `choose` returns the model for a folder, with
    notices on the choice. `allowed` says which models may be used in a folder; `resumes_turns`: the editor takes up
    turns that an earlier process did not finish."""

    model: Model
    mode: Mode
    client: EditorName | None = None
    choose: Callable[[Path], Choice] | None = None
    allowed: Callable[[Path], Allowed] = lambda _: ALL_MODELS
    resumes_turns: bool = False


class SessionFactory:
    """Makes sessions. `editor_for` returns the editor of a session, by the session's id, and `language_for` its
    language servers."""

    def __init__(
        self,
        environment: Environment,
        defaults: Defaults,
        log: DiagnosticsLog,
        editor_for: Callable[[str], Editor],
        language_for: Callable[[str], LanguageFeatures | None] = lambda _: None,
    ) -> None:
        self._environment = environment
        self._defaults = defaults
        self._log = log
        self._editor_for = editor_for
        self._language_for = language_for

    @property
    def switches(self) -> Switches:
        """Notifies extensions when the user goes to another conversation."""
        return self._environment.process.switches

    def new(self, roots: Roots, mode: Mode | None = None) -> Session:
        """Make a session with a new conversation; nothing is written until its first prompt, or until it is kept."""
        choice, store = self._choice(roots.main), self._environment.locations
        conversation = Conversation.create(
            store,
            repo_root=roots.main,
            repo_hash=project_hash(roots.main),
            cwd=roots.main,
            model=choice.model.selector,
            client=client.to_json() if (client := self._defaults.client) is not None else None,
            north_version=__version__,
            storage=None if saves(self._environment, roots.main) else MemoryLog(store.temporary),
        )
        secrets = self._secrets(roots)
        conversation.wear(LogVeil(secrets))
        log, first = Log(conversation), mode or self._defaults.mode
        log.keep_roots(roots.roots[1:])
        if first != DEFAULT_MODE:
            log.append(ModeEntry(first))
        if choice.model.level is not None:
            log.append(ThinkingEntry(choice.model.level))
        tier = self._environment.settings.models.service_tier
        if tier is not None:
            log.append(ServiceTierEntry(tier))
        notices = (*choice.notices, *(() if conversation.is_saved else (NOT_SAVED,)))
        return self._bind(log, roots, secrets, notices, choice.model)

    def _secrets(self, roots: Roots) -> Secrets:
        """Return what masks the secrets of a conversation in these folders."""
        environment, catalog = self._environment, self._environment.models.catalog
        settings, connect = environment.settings_file, environment.process.connect
        return secrets_in(
            roots.roots,
            environment.locations,
            environment.environ,
            catalog,
            lambda: settings.current().secrets,
            lambda: connect.given if connect is not None else (),
        )

    def _stored_model(self, selector: str, roots: Roots) -> tuple[Model, tuple[str, ...]]:
        """Find the model of a stored conversation, or else another one, with notices on that."""
        known = self._environment.models.catalog
        model = known.recover(selector)
        if model is not None and known.is_available(model):
            return model, ()
        choice = self._choice(roots.main)
        if choice.model.problem or not selector:  # its notices say so, or the log names none
            return choice.model, choice.notices
        reason = "is no longer available" if model is None else "cannot be used: its key is missing"
        told = f"the conversation's model {selector} {reason}; {choice.model.title} answers instead"
        return choice.model, (told, *choice.notices)

    def _choice(self, folder: Path) -> Choice:
        return self._defaults.choose(folder) if self._defaults.choose is not None else Choice(self._defaults.model)

    async def open(self, id: str, roots: Roots, *, agreed: bool = False) -> Session:
        """Open a stored conversation; `agreed`: the user wants it to continue in a folder that is not like its own.
        Raises UnknownConversation, OtherProject, UnlikeFolder."""
        if not valid_conversation_id(id):
            raise UnknownConversation(id)
        conversation = await anyio.to_thread.run_sync(Conversation.open, self._environment.locations, id)
        secrets = self._secrets(roots)
        await anyio.to_thread.run_sync(unveil, conversation, secrets)
        log = Log(conversation)
        settle = partial(self._finish_interrupted_reviews, log, roots, agreed=agreed)
        held, moved = await anyio.to_thread.run_sync(settle)
        blobs = self._environment.locations.blobs
        gone = await anyio.to_thread.run_sync(gone_from, log.path(), blobs)
        notices = (f"{counted(gone, 'picture')} of this conversation cannot be shown: not in {blobs}",) if gone else ()
        session = self._bind(log, roots, secrets, notices, held=held, moved_from=moved)
        session.sharing.opened(held)
        return session

    async def reopen(self, session: Session) -> Session:
        """Open a session that was closed to be moved, in its new folder; where it was, if that fails, which the user is
        told. Raises what `open` does."""
        old, new = session.roots, session.moved_to or session.roots[0]
        try:
            return await self.open(session.id, Roots.of(new, *old[1:]))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            await anyio.to_thread.run_sync(self._move_back, session.id, old[0])
            back = await self.open(session.id, Roots.of(*old))
            back.choice.note([f"this conversation could not continue in {new}: {why}. It continues in {old[0]}"])
            return back

    def _move_back(self, id: str, root: Path) -> None:
        conversation = Conversation.open(self._environment.locations, id)
        Log(conversation).move(root, project_hash(root), inode_of(root))
        conversation.close()

    def _finish_interrupted_reviews(
        self, log: Log, roots: Roots, *, agreed: bool
    ) -> tuple[LockHeld | None, str | None]:
        """Settle what was pending in a stored conversation, unless another process has it open. Returns the holder in
        that case, and the folder that the conversation belonged to, if this one has taken its place. Raises
        OtherProject, UnlikeFolder."""
        conversation = log.conversation
        place = place_of(self._environment.locations, conversation, roots.main, agreed=agreed)
        held = conversation.holder()
        with contextlib.suppress(ConversationBusy):
            if place.moves and held is None:
                log.move(roots.main, project_hash(roots.main), inode_of(roots.main))
            if held is None:
                log.keep_roots(roots.roots[1:])
                LeftTurn(log, is_kept=self._defaults.resumes_turns).settle()
        if held is None:
            conversation.close()
        with contextlib.suppress(OSError):
            note_use(conversation.path)
        log.path()  # takes a while the first time
        return held, place.former

    def _bind(
        self,
        log: Log,
        roots: Roots,
        secrets: Secrets,
        notices: tuple[str, ...] = (),
        model: Model | None = None,
        held: LockHeld | None = None,
        moved_from: str | None = None,
    ) -> Session:
        """Make the session of a log. The mode and model of a stored conversation win over the defaults; `model` is that
        of a new one."""
        conversation = log.conversation
        approvals = Approvals(self._environment.locations, project_hash(roots.main), roots.main)
        environment = self._environment.masked(secrets).of(roots.main, approvals.trust.is_distrusted)
        secrets.follow(lambda: is_on(environment.settings.secrets, roots.roots))
        chosen = chosen_on(log.path())
        level = environment.settings.models.thinking_level if chosen.level is None else as_level(chosen.level)
        conversation.durability = environment.settings.keeping.fsync
        if model is None:
            model, told = self._stored_model(chosen.model or log.header.model, roots)
            notices = (*notices, *told)
        if moved_from is not None:
            notices = (f"this conversation belonged to {moved_from}; it continues in {roots.main}", *notices)
        editor = self._editor_for(conversation.id)
        conversation.ownership.client = client.name if (client := self._defaults.client) is not None else None
        private = (environment.locations.config, environment.locations.data, environment.locations.state)
        reading = environment.settings.reading
        roots = replace(roots, extra=extra_roots(reading.extra_roots))
        trees = Trees.of(roots, private, reading.index_limit)
        kept = reading.limits.artifacts_mb * 1024 * 1024
        artifacts = Artifacts(conversation.folder, kept)
        seen = Seen(earlier=sightings_of(context_of(log.path())))
        language = self._language_for(conversation.id) if environment.settings.edits.language_servers else None
        workspace = Workspace(trees, editor, seen, settings_of_tools(environment.settings), language)
        journals = environment.locations.journals(project_hash(roots.main))
        checkpoints = Checkpoints(log, Blobs(environment.locations.blobs), journals)
        diagnostics = Diagnostics(self._log, conversation.id, conversation.masked)
        surroundings = (environment.locations, environment.environ, environment.settings_file.current)

        def new_context() -> ConversationContext:
            from north_lsp.agent.context.conversation_context import ConversationContext

            return ConversationContext(log, approvals.trust, *surroundings, workspace, diagnostics)

        entries, format = len(log.path()), log.header.former_format
        diagnostics.event("session_loaded" if entries else "session_created", entries=entries, formerFormat=format)
        for warning in conversation.warnings:
            diagnostics.warning("session_load_warning", message=warning)
        queue = log.queue() if held is None else []
        stored = Stored(log, approvals, checkpoints, new_context, secrets, artifacts, queue)
        allowed, resumes = self._defaults.allowed(roots.main), self._defaults.resumes_turns
        start = Start(model.with_level(level), chosen.mode, notices, allowed, resumes)
        return Session(stored, start, workspace, editor, environment, diagnostics)
