"""Holds a process's providers to the rules as soon as it imports them, and keeps it from the files of whoever runs the
tests. Cheap: Python runs it at each start."""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

PROVIDERS = {
    "north_lsp.providers.catalog.extensions": "ExtensionProvider",
    "north_lsp.providers.offline.provider": "OfflineProvider",
    "north_lsp.providers.adapters.scripted": "ScriptedProvider",
}


def hold(provider: Any) -> None:
    """Check each request before it reaches a class of providers."""
    play = provider.stream
    if hasattr(play, "__wrapped__"):
        return

    def stream(self: object, request: Any) -> Any:
        if __package__:
            from tests.support.guard.judging import refused
        else:  # in a server's process, which cannot import the tests
            sys.path.append(__file__.rsplit("/tests/support/guard/", 1)[0])
            try:
                from tests.support.guard.judging import refused
            finally:
                sys.path.pop()
        return refused(request) or play(self, request)

    stream.__wrapped__ = play  # type: ignore[attr-defined]  # as functools.wraps does it, which is more to import
    provider.stream = stream


class _Finder:
    """Finds the modules of the providers where Python finds them, and applies `hold` to the providers in them."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in PROVIDERS:
            return None
        spec = PathFinder.find_spec(name, path, target)  # not `sys.meta_path`: another finder like this may be there
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_hold(module: ModuleType) -> None:
            execute(module)
            hold(getattr(module, PROVIDERS[name]))

        spec.loader.exec_module = execute_and_hold  # type: ignore[method-assign]  # of this one loader
        return spec


sys.meta_path.insert(0, _Finder())


def _home() -> str:
    """Return the folder of whoever runs the tests, whatever the environment says; `/` where that is unknown."""
    if sys.platform == "win32":
        return "/"
    import pwd

    return pwd.getpwuid(os.getuid()).pw_dir.rstrip("/") + "/"


_HOME = _home()
_REPOSITORY = __file__.rsplit("/tests/support/guard/", 1)[0] + "/"
_FREE = (_REPOSITORY, f"{sys.prefix}/", f"{_HOME}.cache/", os.path.join(os.environ.get("TMPDIR", "/tmp"), ""))
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "sqlite3.connect")


def _keep_from_the_users_files(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse to change files of whoever runs the tests, and record it."""
    if event == "open":
        path, _, flags = arguments
        if not isinstance(flags, int) or not flags & _WRITES:
            return
    elif event in _CHANGES:
        path = arguments[1] if event in ("os.rename", "os.link", "os.symlink") else arguments[0]
    else:
        return
    if not isinstance(path, str | bytes | os.PathLike):
        return
    name = os.path.abspath(os.fsdecode(path)) + "/"
    if name.startswith(_HOME) and not name.startswith(_FREE) and "/__pycache__/" not in name:
        if (record := os.environ.get("TESTS_REFUSED")) is not None:
            with open(record, "a", encoding="utf-8") as file:
                file.write(f"a test changes {name[:-1]!r} of the user's own files\n")
        raise PermissionError(13, "tests change nothing of the user's own", name[:-1])


if _HOME != "/":  # where nobody lives, everything would be the user's
    sys.addaudithook(_keep_from_the_users_files)
