"""A terminal program as a person sees it, in a tmux of its own: `with nvim_screen("a.py") as screen: ...`."""

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.e2e.nvim.bed import DEADLINE, nvim_binary, private_environment, until

_CONFIGURATION = """
set -g status off
set -g remain-on-exit on
set -g remain-on-exit-format ""
set -s escape-time 0
set -g default-terminal "tmux-256color"
set -ga terminal-features ",*:RGB"
"""


class Screen:
    """One program on one terminal of a given size."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        columns: int = 100,
        rows: int = 30,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start the program; a program that ends leaves its last screen standing."""
        self._folder = tempfile.TemporaryDirectory(prefix="north-e2e-tmux-")
        folder = Path(self._folder.name)
        configuration = folder / "tmux.conf"
        configuration.write_text(_CONFIGURATION)
        self._socket = folder / "tmux"
        self._tmux(
            *("-f", str(configuration), "new-session", "-d", "-x", str(columns), "-y", str(rows), "--"),
            *map(str, command),
            cwd=cwd,
            env=private_environment(folder, env or {}),
        )

    def keys(self, *keys: str) -> None:
        """Press keys by tmux's names: `keys("i", "Enter", "Escape", "C-w")`.

        Wait for what Escape does before the next key, or the program may take the two for one Alt chord.
        """
        self._tmux("send-keys", "--", *keys)

    def write(self, text: str) -> None:
        """Type a text as it is."""
        self._tmux("send-keys", "-l", "--", text)

    def paste(self, text: str) -> None:
        """Paste a text, which programs that know bracketed paste take as one change."""
        self._tmux("set-buffer", "--", text)
        self._tmux("paste-buffer", "-p", "-d")

    def text(self) -> str:
        """What the screen shows, one line a row, without trailing blanks."""
        return self._tmux("capture-pane", "-p")

    def colored(self) -> str:
        """What the screen shows, with the escape sequences of its colors."""
        return self._tmux("capture-pane", "-p", "-e")

    def wait_for(self, pattern: str, deadline: float = DEADLINE) -> re.Match[str]:
        """Wait until a regular expression (`^` and `$` match at rows) is on the screen, and return the match.

        Raises TimeoutError with the screen in its message.
        """
        return until(
            lambda: re.search(pattern, self.text(), re.MULTILINE),
            lambda: f"/{pattern}/ on the screen:\n{self.text()}",
            deadline,
        )

    def wait_until_gone(self, pattern: str, deadline: float = DEADLINE) -> None:
        """Wait until a regular expression is no longer on the screen; raises TimeoutError as `wait_for` does."""
        until(
            lambda: re.search(pattern, self.text(), re.MULTILINE) is None,
            lambda: f"/{pattern}/ to leave the screen:\n{self.text()}",
            deadline,
        )

    def wait_for_end(self, deadline: float = DEADLINE) -> None:
        """Wait until the program has ended; raises TimeoutError with the screen in its message."""
        until(
            lambda: self._tmux("display-message", "-p", "#{pane_dead}").strip() == "1",
            lambda: f"the program to end; the screen:\n{self.text()}",
            deadline,
        )

    def stop(self) -> None:
        """End the program and its tmux, and wait until the program is gone."""
        program = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        self._tmux("kill-server")
        until(lambda: not _is_running(program), lambda: f"process {program} to end after its terminal")
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _tmux(self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
        command = ["tmux", "-u", "-S", str(self._socket), *arguments]
        result = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)
        if result.returncode:
            raise RuntimeError(f"tmux {arguments[0]}: {result.stderr.strip()}")
        return result.stdout


def _is_running(pid: str) -> bool:
    """Whether a process lives; in a container nobody may reap it, and then its zombie stays."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def nvim_screen(
    *arguments: str,
    init: Path | None = None,
    columns: int = 100,
    rows: int = 30,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Screen:
    """The pinned Neovim on a screen: with no configuration and no plugins, or with `init` as the whole of it."""
    command = [nvim_binary(), "-n", "-i", "NONE", "-u", init or "NONE", *arguments]
    return Screen(command, columns=columns, rows=rows, cwd=cwd, env=env)
