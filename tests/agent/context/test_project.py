"""What is found in folders: of several roots, above them, too much of it, twice, and what is told of it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from north_lsp.agent.context.documents import size_of
from north_lsp.agent.context.files import MAX_BYTES, MAX_TOTAL_BYTES
from north_lsp.agent.context.own_prompt import model_hint
from north_lsp.agent.context.project import ProjectContext, load_project
from north_lsp.agent.context.report import Report, context_items
from north_lsp.agent.context.rules import Rule, parse_rule
from north_lsp.agent.context.system_prompt import joined, system_sections
from north_lsp.agent.context.telling import MAX_BYTES as MAX_TOLD
from north_lsp.agent.context.telling import rules_for
from north_lsp.storage.locations import Locations
from north_lsp.workspace.paths import Roots
from tests.support.workspaces import make_workspace


class Disk:
    """Folders of a user and of a project, and what is read of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.locations = Locations(self.folder / "config", self.folder / "data", self.folder / "state")

    def write(self, files: Mapping[str, str]) -> "Disk":
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return self

    def load(self, *roots: str, trusted: bool | None = None, disabled: tuple[str, ...] = ()) -> ProjectContext:
        folders = [self.folder / root for root in roots or ("repo",)]
        for one in folders:
            one.mkdir(parents=True, exist_ok=True)
        workspace = make_workspace(Roots.of(*folders))
        return load_project(workspace, self.locations, self.folder / "home", disabled, trusted)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def system(project: ProjectContext, most: int = 30 * 1024) -> str:
    return joined(system_sections("ENVIRONMENT", project, None, most))


def states(project: ProjectContext) -> dict[str, str]:
    return {item.path: item.why for item in context_items(project)}


def test_files_above_the_root_count_up_to_the_repository_and_no_link_leads_out(disk: Disk) -> None:
    disk.write(
        {"AGENTS.md": "outside", "repo/AGENTS.md": "top", "repo/a/CLAUDE.md": "middle", "repo/a/b/GEMINI.md": "root"}
    )
    subprocess.run(["git", "init", "-q", disk.folder / "repo"], check=True)
    assert [one.body for one in disk.load("repo/a/b").files] == ["top", "middle", "root"]
    (disk.folder / "repo" / "AGENTS.md").unlink()
    (disk.folder / "repo" / "AGENTS.md").symlink_to(disk.folder / "AGENTS.md")
    found = disk.load("repo/a/b").files
    assert [one.body for one in found if one.applies] == ["middle", "root"]
    assert "is outside the workspace" in found[0].why
    disk.write({"repo/.northignore": "a/CLAUDE.md\n"})
    assert [one.body for one in disk.load("repo/a/b").files if one.applies] == ["root"]


def test_the_first_name_in_a_folder_counts_and_the_same_text_only_once(disk: Disk) -> None:
    disk.write(
        {
            "repo/AGENTS.md": "A", "repo/CLAUDE.md": "B", "repo/CLAUDE.local.md": "C", "repo/.north/AGENTS.md": "A",
            "home/.claude/CLAUDE.md": "C", "home/.codex/AGENTS.md": "D",
        }
    )  # fmt: skip
    project = disk.load()
    assert [one.body for one in project.files if one.applies] == ["C", "A"]
    assert states(project)["CLAUDE.md"] == "by AGENTS.md"
    assert "the same text" in states(project)["CLAUDE.local.md"]
    disk.write({"config/AGENTS.md": "mine"})
    assert [one.body for one in disk.load().files if one.applies] == ["mine", "A", "C"]


def test_long_files_and_too_many_of_them_are_cut_and_that_is_said(disk: Disk) -> None:
    line = "x" * 99 + "\n"
    disk.write(
        {"repo/AGENTS.md": line * 400, "repo/CLAUDE.local.md": line[1:] * 400, "config/AGENTS.md": line[2:] * 400}
    )
    project = disk.load()
    sizes = [size_of(one.body) for one in project.files]
    assert max(sizes) <= MAX_BYTES
    assert sum(sizes) <= MAX_TOTAL_BYTES
    assert "[truncated: read AGENTS.md]" in system(project)
    assert all("cut" in problem for problem in project.all_problems)
    assert len(project.all_problems) >= 3


def test_rules_that_are_too_long_together_are_cut_at_a_line(disk: Disk) -> None:
    disk.write({"repo/.north/rules/a.md": "one\ntwo\nzebra", "repo/.north/rules/b.md": "four"})
    shown = system(disk.load(), 12)
    assert "[truncated]" in shown
    assert "zebra" not in shown
    assert "[1 more rules are left out: there is no room for them]" in shown


def test_each_root_has_its_own_rules_with_its_own_globs(disk: Disk) -> None:
    glob = "---\nglobs: src/*.py\n---\n"
    disk.write(
        {"one/.north/rules/r.md": f"{glob}ONE", "two/.north/rules/r.md": f"{glob}TWO", "config/rules/r.md": "MINE"}
    )
    project = disk.load("one", "two")
    assert [rule.body for rule in project.matching(disk.folder / "two/src/a.py")] == ["TWO"]
    assert [rule.body for rule in project.matching(disk.folder / "one/src/a.py")] == ["ONE"]
    assert "MINE" not in system(project)
    assert system(disk.load("three")).count("MINE") == 1


def test_what_does_not_fit_is_named_to_be_read(disk: Disk) -> None:
    body = "---\nglobs: '*.py'\n---\n" + "word " * 1200
    disk.write({f"repo/.north/rules/{name}.md": body for name in "abc"})
    project = disk.load()
    news = rules_for([disk.folder / "repo/x.py"], project, {})
    assert [one.about.rpartition(":")[2] for one in news] == ["a", "b", "c"]
    assert sum(size_of(one.text) for one in news) <= MAX_TOLD + 3 * 100
    assert "did not fit: read rule://b" in news[1].text
    told = {one.about: one.text for one in news}
    assert rules_for([disk.folder / "repo/y.py"], project, told) == []


def test_texts_of_the_users_own_are_added_and_one_for_a_model(disk: Disk) -> None:
    disk.write(
        {
            "config/SYSTEM.md": "Mine.", "repo/.north/APPEND_SYSTEM.md": "More of the project.",
            "config/APPEND_SYSTEM.md": "More of mine.", "config/models/openrouter__a_b.md": "For this model.",
        }
    )  # fmt: skip
    assert "Mine.\n\nMore of mine." in system(disk.load())
    assert "Mine.\n\nMore of the project." in system(disk.load(trusted=True))
    assert "You are North" not in system(disk.load())
    hint = model_hint(disk.locations, "openrouter", "a/b")
    assert hint is not None
    assert hint.text == "For this model."
    assert model_hint(disk.locations, "..", "/../x") is None


def test_a_file_that_cannot_be_read_costs_only_itself(disk: Disk) -> None:
    disk.write({"repo/.north/rules/good.md": "GOOD"})
    (disk.folder / "repo/.north/rules/bad.md").write_bytes(b"\0\1\2")
    (disk.folder / "repo/AGENTS.md").mkdir()
    project = disk.load()
    assert "GOOD" in system(project)
    assert any("not text" in problem for problem in project.all_problems)
    assert "not text" in Report((), context_items(project), project.all_problems, None).items_markdown


def test_nothing_of_a_project_is_read_without_trust(disk: Disk) -> None:
    disk.write(
        {"repo/AGENTS.md": "A", "repo/sub/AGENTS.md": "B", "repo/.north/rules/r.md": "C", "config/rules/r.md": "MINE"}
    )
    project = disk.load(trusted=False)
    assert [rule.body for rule in project.rules] == ["MINE"]
    assert project.files == ()
    assert project.files_for(disk.folder / "repo/sub/x.py") == []
    assert "not trusted" in project.note
    assert [one.body for one in disk.load().files_for(disk.folder / "repo/sub/x.py")] == ["B"]


def test_the_instructions_have_a_section_for_each_behavior(disk: Disk) -> None:
    wanted = """communication tool_calling planning search_and_reading making_code_changes verification mixed_files
    tool_churn_limits debugging calling_external_apis long_running_commands conversation large_files untrusted_text"""
    shown = system(disk.load())
    places = [(shown.index(f"<{name}>"), shown.index(f"</{name}>")) for name in wanted.split()]
    assert places == sorted(places)
    assert len(shown.encode()) < 4_096


def test_a_rule_of_a_stronger_source_counts_though_a_weaker_one_is_nearer(disk: Disk) -> None:
    disk.write(
        {
            "repo/.north/rules/style.md": "North's, of the repository.", "repo/.claude/rules/style.md": "Further away.",
            "repo/a/.claude/rules/style.md": "Claude's, of the root.", "repo/.north/rules/own.md": "Of the repository.",
            "repo/a/.claude/rules/near.md": "Nearer.", "repo/.claude/rules/near.md": "Further away.",
        }
    )  # fmt: skip
    subprocess.run(["git", "init", "-q", disk.folder / "repo"], check=True)
    rules = {one.body: one.why for one in disk.load("repo/a").rules}
    assert {body for body, why in rules.items() if not why} == {
        "North's, of the repository.", "Of the repository.", "Nearer.",
    }  # fmt: skip
    assert rules["Claude's, of the root."] == f"shadowed by {disk.folder}/repo/.north/rules/style.md"


def test_of_two_tools_with_the_same_priority_one_goes_first_whole(disk: Disk) -> None:
    disk.write({"home/.cursor/rules/global_rules.md": "Cursor.", "repo/.windsurf/rules/global_rules.md": "Windsurf."})
    assert {one.body: one.why.partition(" ")[0] for one in disk.load().rules} == {
        "Cursor.": "",
        "Windsurf.": "shadowed",
    }


def test_a_rule_above_two_roots_holds_in_the_one_that_has_none_of_its_name(disk: Disk) -> None:
    disk.write({"repo/.north/rules/style.md": "Everywhere.", "repo/a/.claude/rules/style.md": "Only here."})
    disk.write({"repo/.claude/rules/both.md": "Everywhere.", "repo/a/.north/rules/both.md": "Only here."})
    subprocess.run(["git", "init", "-q", disk.folder / "repo"], check=True)
    used = [(one.name, one.body) for one in disk.load("repo/a", "repo/b").rules if one.applies]
    assert used == [("both", "Only here."), ("style", "Everywhere."), ("both", "Everywhere.")]


def test_rules_that_cannot_be_read_for_a_reason_that_nobody_knows_cost_no_others(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.write(
        {"repo/.north/rules/a.md": "Mine.", "repo/.claude/rules/b.md": "Not read.", "repo/.cursorrules": "Cursor."}
    )

    def parse(text: str, about: Rule) -> Rule:
        if "Not read" in text:
            raise AttributeError("a bug")
        return parse_rule(text, about)

    monkeypatch.setattr("north_lsp.agent.context.sources.parse_rule", parse)
    project = disk.load()
    assert [one.body for one in project.rules if one.applies] == ["Mine.", "Cursor."]
    told = "Rules of Claude Code cannot all be read (AttributeError: a bug"
    assert [one.startswith(told) for one in project.all_problems] == [True]
