"""What is secret of what a server is given: where its values come from, and which they are, so that they can be masked
in what the server says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.mcp.transport import failure
from north_lsp.providers.credentials import KeySource, MissingCredential
from north_lsp.storage.masking import is_secret_name

_SCHEME = lazy_pattern(r"(?:basic|bearer|token) +", re.IGNORECASE)
_OPTION = lazy_pattern(r"--?([A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)


def with_commands_run(spec: ServerSpec, environ: Mapping[str, str]) -> ServerSpec:
    """Return a server with what the commands print that stand for values of its headers and variables (`!command`).
    What an editor passes on stays as it is. Blocks; raises ToolError."""
    if spec.origin == "client":
        return spec
    try:
        return replace(spec, env=_run(spec, "env", environ), headers=_run(spec, "headers", environ))
    except MissingCredential as error:
        raise failure(str(error)) from None


def _run(spec: ServerSpec, table: str, environ: Mapping[str, str]) -> Mapping[str, str]:
    values: Mapping[str, str] = getattr(spec, table)
    return {
        name: KeySource(value, f"`{table}` for {name}").resolve(environ).secret if value.startswith("!") else value
        for name, value in values.items()
    }


def secrets_given(spec: ServerSpec) -> Iterator[str]:
    """Yield the secrets among a server's headers, variables and arguments, and in its address, as their names tell
    them."""
    for name, value in (*spec.headers.items(), *spec.env.items(), *_of_query(spec.url), *_of_arguments(spec)):
        if is_secret_name(name) or name.lower().endswith("key"):
            yield _SCHEME.sub("", value, count=1).strip()


def _of_query(address: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(address).query)
    except ValueError:
        return []


def _of_arguments(spec: ServerSpec) -> Iterator[tuple[str, str]]:
    """Yield the options of a command line: `--name=value`, and `--name` with what follows it."""
    for word, after in zip(spec.args, (*spec.args[1:], ""), strict=False):  # none has none after it
        if (found := _OPTION.fullmatch(word)) is not None:
            yield found[1], after if found[2] is None else found[2]
