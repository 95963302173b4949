"""Holds what North sends to models inside its own process to the vendors' rules, in every process that a test starts.

A scripted server is asked over HTTP and refuses requests itself (`model_server.py`). Providers in Python, the one that
plays a script and the offline model do not: for them, each request is written in every vendor's form and checked as
that vendor would. What would be refused is refused, and the test fails.

`path/sitecustomize.py` brings the guard into other processes: Python imports it if `PYTHONPATH` names its folder.
"""

import os
from pathlib import Path

RECORD = "TESTS_REFUSED"
"""The environment variable that names the file of refusals."""
JUDGED = "TESTS_JUDGED"
"""The environment variable, if set, that names a file to create as soon as a request has passed."""
_PATH = str(Path(__file__).parent / "path")


def environment(record: Path) -> dict[str, str]:
    """Return the variables for a process that is held to the rules and records what was refused in this file."""
    others = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder not in ("", _PATH)]
    return {"PYTHONPATH": os.pathsep.join([_PATH, *others]), RECORD: str(record)}


def take_refusals(record: Path) -> list[str]:
    """Return and forget what has been refused. A test that expects refusals takes them; any that are left fail it."""
    try:
        lines = record.read_text().splitlines()
    except FileNotFoundError:
        return []
    record.unlink()
    return lines
