"""The part of a slash command's `Host` that is about exports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from north_lsp.agent.session.keeping.exporting import Wanted
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.slash.base import CommandError

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession

_REPLACE = (("replace", "Replace it"), ("keep", "Keep it"))


class ExportsHost:
    """The part of a slash command's `Host` that is about exports. Every method may raise CommandError."""

    _session: LiveSession

    async def export(self, path: str | None, format: str | None, only: str | None, *, raw: bool) -> str:
        from north_lsp.agent.exports.export import as_format

        try:
            chosen, alone = (as_format(name) if name is not None else None for name in (format, only))
            wanted = Wanted(path, chosen, raw, only=alone)
            target, _ = await self._session.exports.target(wanted)
            if target.exists:
                question = f"{target.path} exists already. Replace it?"
                if await self._session.questions.choose(visible(question), _REPLACE) != "replace":
                    raise CommandError(f"{visible(str(target.path))} exists already: name another file")
                wanted = replace(wanted, replace=True)
            written, _ = await self._session.exports.write(wanted)
            return visible(str(written))
        except ToolError as error:
            raise CommandError(visible(f"{error.message}: {error.hint}" if error.hint else error.message)) from None

    async def numbers(self) -> str:
        from north_lsp.agent.exports.statistics import in_words

        return visible("\n".join(in_words(await self._session.exports.statistics())))
