"""SIGKILL in the middle of a batch: after a recovery every file is the old one or the new one, and all are alike."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[3]


MEMORY = Path("/dev/shm")


def run(*arguments: str) -> dict[str, Any]:
    """In a process of its own: forking needs one without threads. Files in memory are as good, only faster."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        command = [sys.executable, "-m", "tests.support.kills", folder, *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_a_batch_killed_at_any_instant_is_applied_whole_or_not_at_all() -> None:
    done = run("instants", "220", "7")
    assert done["killed"] >= 200
    assert done["halfway"] > 20
    assert done["applied"] > 0


@pytest.mark.slow
def test_a_batch_killed_before_any_system_call_is_applied_whole_or_not_at_all() -> None:
    done = run("calls")
    assert done["killed"] > 100
    assert done["recoveries killed"] > 100
