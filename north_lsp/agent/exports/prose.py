"""Markdown of a model as safe HTML: no raw HTML, no pictures, links to web pages alone. Linear in the length of the
text, whatever is in it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from north_lsp.lazy_pattern import lazy_pattern

_FENCE = lazy_pattern(r" {0,3}(`{3,}|~{3,})")
_HEADING = lazy_pattern(r" {0,3}(#{1,6})[ \t]+(.*)$")
_RULE = lazy_pattern(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = lazy_pattern(r"( *)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|)$")
_CELLS = lazy_pattern(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ADDRESS = lazy_pattern(r"https?://[^\s<>\"'`|\\^{}\[\]]+", re.IGNORECASE)
_SAFE = lazy_pattern(r"(?:https?://|mailto:)[^\s<>\"'`\\]+", re.IGNORECASE)
_SPECIAL = lazy_pattern(r"[\\`*_\[h]|~~", re.IGNORECASE)
_ESCAPABLE = frozenset("\\`*_{}[]()#+-.!|>~\"'$%&,/:;<=?@^")
_MOST_DEPTH = 6
_LONGEST_LINK = 2000


def escape(text: str) -> str:
    return html.escape(text, quote=True)


def to_html(text: str, *, heading: int = 3, depth: int = 0) -> str:
    """Render Markdown; its headings begin at the level `heading`. The text's hidden characters are marked already."""
    return "\n".join(_blocks(text.split("\n"), heading, depth))


def _blocks(lines: list[str], heading: int, depth: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif (fence := _fence(line)) is not None:
            end = _end_of_fence(lines, at, fence)
            yield f"<pre><code>{escape(chr(10).join(lines[at + 1 : end]))}</code></pre>"
            at = end + 1
        elif found := _HEADING.match(line):
            level = min(heading + len(found[1]) - 1, 6)
            yield f"<h{level}>{inline(found[2].rstrip('# '))}</h{level}>"
            at += 1
        elif _RULE.match(line):
            yield "<hr>"
            at += 1
        elif line.lstrip(" ").startswith(">") and depth < _MOST_DEPTH:
            end = _while(lines, at, lambda one: one.lstrip(" ").startswith(">"))
            inner = [re.sub(r"^ *> ?", "", one) for one in lines[at:end]]
            yield f"<blockquote>{to_html(chr(10).join(inner), heading=heading, depth=depth + 1)}</blockquote>"
            at = end
        elif _ITEM.match(line) and depth < _MOST_DEPTH:
            end = _end_of_list(lines, at)
            yield _list(lines[at:end], heading, depth)
            at = end
        elif "|" in line and at + 1 < len(lines) and "-" in lines[at + 1] and _CELLS.match(lines[at + 1]):
            end = _while(lines, at + 2, lambda one: "|" in one)
            yield _table(lines[at], lines[at + 2 : end])
            at = end
        else:
            end = at + 1
            while end < len(lines) and not _begins_block(lines[end]):
                end += 1
            yield f"<p>{inline(chr(10).join(lines[at:end]))}</p>"
            at = end


def _begins_block(line: str) -> bool:
    if not line.strip() or line.lstrip(" ").startswith(">") or _fence(line) is not None:
        return True
    return bool(_HEADING.match(line) or _ITEM.match(line) or _RULE.match(line))


def _fence(line: str) -> str | None:
    """Return the marks that begin a code block; after them, there may be the name of a language."""
    found = _FENCE.match(line)
    return found[1] if found is not None and "`" not in line[found.end() :] else None


def _while(lines: list[str], at: int, holds: Callable[[str], bool]) -> int:
    while at < len(lines) and lines[at].strip() and holds(lines[at]):
        at += 1
    return at


def _end_of_fence(lines: list[str], at: int, fence: str) -> int:
    for number in range(at + 1, len(lines)):
        line = lines[number].strip()
        if len(line) >= len(fence) and line == fence[0] * len(line):
            return number
    return len(lines)


def _end_of_list(lines: list[str], at: int) -> int:
    """Return the line after a list: its items, lines that are indented or continue with an item, and blank ones between
    those."""
    first, end = _ITEM.match(lines[at]), at + 1
    assert first is not None
    while end < len(lines):
        line, is_after_blank = lines[end], not lines[end - 1].strip()
        item = _ITEM.match(line)
        belongs = item is not None or line.startswith("  ")
        if item is not None and len(item[1]) <= len(first[1]) and item[2][0].isdigit() != first[2][0].isdigit():
            break  # the other kind of list
        if not line.strip():
            following = next((one for one in lines[end : end + 3] if one.strip()), "")
            if not (following.startswith("  ") or _ITEM.match(following)):
                break
        elif not belongs and (is_after_blank or _begins_block(line)):
            break
        end += 1
    return end


def _list(lines: list[str], heading: int, depth: int) -> str:
    first = _ITEM.match(lines[0])
    assert first is not None
    indent, numbered = len(first[1]), first[2][0].isdigit()
    items: list[list[str]] = []
    for line in lines:
        found = _ITEM.match(line)
        if found is not None and (not items or len(found[1]) <= indent + 1):
            items.append([found[3] or ""])
        elif items:
            items[-1].append(line)
    start = f' start="{int(first[2][:-1])}"' if numbered and first[2][:-1] != "1" else ""
    tag = "ol" if numbered else "ul"
    rows = "".join(f"<li>{_item(item, heading, depth)}</li>" for item in items)
    return f"<{tag}{start}>{rows}</{tag}>"


def _item(lines: list[str], heading: int, depth: int) -> str:
    rest = [line for line in lines[1:] if line.strip()]
    if not rest:
        return inline(lines[0])
    least = min(len(line) - len(line.lstrip(" ")) for line in rest)
    inner = [lines[0], *(line[least:] for line in lines[1:])]
    return to_html("\n".join(inner), heading=heading, depth=depth + 1)


def _table(head: str, body: list[str]) -> str:
    names = _cells(head)
    rows = ["".join(f"<td>{inline(cell)}</td>" for cell in _cells(line)[: len(names)]) for line in body]
    first = "".join(f'<th scope="col">{inline(cell)}</th>' for cell in names)
    return f"<table><thead><tr>{first}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


# -- within a paragraph -----------------------------------------------------------------------------------------------


def inline(text: str) -> str:
    """Render code, emphasis and links; everything else is escaped."""
    return "".join(_Inline(text).pieces(0, len(text)))


class _Inline:
    """Renders the inline Markdown of one paragraph as HTML. A closing mark that was not found is not searched for
    again."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._missing: set[tuple[str, int]] = set()

    def pieces(self, at: int, end: int, depth: int = 0) -> Iterator[str]:
        text, plain = self._text, at
        while (found := _SPECIAL.search(text, at, end)) is not None:
            start = found.start()
            made = self._special(start, end, depth)
            if made is None:
                at = start + 1
                continue
            yield escape(text[plain:start])
            rendered, at = made
            plain = at
            yield rendered
        yield escape(text[plain:end])

    def _special(self, at: int, end: int, depth: int) -> tuple[str, int] | None:
        """Return what is at a special character as HTML, and where it ends; None if it is an ordinary one."""
        text = self._text
        match text[at]:
            case "\\":
                following = text[at + 1 : at + 2]
                return (escape(following), at + 2) if following in _ESCAPABLE and at + 1 < end else None
            case "`":
                ticks = self._run(at, end)
                mark = "`" * ticks
                close = self._find(mark, at + ticks, end)
                if close < 0:
                    return (escape(mark), at + ticks)
                body = text[at + ticks : close]
                body = body[1:-1] if body.startswith(" ") and body.endswith(" ") and body.strip() else body
                return f"<code>{escape(body)}</code>", close + ticks
            case "h" | "H":
                address = _ADDRESS.match(text, at, end)
                if address is None or (at and text[at - 1].isalnum()):
                    return None
                whole = address[0].rstrip(".,;:!?)'*_")
                return _link(whole, escape(whole)), at + len(whole)
            case "[":
                return self._named_link(at, end, depth)
            case "*" | "_" | "~":
                return self._emphasis(at, end, depth)
        return None

    def _run(self, at: int, end: int) -> int:
        stop = at
        while stop < end and self._text[stop] == "`":
            stop += 1
        return stop - at

    def _find(self, mark: str, at: int, end: int) -> int:
        if (mark, end) in self._missing:
            return -1
        close = self._text.find(mark, at, end)
        if close < 0:
            self._missing.add((mark, end))
        return close

    def _named_link(self, at: int, end: int, depth: int) -> tuple[str, int] | None:
        middle = self._find("](", at + 1, min(end, at + _LONGEST_LINK))
        close = self._find(")", middle + 2, min(end, middle + _LONGEST_LINK)) if middle >= 0 else -1
        if close < 0 or "\n" in self._text[at:close]:
            return None
        address = self._text[middle + 2 : close].strip()
        label = "".join(_Inline(self._text[at + 1 : middle]).pieces(0, middle - at - 1, depth + 1))
        if depth or not _SAFE.fullmatch(address):
            return f"{label} ({escape(address)})", close + 1
        return _link(address, label), close + 1

    def _emphasis(self, at: int, end: int, depth: int) -> tuple[str, int] | None:
        text = self._text
        mark = text[at : at + 2] if text[at : at + 2] in ("**", "__", "~~") else text[at]
        inner, tag = at + len(mark), {"**": "strong", "__": "strong", "~~": "del"}.get(mark, "em")
        before = text[at - 1] if at else " "
        if depth >= _MOST_DEPTH or (mark[0] == "_" and before.isalnum()) or text[inner : inner + 1].isspace():
            return None
        close = self._find(mark, inner + 1, end)
        if close < 0 or text[close - 1].isspace():
            return None
        after = text[close + len(mark) : close + len(mark) + 1]
        if mark[0] == "_" and after.isalnum():
            return None
        return f"<{tag}>{''.join(self.pieces(inner, close, depth + 1))}</{tag}>", close + len(mark)


def _link(address: str, label: str) -> str:
    """Make a link that shows its whole address to whoever points at it, and tells the page nothing."""
    return f'<a href="{escape(address)}" title="{escape(address)}" rel="noopener noreferrer nofollow">{label}</a>'
