"""`north-lsp docs`: the manual in the terminal, the same pages that models read as `docs://north`."""

from __future__ import annotations

import json
from collections.abc import Callable
from difflib import get_close_matches

from north_lsp.tools.support.manual import heading, manual_pages

Say = Callable[[str], object]


def docs(page: str | None, as_json: bool, say: Say, complain: Say) -> int:
    """Print a page of the manual as Markdown, or the list of pages. Returns the exit code."""
    pages = manual_pages()
    if page is None:
        titles = {name: heading(path) for name, path in pages.items()}
        if as_json:
            say(json.dumps([{"page": name, "title": title} for name, title in titles.items()], indent=2))
            return 0
        width = max(map(len, titles), default=0)
        say("\n".join([*(f"{name:<{width}}  {title}" for name, title in titles.items()), ""]))
        say("Read one with `north-lsp docs PAGE`.")
        return 0
    wanted = page.removeprefix("docs://north/").removeprefix("docs/").removesuffix(".md").lower()
    found = [name for name in pages if name == wanted or name.rpartition("/")[2] == wanted]
    if len(found) != 1:
        near = found or get_close_matches(wanted, [*pages, *(name.rpartition("/")[2] for name in pages)], 1)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        complain(f"there is no page {page!r}{meant} `north-lsp docs` lists all of them")
        return 1
    say(pages[found[0]].read_text("utf-8").rstrip())
    return 0
