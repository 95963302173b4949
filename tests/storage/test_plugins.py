"""Plugins of Claude's and extensions with a manifest: which there are, and what counts of them."""

import json
from pathlib import Path

import pytest

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
        ("two", "project", ("GEMINI.md",), ""),
        ("database", "user", (), ""),
        ("database", "user", ("NOTES.md",), f"shadowed by {tmp_path / 'north/config/extensions/one'}"),
    ]
    assert plugins[2].servers == {"db": {"command": "node", "args": [f"{mine}/run.js", "${workspaceFolder}"]}}
    assert problems == ()
    assert [one.name for one in found(tmp_path, root, of_project=False)[0]] == ["database", "database"]


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
    assert "leads out of the project" in problems[1]
