"""What a plan says of itself."""

import pytest

from north_lsp.agent.planning.plan_text import name_of


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# Goal\n\nThe cache is bounded.\nIt is tested.\n# Steps\n1. a\n", "The cache is bounded"),
        ("# migrate-mcp_loader\n# Goal\nx\n", "Migrate mcp loader"),
        ("# Goal\nx\n## Re-index the files\n", "Re-index the files"),
        ("# Goal:\n`config.json` has **one** reader\n", "Config.json has one reader"),
        ("# Goal\n# Findings\nNone.\n", ""),
        ("", ""),
        ("# Goal\n" + "word " * 50, "Word word word word word word word word word word word word…"),
    ],
)
def test_a_plan_names_its_conversation(text: str, name: str) -> None:
    assert name_of(text) == name
