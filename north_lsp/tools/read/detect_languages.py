"""`detect_languages`: tells which languages a project is written in."""

from __future__ import annotations

from typing import Any

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.files.statistics import count_languages
from north_lsp.workspace.workspace import Workspace


class DetectLanguagesArgs(Arguments):
    pass


class DetectLanguages(ReadTool):
    name = "detect_languages"
    kind = "read"
    discoverable = True
    args = DetectLanguagesArgs

    def title(self, args: dict[str, Any]) -> str:
        return "Detecting languages"

    async def run(self, args: DetectLanguagesArgs, workspace: Workspace) -> Output:
        counted = await on_thread(count_languages, workspace.trees)
        languages = [
            {"name": one.name, "files": one.files, "bytes": one.bytes, "percent": one.percent}
            for one in counted.languages
        ]
        title = f"Detecting languages - {len(languages)} languages"
        return Output(title, {"languages": languages, "truncated": counted.truncated})
