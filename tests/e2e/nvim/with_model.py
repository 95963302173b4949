"""A Neovim whose server asks a scripted model."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.e2e.nvim.nvim_driver import Nvim
from tests.support.model_server import ModelServer

if TYPE_CHECKING:  # which has tests with a scripted model
    from tests.e2e.nvim.test_plugin import Bed


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as model:
        yield model


def asking(bed: "Bed", model: ModelServer) -> dict[str, str]:
    """The environment of a server that asks the model."""
    keys = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": model.url, "HOME": str(bed.folder)}
    switches = {"NORTH_DISCOVERY": "off", "NORTH_NO_TITLE": "1", "NORTH_NO_OFFER": "1"}
    return keys | switches | {"NORTH_MODEL": "anthropic/claude-sonnet-4-5"}


def nvim_with(bed: "Bed", model: ModelServer, init: str | None = None, **env: str) -> Nvim:
    """Start Neovim with a file of the sample open."""
    return bed.nvim(init=init, **env, **asking(bed, model))
