"""Worlds and model servers for the end-to-end scenarios."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.model_server import ModelServer

from tests.end_to_end.world import World, make_world


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, server: ModelServer) -> World:
    """A real project, and the scripted model behind Anthropic's real format."""
    return make_world(tmp_path / "world", server.url)


@pytest.fixture
def offline(tmp_path: Path) -> World:
    """A real project and no key."""
    return make_world(tmp_path / "world")
