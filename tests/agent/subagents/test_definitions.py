"""Where agents are found, which of a name counts, and which tools their words mean."""

import json
from pathlib import Path

import pytest

from north_lsp.agent.context.documents import Place
from north_lsp.agent.subagents.definition import Definition, NotAnAgent, Source, parse_definition
from north_lsp.agent.subagents.sources import bundled, load_definitions
from north_lsp.agent.subagents.tool_words import NEVER, chosen_tools
from north_lsp.storage.locations import Locations
from north_lsp.tools.builtin import builtin_tools

TOOLS = builtin_tools().tools()
FILE = Source("north", "user", Path("/x.md"), "x.md")


def text(name: str, head: str = "", body: str = "Work.") -> str:
    return f"---\nname: {name}\ndescription: Does it\n{head}---\n{body}\n"


def put(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    return Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")


def test_the_first_of_a_name_counts_and_north_s_own_come_last(tmp_path: Path, locations: Locations) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    put(project / ".claude/agents/a.md", text("explore", body="Of Claude's."))
    put(project / ".north/agents/z.md", text("explore", body="Of North's."))
    put(locations.config / "agents/b.md", text("mine"))
    put(home / ".gemini/agents/c.md", text("mine"))
    place = Place("project", lambda path: (path, path.name))
    known = load_definitions([project], place, locations, home)
    found = known.find("explore")
    assert found is not None
    assert found.body == "Of North's."
    shadowed = [(one.name, one.why) for one in known.all if one.why]
    assert shadowed[0] == ("explore", "shadowed by z.md")
    assert [name for name, _ in shadowed] == ["explore", "mine", "explore"]
    assert known.find("Explore") is None
    assert load_definitions([project], None, locations, home).find("explore") in bundled()


def test_a_file_that_lacks_something_is_named(tmp_path: Path, locations: Locations) -> None:
    put(locations.config / "agents/bad.md", "---\nname: x\n---\n")
    put(locations.config / "agents/good.md", text("good"))
    known = load_definitions([], None, locations, tmp_path)
    assert known.find("good") is not None
    assert "bad.md: it lacks description" in known.problems[0]


@pytest.mark.parametrize(
    ("head", "spawns"),
    [
        ("", ("*",)),
        ("tools: read, task\n", ("*",)),
        ("tools: read\n", ()),
        ("tools: [read, task]\nspawns: explore, critic\n", ("explore", "critic")),
        ("spawns: ''\n", ()),
        ("spawns:\n", ()),
    ],
)
def test_whom_an_agent_may_use(head: str, spawns: tuple[str, ...]) -> None:
    assert parse_definition(text("a", head), FILE).may_spawn == spawns


def test_what_is_wrong_in_a_file_is_said_and_the_rest_counts() -> None:
    head = "thinking-level: huge\nmaxRequests: 0\nisolation: moon\noutput: text\nmodel: inherit\n"
    found = parse_definition(text("a", head), FILE)
    assert len(found.problems) == 4
    assert (found.level, found.max_requests, found.isolation, found.output, found.model) == (
        None,
        None,
        "none",
        None,
        "",
    )
    with pytest.raises(NotAnAgent, match="name and description"):
        parse_definition("No head.", FILE)


@pytest.mark.parametrize(
    ("words", "has", "has_not", "unknown"),
    [
        (None, {"read_file", "edit_create_file", "shell_run"}, NEVER, []),
        (("read",), {"read_file", "search_text"}, {"edit_create_file", "shell_run", "job"}, []),
        (("Read", "Grep", "Bash"), {"read_file", "search_text", "shell_run"}, {"edit_create_file"}, []),
        (("Write",), {"edit_create_file", "edit_patch"}, {"read_file"}, []),
        (("find_files", "TodoWrite", "WebSearch"), {"find_files"}, {"todo", "read_file"}, []),
        (("rm_everything",), set(), {"read_file"}, ["rm_everything"]),
        (("todo", "ask"), set(), {"todo", "ask"}, []),
    ],
)
def test_words_mean_tools(words: tuple[str, ...] | None, has: set[str], has_not: set[str], unknown: list[str]) -> None:
    found, told = chosen_tools(words, TOOLS)
    names = {tool.name for tool in found}
    assert has <= names
    assert not names & has_not
    assert told == unknown


def test_every_shipped_agent_is_whole() -> None:
    names = {one.name for one in bundled()}
    assert names == {
        "explore", "librarian", "oracle", "reviewer", "planner", "architect", "critic", "executor", "task",
    }  # fmt: skip
    for one in bundled():
        assert one.problems == ()
        assert chosen_tools(one.tools, TOOLS)[1] == []


def test_plugins_of_claude_code_have_agents(tmp_path: Path, locations: Locations) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    for name in ("users", "projects", "other"):
        put(tmp_path / name / "agents/a.md", text("both", body=f"Of {name}."))
        put(tmp_path / name / f"agents/{name}.md", text(name))
    put(home / ".claude/agents/b.md", text("users", body="The user's own."))
    rows = {
        "a@market": [{"scope": "user", "installPath": str(tmp_path / "users")}],
        "b@market": [
            {"scope": "project", "projectPath": str(project), "installPath": str(tmp_path / "projects")},
            {"scope": "local", "projectPath": str(home), "installPath": str(tmp_path / "other")},
            {"scope": "user", "installPath": "relative"},
            {"scope": "user"},
            "nonsense",
        ],
    }
    put(home / ".claude/plugins/installed_plugins.json", json.dumps({"version": 2, "plugins": rows}))
    place = Place("project", lambda path: (path, path.name))
    known = load_definitions([project], place, locations, home)
    bodies = {one.name: one.body for one in known.used}
    assert (bodies["both"], bodies["users"]) == ("Of projects.", "The user's own.")
    assert "projects" in bodies
    assert "other" not in bodies


def test_agents_of_other_tools_and_of_the_repository_above_are_found(tmp_path: Path, locations: Locations) -> None:
    repo, home = tmp_path / "repo", tmp_path / "home"
    package = repo / "packages/web"
    (repo / ".git").mkdir(parents=True)
    put(repo / ".github/agents/planner.agent.md", "---\ndescription: Plans\ntools: ['read', 'search']\n---\nPlan.")
    put(repo / ".claude/agents/far.md", text("far"))
    put(repo / "packages/.claude/agents/near.md", text("near"))
    put(
        package / ".opencode/agent/doc.md",
        "---\ndescription: Writes\ntools:\n  bash: false\n  write: false\n---\nWrite.",
    )
    put(home / ".config/opencode/agent/own.md", "---\ndescription: Mine\n---\nDo.")
    known = load_definitions([package], Place("project", lambda path: (path, path.name)), locations, home)
    assert {"planner", "far", "near", "doc", "own"} <= {one.name for one in known.used}
    planner, doc = known.find("planner"), known.find("doc")
    assert planner is not None
    assert doc is not None
    assert doc.tools == ("read", "web", "mcp", "task")
    names = {tool.name for tool in chosen_tools(planner.tools, TOOLS)[0]}
    assert {"read_file", "search_text"} <= names
    assert not {"edit_replace_exact", "shell_run"} & names
    assert chosen_tools(planner.tools, TOOLS)[1] == []


def test_agents_of_plugins_come_after_those_of_all_tools_and_before_norths_own(
    tmp_path: Path, locations: Locations
) -> None:
    home = tmp_path / "home"
    put(home / ".config/opencode/agent/a.md", text("both", body="Of opencode's."))
    for name in ("both", "explore"):
        put(tmp_path / f"plugin/agents/{name}.md", text(name, body="Of a plugin."))
    rows = {"a@market": [{"scope": "user", "installPath": str(tmp_path / "plugin")}]}
    put(home / ".claude/plugins/installed_plugins.json", json.dumps({"version": 2, "plugins": rows}))
    known = load_definitions([], None, locations, home)
    bodies = {one.name: one.body for one in known.used}
    assert (bodies["both"], bodies["explore"]) == ("Of opencode's.", "Of a plugin.")


def test_agents_that_the_settings_name_are_not_used(tmp_path: Path, locations: Locations) -> None:
    put(locations.config / "agents/a.md", text("mine"))
    known = load_definitions([], None, locations, tmp_path, ("agent:mine", "agent:explore"))
    assert known.find("mine") is known.find("explore") is None
    assert {one.why for one in known.all if one.why} == {"the setting `disabledItems` names it"}


def test_a_folder_of_agents_that_fails_costs_no_others(
    tmp_path: Path, locations: Locations, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(locations.config / "agents/a.md", text("mine"))
    put(tmp_path / ".codex/agents/b.md", text("broken", body="Raises."))

    def parse(content: str, source: Source) -> Definition:
        if "Raises." in content:
            raise KeyError("a bug")
        return parse_definition(content, source)

    monkeypatch.setattr("north_lsp.agent.subagents.sources.parse_definition", parse)
    known = load_definitions([], None, locations, tmp_path)
    assert known.find("mine") is not None
    told = "Agents of Codex cannot all be read (KeyError: 'a bug'"
    assert [one.startswith(told) for one in known.problems] == [True]
