"""Names behind an `@` in a prompt: what they mean, and what remains text."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.context.mentions import Mentioned, find_mentions, with_mentions
from north_lsp.agent.log.prompt import Attached, FileLink, Part, TextPart
from north_lsp.errors import ToolError
from north_lsp.workspace.workspace import Addresses, Workspace
from tests.support.workspaces import make_workspace


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see @a.py", Mentioned("a.py")),
        ("(@a.py)", Mentioned("a.py")),
        ("@src/a.py:3-9, please", Mentioned("src/a.py", (3, 9))),
        ("@src/a.py:3", Mentioned("src/a.py", (3, 3))),
        ("@src/a.py#L3-L9", Mentioned("src/a.py", (3, 9))),
        ("@a.py:9-3", Mentioned("a.py", (9, 9))),
        ('@"a b.md"', Mentioned("a b.md")),
        ('@"a b.md:2-4"', Mentioned("a b.md", (2, 4))),
        ("@docs/", Mentioned("docs/")),
        ("is it @a.py?", Mentioned("a.py")),
    ],
)
def test_what_is_mentioned(text: str, found: Mentioned) -> None:
    assert found in find_mentions(text)


@pytest.mark.parametrize("text", ["me@example.org", "`@a.py`", "a/@b", "@", "@@a.py", "@ a.py", "no mention"])
def test_what_is_no_mention(text: str) -> None:
    assert find_mentions(text) == []


@given(st.text(alphabet="@ab./:-#L0123456789 \"'`,\n", max_size=200))
def test_any_text_can_be_looked_through(text: str) -> None:
    for one in find_mentions(text):
        assert one.name in text
        assert one.lines is None or 0 < one.lines[0] <= one.lines[1]


class Skills:
    def skill(self, address: str) -> str:
        if address != "pdf":
            raise ToolError("NOT_FOUND", "there is no such skill")
        return "How to read them."

    def skill_path(self, address: str) -> Path:
        raise ToolError("NOT_FOUND", "it has no file")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "repo"
    for name in ("a.py", "src/b.py", "secret", "a b.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1\n")
    (root / ".northignore").write_text("secret\n")
    (tmp_path / "outside").write_text("1\n")
    (root / "link").symlink_to(tmp_path / "outside")
    return make_workspace(root, addresses=Addresses(skills=Skills()))


async def added(workspace: Workspace, text: str, *more: Part) -> list[tuple[str, tuple[int, int] | None]]:
    parts = (TextPart(text), *more)
    found = await with_mentions(parts, workspace)
    assert found[: len(parts)] == parts
    root = workspace.roots.main
    return [
        (str(Path(one.path).relative_to(root)), one.lines) if isinstance(one, FileLink) else (one.name, None)
        for one in found[len(parts) :]
        if isinstance(one, FileLink | Attached)
    ]


async def test_files_folders_and_skills_are_attached_once(workspace: Workspace) -> None:
    text = 'Look at @a.py, @a.py and @src/b.py:1-2 (and @"a b.md") in @src/ with @skill:pdf.'
    assert await added(workspace, text) == [
        ("a.py", None),
        ("src/b.py", (1, 2)),
        ("a b.md", None),
        ("src", None),
        ("skill://pdf", None),
    ]


async def test_rules_and_conversations_are_attached_by_their_names(workspace: Workspace) -> None:
    def named(name: str) -> str:
        if name != "web/style":
            raise ToolError("NOT_FOUND", "there is none")
        return "Be brief."

    found = await with_mentions(
        (TextPart("Follow @rule:web/style, @rule:other and @conversation:web/style."),),
        replace(workspace, addresses=Addresses(rule=named, conversations=named)),
    )
    assert found[1:] == (Attached("rule://web/style", "Be brief."), Attached("conversation://web/style", "Be brief."))
    assert await added(workspace, "@rule:web/style") == []


async def test_what_is_attached_already_is_not_attached_again(workspace: Workspace) -> None:
    assert await added(workspace, "@a.py", FileLink((workspace.roots.main / "a.py").as_uri())) == []


@pytest.mark.parametrize(
    "name", ["secret", "../outside", "link", "/etc/passwd", "src", "gone.py", "property", "skill:other", "a.py/"]
)
async def test_what_is_closed_outside_or_not_there_remains_text(workspace: Workspace, name: str) -> None:
    assert await added(workspace, f"@{name}") == []
