"""Which commands a tool does better."""

import pytest

from north_lsp.command_policy.interceptor import Better, Pattern, better_tool, without_quoted

TOOLS = frozenset({"read_file", "search_text", "find_files", "edit_replace_exact", "edit_create_file", "list_root"})


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        ("cat json/tool.py", "read_file"),
        ("head -20 json/tool.py", "read_file"),
        ("less a.py", "read_file"),
        ("grep -rn def json", "search_text"),
        ("rg def", "search_text"),
        ("find . -name '*.py'", "find_files"),
        ("fd py", "find_files"),
        ("sed -i s/a/b/ json/tool.py", "edit_replace_exact"),
        ("perl -pi -e s/a/b/ x", "edit_replace_exact"),
        ("awk -i inplace '{print}' x", "edit_replace_exact"),
        ("echo hi > new.txt", "edit_create_file"),
        ("echo hi | tee new.txt", "edit_create_file"),
        ("printf 'a' >> new.txt", "edit_create_file"),
        ("cat > new.txt <<'EOF'\nhi\nEOF", "edit_create_file"),
        ("ls", "list_root"),
        ("ls .", "list_root"),
    ],
)
def test_a_plain_command_that_a_tool_does_better_is_named(command: str, tool: str) -> None:
    found = better_tool(command, TOOLS)
    assert found is not None
    assert found.tool == tool
    assert better_tool(command, TOOLS - {tool}) is None
    assert better_tool(command, TOOLS, off=[found.name]) is None


@pytest.mark.parametrize(
    "command",
    [
        "cat json/tool.py | wc -l",
        "tail -n1 json/tool.py && true",
        "tail -f log",
        "ls -la json",
        "grep x < /dev/null",
        "echo hi",
        "echo hi > /dev/null",
        "find . -name x -delete",
        "sed -n 1p a",
        "echo hi | tee /dev/stderr",
        "echo hi | tee a | wc",
    ],
)
def test_other_commands_are_let_through(command: str) -> None:
    assert better_tool(command, TOOLS) is None


def test_own_patterns_come_first_and_do_not_see_quoted_texts() -> None:
    own = [Pattern(r"\bcat\b", Better("search_text", "mine"))]
    assert better_tool("cat a", TOOLS, own) == Better("search_text", "mine")
    assert better_tool("echo 'cat a'", TOOLS, own) is None
    assert better_tool("cat a", TOOLS - {"search_text"}, own) == better_tool("cat a", TOOLS)
    assert "secret" not in without_quoted("x 'secret' \"secret\" <<E\nsecret\nE\n")
    assert without_quoted("a <<E && b\nbody\nE\nc").split() == ["a", "<<", "c"]
