"""`read_readme`: reads what the project says about itself."""

from __future__ import annotations

from typing import Any

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.support.texts import current_text
from north_lsp.tools.support.threads import on_thread
from north_lsp.vocabulary import Location
from north_lsp.workspace.files.file_list import Listing
from north_lsp.workspace.workspace import Workspace

_ORDER = (".md", ".rst", ".txt", "")


class ReadReadmeArgs(Arguments):
    pass


class ReadReadme(ReadTool):
    name = "read_readme"
    kind = "read"
    discoverable = True
    args = ReadReadmeArgs

    def title(self, args: dict[str, Any]) -> str:
        return "Reading the README"

    async def run(self, args: ReadReadmeArgs, workspace: Workspace) -> Output:
        root = workspace.roots.main
        listing = await on_thread(workspace.trees.tree(root).listing)
        chosen = _choose(listing)
        if chosen is None:
            names = sorted({path.split("/", 1)[0] for path in listing.files})[:50]
            raise ToolError("NOT_FOUND", "there is no README", f"the root has: {', '.join(names) or 'no files'}")
        resolved, text, _ = await current_text(workspace.roots.display_path(root, chosen), workspace)
        most = workspace.limits.readme_kb * 1024
        data = text.text.encode("utf-8", "replace")
        content = data[:most].decode("utf-8", "ignore")
        lines = content.count("\n") + (0 if content.endswith("\n") or not content else 1)
        workspace.seen.note(resolved.path, text.tag, [(1, lines)] if lines else [])
        result: dict[str, object] = {
            "path": resolved.relative,
            "content": content,
            "truncated": len(data) > most,
            "snapshot": f"{resolved.relative}#{text.tag}",
        }
        if len(data) > most:
            result["nextRange"] = {"startLine": max(lines, 1)}
        return Output(f"Reading {resolved.path.name}", result, locations=(Location(resolved.path),))


def _choose(listing: Listing) -> str | None:
    def rank(path: str) -> tuple[int, str]:
        ending = path.lower().rsplit("/", 1)[-1].removeprefix("readme")
        return (_ORDER.index(ending) if ending in _ORDER else len(_ORDER)), path

    for folder in ("", "docs/"):
        here = [
            path
            for path in listing.files
            if path.lower().startswith(f"{folder}readme") and "/" not in path[len(folder) :]
        ]
        if here:
            return min(here, key=rank)
    return None
