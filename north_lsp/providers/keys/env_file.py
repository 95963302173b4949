"""`~/.env`: credentials and North's own variables that the environment does not have. It is the user's own file; one in
a repository is never read, since a repository must not decide whose key is used. Imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_regular

_LINE = lazy_pattern(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$")
_QUOTED = lazy_pattern(r"""(["'])(.*)\1\s*(?:#.*)?$""", re.DOTALL)


def read_env_file(path: Path) -> dict[str, str]:
    """Read a file of `NAME=value` lines. Nothing is expanded; a file that cannot be read gives no variables."""
    try:
        text = read_regular(path, MAX_CONFIG_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return {}
    found = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is not None and not line.lstrip().startswith("#"):
            found[match[1]] = _value(match[2])
    return found


def with_env_file(environ: Mapping[str, str], path: Path, secrets: Collection[str]) -> dict[str, str]:
    """Return the environment, adding the `NORTH_*` variables and credentials that only the file has."""
    taken = {
        name: value
        for name, value in read_env_file(path).items()
        if value and name not in environ and (name.startswith("NORTH_") or name in secrets)
    }
    return {**taken, **environ}


def _value(text: str) -> str:
    quoted = _QUOTED.match(text)
    if quoted is not None:
        return quoted[2]
    return re.sub(r"\s+#.*$", "", text)
