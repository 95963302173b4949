"""Holds what North sends to models inside its own process to the vendors' rules, in every process that a test starts.

A scripted server is asked over HTTP and refuses by itself (`model_server.py`). A provider that is written in Python,
the one that plays a script and the offline model are not: what they are given is written as each vendor's request,
and looked at as the vendor would. What would be refused is refused, and the test fails for it.

`path/sitecustomize.py` brings the guard into other processes: Python imports it where `PYTHONPATH` names its folder.
"""

import os
from pathlib import Path

RECORD = "TESTS_REFUSED"
"""The variable that names the file of refusals."""
JUDGED = "TESTS_JUDGED"
"""The variable, if it is set, that names a file which is there as soon as a request has passed."""
_PATH = str(Path(__file__).parent / "path")


def environment(record: Path) -> dict[str, str]:
    """What a process is started with, so that it is held to the rules and writes what was refused into this file."""
    others = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder not in ("", _PATH)]
    return {"PYTHONPATH": os.pathsep.join([_PATH, *others]), RECORD: str(record)}


def take_refusals(record: Path) -> list[str]:
    """What has been refused since it was asked last. A test that expects a refusal asks; what is left fails it."""
    try:
        lines = record.read_text().splitlines()
    except FileNotFoundError:
        return []
    record.unlink()
    return lines
