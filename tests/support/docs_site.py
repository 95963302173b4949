"""A hook of MkDocs: links to files outside of `docs/` become plain words, since the site has the manual alone."""

import re
from typing import Any

_OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\((?:\.\./)+[^)]*\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return the page for the site. MkDocs calls this for each page."""
    depth = page.file.src_uri.count("/")

    def plain(link: re.Match[str]) -> str:
        ups = link[0].rpartition("](")[2].count("../")
        return link[1] if ups > depth else link[0]

    return _OUTSIDE.sub(plain, markdown)
