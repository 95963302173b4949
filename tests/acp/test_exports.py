"""Exports and statistics on the wire and by slash commands: of open conversations and of stored ones."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_faults import configure
from tests.end_to_end.world import World, make_world
from tests.support.client import RpcFailure
from tests.support.exported_page import Page
from tests.support.model_server import ModelServer
from tests.support.recorded import RECORDED, SETTINGS, Stage, option, replace, stage
from tests.support.script import answer, call, say


@pytest.fixture
def world(tmp_path: Path, server: ModelServer) -> World:
    world = make_world(tmp_path / "world", server.url)
    configure(world, **SETTINGS)
    return world


def home(on: Stage) -> str:
    return on.world.environ.get("HOME", str(Path.home()))


async def talked(on: Stage) -> None:
    """A turn with an edit, and one in which a key is named."""
    on.write("a.py", "x = 1\n")
    change = replace("a.py", "x = 1", "x = 2")
    await on.say("Change it", answers=(answer(call("read_file", path="a.py")), answer(change), answer(say("Done."))))
    await on.say(f"The key is test-key-of-mine in {home(on)}/x", answers=(answer(say("I **see**.")),))


def said(on: Stage) -> str:
    updates = [params["update"] for params in on.client.updates]
    return "".join(one["content"]["text"] for one in updates if one["sessionUpdate"] == "agent_message_chunk")


async def refused(on: Stage, **params: Any) -> tuple[int, str, str]:
    with pytest.raises(RpcFailure) as failure:
        await on.ask("_north/sessions/export", **params)
    return failure.value.code, failure.value.message, str((failure.value.data or {}).get("code"))


async def test_a_conversation_is_exported_masked_and_in_every_format(world: World, server: ModelServer) -> None:
    world.environ["ANTHROPIC_API_KEY"] = "test-key-of-mine"
    async with stage(world, server) as on:
        await talked(on)
        for format in ("html", "md", "txt", "json"):
            got = await on.ask("_north/sessions/export", format=format)
            assert got["format"] == format
            assert "Change it" in got["text"]
            assert "x = 2" in got["text"]
            assert "test-key-of-mine" not in got["text"]
            assert f"{home(on)}/x" not in got["text"]
        raw = (await on.ask("_north/sessions/export", format="md", raw=True))["text"]
        assert f"The key is test-key-of-mine in {home(on)}/x" in raw
        page = (await on.ask("_north/sessions/export"))["text"]
        assert Page(page).problems == []
        assert "<strong>see</strong>" in page
        dump = (await on.ask("_north/sessions/export", format="txt"))["text"]
        assert "System prompt" in dump
        assert "Tool read_file" in dump


async def test_a_file_is_written_where_the_client_says_and_not_replaced_unasked(
    world: World, server: ModelServer
) -> None:
    async with stage(world, server) as on:
        assert (await refused(on))[2] == "NOT_FOUND"
        await talked(on)
        path = world.folder / "out.md"
        assert await on.ask("_north/sessions/export", path=str(path)) == {"path": str(path), "format": "md"}
        assert path.read_text().startswith("# Change it\n")
        path.write_text("mine")
        assert (await refused(on, path=str(path)))[2] == "CONFLICT"
        assert path.read_text() == "mine"
        await on.ask("_north/sessions/export", path=str(path), replace=True, format="json")
        assert json.loads(path.read_text())["format"] == "north-conversation"
        assert (await refused(on, path=str(world.project / ".git" / "x.html")))[2] in ("DENIED", "NOT_FOUND")
        for wrong in ({"path": "relative.md"}, {"raw": "yes"}, {"path": 1}):
            assert (await refused(on, **wrong))[0] == -32602
        assert (await refused(on, format="pdf"))[2] == "INVALID_INPUT"


async def test_an_ending_that_means_no_format_is_refused_and_a_folder_has_none(
    world: World, server: ModelServer
) -> None:
    async with stage(world, server) as on:
        await talked(on)
        path = world.folder / "out.pdf"
        _, words, code = await refused(on, path=str(path))
        assert code == "INVALID_INPUT"
        assert words.startswith("'.pdf' is not the ending of an export: end the name in .html, ")
        await on.say("/export out.pdf")
        assert "'.pdf' is not the ending of an export" in said(on)
        assert not [*world.project.glob("*.pdf"), *world.folder.glob("*.pdf")]
        assert await on.ask("_north/sessions/export", path=str(path), format="md") == {
            "path": str(path),
            "format": "md",
        }
        folder = world.project / "release-1.md"
        folder.mkdir()
        assert (await on.ask("_north/sessions/export", path=str(folder)))["format"] == "html"
        assert [one.suffix for one in folder.iterdir()] == [".html"]


@pytest.mark.parametrize(
    ("command", "refused_names", "names", "told"),
    [
        ("/dump", ("out.pdf", "out.html"), ("out.txt", "out", "folder.pdf"), "a text file: end the name in .txt, or"),
        (
            "/share",
            ("out.pdf", "out.md"),
            ("out.HTM", "out", "folder.pdf"),
            "a web page: end the name in .html or .htm",
        ),
    ],
)
async def test_a_command_with_one_format_takes_its_ending_alone(
    world: World, server: ModelServer, command: str, refused_names: Sequence[str], names: Sequence[str], told: str
) -> None:
    async with stage(world, server) as on:
        await talked(on)
        (world.project / "folder.pdf").mkdir()
        for name in refused_names:
            await on.say(f"{command} {name}")
            assert f"'{Path(name).suffix}' is not the ending of {told}" in said(on)
            assert not (world.project / name).exists()
        for name in names:
            await on.say(f"{command} {name}")
        assert all((world.project / name).exists() for name in names)
        assert [one.suffix for one in (world.project / "folder.pdf").iterdir()] == [
            ".txt" if command == "/dump" else ".html"
        ]


async def test_a_stored_conversation_is_exported_and_stays_closed(world: World, server: ModelServer) -> None:
    async with stage(world, server) as on:
        await talked(on)
        open_text = (await on.ask("_north/sessions/export", format="md"))["text"]
        await on.ask("session/close")
        log = world.data / "conversations" / f"{on.session}.jsonl"
        before = log.read_bytes()
        text = (await on.ask("_north/sessions/export", format="md"))["text"]
        assert "Change it" in text
        assert text.split("## You")[1:] == open_text.split("## You")[1:]
        stats = await on.ask("_north/sessions/stats")
        assert stats["prompts"] == 2
        assert log.read_bytes() == before
        assert [path.name for path in log.parent.glob(f"{on.session}*")] == [log.name]
        for id in ("ffffff", "../../etc/passwd", ""):
            with pytest.raises(RpcFailure, match="no conversation") as failure:
                await on.client.request("_north/sessions/export", {"sessionId": id})
            assert failure.value.code == -32002


async def test_what_a_conversation_adds_up_to(world: World, server: ModelServer) -> None:
    async with stage(world, server) as on:
        await talked(on)
        on.verdicts = [option("deny")]
        await on.say("Run it", answers=(answer(call("shell_run", command="false")), answer(say("No."))))
        stats = await on.ask("_north/sessions/stats")
        assert (stats["prompts"], stats["answers"], stats["failedAnswers"]) == (3, 6, 0)
        assert stats["tools"]["edit_replace_exact"] == {"calls": 1, "errors": 0}
        assert stats["tools"]["shell_run"] == {"calls": 1, "errors": 1}
        assert (stats["changes"]["linesAdded"], stats["changes"]["changed"], stats["filesRead"]) == (1, 1, 1)
        assert stats["inputTokens"] > 0
        assert stats["outputTokens"] > 0
        assert stats["cost"].keys() == {"input", "output", "cacheRead", "cacheWrite"}
        assert sum(stats["cost"].values()) == pytest.approx(stats["costUsd"])
        assert stats["wallSeconds"] >= stats["modelSeconds"] >= 0
        await on.say("/stats")
        assert "- 3 prompts, 6 answers\n" in said(on)
        assert "`shell_run` 1 (1 failed)" in said(on)
        assert re.search(r"- cost: \S+ \(\S+ in, \S+ out\)", said(on))
        assert "this conversation: +1/-1 lines" in said(on)


async def test_the_commands_write_files_and_ask_before_they_replace_one(world: World, server: ModelServer) -> None:
    async with stage(world, server) as on:
        await talked(on)
        await on.say("/export")
        (page,) = world.project.glob("north-*.html")
        assert page.name.startswith(f"north-{on.session}-")
        assert f"Written to `{page}`." in said(on)
        assert Page(page.read_text()).problems == []
        await on.say('/export "a b.md" --raw')
        assert "Change it" in (world.project / "a b.md").read_text()
        await on.say("/export talk --format=txt")
        assert "Tool read_file" in (world.project / "talk").read_text()
        await on.say("/dump")
        (dump,) = world.project.glob("north-*.txt")
        assert "System prompt" in dump.read_text()
        (world.project / "a b.md").write_text("mine")
        on.verdicts = [option("keep"), option("replace")]
        await on.say("/export 'a b.md'")
        assert (world.project / "a b.md").read_text() == "mine"
        assert "exists already: name another file" in said(on)
        await on.say("/export 'a b.md'")
        assert "Change it" in (world.project / "a b.md").read_text()
        page.unlink()
        await on.say("/share")
        assert page.exists()
        assert "North sends it nowhere." in said(on)
        for typed, words in (
            ("/export a b", "quotation marks"),
            ("/export --format pdf", "There is no format 'pdf'"),
            ("/export --wrong", "Usage: `/export [path]"),
            ("/export .git/config", "There is no folder"),
            ("/dump --format md", "Usage: `/dump [path]"),
        ):
            await on.say(typed)
            assert words in said(on), typed


@pytest.mark.parametrize("name", ["edits", "attachments", "file_blocks"])
async def test_what_was_shown_is_in_the_page(world: World, server: ModelServer, name: str) -> None:
    async with stage(world, server) as on:
        await RECORDED[name](on)
        page = Page((await on.ask("_north/sessions/export"))["text"])
        titles = [
            params["update"]["title"]
            for params in on.client.updates
            if params["update"]["sessionUpdate"] == "tool_call_update" and params["update"].get("status") == "completed"
        ]
    assert page.problems == []
    for title in titles:
        assert title in page.text
