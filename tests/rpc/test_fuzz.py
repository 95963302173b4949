"""A slice of the campaign of `tests.endurance.messages`."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.world import SERVER, make_world
from tests.endurance.messages import CARRIERS, campaign
from tests.endurance.mutant import Carrier


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_random_and_damaged_messages_are_survived(tmp_path: Path, carrier: Carrier) -> None:
    done = await campaign(make_world(tmp_path / "world"), carrier, 1000, 1, SERVER)
    assert done["received"] > 300


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ("import sys; sys.exit('no more memory')", r"exited with 1 and said: no more memory"),
        ("print('[1]', flush=True); import time; time.sleep(1000)", r"this is no message: 1"),
    ],
    ids=["gone", "nonsense"],
)
async def test_a_server_that_is_gone_or_says_nonsense_is_told_of_at_once(tmp_path: Path, server: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        await campaign(make_world(tmp_path / "world"), "acp", 1, 1, [sys.executable, "-I", "-c", server])
