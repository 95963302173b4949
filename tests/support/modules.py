"""Which modules of the package can be imported where the tests run."""

import sys

_OF_WINDOWS = ("north_lsp.systems.windows.native", "north_lsp.systems.windows.system")


def is_for_here(module: str) -> bool:
    """Return whether a module is for the system that this is."""
    return module != "north_lsp.systems.posix" if sys.platform == "win32" else module not in _OF_WINDOWS
