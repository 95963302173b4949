"""What commands change can be taken back, where git or the conversation knows the files; the rest is said."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from north_lsp.workspace.apply import snapshot
from north_lsp.workspace.apply.snapshot import compare, take
from tests.end_to_end.world import SERVER
from tests.end_to_end.world import World as Project
from tests.support.client import raw_client
from tests.support.edits import World
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, say
from tests.support.selecting import selected


def git(root: Path, *arguments: str) -> None:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *name, *arguments], cwd=root, env=environ, check=True, capture_output=True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    for name in ("clean.txt", "dirty.txt", "gone.txt", "sub/deep.txt"):
        world.write(name, f"{name} committed\n", shown=False)
    world.write(".gitignore", "*.log\n", shown=False)
    git(world.root, "init", "-q")
    git(world.root, "add", ".")
    git(world.root, "commit", "-qm", "first")
    world.write("dirty.txt", "dirty.txt with changes\n", shown=False)
    world.write("untracked.txt", "untracked\n", shown=False)
    world.write("seen.log", "seen\n")
    world.write("unseen.log", "unseen\n", shown=False)
    return world


async def test_every_kind_of_change_is_seen_and_undone(world: World) -> None:
    before = world.files()
    taken = take(world.root, list(world.workspace.seen.tags))
    assert taken is not None
    for name in ("clean.txt", "dirty.txt", "untracked.txt", "seen.log", "unseen.log", "sub/deep.txt"):
        world.write(name, "by the command\n", shown=False)
    (world.root / "gone.txt").unlink()
    world.write("made/new.txt", "new\n", shown=False)
    git(world.root, "add", ".")
    git(world.root, "commit", "-qm", "the command commits, too")
    found = compare(taken)
    assert found.uncovered == ()
    names = sorted(image.path.relative_to(world.root).as_posix() for image in found.images)
    covered = ["clean.txt", "dirty.txt", "gone.txt", "made/new.txt", "seen.log", "sub/deep.txt", "untracked.txt"]
    assert names == covered
    await world.checkpoints.record_images("call", "Ran x", world.workspace.roots, found.images)
    assert set((await world.undo()).values()) == {"restored"}
    left = {name: data for name, data in world.files().items() if not name.startswith(".git/")}
    expected = {name: data for name, data in before.items() if not name.startswith(".git/")}
    assert left == {**expected, "unseen.log": b"by the command\n"}


async def test_what_cannot_be_restored_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MAX_KEPT_BYTES", 5)
    taken = take(world.root, [])
    assert taken is not None
    world.write("dirty.txt", "by the command\n", shown=False)
    world.write("clean.txt", "by the command\n", shown=False)
    found = compare(taken)
    assert [path.name for path in found.uncovered] == ["dirty.txt"]
    assert [image.path.name for image in found.images] == ["clean.txt"]
    monkeypatch.setattr(snapshot, "MAX_FILES", 2)
    assert take(world.root, []) is None


def test_without_git_only_seen_files_are_covered(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("seen.txt", "seen\n")
    world.write("other.txt", "other\n", shown=False)
    taken = take(world.root, list(world.workspace.seen.tags))
    assert taken is not None
    for name in ("seen.txt", "other.txt", "new.txt"):
        world.write(name, "by the command\n", shown=False)
    assert [image.path.name for image in compare(taken).images] == ["seen.txt"]


@pytest.mark.parametrize("on", [True, False])
async def test_the_setting_decides_whether_commands_have_checkpoints(
    world: World, on: bool, tmp_path_factory: pytest.TempPathFactory, server: ModelServer
) -> None:
    project = Project(tmp_path_factory.mktemp("project"), server.url)
    project.project.mkdir()
    (project.folder / "home").mkdir()
    (project.project / "a.txt").write_text("a\n")
    (project.project / "more").write_text("#!/bin/sh\necho more >> a.txt\n")
    (project.project / "more").chmod(0o755)
    git(project.project, "init", "-q")
    git(project.project, "add", ".")
    (project.folder / "config").mkdir()
    setting = f'{{"checkpoints": {{"shell": {str(on).lower()}}}}}'
    (project.folder / "config/config.json").write_text(setting)
    async with raw_client([*SERVER, "acp"], project.environ, project.project) as client:

        async def run(params: dict[str, Any]) -> dict[str, Any]:
            return selected(params, "run")

        client.handlers["session/request_permission"] = run
        await client.request("initialize", {"protocolVersion": 1})
        made = await client.request("session/new", {"cwd": str(project.project), "mcpServers": []})
        id = made["sessionId"]
        server.script(answer(call("shell_run", command="./more")), answer(say("ok")))
        await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": "go"}]})
        listed = (await client.request("_north/checkpoints/list", {"sessionId": id}))["checkpoints"]
        assert len(listed) == on
        if on:
            assert listed[0]["title"] == "Ran ./more"
            await client.request("_north/checkpoints/restore", {"sessionId": id, "steps": 1})
        assert (project.project / "a.txt").read_text() == ("a\n" if on else "a\nmore\n")
