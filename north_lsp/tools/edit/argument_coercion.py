"""Reads the arguments of a call as models write them: lists and objects as JSON in a string, nested calls under several
names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from north_lsp.errors import ToolError
from north_lsp.workspace.edit.patch import parse_patch

INNER = ("args", "arguments", "parameters", "input")
"""The keys under which the arguments of an edit in a batch may be."""


def decoded(value: Any) -> Any:
    """Decode a string that holds a JSON list or object; return anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def raw_paths(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield every path as the model wrote it, also within a batch."""
    for key in ("path", "from", "to"):
        if isinstance(name := arguments.get(key), str) and name:
            yield name
    if isinstance(patch := arguments.get("patch"), str):
        with suppress(ToolError):
            for one in parse_patch(patch):
                yield from filter(None, (one.path, one.to))
    edits = decoded(arguments.get("edits"))
    nested = [edits] if isinstance(edits, Mapping) else edits if isinstance(edits, list) else []
    for item in map(decoded, nested):
        if isinstance(item, Mapping):
            yield from raw_paths({key: value for key, value in item.items() if key != "edits"})
            for inner in (decoded(item[name]) for name in INNER if name in item):
                if isinstance(inner, Mapping):
                    yield from raw_paths({key: value for key, value in inner.items() if key != "edits"})
