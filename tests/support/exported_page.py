"""Holds an exported page to what it promises: well-formed, known elements alone, no scripts, nothing that loads."""

import re
from html.parser import HTMLParser

_VOID = {"meta", "br", "hr", "img"}
_PLAIN: dict[str, set[str]] = {
    **{name: set() for name in ("head", "title", "style", "body", "header", "h1", "h3", "h4", "h5", "h6", "p", "ul")},
    **{name: set() for name in ("li", "blockquote", "table", "thead", "tbody", "tr", "td", "strong", "em", "del")},
    **{name: set() for name in ("hr", "dl", "dt", "dd", "summary", "code")},
    "html": {"lang"},
    "meta": {"charset", "http-equiv", "content", "name"},
    "main": {"id"},
    "section": {"aria-labelledby"},
    "nav": {"aria-label"},
    "h2": {"id"},
    "a": {"href", "title", "rel", "class"},
    "div": {"class", "role"},
    "span": {"class", "role", "aria-label"},
    "p": {"class"},
    "pre": {"class", "tabindex"},
    "details": {"class", "open"},
    "ol": {"start"},
    "th": {"scope"},
    "img": {"alt", "src"},
    "time": {"class", "datetime"},
}
_POLICY = re.compile(
    r"default-src 'none'; img-src data:; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'"
)


class Page(HTMLParser):
    """A page, read. `problems` are what it must not have."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.problems: list[str] = []
        self.text = ""
        self.images: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.policy = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"not closed: {self.open}")
        if _POLICY.fullmatch(self.policy) is None:
            self.problems.append(f"the policy is {self.policy!r}")
        inside = [link[1:] for link in self.links if link.startswith("#")]
        self.problems += [f"a link to nothing: {id}" for id in inside if id not in self.ids]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = _PLAIN.get(tag)
        if known is None:
            self.problems.append(f"<{tag}>")
            return
        for name, value in attrs:
            self._attribute(tag, name, value or "", known)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> out of place")

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"a comment: {data}")

    def _attribute(self, tag: str, name: str, value: str, known: set[str]) -> None:
        if name not in known:
            self.problems.append(f"<{tag} {name}>")
        match tag, name:
            case "img", "src":
                self.images.append(value)
                if re.fullmatch(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*", value) is None:
                    self.problems.append(f"a picture from {value[:60]}")
            case "a", "href":
                self.links.append(value)
                if re.match(r"#|https?://|mailto:", value, re.IGNORECASE) is None:
                    self.problems.append(f"a link to {value[:60]}")
            case _, "id":
                self.ids.append(value)
            case "meta", "http-equiv" if value != "Content-Security-Policy":
                self.problems.append(f"<meta http-equiv={value}>")
            case "meta", "content" if "default-src" in value:
                self.policy = value
            case _:
                pass
