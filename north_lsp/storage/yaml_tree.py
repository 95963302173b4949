"""Parses YAML, or JSON with comments, into a tree of values that know their line and key path. Loads the YAML library
on first use. Nothing in a file can run code, refer to itself, or grow beyond what was written."""

from __future__ import annotations

import re
from typing import Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_MAX_NODES = 20_000
_COMMENT = lazy_pattern(r'("(?:[^"\\\n]|\\.)*")|(//[^\n]*|/\*.*?\*/)', re.S)


class TreeError(ValueError):
    """The text is not valid YAML; `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place. `value` is None, a bool, number or string, a list of Nodes, or a dict from string to
    Node. `path` is like `providers.local.models[0].id`, empty for the root."""

    value: Any
    line: int
    path: str

    def plain(self) -> Any:
        """Return the value without lines and paths."""
        match self.value:
            case dict():
                return {key: node.plain() for key, node in self.value.items()}
            case list():
                return [node.plain() for node in self.value]
            case value:
                return value


def parse(text: str, *, is_json: bool = False) -> Node:
    """Parse a text into a tree. Raises TreeError."""
    import yaml

    source = _without_comments(text) if is_json else text
    try:
        root = yaml.compose(source, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise TreeError(mark.line + 1 if mark is not None else 1, str(error.problem or error.context)) from None
    except (yaml.YAMLError, ValueError) as error:
        raise TreeError(1, str(error).splitlines()[0]) from None
    except RecursionError:
        raise TreeError(1, "is nested too deeply") from None
    if root is None:
        return Node({}, 1, "")
    constructor = yaml.constructor.SafeConstructor()
    left = _MAX_NODES

    def build(node: Any, path: str, above: tuple[int, ...]) -> Node:
        nonlocal left
        left -= 1
        line = node.start_mark.line + 1
        if left < 0:
            raise TreeError(line, f"has more than {_MAX_NODES} values")
        if id(node) in above or len(above) > 40:
            raise TreeError(line, "refers to itself, or is nested too deeply")
        inside = (*above, id(node))
        if isinstance(node, yaml.MappingNode):
            values: dict[str, Node] = {}
            for key_node, value_node in node.value:
                key_line = key_node.start_mark.line + 1
                if not isinstance(key_node, yaml.ScalarNode):
                    raise TreeError(key_line, "has a key that is not a string")
                key = key_node.value
                if key in values:
                    raise TreeError(key_line, f"has the key {key!r} twice")
                child = build(value_node, f"{path}.{key}" if path else key, inside)
                values[key] = Node(child.value, key_line, child.path)
            return Node(values, line, path)
        if isinstance(node, yaml.SequenceNode):
            items = [build(item, f"{path}[{index}]", inside) for index, item in enumerate(node.value)]
            return Node(items, line, path)
        try:
            value = constructor.construct_object(node)
        except (yaml.YAMLError, ValueError):
            raise TreeError(line, f"has a value that cannot be read: {node.value!r}") from None
        if not isinstance(value, bool | int | float | str | None):
            value = node.value  # dates and the like count as strings
        return Node(value, line, path)

    return build(root, "", ())


def _without_comments(text: str) -> str:
    """Replace comments, and tabs outside of strings, with spaces; every line keeps its number."""

    def blank(match: re.Match[str]) -> str:
        return match[1] if match[1] is not None else re.sub(r"[^\n]", " ", match[2])

    parts = re.split(r'("(?:[^"\\\n]|\\.)*")', _COMMENT.sub(blank, text))
    return "".join(part if index % 2 else part.replace("\t", " ") for index, part in enumerate(parts))
