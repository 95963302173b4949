"""Texts for the terminal about what is stored."""

from north_lsp.display import one_line
from north_lsp.options import Options
from north_lsp.storage.listing import list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.workspace.root import find_root, project_hash


def conversations(options: Options) -> str:
    """The stored conversations of a project, newest first, one a line: id, time, number of messages, title."""
    from pathlib import Path

    start = options.path or Path.cwd()
    locations = Locations.from_environment(options.environ)
    roots = {project_hash(start.resolve()), project_hash(find_root(start))}
    found = [row for hash in roots for row in list_conversations(locations, repo_hash=hash)]
    found.sort(key=lambda row: row.updated_at, reverse=True)
    if not found:
        return f"No conversations about {start} yet."
    width = max(len(row.id) for row in found)
    lines = []
    for row in found:
        when = row.updated_at[:16].replace("T", " ")
        lines.append(f"{row.id:<{width}}  {when}  {row.message_count:>4} messages  {one_line(row.name)}")
    return "\n".join(lines)
