"""The slash commands about what the model is told besides the conversation, as far as they need a session."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.templates.listing import templates_markdown
from north_lsp.agent.templates.template import item_of
from north_lsp.display import one_line, visible
from north_lsp.slash.base import CommandError
from north_lsp.storage.settings_write import save_text_setting

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.agent.session.process.environment import Environment

_KEY = "disabledRules"


class ContextHost:
    """The part of a slash command's `Host` that is about rules and context files. Every method may raise
    CommandError."""

    def __init__(self, session: LiveSession, environment: Environment) -> None:
        self._session = session
        self._environment = environment

    async def context(self) -> str:
        return (await self._session.context_report()).markdown

    async def rules(self) -> str:
        report = await self._session.context_report()
        named = {f"rule:{item.name}" for item in report.items if item.kind == "rule"}
        return report.items_markdown + self._missing(named, ("rule:",))

    async def skills(self) -> str:
        await self._session.refresh_commands()
        templates = self._session.templates.all
        named = {item_of(one) for one in templates}
        told = templates_markdown(templates, self._session.templates.problems)
        return told + self._missing(named, ("skill:", "command:", "prompt:"))

    def _missing(self, there: Collection[str], kinds: tuple[str, ...]) -> str:
        """Say what the settings switch off and is not there."""
        disabled = self._environment.settings.context.disabled_items
        names = [f"`{one_line(one)}`" for one in disabled if one.startswith(kinds) and one not in there]
        missing = "does not exist" if len(names) == 1 else "do not exist"
        return f"\n\nThe setting `disabledItems` also names {', '.join(names)}, which {missing}." if names else ""

    async def set_rule(self, name: str, *, on: bool) -> str:
        report = await self._session.context_report()
        if not any(item.kind == "rule" and item.name == name for item in report.items):
            known = ", ".join(dict.fromkeys(item.name for item in report.items if item.kind == "rule"))
            raise CommandError(f"there is no rule {one_line(name)!r}: the rules are {known or 'none'}")
        if on and f"rule:{name}" in self._environment.settings.context.disabled_items:
            raise CommandError(f"the setting `disabledItems` names `rule:{one_line(name)}`: remove it there")
        origin = self._environment.settings_file.layered().origin(_KEY)
        if origin not in ("default", "user"):
            raise CommandError(f"the setting `{_KEY}` comes from a stronger layer ({origin}): change it there")
        before = self._environment.settings.context.disabled_rules
        names = [one for one in before if one != name] + ([] if on else [name])
        if list(before) != names:
            try:
                await anyio.to_thread.run_sync(save_text_setting, self._environment.locations, _KEY, names)
            except OSError as error:
                raise CommandError(f"the setting `{_KEY}` could not be written: {visible(str(error))}") from None
        return f"The rule `{name}` is {'on' if on else 'off'}, from the next prompt on."
