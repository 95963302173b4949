"""Paths as hostile models and repositories spell them, against the real process."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.acp.test_approvals import code, session, turn
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import call


async def test_a_name_that_no_system_takes_does_not_end_the_turn(world: World, server: ModelServer) -> None:
    project = world.project
    (project / "loop").symlink_to("loop")
    (project / "closed").mkdir(mode=0)
    names = [
        "x" * 300,
        "ü" * 200,
        "/".join(["y" * 250] * 40),
        "loop",
        "loop/x",
        "README/x",
        "json/decoder.py/x",
        "a\udc80",
    ]
    names += [
        "json/" + "z" * 256,
        "closed/x",
        "x" * 70_000,
        "/proc/self/fd/99/x",
        "a\x00b",
        "\x1b[2J",
        ".",
        "",
        "~nobody/x",
    ]
    async with session(world, "deny") as (client, _, id):
        for tool in ("read_file", "get_file_outline", "find_blocks", "hotfiles", "search_text"):
            more: dict[str, Any] = {"search_text": {"query": "x"}}.get(tool, {})
            results = await turn(client, id, server, *(call(tool, path=name, **more) for name in names))
            assert len(results) == len(names)
            assert all(code(result) != "INTERNAL" for result in results)
        results = await turn(
            client,
            id,
            server,
            *(call("edit_create_file", path=name, content="x") for name in names[:4]),
            *(call("shell_run", command="true", cwd=name) for name in names[:8]),
            *(call("ast_search", pat="f($A)", paths=[name]) for name in names[:8]),
            *(call("edit_delete_file", path=name) for name in names[:8]),
        )
        assert all(code(result) not in (None, "INTERNAL") for result in results)


class Moved(World):
    """A world whose environment has no variables of North's: all that it keeps is in the home folder."""

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in super().environ.items() if not name.startswith(("NORTH_", "XDG_"))}
        switches = {"NORTH_DISCOVERY": "off", "NORTH_NO_TITLE": "1", "NORTH_NO_OFFER": "1"}
        return kept | {"HOME": str(self.home)} | switches

    @property
    def home(self) -> Path:
        return self.folder / "to-home" if (self.folder / "to-home").is_symlink() else self.project


@pytest.mark.parametrize("through_link", [False, True])
async def test_the_home_folder_as_workspace_does_not_open_norths_own(
    world: World, server: ModelServer, through_link: bool
) -> None:
    if through_link:
        (world.folder / "to-home").symlink_to(world.project)
    (world.project / ".config" / "north").mkdir(parents=True)
    (world.project / ".config" / "north" / "credentials.json").write_text('{"key": "sk-secret"}')
    (world.project / ".north").mkdir()
    (world.project / ".north" / "keys").write_text("sk-secret")
    (world.project / "dotfiles").symlink_to(".config")
    moved = Moved(world.folder, world.url)
    names: tuple[str, ...] = (".config/north/credentials.json", "dotfiles/north/credentials.json", ".north/keys")
    names += tuple(f"{root}/{name}" for root in (world.project, moved.home) for name in names)
    async with session(moved, "deny") as (client, _, id):
        results = await turn(
            client,
            id,
            server,
            *(call("read_file", path=name) for name in (*names, "~/.north/keys")),
            *(call("search_text", query="secret", path=os.path.dirname(name)) for name in names),
            call("shell_run", command="true", cwd=".config/north"),
        )
        assert {code(result) for result in results} == {"OUTSIDE_WORKSPACE"}
        found = await turn(
            client, id, server, call("search_text", query="sk-secret"), call("find_files", pattern="*", hidden=True)
        )
        assert "sk-secret" not in str(found[0]["data"]["matches"])
        assert not [name for name in found[1]["data"]["files"] if name.startswith((".north/", ".config/north"))]
