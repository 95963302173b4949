"""Makes Markdown of a web page: its main part, with links, without what runs, leads around or cannot be seen. To be run
in a process with limits (`parsing_child.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from north_lsp.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MOST = 3 * 1024 * 1024
_DROPPED = (
    "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "embed", "audio", "video", "nav",
    "aside", "dialog", "button", "input", "select", "textarea", "link", "meta",
)  # fmt: skip
_AROUND = ("header", "footer")
_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar", "dialog"})
_UNSEEN = lazy_pattern(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])"
)
_LANGUAGE = lazy_pattern(r"(?:language|lang|highlight-source|highlight|brush:)-?\s*([A-Za-z0-9+#_-]+)")
_FOLLOWED = ("http://", "https://", "mailto:")
_LEAST = 200
_BLANKS = lazy_pattern(r"[ \t]+\n")
_GAPS = lazy_pattern(r"\n{3,}")


def markdown_of(html: str, address: str) -> tuple[str, str]:
    """Return the title of a page and its main part. `address` is where it was found."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title is not None else ""
    base = soup.find("base", href=True)
    address = urljoin(address, str(base["href"])) if base is not None else address
    _clean(soup)
    main = _main(soup)
    _make_absolute(main, address)
    try:
        text = _converted(main)
    except RecursionError:  # nested too deeply: its text alone
        text = main.get_text("\n")
    return title, _GAPS.sub("\n\n", _BLANKS.sub("\n", text)).strip()


def _converted(main: Tag) -> str:
    from markdownify import ATX, MarkdownConverter

    converter: Any = MarkdownConverter(
        heading_style=ATX,
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        code_language_callback=_language,
    )
    return str(converter.convert_soup(main))


def _clean(soup: BeautifulSoup) -> None:
    from bs4 import Comment

    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for tag in soup.find_all(_is_unwanted):
        tag.extract()


def _is_unwanted(tag: Tag) -> bool:
    if tag.name in _DROPPED or str(tag.get("role", "")).lower() in _ROLES:
        return True
    if tag.has_attr("hidden") or str(tag.get("aria-hidden", "")).lower() == "true":
        return True
    return _UNSEEN.search(str(tag.get("style", "")).lower()) is not None


def _main(soup: BeautifulSoup) -> Tag:
    body = soup.body or soup
    articles = soup.find_all("article")
    found = soup.find("main") or soup.find(role="main") or (articles[0] if len(articles) == 1 else None)
    if found is not None and len(found.get_text(strip=True)) >= _LEAST:
        return found
    for tag in body.find_all(_AROUND):
        if tag.find_parent("article") is None:
            tag.extract()
    return body


def _make_absolute(main: Tag, address: str) -> None:
    for link in main.find_all("a"):
        to = _joined(address, str(link.get("href", "")))
        if to.lower().startswith(_FOLLOWED):
            link["href"] = to
        else:
            link.unwrap()
    for picture in main.find_all("img"):
        to = _joined(address, str(picture.get("src", "")))
        if picture.get("alt") and to.lower().startswith(_FOLLOWED[:2]):
            picture.attrs = {"alt": picture["alt"], "src": to}
        else:
            picture.extract()


def _joined(address: str, to: str) -> str:
    try:
        return urljoin(address, to) if to else ""
    except ValueError:
        return ""


def _language(tag: Tag) -> str:
    named = [tag, *tag.find_all("code", limit=1), *([tag.parent] if tag.parent is not None else [])]
    for one in named:
        classes = one.get("class")
        for name in classes if isinstance(classes, list) else []:
            if (found := _LANGUAGE.match(str(name))) is not None:
                return found[1]
    return ""
