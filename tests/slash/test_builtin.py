"""What the built-in commands say of costs."""

from collections.abc import Sequence

import anyio
import pytest

from north_lsp.display import money
from north_lsp.slash.base import Command, Costs, Reply, Spent
from north_lsp.slash.builtin import COMMANDS
from north_lsp.slash.registry import Commands


class Host:
    async def costs(self) -> Costs:
        rows = [Spent("a/one", 1000, 20, 1.5), Spent("a/two", 10, 1, 0.0, priced=False), Spent("b/x", 5, 5, 0.25)]
        return Costs(rows[:1], rows, [("2026-01-02", 3.0)])


def test_costs_are_grouped_with_totals_and_unknown_prices_are_named() -> None:
    command = next(one for one in COMMANDS if one.name == "costs")

    async def run() -> Reply:
        return await command.run(Host(), ())

    text = anyio.run(run).text
    assert text.split("\n") == [
        "**This conversation**",
        "- `a/one`: 1,000 tokens in, 20 out, $1.50",
        "- **Total: $1.50**",
        "",
        "**All time**",
        "- a: $1.50+?",
        "  - `a/one`: 1,000 tokens in, 20 out, $1.50",
        "  - `a/two`: 10 tokens in, 1 out, $0.00+?",
        "- `b/x`: 5 tokens in, 5 out, $0.25",
        "- **Total: $1.75+?**",
        "- no price is known for `a/two`",
        "",
        "**Last days**",
        "- 2026-01-02: $3.00",
    ]


class Unstored:
    async def costs(self) -> Costs:
        return Costs([], [], [], "The costs could not be stored")


def test_it_is_said_that_costs_could_not_be_stored() -> None:
    command = next(one for one in COMMANDS if one.name == "costs")

    async def run() -> Reply:
        return await command.run(Unstored(), ())

    assert anyio.run(run).text.endswith("\n\nThe costs could not be stored")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "$0.00"),
        (0.0001, "<$0.001"),
        (0.001, "$0.001"),
        (0.0094, "$0.009"),
        (0.5, "$0.50"),
        (99.99, "$99.99"),
        (1234.5, "$1,234"),
    ],
)
def test_amounts(amount: float, text: str) -> None:
    assert money(amount) == text


def test_a_second_command_of_one_name_is_left_out() -> None:
    async def run(host: object, words: Sequence[str]) -> Reply:
        return Reply("mine")

    commands = Commands([Command("undo", "another", run)])
    assert commands.problems == ["there is already a command /undo"]
    assert "/undo" in commands.unknown("udno")
