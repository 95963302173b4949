"""One run over the conversations of a project: those that have ended are read, and what lasts is merged."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

from north_lsp.agent.costs.estimates import characters_of
from north_lsp.agent.costs.limits import LimitReached
from north_lsp.agent.models.aside import AsideRequests, until_done
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.session.learning.learning_mask import learning_mask
from north_lsp.agent.session.learning.learning_progress import LearningProgress
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.display import money, visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Done, Failed, ModelRequest, Usage, UserMessage
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model
from north_lsp.storage.listing import is_open, list_conversations
from north_lsp.storage.memory_files import MEMORY, NOTES, MemoryFiles
from north_lsp.storage.memory_jobs import MemoryJobs, Thread

Quiet = Callable[[], Awaitable[None]]
"""Waits until no turn runs."""

_READS, _MERGES = ("default",), ("fast", "default")
_ANSWER_TOKENS = 10_000
_MOST_CHARACTERS = 400_000
_LEAST_CHARACTERS = 4_000
_HOUR = 3600.0
_TITLE = "Remembering what lasts of earlier conversations"
_MERGING = "Merging what was found"


class RunSession(Protocol):
    """The part of a session that this needs."""

    choice: ModelChoice

    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A conversation that may be read: its name, and the state of its log."""

    name: str
    path: Path
    thread: Thread


class MemoryRun:
    """`renew` renews the lease; `quiet` is waited for before each request."""

    def __init__(
        self,
        session: RunSession,
        means: TurnMeans,
        files: MemoryFiles,
        jobs: MemoryJobs,
        renew: Callable[[], bool],
        quiet: Quiet,
    ) -> None:
        self._session = session
        self._means = means
        self._files = files
        self._jobs = jobs
        self._renew = renew
        self._quiet = quiet
        self._cost_usd = 0.0
        self._mask: Callable[[str], str] = str

    async def work(self, *, is_wanted: bool) -> str:
        """Read and merge; return in words what came of it, empty if there was nothing to do and nobody wanted it.
        Raises ValueError, OSError."""
        candidates, texts, before = await anyio.to_thread.run_sync(self._there)
        forced = await anyio.to_thread.run_sync(self._jobs.is_forced)
        if not candidates and not forced and texts.get(NOTES, "") == before.get(NOTES, ""):
            return ""
        progress = LearningProgress(self._means.ports.show, _TITLE, [*(one.name for one in candidates), _MERGING])
        try:
            self._mask = await anyio.to_thread.run_sync(learning_mask, self._means.stored, self._means.environment)
        except ToolError as error:
            raise ValueError(str(error)) from None
        written: Sequence[Path] = ()
        is_done = False
        await progress.begin()
        try:
            with self._means.ports.diagnostics.measured("memory_phase", phase="read") as outcome:
                read = await self._read(candidates, progress)
                outcome.ok = True
            with self._means.ports.diagnostics.measured("memory_phase", phase="merge") as outcome:
                written = await self._merge(texts, before, progress)
                outcome.ok = True
            await (await self._means.parts()).account.report_rest(self._session.choice.model)
            is_done = True
        except (MissingCredential, LimitReached, ToolError) as error:
            raise ValueError(str(error)) from None
        finally:
            with anyio.CancelScope(shield=True):
                await progress.end(_TITLE, ok=is_done, files=written)
        told = f"Read {read} of {len(candidates)} conversations, for {money(self._cost_usd)}"
        files = ", ".join(f"`{visible(str(path))}`" for path in written)
        if is_wanted or read or written:
            return f"{told}: {files or 'nothing in them lasts, so nothing was written'}."
        return ""

    def _there(self) -> tuple[list[Candidate], Mapping[str, str], Mapping[str, str]]:
        return self._candidates(time.time()), self._files.texts(), self._jobs.texts()

    def _candidates(self, now: float) -> list[Candidate]:
        """Find the conversations that have changed since they were read, have ended a while ago and are not open; the
        oldest first."""
        settings, locations = self._means.environment.settings.memory, self._means.environment.locations
        known, found = self._jobs.threads(), list[Candidate]()
        for row in list_conversations(locations, repo_hash=self._files.folder.name):
            idle = now - _seconds_of(row.updated_at)
            if row.id == self._session.id or row.is_empty or idle < settings.min_idle_hours * _HOUR:
                continue
            if idle > settings.max_age_days * 24 * _HOUR or is_open(locations, row.id):
                continue
            path = locations.conversations / f"{row.id}.jsonl"
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue  # deleted meanwhile
            digest, before = hashlib.sha256(data).hexdigest(), known.get(row.id)
            if before is None or (before.size, before.digest) != (len(data), digest):
                found.append(Candidate(row.name, path, Thread(row.id, len(data), digest)))
            if len(found) == settings.max_conversations:
                break
        return found[::-1]

    async def _read(self, candidates: Sequence[Candidate], progress: LearningProgress) -> int:
        """Read conversations one after the other; return how many could be."""
        from north_lsp.agent.learning.explorer import CannotLearn, NotLearned
        from north_lsp.agent.learning.memory import conversation_text, extract

        count = 0
        for one in candidates:
            await progress.at(one.name)
            model, characters = self._model(_READS)
            text = self._mask(await anyio.to_thread.run_sync(conversation_text, one.path))
            try:
                memory, synopsis = await extract(partial(self._ask, model), text, characters)
            except CannotLearn as error:
                raise ValueError(str(error)) from None
            except NotLearned as error:
                progress.done(one.name, str(error))
                continue
            kept = replace(one.thread, memory=self._mask(memory), synopsis=self._mask(synopsis))
            await anyio.to_thread.run_sync(self._keep, kept)
            progress.done(one.name)
            count += 1
        return count

    async def _merge(
        self, texts: Mapping[str, str], before: Mapping[str, str], progress: LearningProgress
    ) -> Sequence[Path]:
        """Merge all that was found; return the files that were written, none if nothing lasts. Raises ValueError."""
        from north_lsp.agent.learning.explorer import NotLearned
        from north_lsp.agent.learning.memory import merge

        threads = [*(await anyio.to_thread.run_sync(self._jobs.threads)).values()]
        if not any(one.memory for one in threads) and not texts.get(NOTES) and not texts.get(MEMORY):
            return ()
        await progress.at(_MERGING)
        model, characters = self._model(_MERGES)
        tokens = self._means.environment.settings.memory.summary_tokens
        hidden = {name: self._mask(text) for name, text in texts.items()}
        try:
            new = await merge(partial(self._ask, model), hidden, threads, tokens, characters)
        except NotLearned as error:
            raise ValueError(str(error)) from None
        masked = {name: self._mask(text) for name, text in new.items()}
        await anyio.to_thread.run_sync(self._write, masked, before, texts.get(NOTES, ""))
        progress.done(_MERGING)
        return [self._files.folder / name for name in new]

    def _keep(self, thread: Thread) -> None:
        self._ensure_owner()
        self._jobs.keep(thread)

    def _ensure_owner(self) -> None:
        """Renew the lease. Raises ValueError once it is another's, or the memory was removed."""
        if not self._renew():
            raise ValueError("somebody else has taken over the work on the memory, or has removed it")

    def _write(self, new: Mapping[str, str], before: Mapping[str, str], notes: str) -> None:
        self._ensure_owner()
        self._jobs.keep_texts({**self._files.write(new, before), NOTES: notes})

    def _model(self, roles: Sequence[str]) -> tuple[Model, int]:
        """Return the model to ask, and how many characters it can be given. Raises ValueError."""
        from north_lsp.agent.learning.models import learning_model

        model = learning_model(self._session.choice, self._means.environment.environ, roles).with_level("off")
        return model, max(int(min(characters_of(model.window - _ANSWER_TOKENS), _MOST_CHARACTERS)), _LEAST_CHARACTERS)

    async def _ask(self, model: Model, system: str, text: str, tokens: int) -> Done | Failed:
        """Ask once nothing else runs, and renew the lease before. Raises ValueError, MissingCredential,
        LimitReached."""
        await self._quiet()
        await anyio.to_thread.run_sync(self._ensure_owner)
        environment, account = self._means.environment, (await self._means.parts()).account
        provider = await environment.models.providers.get(model)

        def count(asked: Model, usage: Usage) -> None:
            account.record(asked, usage)
            self._cost_usd += asked.prices.cost(usage)

        longest = min(tokens, model.output_limit)
        asked = (UserMessage(text),)
        request = ModelRequest(model.id, system, asked, (), longest, reasoning=model.reasoning)
        requests = AsideRequests(self._means.stored.log, "memory", count)

        async def ask() -> Done | Failed:
            await account.check(model)
            return await requests.ask(request, model, provider)

        return await until_done(ask, environment.settings.retry_base_delay_ms / 1000)


def _seconds_of(at: str) -> float:
    """Return when something was, in seconds; long ago if that is not known."""
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0
