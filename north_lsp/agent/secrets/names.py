"""What of the environment and of `.env` files is a secret: by the variable's name, and by rules that keep ordinary
words from being taken for one. Pure, but for a look whether a path exists."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from north_lsp.lazy_pattern import lazy_pattern

LEAST = 8
"""What is shorter would occur by chance."""

_NAME = lazy_pattern(
    r".*(?:(?:^|_)(?:KEY|SECRET|TOKEN|PASS|PASSPHRASE|CREDENTIALS?)|PASSWORD|PASSWD)|.*API_KEY.*", re.IGNORECASE
)
_KNOWN_TO_ALL = frozenset(
    {
        "password", "passw0rd", "password1", "changeme", "change_me", "change-me", "postgres", "postgresql",
        "localhost", "development", "production", "undefined", "disabled", "required", "optional", "placeholder",
        "username", "mysecret", "my-secret", "supersecret", "12345678", "123456789", "1234567890",
    }
)  # fmt: skip
_STANDS_FOR_ONE = lazy_pattern(r"<[^>]*>|\$\{?\w+\}?|\$\(.*\)|%\w+%|\{\{.*\}\}|(?:your|my|the)[-_ ].*", re.IGNORECASE)
_LEAST_LETTERS = 4
_IN_ADDRESS = lazy_pattern(r"://[^/\s:@]*:([^/\s@]+)@")
_LINE = lazy_pattern(
    r"^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\r\n]*)",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = lazy_pattern(r"(?<!\s)\s+#.*")  # looked for at the beginning of blanks only, so in linear time
_ESCAPES = {r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\"": '"', r"\\": "\\"}
_LONG_LINE = 16


def is_secret_name(name: str) -> bool:
    """Tell whether a variable of this name holds a secret."""
    return _NAME.fullmatch(name) is not None


def is_secret(value: str) -> bool:
    """Tell whether a value may be one: not if it is short, known to everybody, stands for a value that is elsewhere, or
    names a file that is there."""
    if len(value) < LEAST or value.casefold() in _KNOWN_TO_ALL or len(set(value)) < _LEAST_LETTERS:
        return False
    if _STANDS_FOR_ONE.fullmatch(value) is not None:
        return False
    return not (value.startswith(("/", "~/", "./")) and os.path.exists(os.path.expanduser(value)))


def secrets_of(variables: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Return the secrets among variables: values by name, and passwords in addresses whatever the name."""
    for name, written in variables:
        value = written.strip()
        if is_secret_name(name) and is_secret(value):
            yield value
            if "\n" in value:  # a key of several lines: each is recognized alone, too, also with line numbers between
                yield from (line for line in value.splitlines() if len(line) >= _LONG_LINE and "-----" not in line)
        for found in _IN_ADDRESS.findall(value):
            if is_secret(found):
                yield found


def variables_of(text: str) -> Iterator[tuple[str, str]]:
    """Return the variables of a `.env` file; a value with escapes comes as it is written and as it is meant."""
    for found in _LINE.finditer(text):
        name, value = found["name"], found["value"]
        if value[:1] == "'" and value[-1:] == "'" and len(value) > 1:
            yield name, value[1:-1]
        elif value[:1] == '"' and value[-1:] == '"' and len(value) > 1:
            yield name, value[1:-1]
            if "\\" in value:
                yield name, re.sub(r"\\.", lambda one: _ESCAPES.get(one[0], one[0]), value[1:-1])
        else:
            yield name, _COMMENT.sub("", value)


def of_environment(environ: Mapping[str, str]) -> Iterator[str]:
    """Return the secrets among the variables of a process."""
    return secrets_of(environ.items())
