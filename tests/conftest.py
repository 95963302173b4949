"""Fixtures that several rooms share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.end_to_end.world import World, make_world
from tests.support.model_server import ModelServer

# How fast the machine is tells nothing about the code: on a busy one, examples take as long as they take.
settings.register_profile("north", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("north")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, server: ModelServer) -> World:
    """A real project, and the scripted model behind Anthropic's real format."""
    return make_world(tmp_path / "world", server.url)
