"""`north-lsp stats`: what a conversation adds up to, and what North keeps on the disk."""

from __future__ import annotations

import json
from collections.abc import Callable

from north_lsp.agent.edits.totals import totals_in_words
from north_lsp.agent.exports.statistics import in_words
from north_lsp.agent.session.keeping.exporting import find_log, summed_up
from north_lsp.cli.conversations import find_id
from north_lsp.cli.talking import complain
from north_lsp.display import counted
from north_lsp.errors import ToolError
from north_lsp.server.options import Options, UsageError
from north_lsp.storage.areas import areas, human
from north_lsp.storage.locations import Locations


def stats(options: Options, target: str | None, *, disk: bool, as_json: bool, show: Callable[[str], None]) -> int:
    """Show the numbers of a conversation, or those of the disk, and return the exit code. Raises UsageError."""
    locations = Locations.from_environment(options.environ)
    if disk == (target is not None):
        raise UsageError("stats takes the id of a conversation (north-lsp conversations lists them), or --disk")
    if target is None:
        show(_disk(locations, as_json=as_json))
        return 0
    if (id := find_id(options, target)) is None:
        return 1
    try:
        numbers = summed_up(find_log(locations, id), locations)
    except ToolError as error:
        complain(error.message)
        return 1
    if as_json:
        show(json.dumps(numbers.to_json(), indent=2, ensure_ascii=False))
    else:
        changes = f"changes: {totals_in_words(numbers.changes)}"
        show("\n".join([changes, *(row.removeprefix("- ").replace("`", "") for row in in_words(numbers))]))
    return 0


def _disk(locations: Locations, *, as_json: bool) -> str:
    rows = areas(locations)
    if as_json:
        named = [
            {"id": row.id, "title": row.title, "bytes": row.size, "files": row.count, "freedBy": row.freed_by}
            for row in rows
        ]
        return json.dumps(named, indent=2, ensure_ascii=False)
    if not rows:
        return f"North keeps nothing in {locations.data} and {locations.state} yet."
    cells = [(human(row.size), counted(row.count, "file"), row.title, row.freed_by.replace("`", "")) for row in rows]
    sizes, counts, titles = (max(len(row[column]) for row in cells) for column in range(3))
    return "\n".join(
        f"{size:>{sizes}}  {count:>{counts}}  {title:<{titles}}  freed by {how}" for size, count, title, how in cells
    )
