"""Stands in for macOS's `sandbox-exec`: notes how it was called and, for Python, refuses what the profile refuses.

`python -m tests.support.sandbox_exec RECORD MODE [arguments of sandbox-exec]`. With the mode `hold` Python's
programs run here, with a hook that asks the profile before files, sockets and signals; with the name of one of the
hook's events, that one passes; with `none`, everything does. Other programs run as they are.
"""

import json
import os
import sys
from typing import Any

from tests.support.sbpl import Rules, of_command


class _Hook:
    """Refuses what the rules refuse. `lets` is one event that passes."""

    def __init__(self, rules: Rules, lets: str) -> None:
        self._rules = rules
        self._lets = lets

    def _ask(self, operation: str, path: Any) -> None:
        real = os.path.realpath(os.fsdecode(path))
        if not self._rules.allows(operation, real):
            raise PermissionError(1, "Operation not permitted", real)

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event == self._lets:
            return
        match event, args:
            case "open", (str() | bytes() as path, _, int(flags)):
                self._ask("file-write-data" if flags & os.O_ACCMODE else "file-read-data", path)
            case "os.rename", (source, target, *_):
                self._ask("file-write-unlink", source)
                self._ask("file-write-create", target)
            case "os.remove", (path, *_):
                self._ask("file-write-unlink", path)
            case "os.link", (source, _, *_):
                self._ask("file-link", source)
            case "os.chmod", (path, *_):
                self._ask("file-write-mode", path)
            case "os.utime", (path, *_):
                self._ask("file-write-times", path)
            case (("socket.connect" | "socket.bind"), _):
                self._ask("network-outbound" if event == "socket.connect" else "network-bind", "/somewhere")
            case "os.kill", _:
                self._ask("signal", "/another")
            case "subprocess.Popen", (_, [*_, str(last)], *_) if last.startswith("/"):
                self._ask("file-write-create", last)


def main(record: str, mode: str, argv: list[str]) -> None:
    profile, parameters, command = of_command(["sandbox-exec", *argv])
    with open(record, "a", encoding="utf-8") as file:
        file.write(json.dumps(argv) + "\n")
    if not command[0].endswith("bash") and mode != "none":
        code = compile(command[-1], "<command>", "exec")
        sys.addaudithook(_Hook(Rules(profile, parameters), mode))
        exec(code, {"__name__": "__main__"})
        return
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
