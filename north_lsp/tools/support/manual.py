"""`docs://north`: the documentation that comes with North, so that it can explain itself. `north-lsp docs` prints the
same pages."""

from __future__ import annotations

from pathlib import Path

import north_lsp
from north_lsp.errors import ToolError


def read_manual(rest: str) -> tuple[str, str]:
    """Read a page, or the list of pages; return its address as shown, and its text. Raises ToolError NOT_FOUND."""
    name, _, page = rest.strip("/").partition("/")
    pages = manual_pages()
    if name != "north" or (page and page not in pages):
        raise ToolError("NOT_FOUND", f"there is no page docs://{rest[:80]}", f"pages: {', '.join(pages) or 'none'}")
    if page:
        return f"docs://north/{page}", pages[page].read_text("utf-8")
    rows = [f"docs://north/{name}: {heading(path)}" for name, path in pages.items()]
    return "docs://north", "\n".join(rows) + "\n"


def manual_pages() -> dict[str, Path]:
    """List the manual's pages by name (`shell`, `start/vscode`). An installed package contains them; in a checkout they
    are next to it."""
    here = Path(north_lsp.__file__).parent
    folder = next((one for one in (here / "docs", here.parent / "docs") if one.is_dir()), None)
    if folder is None:
        return {}
    found = {path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.md")}
    return dict(sorted(found.items()))


def heading(path: Path) -> str:
    """Return the title of a page."""
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()
