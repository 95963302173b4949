"""`north-lsp doctor --bundle`: a zip for a report of a problem. Secrets are masked; conversations are asked about."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path

from north_lsp import systems
from north_lsp.display import visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.server.options import Options
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_regular
from north_lsp.storage.locations import Locations
from north_lsp.storage.masking import is_secret_name, masked

_LOG_BYTES = 2 * 1024 * 1024
_MOST_CRASHES = 10
_CONFIGURATION = ("config.json", "config.yml", "models.yml", "mcp.json", "lsp.json")
_MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Masking:
    """What is left out of a report: secrets, and the home folder."""

    secrets: frozenset[str]
    homes: Sequence[str]

    @classmethod
    def of(cls, options: Options, locations: Locations) -> Masking:
        home = os.path.expanduser("~")
        homes = {home, os.path.realpath(home)} - {"/", "~"}
        return cls(frozenset(_known_secrets(options, locations)), sorted(homes, key=len, reverse=True))

    def masked(self, text: str) -> str:
        text = masked(text, self.secrets)
        for home in self.homes:
            text = text.replace(home, "~")
        return text


def write_bundle(
    options: Options,
    target: str,
    conversation: str | None,
    report: str,
    ask: Callable[[str], str],
    say: Callable[[str], None],
    complain: Callable[[str], None],
) -> int:
    """Write the zip and say what is in it. Returns the exit code."""
    locations = Locations.from_environment(options.environ)
    path = Path(target or f"north-report-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip").expanduser().absolute()
    if conversation is not None and not _is_stored(locations, conversation):
        complain(f"there is no conversation {conversation!r}")
        return 1
    masking = Masking.of(options, locations)
    parts = dict(_parts(locations, report))
    if conversation is not None:
        question = f"Put the whole conversation {conversation} into the bundle, with your files' contents? Type yes: "
        if ask(question).strip().lower() == "yes":
            parts[f"conversations/{conversation}.jsonl"] = _read(locations.conversations / f"{conversation}.jsonl")
        else:
            say("The conversation is left out.")
    try:
        fd = systems.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.CLOEXEC, 0o600)
        with open(fd, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, text in parts.items():
                bundle.writestr(name, masking.masked(text))
    except FileExistsError:
        complain(f"{path} exists already: choose another name")
        return 1
    except OSError as error:
        complain(f"{path} could not be written: {error.strerror or error}")
        return 1
    say(f"Written: {visible(str(path))}")
    for name, text in parts.items():
        say(f"  {visible(name)}  {len(text):,} characters")
    say("Secrets that North recognizes are masked. Read it before you send it to anybody.")
    return 0


def _parts(locations: Locations, report: str) -> Iterator[tuple[str, str]]:
    yield "doctor.txt", report
    versions = sorted({f"{one.metadata['Name']} {one.version}" for one in distributions()}, key=str.lower)
    yield "versions.txt", "\n".join(versions)
    for name in _CONFIGURATION:
        with suppress(OSError):
            text = read_regular(locations.config / name, MAX_CONFIG_BYTES).decode("utf-8", "replace")
            yield f"config/{name}", text
    with suppress(OSError), locations.log_file.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_BYTES))
        yield "north.log", file.read().decode("utf-8", "replace")
    with suppress(OSError):
        for path in sorted(locations.crashes.glob("*.txt"))[-_MOST_CRASHES:]:
            yield f"crash/{path.name}", _read(path)


def _known_secrets(options: Options, locations: Locations) -> set[str]:
    """Return the values that are secrets by where they are: stored keys and tokens, variables with such names."""
    found = {value for name, value in options.environ.items() if is_secret_name(name)}
    with suppress(OSError):
        store = CredentialStore(locations)
        found |= {*store.sign_in_tokens(), *(key.secret for key in store.all_keys())}
    return {value for value in found if not re.fullmatch(r"[/~].*|\d+|on|off|true|false", value)}


def _is_stored(locations: Locations, id: str) -> bool:
    return valid_conversation_id(id) and (locations.conversations / f"{id}.jsonl").is_file()


def _read(path: Path) -> str:
    return read_regular(path, _MOST_BYTES).decode("utf-8", "replace")
