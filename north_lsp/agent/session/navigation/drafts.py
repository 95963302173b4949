"""Makes prompts of the log into what the user can edit and send again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import anyio.to_thread

from north_lsp.agent.log.choices import SlashEntry
from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.images import Find, loaded_images
from north_lsp.agent.log.messages import Mention, PromptEntry
from north_lsp.agent.log.results import OwnCommandEntry
from north_lsp.agent.ports.events import Draft, DraftFile
from north_lsp.errors import ToolError
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import Image
from north_lsp.workspace.paths import Roots

_LINES = lazy_pattern(r"(\d+)-(\d+)")


class DraftMaker:
    """Makes the drafts of one session. `content` returns what is kept under a digest."""

    def __init__(self, roots: Roots, content: Find) -> None:
        self._roots = roots
        self._content = content

    async def of(self, one: Logged) -> Draft | None:
        """Return what the user said there; or an extension for them; None if that is another entry."""
        match one.entry:
            case PromptEntry(by_north=False) as prompt:
                return await anyio.to_thread.run_sync(self._draft, prompt)
            case OwnCommandEntry(command, excluded=excluded, called_by=""):
                return Draft(f"{'!!' if excluded else '!'}{command}")
            case SlashEntry(input):
                return Draft(input)
            case CustomMessageEntry(text=text, images=images):
                return Draft(text, (), await anyio.to_thread.run_sync(self._loaded, images))
            case _:
                return None

    def _draft(self, prompt: PromptEntry) -> Draft:
        mentions = [part for part in prompt.parts if isinstance(part, Mention)]
        return Draft(prompt.typed, tuple(map(self._file, mentions)), self._loaded(prompt.images))

    def _loaded(self, images: Sequence[Image]) -> tuple[Image, ...]:
        return tuple(loaded_images(images, self._content))

    def _file(self, mention: Mention) -> DraftFile:
        lines = _LINES.fullmatch(mention.range or "")
        with suppress(ToolError):
            resolved = self._roots.resolve(mention.path)
            if resolved.exists:
                found = (int(lines[1]), int(lines[2])) if lines is not None else None
                return DraftFile(mention.path, mention.preview, resolved.path, found)
        return DraftFile(mention.path, mention.preview)
