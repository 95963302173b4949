"""Notices for clients that show nothing between two prompts."""

from typing import Any

import pytest

from north_lsp.acp.held_notices import HeldNotices, holds_notices
from north_lsp.acp.initialize import Client


@pytest.mark.parametrize(
    ("client", "holds"),
    [
        (Client("JetBrains.PyCharm"), True),
        (Client("JetBrains.PyCharm", shows_notices=True), False),
        (Client("zed"), False),
        (Client(), False),
    ],
)
def test_who_shows_nothing_between_prompts(client: Client, holds: bool) -> None:
    assert holds_notices(client) == holds


async def test_what_comes_between_prompts_waits_for_the_next_one() -> None:
    held, sent = HeldNotices(), list[dict[str, Any]]()

    async def send(params: dict[str, Any]) -> None:
        sent.append(params)

    for number in range(21):
        assert held.takes({"number": number})
    async with held.prompting(send), held.prompting(send):  # a second prompt waits for the first
        assert [one["number"] for one in sent] == list(range(1, 21))  # the newest
        assert not held.takes({})
    assert held.takes({"number": 30})
    sent.clear()
    async with held.prompting(send):
        assert sent == [{"number": 30}]
