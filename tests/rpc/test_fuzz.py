"""A slice of the campaign of `tests.endurance.messages`."""

from pathlib import Path

import pytest

from tests.end_to_end.world import SERVER, make_world
from tests.endurance.messages import CARRIERS, Carrier, campaign


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_random_and_damaged_messages_are_survived(tmp_path: Path, carrier: Carrier) -> None:
    done = await campaign(make_world(tmp_path / "world"), carrier, 1000, 1, SERVER)
    assert done["received"] > 300
