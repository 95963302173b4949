"""`north-lsp import`: takes over logs of conversations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from north_lsp.display import counted, one_line
from north_lsp.server.options import Options
from north_lsp.storage.copying import Place
from north_lsp.storage.importing import NotImported, import_log
from north_lsp.storage.locations import Locations
from north_lsp.workspace.project_root import find_root, project_hash

_NAME_LENGTH = 60


def import_files(
    options: Options, files: list[str], *, salvage: bool, say: Callable[[str], None], complain: Callable[[str], None]
) -> int:
    """Copy logs into new conversations, and say the id of each. Returns 1 if one could not be taken over."""
    locations = Locations.from_environment(options.environ)
    root = find_root(options.path or Path.cwd()).resolve()
    place, code = Place(root, project_hash(root)), 0
    for file in files:
        path = Path(file).expanduser()
        try:
            got = import_log(locations, path.resolve(), place, salvage=salvage)
        except NotImported as refused:
            hint = "; --salvage copies what can be read" if refused.can_be_salvaged and not salvage else ""
            complain(f"{file}: {refused}{hint}")
            code = 1
        except FileNotFoundError:
            complain(f"file not found: {file}")
            code = 1
        except OSError as error:
            complain(f"{file}: {error.strerror or error}")
            code = 1
        else:
            left = f", {counted(got.left_out, 'line')} could not be read" if got.left_out else ""
            say(f"{got.id}  {got.messages:>4} messages  {one_line(got.name, _NAME_LENGTH)}{left}")
            for warning in got.warnings:
                complain(f"{file}: {warning}")
    return code
