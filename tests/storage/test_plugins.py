"""Plugins of Claude's and extensions with a manifest: which there are, and what counts of them."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from north_lsp.storage.locations import Locations
from north_lsp.storage.plugins import Plugin, find_plugins


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    return tmp_path / "repo"


def found(tmp_path: Path, root: Path, *, of_project: bool = True) -> tuple[list[Plugin], tuple[str, ...]]:
    plugins = find_plugins(
        root,
        tmp_path / "home",
        Locations(tmp_path / "north/config", tmp_path / "north/data", tmp_path / "north/state"),
        of_project=of_project,
    )
    return list(plugins.all), plugins.problems


def installed(tmp_path: Path, plugins: object, **settings: object) -> None:
    folder = tmp_path / "home" / ".claude" / "plugins"
    folder.mkdir(parents=True)
    (folder / "installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": plugins}))
    (folder.parent / "settings.json").write_text(json.dumps(settings))


def extension(folder: Path, manifest: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "gemini-extension.json").write_text(manifest if isinstance(manifest, str) else json.dumps(manifest))
    return folder


def test_plugins_for_the_project_come_first_and_those_of_others_are_not_there(tmp_path: Path, root: Path) -> None:
    folders = {name: tmp_path / "cache" / name for name in ("mine", "own", "other", "off")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    servers = {"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/run", "args": ["${CLAUDE_PLUGIN_ROOT}/a"]}}}
    (folders["mine"] / ".mcp.json").write_text(json.dumps(servers))
    installed(
        tmp_path,
        {
            "mine@market": {"installPath": str(folders["mine"])},  # as older versions write it
            "own@market": [{"scope": "project", "projectPath": str(root), "installPath": str(folders["own"])}],
            "other@market": [{"scope": "local", "projectPath": "/elsewhere", "installPath": str(folders["other"])}],
            "off@market": [{"scope": "user", "installPath": str(folders["off"])}],
            "gone@market": [{"scope": "user", "installPath": str(tmp_path / "gone")}],
            "odd@market": [3],
        },
        enabledPlugins={"off@market": False, "mine@market": True},
    )
    plugins, problems = found(tmp_path, root)
    assert [(one.name, one.level, one.applies) for one in plugins] == [
        ("own", "project", True),
        ("mine", "user", True),
        ("off", "user", False),
        ("gone", "user", False),
    ]
    assert plugins[1].servers == {"db": {"command": f"{folders['mine']}/run", "args": [f"{folders['mine']}/a"]}}
    assert "switched off" in plugins[2].why
    assert problems == ()


def test_a_list_that_cannot_be_read_is_said_once(tmp_path: Path, root: Path) -> None:
    installed(tmp_path, [])
    assert "must be an object" in found(tmp_path, root)[1][0]
    (tmp_path / "home/.claude/plugins/installed_plugins.json").write_text("{")
    plugins, problems = found(tmp_path, root)
    assert plugins == []
    assert len(problems) == 1
    assert "cannot be read" in problems[0]


def test_extensions_bring_servers_and_files_for_models(tmp_path: Path, root: Path) -> None:
    mine = extension(
        tmp_path / "home/.gemini/extensions/one",
        {
            "name": "database",
            "description": "Asks databases",
            "mcpServers": {"db": {"command": "node", "args": ["${extensionPath}${/}run.js", "${workspacePath}"]}},
            "contextFileName": ["NOTES.md", "../outside.md", "gone.md"],
        },
    )
    for path in (mine / "NOTES.md", mine.parent / "outside.md"):
        path.write_text("Use it.")
    project = extension(root / ".gemini/extensions/two", {})
    (project / "GEMINI.md").write_text("By its usual name.")
    extension(tmp_path / "north/config/extensions/one", {"name": "database"})
    plugins, problems = found(tmp_path, root)
    assert [(one.name, one.level, one.context_files, one.why) for one in plugins] == [
        ("database", "user", (), ""),
        ("two", "project", ("GEMINI.md",), ""),
        ("database", "user", ("NOTES.md",), f"shadowed by {tmp_path / 'north/config/extensions/one'}"),
    ]
    assert plugins[2].servers == {"db": {"command": "node", "args": [f"{mine}/run.js", "${workspaceFolder}"]}}
    assert problems == ()
    assert [one.name for one in found(tmp_path, root, of_project=False)[0]] == ["database", "database"]


def test_an_extension_of_norths_goes_before_one_of_geminis_and_the_projects_before_the_users(
    tmp_path: Path, root: Path
) -> None:
    folders = [
        tmp_path / "north/config/extensions/a",
        root / ".gemini/extensions/b",
        tmp_path / "home/.gemini/extensions/c",
    ]
    for folder in folders:
        extension(folder, {"name": "database"})
    assert [(one.folder, one.source, one.why) for one in found(tmp_path, root)[0]] == [
        (folders[0], "north", ""),
        (folders[1], "gemini", f"shadowed by {folders[0]}"),
        (folders[2], "gemini", f"shadowed by {folders[0]}"),
    ]


def test_a_broken_manifest_is_named_with_its_place_and_a_link_out_of_the_project_is_not_followed(
    tmp_path: Path, root: Path
) -> None:
    extension(root / ".north/extensions/bad", '{"name": ')
    outside = extension(tmp_path / "elsewhere/evil", {"name": "evil"})
    (root / ".gemini/extensions").mkdir(parents=True)
    (root / ".gemini/extensions/evil").symlink_to(outside)
    plugins, problems = found(tmp_path, root)
    assert [(one.name, one.why) for one in plugins] == [("bad", "its manifest cannot be read")]
    assert str(root / ".north/extensions/bad/gemini-extension.json") in problems[0]
    assert "line 1" in problems[0]
    assert "points outside the project" in problems[1]


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", "a" * 5000, "round"])
def test_a_context_file_that_is_no_path_is_left_out(tmp_path: Path, root: Path, name: str) -> None:
    folder = extension(root / ".gemini/extensions/one", {"contextFileName": [name, "NOTES.md"]})
    (folder / "NOTES.md").write_text("Use it.")
    (folder / "round").symlink_to("round")
    assert [one.context_files for one in found(tmp_path, root)[0]] == [("NOTES.md",)]


@pytest.mark.parametrize("place", ["/a\0b", "/a\ud800b", "/" + "a" * 5000, "~nobody-of-that-name/x"])
def test_a_plugin_whose_place_is_no_path_does_not_hide_the_others(tmp_path: Path, root: Path, place: str) -> None:
    rows = [{"installPath": place}, {"scope": "project", "projectPath": place, "installPath": str(root)}]
    installed(tmp_path, {"odd@market": rows, "mine@market": {"installPath": str(root)}})
    plugins, problems = found(tmp_path, root)
    assert [(one.name, one.applies) for one in plugins] == [("odd", False), ("mine", True)]
    assert problems == ()


def test_a_manifest_that_leads_out_of_the_project_is_not_read(tmp_path: Path, root: Path) -> None:
    outside = extension(tmp_path / "elsewhere", {"name": "secret"})
    inside = root / ".gemini/extensions/one"
    inside.mkdir(parents=True)
    (inside / "gemini-extension.json").symlink_to(outside / "gemini-extension.json")
    plugins, problems = found(tmp_path, root)
    assert plugins == []
    assert "points outside the project" in problems[0]


_TEXTS = st.one_of(st.text(max_size=8), st.sampled_from(["~\x00", "~nobody/x", "/", "..", "a\x00", "x" * 5000]))
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), _TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(_TEXTS, inner, max_size=2)),
    max_leaves=6,
)
_KEYS = ("name", "description", "mcpServers", "contextFileName", "context", "installPath", "scope", "projectPath")
_OBJECTS = st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=5)


@settings(max_examples=60, deadline=None)
@given(_OBJECTS, st.one_of(_VALUES, st.dictionaries(_TEXTS, st.lists(_OBJECTS, max_size=2), max_size=2)), _VALUES)
@example({}, {"a": [{"installPath": "~\x00"}]}, None)
def test_nothing_that_a_file_says_is_in_the_way(manifest: object, installed: object, switches: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home, root = Path(folder, "home"), Path(folder, "repo")
        files = {
            home / ".claude/plugins/installed_plugins.json": {"plugins": installed},
            home / ".claude/settings.json": {"enabledPlugins": switches},
            root / ".gemini/extensions/one/gemini-extension.json": manifest,
        }
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(content))
        locations = Locations(home / "config", home / "data", home / "state")
        found = find_plugins(root, home, locations, of_project=True)
        assert [one.folder.name for one in found.all if one.family == "extension"] == ["one"]
        assert all(Path(one.folder, name).is_file() for one in found.all for name in one.context_files)
