"""The commands that look after North itself: read its files again, examine it, show what is installed beside it."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, Host, Reply, UsageError


async def _reload(host: Host, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(await host.reload())


async def _doctor(host: Host, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(await host.doctor())


async def _extensions(host: Host, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(await host.extensions())


UPKEEP = (
    Command("doctor", "Examine this installation, and say what to do about what is wrong", _doctor, is_harmless=True),
    Command("extensions", "Show extensions and plugins, and what North uses of them", _extensions, is_harmless=True),
    Command("reload", "Read settings, models, rules, skills and commands again now", _reload),
)
