"""`docs://north`: the documentation that comes with North, so that it can explain itself."""

from pathlib import Path

import north_lsp
from north_lsp.errors import ToolError
from north_lsp.lazy_pattern import lazy_pattern

_PAGE = lazy_pattern(r"[a-z0-9][a-z0-9-]*")


def read_manual(rest: str) -> tuple[str, str]:
    """Read a page, or the list of pages; return its address as shown, and its text. Raises ToolError NOT_FOUND."""
    name, _, page = rest.strip("/").partition("/")
    pages = _pages()
    if name != "north" or (page and (_PAGE.fullmatch(page) is None or page not in pages)):
        raise ToolError("NOT_FOUND", f"there is no page docs://{rest[:80]}", f"pages: {', '.join(pages) or 'none'}")
    if page:
        return f"docs://north/{page}", pages[page].read_text("utf-8")
    rows = [f"docs://north/{name}: {_heading(path)}" for name, path in pages.items()]
    return "docs://north", "\n".join(rows) + "\n"


def _pages() -> dict[str, Path]:
    """List the manual's pages by name. An installed package contains them; in a checkout they are next to it."""
    here = Path(north_lsp.__file__).parent
    folder = next((one for one in (here / "docs", here.parent / "docs") if one.is_dir()), None)
    return {} if folder is None else {path.stem: path for path in sorted(folder.glob("*.md"))}


def _heading(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()
