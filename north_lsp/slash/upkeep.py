"""The commands that look after North itself: read its files again, examine it, show what is installed beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, Reply, UsageError


class HostForUpkeep(Protocol):
    """What commands about North itself ask of a session. Every method may raise CommandError."""

    async def reload(self) -> str:
        """Read everything that can change on the disk again; say in Markdown what is there."""
        ...

    async def doctor(self) -> str:
        """Examine the installation; return what was found, in Markdown."""
        ...

    async def extensions(self) -> str:
        """List extensions and plugins, in Markdown."""
        ...


async def _reload(host: HostForUpkeep, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(await host.reload())


async def _doctor(host: HostForUpkeep, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(await host.doctor())


async def _extensions(host: HostForUpkeep, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(await host.extensions())


UPKEEP = (
    Command("doctor", "Examine this installation, and say what to do about what is wrong", _doctor, is_harmless=True),
    Command("extensions", "Show extensions and plugins, and what North uses of them", _extensions, is_harmless=True),
    Command("reload", "Read settings, models, rules, skills and commands again now", _reload),
)
