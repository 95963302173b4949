"""Puts the secrets of a stored conversation back in place: those that are known, and those that still stand in files
that the conversation has shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from north_lsp.agent.log.context import context_of
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.seen_files import sightings_of
from north_lsp.agent.secrets.log_veil import LogVeil
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.files import read_regular

_MOST_FILES = 200
_MOST_BYTES = 1024 * 1024


def unveil(conversation: Conversation, secrets: Secrets) -> None:
    """Put them back. Reads files: for a thread."""
    conversation.wear(LogVeil(secrets))
    if secrets.has_lost:
        paths = sightings_of(context_of(Log(conversation).path()))
        secrets.recall(_texts(islice(reversed(paths), _MOST_FILES)))
        conversation.wear(LogVeil(secrets))


def _texts(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        with suppress(OSError):
            yield read_regular(path, _MOST_BYTES).decode("utf-8", "replace")
