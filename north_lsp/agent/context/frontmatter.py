"""Splits a rule file into the fields at its head and the text below them. Pure; a broken head never costs the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_MARK = "---"
_MAX_HEAD = 16 * 1024
_FIELD = lazy_pattern(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_ITEM = lazy_pattern(r"[ \t]*-[ \t]+(.+)$")
_GOES_ON = lazy_pattern(r"[ \t]+\S")
_COMMENT = lazy_pattern(r"[ \t]*#")
_COMMENT_BEHIND = lazy_pattern(r"[ \t]+#.*$")
_BLOCK = lazy_pattern(r"[>|][+-]?")
_NUMBER = lazy_pattern(r"-?\d{1,15}(?:\.\d{1,15})?")


@dataclass(frozen=True, slots=True)
class Front:
    """The `fields` of a file's head and its `body`. `problem` says why the head was read line by line."""

    fields: Mapping[str, object]
    body: str
    problem: str = ""


def split_front(text: str) -> Front:
    """Split a text whose first line is `---`, up to the next such line; any other text has no fields. Some editors put
    a head of empty fields before the one that somebody wrote: what the first leaves empty, the second says."""
    first = _split(text)
    if not first.fields or not first.body.startswith(_MARK):
        return first
    second = _split(first.body)
    if not second.fields.keys() & first.fields.keys():
        return first  # a line across the page, not a head
    said = {name: value for name, value in first.fields.items() if value is not None}
    return Front({**first.fields, **second.fields, **said}, second.body, first.problem)


def _split(text: str) -> Front:
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _MARK:
        return Front({}, text.strip())
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _MARK), None)
    if end is None:
        return Front({}, text.strip())
    head, body = lines[1:end], "\n".join(lines[end + 1 :]).strip()
    if sum(map(len, head)) > _MAX_HEAD:
        return Front({}, body, f"its front matter is longer than {_MAX_HEAD // 1024} KB and was not read")
    try:
        return Front(_by_yaml("\n".join(head)), body)
    except ValueError as error:
        return Front(_line_by_line(head), body, f"its front matter is not YAML and was read line by line: {error}")


def _by_yaml(head: str) -> Mapping[str, object]:
    """Read the head as YAML. Raises ValueError."""
    from north_lsp.storage.yaml_tree import parse  # loads the YAML library

    fields = parse(head).plain()
    if not isinstance(fields, dict):
        raise ValueError("it has no fields")
    return fields


def _line_by_line(head: Sequence[str]) -> dict[str, object]:
    """Read what rules for other editors often have: `globs: *.ts` is not YAML."""
    fields: dict[str, object] = {}
    items: list[object] | None = None
    last = ""
    for line in head:
        if _COMMENT.match(line) is not None:
            continue
        if (field := _FIELD.match(line)) is not None:
            last, value, items = field[1], (field[2] or "").strip(), None
            if value and _BLOCK.fullmatch(value) is None:
                fields[last] = _value(value)
            else:
                fields[last] = items = []
        elif items is not None and (item := _ITEM.match(line)) is not None:
            items.append(_value(item[1].strip()))
        elif last and _GOES_ON.match(line) is not None:
            before = fields[last] if isinstance(fields[last], str) else ""
            fields[last], items = f"{before} {line.strip()}".strip(), None
    return {name: None if value == [] else value for name, value in fields.items()}


def _value(written: str) -> object:
    if is_quoted(written):
        return written[1:-1]
    plain = _COMMENT_BEHIND.sub("", written)
    if is_quoted(plain):
        return plain[1:-1]
    if plain.casefold() in ("true", "false"):
        return plain.casefold() == "true"
    if _NUMBER.fullmatch(plain):
        return float(plain) if "." in plain else int(plain)
    if plain.startswith("[") and plain.endswith("]"):
        return [_value(part) for part in split_at_commas(plain[1:-1])]
    return plain


def split_at_commas(text: str) -> list[str]:
    """Split a list at its commas, but not at those in braces and in quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and not parts[-1].strip():
            quote = character
        else:
            depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def is_quoted(text: str) -> bool:
    """Tell whether a text is one quotation as a whole."""
    return len(text) > 1 and text[0] in "\"'" and text.find(text[0], 1) == len(text) - 1
