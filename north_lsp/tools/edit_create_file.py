"""`edit_create_file`: a new file, or a whole new text for an old one."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.base import Workspace, WriteTool
from north_lsp.tools.registry import Arguments
from north_lsp.tools.texts import resolve_open, text_of
from north_lsp.workspace.diff import make_change
from north_lsp.workspace.proposal import FileChange, TextForm
from north_lsp.workspace.text import is_generated, to_newlines


class EditCreateFileArgs(Arguments):
    path: str = Field(description="Relative to the workspace root.")
    content: str = Field(description="The whole text of the file.")
    overwrite: bool = Field(False, description="Replace a file that exists.")


class EditCreateFile(WriteTool):
    name = "edit_create_file"
    args = EditCreateFileArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Creating {Path(str(args.get('path', '…'))).name or '…'}"

    async def prepare(self, args: EditCreateFileArgs, workspace: Workspace) -> Sequence[FileChange]:
        resolved = await resolve_open(args.path, workspace)
        if await anyio.Path(resolved.path).is_dir():
            raise ToolError("CONFLICT", f"{resolved.relative} is a folder")
        old, form, content = None, TextForm(), args.content
        unsaved = await workspace.read_unsaved(resolved.path)
        if resolved.exists or unsaved is not None:
            text, _ = await text_of(resolved.path, workspace)
            if not args.overwrite:
                raise ToolError(
                    "CONFLICT",
                    f"{resolved.relative} exists ({text.size} bytes)",
                    "edit it, or set overwrite if the whole text is to be replaced",
                    {"firstLines": text.text.split("\n")[:5]},
                )
            marker = is_generated(text.text[:1024], resolved.path.name)
            if marker is not None:
                raise ToolError("GENERATED_FILE", f"{resolved.relative} is generated ({marker})", "change its source")
            old, form = text.text, text.form
            if text.newline == "crlf":
                content = to_newlines(content, "\r\n")
        elif content and not content.endswith("\n"):
            content += "\n"
        work = partial(make_change, resolved.path, resolved.relative, old, content, form)
        change = await anyio.to_thread.run_sync(work)
        return [replace(change, make_executable=old is None and content.startswith("#!"))]
