import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from north_lsp.storage.conversation import Conversation
from north_lsp.storage.locations import Locations
from north_lsp.storage.noting import take_notes

REPOSITORY = Path(__file__).parents[2]

Child = Callable[..., "subprocess.Popen[str]"]
New = Callable[..., Conversation]
Notes = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def store(tmp_path: Path) -> Locations:
    return Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")


@pytest.fixture
def new(store: Locations, tmp_path: Path) -> New:
    """A new conversation in the store, in memory."""

    def make(cwd: Path = tmp_path, repo_hash: str = "0" * 16) -> Conversation:
        return Conversation.create(
            store, repo_root=cwd, repo_hash=repo_hash, cwd=cwd, model="test/model", client=None, north_version="0.1.0"
        )

    return make


@pytest.fixture
def notes() -> Iterator[Notes]:
    """What storage tells North's log."""
    told: Notes = []

    def take(level: str, event: str, /, **data: object) -> None:
        told.append((event, data))

    take_notes(take)
    yield told
    take_notes(lambda level, event, /, **data: None)


@pytest.fixture
def child(store: Locations) -> Iterator[Child]:
    """Start a Python program with `store` in its names; it is killed at the end."""
    started: list[subprocess.Popen[str]] = []
    prelude = f"""
import os, sys
from pathlib import Path
from north_lsp.storage.locations import Locations
from north_lsp.storage.conversation import Conversation, ConversationBusy
store = Locations(Path({str(store.config)!r}), Path({str(store.data)!r}), Path({str(store.state)!r}))
def user(text):
    return {{"role": "user", "content": [{{"type": "text", "text": text}}]}}
def create():
    return Conversation.create(store, repo_root=Path("/p"), repo_hash="0", cwd=Path("/p"), model="m", client=None,
        north_version="0")
"""

    def start(program: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", prelude + program],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
