"""Splits a rule file into the fields at its head and the text below them. Pure; a broken head never costs the text."""

from collections.abc import Mapping

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_MARK = "---"
_MAX_HEAD = 16 * 1024
_FIELD = lazy_pattern(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_ITEM = lazy_pattern(r"[ \t]*-[ \t]+(.+)$")
_NUMBER = lazy_pattern(r"-?\d{1,15}(?:\.\d{1,15})?")


@dataclass(frozen=True, slots=True)
class Front:
    """The `fields` of a file's head and its `body`. `problem` says why the head was read line by line."""

    fields: Mapping[str, object]
    body: str
    problem: str = ""


def split_front(text: str) -> Front:
    """Split a text whose first line is `---`, up to the next such line; any other text has no fields."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _MARK:
        return Front({}, text.strip())
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _MARK), None)
    if end is None:
        return Front({}, text.strip())
    head, body = lines[1:end], "\n".join(lines[end + 1 :]).strip()
    if sum(map(len, head)) > _MAX_HEAD:
        return Front({}, body, f"its head is longer than {_MAX_HEAD // 1024} KB and was not read")
    try:
        return Front(_by_yaml("\n".join(head)), body)
    except ValueError as error:
        return Front(_line_by_line(head), body, f"its head is not YAML and was read line by line: {error}")


def _by_yaml(head: str) -> Mapping[str, object]:
    """Read the head as YAML. Raises ValueError."""
    from north_lsp.storage.yaml_tree import parse  # loads the YAML library

    fields = parse(head).plain()
    if not isinstance(fields, dict):
        raise ValueError("it has no fields")
    return fields


def _line_by_line(head: list[str]) -> dict[str, object]:
    """Read what rules for other editors often have: `globs: *.ts` is not YAML."""
    fields: dict[str, object] = {}
    items: list[object] | None = None
    for line in head:
        if (field := _FIELD.match(line)) is not None:
            value, items = (field[2] or "").strip(), None
            if value:
                fields[field[1]] = _value(value)
            else:
                fields[field[1]] = items = []
        elif items is not None and (item := _ITEM.match(line)) is not None:
            items.append(_value(item[1].strip()))
    return {name: None if value == [] else value for name, value in fields.items()}


def _value(written: str) -> object:
    if len(written) > 1 and written[0] == written[-1] and written[0] in "\"'":
        return written[1:-1]
    if written in ("true", "false"):
        return written == "true"
    if _NUMBER.fullmatch(written):
        return float(written) if "." in written else int(written)
    if written.startswith("[") and written.endswith("]"):
        return [_value(part.strip()) for part in written[1:-1].split(",") if part.strip()]
    return written
