"""What models want to be remembered of a project: noted if the user agrees."""

from __future__ import annotations

import anyio.to_thread

from north_lsp.agent.session.learning.learning_mask import learning_mask
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.process.asking import Questions
from north_lsp.agent.session.process.environment import Environment
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.storage.entries import timestamp
from north_lsp.storage.memory_files import MemoryFiles

_LONGEST_NOTE = 2_000


def is_memory_on(stored: Stored, environment: Environment) -> bool:
    """Tell whether anything is remembered of a conversation's project."""
    return environment.settings.memory.enabled and not stored.approvals.trust.is_distrusted()


class MemoryNotes:
    """The notes in the memory of one session's `project`."""

    def __init__(self, stored: Stored, environment: Environment, questions: Questions, project: str) -> None:
        self._stored = stored
        self._environment = environment
        self._questions = questions
        self._project = project

    async def remember(self, kind: str, text: str) -> str:
        """Note what the model wants to be remembered, if the user agrees; return the note. Raises ToolError."""
        if not is_memory_on(self._stored, self._environment):
            raise ToolError("UNAVAILABLE", "memory is disabled", "continue without it")
        mask = await anyio.to_thread.run_sync(learning_mask, self._stored, self._environment)
        note = one_line(mask(text), _LONGEST_NOTE)
        question = f"Remember this for later conversations ({kind})?"
        options = (("remember", "Remember it"), ("no", "Do not remember it"))
        if await self._questions.choose(question, options, note) != "remember":
            raise ToolError("REJECTED", "the user does not want this to be remembered", "do not ask again for it")
        line = f"- {timestamp()[:10]} {kind}: {note}"
        files = MemoryFiles(self._environment.locations, self._project)
        try:
            await anyio.to_thread.run_sync(files.add_note, line)
        except OSError as error:
            raise ToolError("IO_ERROR", f"the note could not be written: {error.strerror or error}") from error
        return line
