"""Where a text cannot be parsed, as far as there is a grammar for its language."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread

from north_lsp.workspace.languages import language_of


async def syntax_errors(path: Path, text: str) -> tuple[int, ...]:
    """Return the lines with syntax errors, from 1; none in a language without a grammar."""
    language = language_of(path.name)
    if language is None:
        return ()
    from north_lsp.workspace.structure.parsing import structure_of

    structure = await anyio.to_thread.run_sync(structure_of, language.id, text)
    return structure.errors if structure.backend == "tree-sitter" else ()
