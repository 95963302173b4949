"""What a site with an API is, and how what it answers is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

TAG = lazy_pattern(r"<[^<>]{0,1000}>")
MOST_ROWS = 30

Tell = Callable[[Any], str]


@dataclass(frozen=True)
class Site:
    """A kind of page: its `host`, a pattern for the path, and what is asked instead, filled with the pattern's groups.
    `list` is a second address whose answer is put under `_list`. A host that begins with a dot stands for all below it,
    which may be a place of the `base`, too; `spell` says how the API spells what the pattern found. One that answers
    with a `text` is not read as JSON, and what `html` ones tell is made Markdown of, as a page."""

    host: str
    path: str
    base: str
    asked: str
    tell: Tell
    list: str = ""
    spell: Callable[[str], str] = str
    text: bool = False
    html: bool = False

    def found(self, host: str, path: str) -> dict[str, str] | None:
        """Return what an address names, spelled as in the API; None for another page, and for one whose name would lead
        to another address of the API."""
        if host != self.host and not (self.host.startswith(".") and host.endswith(self.host)):
            return None
        pattern = lazy_pattern(self.path)
        match = pattern.fullmatch(path.partition("?")[0]) or pattern.fullmatch(path)
        if match is None:
            return None
        parts = match.groupdict() | {"host": host}
        if any(_leads_up(value or "") for value in parts.values()):
            return None
        return {name: quote(self.spell(value or ""), safe="/%!") for name, value in parts.items()}


def _leads_up(value: str) -> bool:
    return not {".", ".."}.isdisjoint(unquote(value).replace("\\", "/").split("/"))


def sheet(title: str, about: str, *facts: tuple[str, object]) -> str:
    shown = [f"- {name}: {one_line(str(value), 300)}" for name, value in facts if value not in (None, "", [], {})]
    return "\n\n".join(part for part in (f"# {one_line(title, 200)}", about.strip(), "\n".join(shown)) if part)


def one_part(value: str) -> str:
    """Spell names with slashes between them as one part of an address."""
    return value.replace("/", "%2F")


def plain(html: str) -> str:
    """Return a text without its tags."""
    from html import unescape

    return unescape(TAG.sub("", html.replace("<p>", "\n\n").replace("</code>", "`").replace("<code>", "`")))


def names(value: object) -> str:
    found = [one for one in value if isinstance(one, str)] if isinstance(value, list | dict) else []
    return ", ".join(found[:MOST_ROWS])
