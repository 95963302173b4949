"""What both ways of driving Neovim share: the binary, an environment that leaves the user's own alone, and waiting."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")

DEADLINE = float(os.environ.get("NORTH_E2E_DEADLINE_MS", "60000")) / 1000
"""How long one wait may take, in seconds: far above what it takes here, so that a busy machine is not a failure."""


def nvim_binary() -> Path:
    """The pinned nvim, set up first when it is not there yet; `NORTH_E2E_NVIM` names another one."""
    other = os.environ.get("NORTH_E2E_NVIM")
    return Path(other) if other else _pinned()


@cache
def _pinned() -> Path:
    setup = Path(__file__).parents[1] / "setup-nvim.sh"
    folder = subprocess.run([setup], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return Path(folder) / "bin" / "nvim"


def private_environment(folder: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """This process's environment, with the user's configuration, data and logs kept in a folder of the test's."""
    names = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
    private = {name: str(folder / name.lower()) for name in names}
    for path in private.values():
        Path(path).mkdir(mode=0o700, exist_ok=True)
    # Set inside an editor's or tmux's own terminal, these would attach the test to it.
    inherited = {name: value for name, value in os.environ.items() if name not in {"NVIM", "TMUX", "VIMRUNTIME"}}
    return {**inherited, "LANG": "C.UTF-8", **private, **extra}


def until(
    ask: Callable[[], Answer | None], failure: Callable[[], str], deadline: float = DEADLINE, pause: float = 0.02
) -> Answer:
    """Ask again, every `pause` seconds, until there is a truthy answer, and return it.

    Raises TimeoutError with the failure's text when the deadline passes first.
    """
    end = time.monotonic() + deadline
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > end:
            raise TimeoutError(f"waited {deadline:g} s in vain for {failure()}")
        time.sleep(pause)
