"""What tools of servers are called."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.servers.names import tool_name, tool_names


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("git", "git_log", "mcp_git_log"),
        ("git", "log", "mcp_git_log"),
        ("GitHub", "get-Issue.2", "mcp_github_get_issue_2"),
        ("a__b", "--c--", "mcp_a_b_c"),
        ("files", "files", "mcp_files_files"),
        ("s3", "list2", "mcp_s3_list2"),
    ],
)
def test_names_have_plain_characters_and_the_server_once(server: str, tool: str, name: str) -> None:
    assert tool_name(server, tool) == name


def test_long_names_are_cut_and_stay_apart() -> None:
    one, other = (tool_name("server", f"{'x' * 100}{end}") for end in "ab")
    assert len(one) <= 64
    assert one != other


def test_a_name_that_is_taken_gets_a_number_and_that_is_said() -> None:
    names, warnings = tool_names([("a", "b"), ("a", "B"), ("a", "b!")], ["mcp_a_b"])
    assert names == ["mcp_a_b_2", "mcp_a_b_3", "mcp_a_b_4"]
    assert len(warnings) == 3
    assert "mcp_a_b is taken" in warnings[0]


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=120)), max_size=8))
def test_all_names_differ_and_every_vendor_accepts_them(tools: list[tuple[str, str]]) -> None:
    names, _ = tool_names(tools)
    assert len(set(names)) == len(tools)
    assert all(re.fullmatch(r"[a-z0-9_]{1,64}", name) for name in names)
