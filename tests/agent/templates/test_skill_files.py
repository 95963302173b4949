"""What is read at `skill://…`: files of a skill's folder, and nothing else."""

from pathlib import Path

import pytest

from north_lsp.agent.context.mentions import with_mentions
from north_lsp.agent.log.prompt import Attached, TextPart
from north_lsp.agent.templates.conversation_templates import ConversationTemplates
from north_lsp.errors import ToolError
from north_lsp.storage.locations import Locations
from north_lsp.storage.trust import Trust
from north_lsp.workspace.workspace import Addresses
from tests.support.workspaces import make_workspace

HEAD = "---\ndescription: Bakes\n---\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    skill = root / ".north/skills/bake"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"{HEAD}Bake it.")
    (skill / "more").mkdir()
    (skill / "more/steps.md").write_text("Knead.")
    (root / "notes.md").write_text("Outside of the skill.")
    (tmp_path / "secret.txt").write_text("Outside of the project.")
    return root


def templates_of(root: Path) -> ConversationTemplates:
    locations = Locations(root.parent / "config", root.parent / "data", root.parent / "state")
    return ConversationTemplates(
        make_workspace(root), locations, {"HOME": str(root.parent)}, Trust(locations, "project"), ()
    )


def test_the_files_of_a_skill_are_read(project: Path) -> None:
    templates = templates_of(project)
    assert templates.skill("bake") == "Bake it."
    assert templates.skill("BAKE/more/steps.md") == "Knead."
    assert templates.skill("bake/more%2Fsteps.md") == "Knead."
    assert templates.skill_path("bake/more/steps.md") == project / ".north/skills/bake/more/steps.md"


@pytest.mark.parametrize(
    "rest",
    [
        "../../../notes.md",
        "%2e%2e/%2e%2e/%2e%2e/notes.md",
        "more/../../../../notes.md",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "~/secret.txt",
        "file:///etc/passwd",
        "linked.md",
        "out.txt",
        "folder/notes.md",
        "a%00b",
        "%ff%fe",
        "x" * 5000,
        "more",
        "none.md",
    ],
)
def test_nothing_else_is(project: Path, rest: str) -> None:
    skill = project / ".north/skills/bake"
    (skill / "linked.md").symlink_to(project / "notes.md")
    (skill / "out.txt").symlink_to(project.parent / "secret.txt")
    (skill / "folder").symlink_to(project)
    templates = templates_of(project)
    for read in (templates.skill, templates.skill_path):
        with pytest.raises(ToolError) as refused:
            read(f"bake/{rest}")
        assert "Outside" not in str(refused.value)


def test_a_file_that_is_closed_is_closed_here_too(project: Path) -> None:
    (project / ".north/skills/bake/token.md").write_text("Nobody reads this.")
    (project / ".northignore").write_text("token.md\n")
    templates = templates_of(project)
    for read in (templates.skill, templates.skill_path):
        with pytest.raises(ToolError, match="is closed"):
            read("bake/token.md")
    with pytest.raises(ToolError) as refused:
        templates.skill("bake/none.md")
    assert "token" not in (refused.value.hint or "")


def test_a_skill_that_is_a_link_reads_no_folder_but_its_own(project: Path) -> None:
    other = project / ".north/skills/other"
    other.mkdir()
    (project / "docs").mkdir()
    (project / "docs/text.md").write_text(f"{HEAD}Look.")
    (project / "docs/private.md").write_text("Outside of the skill.")
    (other / "SKILL.md").symlink_to(project / "docs/text.md")
    with pytest.raises(ToolError):
        templates_of(project).skill("other/private.md")


def test_a_skill_of_the_users_own_may_be_a_link(project: Path) -> None:
    real = project.parent / "dotfiles/knit"
    real.mkdir(parents=True)
    (real / "SKILL.md").write_text(f"{HEAD}Knit it.")
    (real / "more.md").write_text("Purl.")
    own = project.parent / "config/skills"
    own.mkdir(parents=True)
    (own / "knit").symlink_to(real)
    (project / ".claude/skills").mkdir(parents=True)
    (project / ".claude/skills/theirs").symlink_to(real)
    templates = templates_of(project)
    assert templates.skill("knit/more.md") == "Purl."
    with pytest.raises(ToolError, match="there is no skill"):
        templates.skill("theirs/more.md")


def test_what_systems_put_beside_files_is_no_skill(project: Path) -> None:
    (project / ".north/skills/.trash").mkdir()
    (project / ".north/skills/.trash/SKILL.md").write_text(f"{HEAD}Old.")
    commands = project / ".north/commands"
    commands.mkdir()
    (commands / "._check.md").write_bytes(b"\x00\x05\x16\x07")
    (commands / "check.md").write_text("Check.")
    found = {one.name for one in templates_of(project)._load().all if one.level == "project"}
    assert found == {"skill:bake", "check"}


def test_of_a_package_in_a_repository_what_is_above_it_counts(project: Path) -> None:
    (project / ".git").mkdir()
    package = project / "packages/web"
    for folder, text in ((project, "Top."), (project / "packages", "Nearer."), (package, "Own.")):
        (folder / ".claude/commands").mkdir(parents=True)
        (folder / ".claude/commands/check.md").write_text(text)
        (folder / f".claude/commands/of-{folder.name}.md").write_text(text)
    found = {one.name: one for one in templates_of(package)._load().all if one.level == "project"}
    assert set(found) == {"check", "of-web", "of-repo", "skill:bake"}
    callable = {one.name: one.body for one in templates_of(package)._load().used if one.level == "project"}
    assert callable["check"] == "Own."
    (package / ".claude/commands").rename(package / ".claude/old")
    callable = {one.name: one.body for one in templates_of(package)._load().used if one.level == "project"}
    assert callable["check"] == "Nearer."
    assert set(callable) == {"check", "of-packages", "of-repo", "skill:bake"}
    assert templates_of(package).skill("bake/more/steps.md") == "Knead."
    (project / ".northignore").write_text("steps.md\n")
    with pytest.raises(ToolError, match="is closed"):
        templates_of(package).skill("bake/more/steps.md")


async def test_a_skill_is_attached_by_its_name(project: Path) -> None:
    workspace = make_workspace(project, addresses=Addresses(skills=templates_of(project)))
    parts = await with_mentions((TextPart("Follow @skill:bake and @skill:bake/more/steps.md"),), workspace)
    assert parts[1:] == (Attached("skill://bake", "Bake it."), Attached("skill://bake/more/steps.md", "Knead."))
