"""Reads how an MCP server is reached, as the files of several agents and ACP's clients write it. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from north_lsp.agent.ports.servers import Carrier, Origin, ServerSpec
from north_lsp.agent.servers.shown import as_written
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.kinds import SourceId

_NAME = lazy_pattern(r"[A-Za-z0-9_.-]{1,100}")
_CARRIERS: Mapping[str, Carrier] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
# Each part ends where it can end, and nothing is tried twice: a text of any length takes a time in proportion to it.
_VARIABLE = lazy_pattern(r"\$\{(?:env:)?([A-Za-z_](?:[\w.-]|:(?!-)){0,199}+)(?::-((?:[^}$]|\$(?!\{)){0,4000}+))?\}")
_FOLDER = "workspaceFolder"
_MOST_NAMED = 5
_MOST_SHOWN = 20_000
_DEFAULT_MS = 30_000
_MOST_MS = 3_600_000


class Unusable(ValueError):
    """An entry that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry is written, and whose file that is: `source` for people."""

    origin: Origin
    source: str
    via: SourceId = "north"


def read_entry(name: str, entry: object, place: Place) -> tuple[ServerSpec, list[str]]:
    """Read one entry; returns it as it is written, with warnings about values that defaults took the place of. An entry
    that cannot be used has a `problem`."""
    bare = ServerSpec(one_line(name, 100), place.origin, place.source, via=place.via)
    if not _NAME.fullmatch(name):
        return replace(bare, problem="its name may have 1 to 100 letters, digits and the characters `_ . -`"), []
    if not isinstance(entry, Mapping):
        return replace(bare, problem="it must be an object"), []
    warnings: list[str] = []
    try:
        return _read(bare, entry, place, warnings), warnings
    except Unusable as error:
        return replace(bare, problem=str(error)), warnings
    except RecursionError:
        return replace(bare, problem="its objects are nested too deeply"), warnings


def _read(bare: ServerSpec, entry: Mapping[str, object], place: Place, warnings: list[str]) -> ServerSpec:
    address = entry.get("url", entry.get("httpUrl", entry.get("serverUrl")))
    command = entry.get("command")
    if (address is None) == (command is None):
        have = "both `command` and `url`" if address is not None else "neither `command` nor `url`"
        raise Unusable(f"it has {have}: give one of them")
    written = as_written(entry) if place.origin == "project" else ""  # nobody is asked about others
    if len(written) > _MOST_SHOWN:
        raise Unusable(f"it has more than {_MOST_SHOWN:,} characters, which nobody could read before it starts")
    carrier = _carrier(entry, is_remote=address is not None)
    spec = replace(bare, carrier=carrier, digest=_digest(entry), written=written)
    if address is not None:
        if not isinstance(address, str) or not address.startswith(("http://", "https://", "$")):
            raise Unusable("its `url` must begin with http:// or https://")
        spec = replace(spec, url=address, headers=_texts(entry, "headers", "http_headers"))
    else:
        words = [command, *_list(entry, "args")] if isinstance(command, str) else command
        if not isinstance(words, list) or not words or not all(isinstance(one, str) for one in words) or not words[0]:
            raise Unusable("its `command` must be a string")
        spec = replace(spec, command=words[0], args=tuple(words[1:]), env=_texts(entry, "env", "environment"))
        cwd = entry.get("cwd")
        if cwd is not None and not isinstance(cwd, str):
            raise Unusable("its `cwd` must be a string")
        spec = replace(spec, cwd=Path(cwd) if cwd else None)
    spec = _with_sign_in(spec, entry)
    tools = entry.get("tools")
    tools = tools if isinstance(tools, Mapping) else {}
    include = tools.get("include", entry.get("includeTools"))
    return replace(
        spec,
        enabled=_enabled(entry, warnings),
        seconds=_milliseconds(entry, warnings) / 1000,
        include=frozenset(map(str, include)) if isinstance(include, list) else None,
        exclude=frozenset(_list(tools, "exclude") + _list(entry, "excludeTools")),
        auto_approve=frozenset(_list(entry, "autoApprove") + _list(entry, "alwaysAllow")),
    )


def _with_sign_in(spec: ServerSpec, entry: Mapping[str, object]) -> ServerSpec:
    """Read how users sign in. A file of the project's says neither where a sign-in may lead nor which program gets
    a token. Raises Unusable."""
    oauth = entry.get("oauth")
    if not isinstance(oauth, Mapping):
        return spec
    client, address = oauth.get("clientId", ""), "" if spec.url else oauth.get("url", "")
    if not isinstance(client, str):
        raise Unusable("`clientId` of its `oauth` must be a string")
    if not isinstance(address, str) or (address and not address.startswith(("http://", "https://", "$"))):
        raise Unusable("`url` of its `oauth` must begin with https://")
    if address and spec.origin == "project":
        raise Unusable("its `oauth` names a `url`: only a file of your own says which program gets a token")
    trusted = _list(oauth, "hosts") if spec.origin != "project" else []
    hosts = frozenset(host.lower() for host in trusted)
    return replace(spec, client_id=client, sign_in_url=address, sign_in_hosts=hosts)


def _carrier(entry: Mapping[str, object], *, is_remote: bool) -> Carrier:
    written = next((entry[key] for key in ("type", "transport") if key in entry), None)
    if written is None or written == "remote":
        return "http" if is_remote else "stdio"
    carrier = _CARRIERS.get(written) if isinstance(written, str) else None
    if carrier is None:
        raise Unusable(f"its `type` {one_line(str(written), 40)!r} is unknown: use stdio, http or sse")
    if (carrier == "stdio") == is_remote:
        raise Unusable(f"its `type` {written} does not fit its `{'url' if is_remote else 'command'}`")
    return carrier


def _enabled(entry: Mapping[str, object], warnings: list[str]) -> bool:
    if entry.get("disabled") is True:
        return False
    enabled = entry.get("enabled", True)
    if not isinstance(enabled, bool):
        warnings.append("`enabled` must be true or false; it counts as true")
        return True
    return enabled


def _milliseconds(entry: Mapping[str, object], warnings: list[str]) -> float:
    timeout = entry.get("timeout", _DEFAULT_MS)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= _MOST_MS:
        warnings.append(f"`timeout` must be milliseconds, at most {_MOST_MS:,}; it is {_DEFAULT_MS:,}")
        return _DEFAULT_MS
    return timeout


def _list(entry: Mapping[str, object], key: str) -> list[str]:
    found = entry.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str | int | float) for one in found):
        raise Unusable(f"its `{key}` must be a list of strings")
    return [str(one) for one in found]


def _texts(entry: Mapping[str, object], *keys: str) -> dict[str, str]:
    found = next((entry[key] for key in keys if entry.get(key) is not None), {})
    if not isinstance(found, Mapping) or not all(isinstance(value, str | int | float) for value in found.values()):
        raise Unusable(f"its `{keys[0]}` must be an object of strings")
    return {str(key): str(value) for key, value in found.items()}


def _digest(entry: Mapping[str, object]) -> str:
    """Stand for what decides which program answers, and how it is started."""
    kept = {key: value for key, value in entry.items() if key not in ("enabled", "disabled", "timeout", "autoApprove")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()


def expanded(spec: ServerSpec, environ: Mapping[str, str], root: Path) -> ServerSpec:
    """Put the values of variables into a server's texts. One that names a variable which is not set, and has no default
    for it, cannot be used."""
    missing: list[str] = []
    known = {**environ, _FOLDER: str(root)}

    def value(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if known.get(name):
            return known[name]
        if default is None and name not in known:
            missing.append(name)
        return str(default or "")

    def put(text: str) -> str:
        return _VARIABLE.sub(value, text)

    full = _with_texts(spec, put)
    if missing and not spec.problem:
        names = ", ".join(one_line(name, 100) for name in list(dict.fromkeys(missing))[:_MOST_NAMED])
        return replace(full, problem=f"the variable {names} is not set: set it in the environment of your editor")
    return full


def _with_texts(spec: ServerSpec, put: Callable[[str], str]) -> ServerSpec:
    return replace(
        spec,
        command=put(spec.command),
        args=tuple(map(put, spec.args)),
        env={name: put(value) for name, value in spec.env.items()},
        cwd=Path(put(str(spec.cwd))) if spec.cwd is not None else None,
        url=put(spec.url),
        sign_in_url=put(spec.sign_in_url),
        headers={name: put(value) for name, value in spec.headers.items()},
    )
