"""Rule files as projects have them: the heads that other tools write and people mistype, line ends, folders in folders.
The texts are made up; their shapes are those of files in public repositories."""

from pathlib import Path

import pytest

from north_lsp.agent.context.project import ProjectContext
from north_lsp.agent.context.telling import rules_for
from tests.agent.context.test_project import Disk

CURSOR = {
    ".cursor/rules/web.mdc": "\ufeff---\r\ndescription: How pages are built\r\n"
    "globs: apps/web/**/*.tsx,apps/web/**/*.css\r\nalwaysApply: false\r\n---\r\n# Pages\r\n\r\nOne component each.\r\n",
    ".cursor/rules/data/schema.mdc": "---\ndescription: \nglobs: **/*.prisma\nalwaysApply: false\n"
    "---\nName each index.\n",
    ".cursor/rules/tests.mdc": '---\nglobs: "**/*.test.ts", "**/*.spec.ts"\n---\nNo snapshots.\n',
    ".cursor/rules/types.mdc": "---\nglobs: [**/*.{ts,tsx}, !**/*.d.ts]  # not declarations\n---\nNo any.\n",
    ".cursor/rules/two-heads.mdc": "---\ndescription: \nglobs: \nalwaysApply: false\n---\n---\n"
    'description: "Releases"\nglobs: "CHANGELOG.md"\npriority: 2\n---\n\nNewest first.\n',
    ".cursor/rules/tone.mdc": "---\ndescription: Tone: be brief\nglobs:\nalwaysApply: true\n---\n"
    "No greetings.\n\n---\n\nBye.\n",
    ".cursor/rules/folders.mdc": "---\nglobs:\n  - apps/mobile\n  - './libs/native/'\n"
    "alwaysApply: False\n---\nAsk first.\n",
    "packages/api/.cursor/rules/routes.mdc": "---\nglobs: src/routes/**\n---\nCheck the session.\n",
    "packages/api/.cursor/rules/house.mdc": "---\nalwaysApply: true\n---\nNo default exports.\n",
    ".cursorrules": "Legacy text.\n",
}
CLAUDE = {
    "CLAUDE.md": "@AGENTS.md\n\n# For Claude\n\n- @docs/style.md\n- Run the linter.\n",
    "AGENTS.md": "# Commands\n\nnpm test\n",
    "docs/style.md": "Two blanks.\n",
    ".claude/rules/forms/inputs.md": '---\npaths:\n  - "src/forms/**/*.{ts,tsx}"\n---\nLabel each input.\n',
    ".claude/rules/plain.md": "# Plain\n\nNo head at all.\n",
}
GITHUB = {
    ".github/copilot-instructions.md": '---\napplyTo: "**"\n---\nUse tabs.\n',
    ".github/instructions/python.instructions.md": "---\napplyTo: 'src/**/*.py,tools/**/*.py'\n---\nType everything.\n",
    ".github/instructions/infra/terraform.instructions.md": "---\napplyto: '{infra/**,deploy/**}'\n---\nPlan first.\n",
    ".github/instructions/looked-up.instructions.md": "---\ndescription: How the cache works\n---\nIt is layered.\n",
    ".github/instructions/README.md": "Not a rule.\n",
}
OTHERS = {
    ".windsurf/rules/always.md": "---\ntrigger: always_on\ndescription: \n---\nWrite plainly.\n",
    ".windsurf/rules/core.md": "---\ntrigger: glob\nglobs: crates/**/*.rs\ndescription: The core\n---\nNo unwrap.\n",
    ".windsurf/rules/single.md": "---\ntrigger: glob\nglob: '**/*.{json,yaml}'\n---\nSort the keys.\n",
    ".windsurf/rules/decides.md": "---\ntrigger: model_decision\n"
    "description: >-\n  When you touch\n  the queue\n---\nBe idempotent.\n",
    ".windsurf/rules/asked.md": "---\ntrigger: manual\n---\nWrite the wiki.\n",
    ".clinerules/01-style.md": "# Style\n\nShort names.\n",
    ".clinerules/02-proto.md": "---\npaths:\n  - 'proto/**'\n---\nNever renumber.\n",
    ".clinerules/workflows/release.md": "Not a rule.\n",
    ".clinerules/hooks/PostToolUse": "Not a rule.\n",
}


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def loaded(disk: Disk, files: dict[str, str]) -> ProjectContext:
    for name, text in files.items():
        path = disk.folder / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return disk.load()


def told(project: ProjectContext, name: str) -> set[str]:
    """The rules that a file has told."""
    return {rule.name for rule in project.matching(project.roots[0] / name)}


def always(project: ProjectContext) -> dict[str, str]:
    return {rule.name: rule.body for rule in project.rules if rule.applies and "always" in rule.buckets}


def test_rules_of_cursor(disk: Disk) -> None:
    project = loaded(disk, CURSOR)
    assert told(project, "apps/web/app/page.tsx") == {"web", "types"}
    assert told(project, "apps/web/a.css") == {"web"}
    assert told(project, "db/schema.prisma") == {"data/schema"}
    assert told(project, "src/a.test.ts") == {"tests", "types"}
    assert told(project, "src/a.d.ts") == set()
    assert told(project, "CHANGELOG.md") == {"two-heads"}
    assert told(project, "apps/mobile/ios/app.swift") == told(project, "libs/native/x/y.c") == {"folders"}
    assert always(project) == {"tone": "No greetings.\n\n---\n\nBye.", "cursorrules": "Legacy text."}
    by_name = {rule.name: rule for rule in project.rules}
    assert by_name["web"].body == "# Pages\n\nOne component each."
    assert (by_name["two-heads"].body, by_name["two-heads"].description) == ("Newest first.", "Releases")
    assert by_name["tone"].description == "Tone: be brief"


def test_rules_of_folders_further_in_are_told_with_files_there(disk: Disk) -> None:
    project = loaded(disk, CURSOR)
    assert told(project, "packages/api/src/routes/users.rb") == {"packages/api/routes", "packages/api/house"}
    assert told(project, "packages/api/README.md") == {"packages/api/house"}
    assert told(project, "packages/web/src/routes/users.rb") == set()
    (news, other) = rules_for([disk.folder / "repo/packages/api/src/routes/users.rb"], project, {})
    assert "No default exports." in news.text
    assert rules_for([disk.folder / "repo/packages/api/a.rb"], project, {news.about: news.text}) == []
    assert "Check the session." in other.text
    project = disk.load(disabled=("packages/api/house",))
    assert told(project, "packages/api/README.md") == set()


def test_rules_and_files_of_claude(disk: Disk) -> None:
    project = loaded(disk, CLAUDE)
    assert told(project, "src/forms/login/form.tsx") == {"forms/inputs"}
    assert told(project, "src/forms.tsx") == set()
    assert always(project) == {"plain": "# Plain\n\nNo head at all."}
    assert [one.shown for one in project.files if one.applies] == ["AGENTS.md"]
    (disk.folder / "repo" / "AGENTS.md").rename(disk.folder / "repo" / "docs" / "agents.md")
    (disk.folder / "repo" / "CLAUDE.md").write_text(CLAUDE["CLAUDE.md"].replace("AGENTS.md", "docs/agents.md"))
    (file,) = disk.load().files
    assert file.body == "# Commands\n\nnpm test\n\n# For Claude\n\nTwo blanks.\n- Run the linter."


def test_instructions_for_copilot(disk: Disk) -> None:
    project = loaded(disk, GITHUB)
    assert told(project, "src/a/b.py") == told(project, "tools/x.py") == {"python"}
    assert told(project, "infra/main.tf") == told(project, "deploy/a/b.yaml") == {"infra/terraform"}
    assert told(project, "README.md") == set()
    assert always(project) == {"copilot-instructions": "Use tabs."}
    assert [rule.name for rule in project.rules if "rulebook" in rule.buckets] == ["looked-up"]


def test_rules_of_windsurf_and_cline(disk: Disk) -> None:
    project = loaded(disk, OTHERS)
    assert told(project, "crates/core/src/lib.rs") == {"core"}
    assert told(project, "a/b.yaml") == {"single"}
    assert told(project, "proto/v1/a.proto") == {"02-proto"}
    assert set(always(project)) == {"always", "01-style"}
    (decides,) = (rule for rule in project.rules if rule.name == "decides")
    assert (decides.buckets, decides.description) == (("rulebook",), "When you touch the queue")
    (asked,) = (rule for rule in project.rules if rule.name == "asked")
    assert asked.buckets == ("named",)
    assert project.find_rule("asked") is asked


def test_of_a_folder_in_a_repository_the_nearest_rules_count_and_those_of_the_repository(disk: Disk) -> None:
    web = {".github/instructions/web.instructions.md": "---\napplyTo: apps/web/*.py\n---\nNo print.\n"}
    loaded(disk, {".git/HEAD": "ref: refs/heads/main\n", **OTHERS, **GITHUB, **web, "apps/web/app.py": "x"})
    project = disk.load("repo/apps/web")
    assert set(always(project)) == {"01-style", "always", "copilot-instructions"}
    assert told(project, "app.py") == {"web"}
    disk.write({"repo/apps/.clinerules": "Nearer.\n", "repo/apps/web/.windsurf/rules/always.md": "Nearest.\n"})
    project = disk.load("repo/apps/web")
    assert always(project)["clinerules"] == "Nearer."
    assert [(one.body, one.why) for one in project.rules if one.name == "always"] == [
        ("Nearest.", ""),
        ("Write plainly.", "shadowed by .windsurf/rules/always.md"),
    ]
    disk.write({"repo/.northignore": ".github/\n.clinerules\n"})
    assert {"copilot-instructions", "01-style", "clinerules"} & set(always(disk.load("repo/apps/web"))) == set()


def test_instructions_always_apply_whatever_their_head_says(disk: Disk) -> None:
    disk.write({"config/instructions/mine.md": "Answer in verse.\n"})
    project = loaded(disk, {".north/instructions/house.md": "---\ndescription: House\nglobs: '*.py'\n---\nBe kind.\n"})
    assert always(project) == {"house": "Be kind.", "mine": "Answer in verse."}
    assert told(project, "a.py") == set()


@pytest.mark.parametrize(
    ("head", "wrong"),
    [
        ("globs: **/*.ts\nalwaysApply: false", "not YAML"),
        ("globs: 3", "`globs`"),
        ("alwaysApply: sometimes", "`alwaysApply`"),
    ],
)
def test_what_a_head_has_wrong_is_said_with_the_file(disk: Disk, head: str, wrong: str) -> None:
    project = loaded(disk, {".cursor/rules/r.mdc": f"---\n{head}\n---\nBody.\n"})
    (problem,) = project.all_problems
    assert problem.startswith(".cursor/rules/r.mdc: ")
    assert wrong in problem


def test_a_wildcard_with_half_a_character_is_left_out(disk: Disk) -> None:
    project = loaded(disk, {".cursor/rules/half.mdc": '---\nglobs: ["\\uD800*.py", "*.py"]\n---\nType everything.\n'})
    assert told(project, "a.py") == {"half"}
    assert any("has a character that no path has" in one for one in project.all_problems)
