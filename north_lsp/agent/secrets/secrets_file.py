"""Reads `secrets.yml`: texts and expressions that the user or a project wants masked. What is wrong with an entry is
said without its content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_regular
from north_lsp.storage.yaml_tree import Node, TreeError, parse
from north_lsp.workspace.search.effort import longest_text

_LEAST = 4
_MOST_ENTRIES = 1000
_LONGEST = 32_768
_SHORTEST_TEXT = 500
"""An expression that may take long in shorter texts is refused."""
_IN_SLASHES = lazy_pattern(r"/(.+)/([a-z]*)", re.DOTALL)
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "u": re.UNICODE, "g": re.NOFLAG}
_KEYS = frozenset({"type", "content", "mode", "replacement", "flags"})


class BadFile(ValueError):
    """The file as a whole cannot be read; the text says where and why, and what to do."""


@dataclass(frozen=True)
class Entry:
    """A text, or an expression if there is a `pattern`. Without a `replacement` it gets placeholders; else models are
    told the replacement, which cannot be undone: an empty one stands for asterisks."""

    content: str
    replacement: str | None = None
    pattern: re.Pattern[str] | None = None

    def instead_of(self, value: str) -> str | None:
        """Return what models are told instead of a value, None if that is a placeholder."""
        return self.replacement if self.replacement != "" else "*" * len(value)

    def found(self, text: str) -> Iterator[tuple[int, int]]:
        """Return where the expression matches a text: beginnings and ends. In a text in which that could take long,
        matches are looked for in pieces: in lines, and halves of what is too long for one search."""
        if self.pattern is None:
            return
        longest = longest_text(self.pattern.pattern, self.pattern.flags & ~re.UNICODE)
        begun = 0
        for line in text.splitlines(keepends=True) if longest is not None and len(text) > longest else [text]:
            step = (longest or 0) // 2 or len(line) + 1
            for start in range(0, max(len(line) - step, 1), step):
                for match in self.pattern.finditer(line[start : start + 2 * step]):
                    if match.end() > match.start():
                        yield begun + start + match.start(), begun + start + match.end()
            begun += len(line)


@dataclass(frozen=True)
class SecretsFile:
    """What a file says; `problems` are its entries that do not count."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[str, ...] = ()


def read_secrets_file(path: Path) -> SecretsFile:
    """Read a file; there is nothing in one that does not exist. Raises BadFile."""
    try:
        text = read_regular(path, MAX_CONFIG_BYTES).decode()
        root = parse(text)
    except FileNotFoundError:
        return SecretsFile()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not in UTF-8"
        raise BadFile(f"{path} cannot be read ({why}): repair or remove it, since it says what is secret") from None
    except TreeError as error:
        why = f"{path}:{error.line} is not valid YAML: repair or remove the file, since it says what is secret"
        raise BadFile(why) from None
    rows = root.value
    if rows == {}:
        return SecretsFile()
    if not isinstance(rows, list):
        raise BadFile(f"{path} must be a list of entries: repair or remove it, since it says what is secret")
    entries, problems = list[Entry](), list[str]()
    for row in rows[:_MOST_ENTRIES]:
        try:
            entries.append(_entry(row))
        except ValueError as error:
            problems.append(f"{path}:{row.line}: an entry does not count: {error}")
    if len(rows) > _MOST_ENTRIES:
        problems.append(f"{path}: entries after the first {_MOST_ENTRIES} do not count")
    return SecretsFile(tuple(entries), tuple(problems))


def _entry(row: Node) -> Entry:
    """Read an entry. Raises ValueError, without the content."""
    fields: Any = row.plain()
    if not isinstance(fields, dict) or not all(isinstance(fields.get(key, ""), str) for key in _KEYS):
        raise ValueError("it must have `type` and `content`, as strings")
    if unknown := sorted(fields.keys() - _KEYS):
        raise ValueError(f"it has the unknown field {unknown[0][:40]!r}")
    kind, content, mode = (fields.get(key, "") for key in ("type", "content", "mode"))
    if mode not in ("", "obfuscate", "replace"):
        raise ValueError("`mode` must be `obfuscate` or `replace`")
    entry = Entry(content, fields.get("replacement", "") if mode == "replace" else None)
    match kind:
        case "plain" if len(content) < _LEAST:
            raise ValueError(f"`content` must have {_LEAST} characters at least")
        case _ if len(content) > _LONGEST:
            raise ValueError(f"`content` may have {_LONGEST:,} characters")
        case "plain" if entry.replacement and content in entry.replacement:
            raise ValueError("`replacement` has the secret in it")
        case "plain":
            return entry
        case "regex":
            return replace(entry, pattern=_compiled(content, fields.get("flags", "")))
        case _:
            raise ValueError("`type` must be `plain` or `regex`")


def _compiled(content: str, flags: str) -> re.Pattern[str]:
    if (written := _IN_SLASHES.fullmatch(content)) is not None:
        content, flags = written[1], written[2] + flags
    value = re.NOFLAG
    for flag in flags:
        if flag not in _FLAGS:
            raise ValueError("`flags` may have the letters g, i, m, s and u")
        value |= _FLAGS[flag]
    try:
        pattern = re.compile(content, value)
    except (re.error, OverflowError, RecursionError):
        raise ValueError("the expression is not valid") from None
    if pattern.match("") is not None:
        raise ValueError("the expression matches the empty text")
    longest = longest_text(pattern.pattern, pattern.flags & ~re.UNICODE)
    if longest is not None and longest < _SHORTEST_TEXT:
        raise ValueError(
            "the expression may take too long: bound its repetitions, for example `{1,100}` instead of `+`"
        )
    return pattern
