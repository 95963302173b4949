"""Learns the project of a session when its user wants that, and asks before anything of theirs is replaced. None of it
becomes part of the conversation but what it cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio
import anyio.to_thread

from north_lsp.agent.context.profile import why_outdated
from north_lsp.agent.log.messages import PromptEntry
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.session.learning.learning_progress import LearningProgress
from north_lsp.agent.session.learning.learning_run import LearningRun
from north_lsp.agent.session.learning.memory import Memory
from north_lsp.agent.session.process.asking import Questions
from north_lsp.agent.session.services.surroundings import ModelSurroundings
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.agent.turn.queue import Stopped
from north_lsp.display import money, visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import private_directory
from north_lsp.storage.locks import FileLock, try_lock
from north_lsp.storage.project_profile import Profile, ProfileFile
from north_lsp.storage.switches import is_on
from north_lsp.vocabulary import Mode
from north_lsp.workspace.git import run_git
from north_lsp.workspace.project_root import project_hash

if TYPE_CHECKING:
    from north_lsp.agent.learning.topics import Topic

_OFFER = "Learn this project? A model explores it once, for a profile that is added to later prompts."
_DECLINED = "North does not ask again for this project; `/learn` learns it at any time."
_BEGINS = "North is learning this project now; `/cancel` stops it."
_SWITCH = "NORTH_NO_OFFER"
UNTRUSTED = "this workspace is not trusted, so nothing about it is learned (`/trust` trusts it)"


@dataclass(frozen=True, slots=True)
class LearnedFile:
    """A file with what was learned; it is the user's to change."""

    kind: str
    title: str
    path: Path


class LearningSession(Protocol):
    """The part of a session that this needs."""

    mode: Mode
    choice: ModelChoice
    questions: Questions

    @property
    def memory(self) -> Memory: ...

    @property
    def roots(self) -> tuple[Path, ...]: ...

    @property
    def is_closed(self) -> bool: ...

    async def quiet(self) -> None: ...

    def cancellable(self) -> AbstractAsyncContextManager[None]: ...


class Learning:
    """Runs and offers `/learn` for the project of one session."""

    def __init__(self, session: LearningSession, means: TurnMeans, surroundings: ModelSurroundings) -> None:
        self._session = session
        self._means = means
        self._surroundings = surroundings
        self._was_offered = False
        self._offering = anyio.CancelScope()

    @property
    def file(self) -> ProfileFile:
        """The project's profile."""
        return ProfileFile(self._means.environment.locations, project_hash(self._session.roots[0]))

    async def files(self) -> list[LearnedFile]:
        """List the files that there are of what was learned."""
        path = self.file.path
        found = await anyio.to_thread.run_sync(path.is_file)
        profile = [LearnedFile("profile", "Project profile", path)] if found else []
        return [*profile, *(LearnedFile(*row) for row in await self._session.memory.listed())]

    def offer_after(self, stopped: Stopped) -> None:
        """Ask, after the first answer of a conversation, whether the project is to be learned."""
        environment = self._means.environment
        wanted = environment.settings.context.offer_profile and not is_on(environment.environ, _SWITCH)
        if self._was_offered or stopped != "end_turn" or not wanted or self._session.choice.model.api == "offline":
            return
        if self._session.mode == "plan":
            return  # it asks enough
        self._was_offered = True
        entries = (one.entry for one in self._means.stored.log.path())
        if sum(isinstance(one, PromptEntry) and not one.by_north for one in entries) == 1:
            self._offering = anyio.CancelScope()
            environment.background.start_soon(self._offer)

    def withdraw_offer(self) -> None:
        """Take the question back: the user continues without an answer, and it must not come before others."""
        self._offering.cancel()

    async def _offer(self) -> None:
        ports = self._means.ports
        with ports.diagnostics.guarded("offering to learn the project"):
            chosen = "later"
            with self._offering:
                if not await anyio.to_thread.run_sync(self._is_unknown):
                    return
                options = (("yes", "Yes"), ("no", "No, do not ask again"), ("later", "Later"))
                chosen = await self._session.questions.choose(_OFFER, options) or chosen
            match chosen:
                case "yes":
                    await ports.show(Notice("info", _BEGINS))
                    await self._session.quiet()
                    await ports.show(Notice("info", await self._tried()))
                case "no":
                    await anyio.to_thread.run_sync(self.file.decline)
                    await ports.show(Notice("info", _DECLINED))
                case _:
                    pass

    def _is_unknown(self) -> bool:
        """Tell whether there is neither a profile nor the user's word that there is to be none."""
        trust = self._means.stored.approvals.trust
        return not (trust.is_distrusted() or self.file.path.exists() or self.file.is_declined())

    async def _tried(self) -> str:
        try:
            return await self.learn()
        except ValueError as error:
            return str(error)

    async def learn(self) -> str:
        """Learn the project, after asking if it has been before; return in words what came of it. Raises
        ValueError saying why nothing did."""
        from north_lsp.agent.learning.topics import missing, topics  # not needed before

        if self._means.stored.approvals.trust.is_distrusted():
            raise ValueError(UNTRUSTED)
        try:
            before = await anyio.to_thread.run_sync(self._read)
            wanted: Sequence[Topic] = topics()
            learned: dict[str, str] = {}
            if before is not None:
                left = missing(before.sections())
                match await self._ask_first(before, left):
                    case "anew":
                        pass
                    case "missing":
                        wanted, learned = left, dict(before.sections())
                    case _:
                        return f"The profile is unchanged: `{visible(str(self.file.path))}`."
            lock = await anyio.to_thread.run_sync(self._lock)
            try:
                return await self._learn(before, wanted, learned)
            finally:
                lock.release(remove=True)
        except OSError as error:
            raise ValueError(f"the profile cannot be read or written: {visible(str(error))}") from None

    def _read(self) -> Profile | None:
        profile = self.file.read()
        self.file.accept()
        return profile

    def _lock(self) -> FileLock:
        folder = private_directory(self._means.environment.locations.locks)
        lock = try_lock(folder / f"learn-{project_hash(self._session.roots[0])}.lock")
        if isinstance(lock, FileLock):
            return lock
        raise ValueError(f"this project is being learned already, by {lock}")

    async def _ask_first(self, before: Profile, left: Sequence[Topic]) -> str | None:
        why = await anyio.to_thread.run_sync(why_outdated, before, self._session.roots[0], date.today())
        rows = [f"It was learned on {before.learned}{f', and may be outdated: {why}' if why else ''}."]
        if before.is_edited:
            rows.append("**You have changed it.** What you wrote under the headings of topics would be replaced.")
        rows.append(f"What is replaced is kept beside it: `{visible(str(self.file.path))}.bak`.")
        options = [("anew", "Learn it again"), ("keep", "Keep the profile")]
        if left:
            rows.append(f"Missing: {', '.join(one.title for one in left)}.")
            options.insert(0, ("missing", "Learn what is missing"))
        question = "This project has a profile already. Learn the project again?"
        return await self._session.questions.choose(question, options, "\n\n".join(rows))

    async def _learn(self, before: Profile | None, wanted: Sequence[Topic], learned: dict[str, str]) -> str:
        root = self._session.roots[0]
        commit = await anyio.to_thread.run_sync(_commit_of, root)
        progress = LearningProgress(self._means.ports.show, "Learning this project", [one.title for one in wanted])
        run = LearningRun(self._session.choice, self._means, progress)
        why: str | None = "it was cancelled"
        try:
            async with self._session.cancellable():
                is_failed = True
                with self._means.ports.diagnostics.guarded("learning the project"):
                    context = await self._surroundings.context(self._session.choice.model, "ask")
                    why = await run.learn(context, wanted, root.name)
                    is_failed = False
                why = "something failed inside North, as its log says" if is_failed else why
        finally:
            done = len(run.learned)
            with anyio.CancelScope(shield=True):
                title = f"Learning this project - {done} of {len(wanted)} topics"
                await progress.end(title, ok=why is None, files=[self.file.path] if why is None else ())
        if why is not None and (not run.has_learned or self._session.is_closed):
            raise ValueError(f"nothing was learned: {why}")
        if why is not None:
            question = f"Save what was learned? It is {done} of {len(wanted)} topics: {why}."
            if await self._session.questions.choose(question, (("save", "Save it"), ("drop", "Drop it"))) != "save":
                return "What was learned was dropped."
        if not run.has_learned:
            raise ValueError(f"nothing was learned: {next(iter(run.learned.values()), 'there was nothing to do')}")
        path = await self._save(before, {**learned, **run.learned}, commit)
        return _in_words(path, run.learned, wanted, run.cost_usd)

    async def _save(self, before: Profile | None, learned: Mapping[str, str], commit: str | None) -> Path:
        """Write the profile, beside the present one if the user has changed that meanwhile and wants to keep it."""
        from north_lsp.agent.learning.topics import topics

        titles = [one.title for one in topics()]
        own = {} if before is None else {t: text for t, text in before.sections().items() if t not in titles}
        sections = {title: learned[title] for title in titles if title in learned} | own
        now, beside = await anyio.to_thread.run_sync(self.file.read), False
        if now is not None and (before is None or now.data != before.data):
            question = "The profile was changed while the project was learned. What should happen to it?"
            options = (("replace", "Replace it; a copy is kept"), ("beside", "Keep it, and write a second file"))
            beside = await self._session.questions.choose(question, options) != "replace"
        write = partial(self.file.write, sections, commit, beside=beside)
        return await anyio.to_thread.run_sync(write)


def _in_words(path: Path, learned: Mapping[str, str], wanted: Sequence[Topic], cost_usd: float) -> str:
    from north_lsp.agent.learning.topics import is_learned

    failed = {title: text for title, text in learned.items() if not is_learned(text)}
    rows = [
        f"Learned {len(learned) - len(failed)} of {len(wanted)} topics, for {money(cost_usd)}: "
        f"`{visible(str(path))}`. Models are told it from the next prompt on. Change the file as you like."
    ]
    rows += [f"- {title}: {visible(text)}" for title, text in failed.items()]
    return "\n".join([rows[0], *([""] if failed else []), *rows[1:]])


def _commit_of(root: Path) -> str | None:
    found = (run_git(["rev-parse", "HEAD"], root) or "").strip()
    return found if re.fullmatch(r"[0-9a-f]{40,64}", found) else None
