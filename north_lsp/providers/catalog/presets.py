"""Ready-made providers for models.yml. Existing lines stay as they were written: a provider is only added, or the lines
of one provider are replaced. Pure, except for `presets`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.models_file import ModelsFileError, check_models_text


class PresetError(ValueError):
    """A preset cannot be written as requested; the text is one line for the user."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A ready-made provider. `id` is its default id; `entry` is YAML, with `{address}` in it if it needs an address."""

    name: str
    id: str
    entry: str
    aliases: tuple[str, ...] = ()

    @property
    def wants_address(self) -> bool:
        return "{address}" in self.entry

    @property
    def address(self) -> str:
        """Where its requests go, for people."""
        written = next(line.partition(": ")[2] for line in self.entry.splitlines() if line.startswith("baseUrl: "))
        return "a server of your own" if self.wants_address else written


@cache
def presets() -> tuple[Preset, ...]:
    import tomllib

    data = tomllib.loads(Path(__file__).with_name("presets.toml").read_text("utf-8"))
    rows = data.items()
    return tuple(Preset(name, row["id"], row["entry"].strip(), tuple(row.get("aliases", ()))) for name, row in rows)


def find_preset(name: str) -> Preset:
    """Return the preset with this name or alias. Raises PresetError that lists the names."""
    for preset in presets():
        if name in (preset.name, *preset.aliases):
            return preset
    names = ", ".join(" or ".join((preset.name, *preset.aliases)) for preset in presets())
    raise PresetError(f"there is no preset {name!r}; there are {names}")


def has_provider(text: str, id: str) -> bool:
    return _lines_of(text.split("\n"), id) is not None


def with_provider(path: Path, text: str, preset: Preset, id: str, address: str | None, *, replace: bool) -> str:
    """Return the text of models.yml with the preset under this id. Raises PresetError if the result would not be valid,
    or if the id already exists and must not be replaced."""
    entry = preset.entry
    if preset.wants_address:
        if not address:
            raise PresetError(f"the preset {preset.id} needs --address URL, for example http://127.0.0.1:8000/v1")
        if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
            raise PresetError(f"{address!r} is not an address like http://127.0.0.1:8000/v1")
        entry = entry.replace("{address}", address.rstrip("/"))
    if path.suffix in (".json", ".jsonc"):
        raise PresetError(
            f"{path} is JSON, which North does not edit: add the provider {id} there, or write models.yml"
        )
    lines = text.split("\n")
    known = _lines_of(lines, id)
    if known is not None and not replace:
        raise PresetError(f"{path} has a provider {id} already: replace it, or choose another name")
    head = next((at for at, line in enumerate(lines) if re.match(r"providers:\s*(#.*)?$", line)), None)
    if head is None:
        lines = [*lines[:-1], "providers:", ""] if not lines[-1] else [*lines, "providers:", ""]
        head = len(lines) - 2
    indent = _indent(lines, head)
    block = [f"{indent}{id}:", *(f"{indent}  {line}" for line in entry.split("\n"))]
    if known is not None:
        lines[known.start : known.stop] = block
    else:
        lines[head + 1 : head + 1] = block
    changed = "\n".join(lines)
    try:
        check_models_text(path, changed)
    except ModelsFileError as error:
        raise PresetError(
            f"the provider cannot be added to the file as it is ({error.problem}): fix it first"
        ) from None
    return changed


def difference(path: Path, before: str, after: str) -> str:
    import difflib

    rows = difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm="", n=1)
    return "\n".join(rows)


def _indent(lines: list[str], head: int) -> str:
    """Return the indentation of the existing providers, two spaces if there are none."""
    for line in lines[head + 1 :]:
        if line.strip() and not line.lstrip().startswith("#"):
            found = re.match(r" +", line)
            return found[0] if found is not None else "  "
    return "  "


def _lines_of(lines: list[str], id: str) -> slice | None:
    """Return the range of lines of a provider's entry, None if there is none."""
    head = next((at for at, line in enumerate(lines) if re.match(r"providers:\s*(#.*)?$", line)), None)
    if head is None:
        return None
    indent = _indent(lines, head)
    for at in range(head + 1, len(lines)):
        if lines[at].strip() and not lines[at].startswith(" ") and not lines[at].startswith("#"):
            return None
        if re.match(rf"{indent}[\"']?{re.escape(id)}[\"']?:", lines[at]):
            end = at + 1
            while end < len(lines) and (not lines[end].strip() or lines[end].startswith(f"{indent} ")):
                end += 1
            while not lines[end - 1].strip():
                end -= 1
            return slice(at, end)
    return None
