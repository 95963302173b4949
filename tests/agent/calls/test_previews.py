"""What is shown of an edit while its arguments arrive."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.calls.preflight import StreamingCall
from north_lsp.agent.calls.previews import CallPreviewSource, FilePreviewSource, Previews
from north_lsp.agent.ports.events import CallPreviewed, Event
from north_lsp.storage.edit_settings import EditSettings
from north_lsp.tools.base import WriteTool
from north_lsp.workspace.edit.preview import Preview, preview
from north_lsp.workspace.workspace import NoneUnsaved
from tests.support.edits import World
from tests.support.patience import PATIENCE

TEXT = "".join(f"line {number}\n" for number in range(1, 41))
PATCH = (
    "*** Begin Patch\n*** Update File: a.txt\n@@\n line 9\n-line 10\n+LINE TEN\n+and more\n line 11\n*** End Patch\n"
)
UNIFIED = "--- a/a.txt\n+++ b/a.txt\n@@ -9,3 +9,4 @@\n line 9\n-line 10\n+LINE TEN\n+and more\n line 11\n"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, EditSettings(variant="patch"))
    world.write("a.txt", TEXT)
    yield world
    world.conversation.close()


def arriving(world: World, tool: str, text: str) -> CallPreviewSource:
    found = world.tools.find(tool)
    assert isinstance(found, WriteTool)
    call = StreamingCall("c", found)
    call.take(text)
    return CallPreviewSource(call, found, world.workspace)


async def shown(world: World, tool: str, text: str) -> Sequence[Preview] | None:
    made = await arriving(world, tool, text).preview()
    return None if made is None else made[0]


@pytest.mark.parametrize(
    ("tool", "arguments", "growing", "line", "old", "new"),
    [
        ("edit_create_file", {"path": "new.txt"}, {"content": "one\ntwo"}, 1, None, "one\ntwo\n"),
        ("edit_create_file", {"path": "a.txt", "overwrite": True}, {"content": "one\n"}, 1, "line 1\n", "one\n"),
        ("edit_replace_exact", {"path": "a.txt", "old": "line 10"}, {"new": "LINE"}, 7, "10", "LINE"),
        ("edit_insert_at_line", {"path": "a.txt", "line": 10}, {"content": "x = 1\n"}, 7, "9", "x = 1"),
        ("edit_after_anchor", {"path": "a.txt", "anchor": "line 10"}, {"content": "x = 1"}, 8, "10", "x = 1"),
        ("edit_before_anchor", {"path": "a.txt", "anchor": "line 10"}, {"content": "x = 1"}, 7, "10", "x = 1"),
        (
            "edit_replace_block",
            {"path": "a.txt", "startAnchor": "line 10", "endAnchor": "line 14"},
            {"content": "x = 1"},
            8,
            "line 12",
            "x = 1",
        ),
        (
            "edit_by_anchor",
            {"path": "a.txt", "mode": "replace_line", "anchor": "line 10"},
            {"content": "x = 1"},
            7,
            "10",
            "x = 1",
        ),
    ],
)
async def test_every_edit_is_shown_as_far_as_it_has_come(
    world: World, tool: str, arguments: dict[str, Any], growing: dict[str, str], line: int, old: str | None, new: str
) -> None:
    begun = json.dumps(arguments | growing)[: -len('"}')]
    (one,) = await shown(world, tool, begun) or ()
    assert one.path == world.root / arguments["path"]
    assert (one.line, new in one.new) == (line, True)
    assert one.old is None if old is None else old in (one.old or "")
    assert await shown(world, tool, json.dumps(arguments)[:-1]) is None
    assert world.files() == {"a.txt": TEXT.encode()}


@pytest.mark.parametrize("patch", [PATCH, UNIFIED])
async def test_a_patch_is_shown_by_its_hunks(world: World, patch: str) -> None:
    begun = json.dumps({"patch": patch.partition("+and")[0]})[:-2]
    found = await shown(world, "edit_patch", begun)
    whole = await shown(world, "edit_patch", json.dumps({"patch": patch})[:-2])
    assert whole is not None
    assert "LINE TEN\nand more\n" in whole[0].new
    if patch is PATCH:
        assert found is not None
        assert "LINE TEN\nline 11" in found[0].new


async def test_a_batch_is_shown_edit_by_edit(world: World) -> None:
    first = {"tool": "edit_replace_exact", "args": {"path": "a.txt", "old": "line 3\n", "new": "THREE\n"}}
    second = {"tool": "edit_create_file", "args": {"path": "b.txt", "content": "b"}}
    text = json.dumps({"edits": [first, second]})
    whole = await shown(world, "edit_apply_batch", text[: text.index('"b"') + 2])
    assert [one.path.name for one in whole or ()] == ["a.txt", "b.txt"]
    begun = await shown(world, "edit_apply_batch", text[: text.index('"b.txt"') + 4])
    assert [one.path.name for one in begun or ()] == ["a.txt"]
    # An incomplete text to look for is none: it might be found elsewhere.
    turned = {"tool": "edit_replace_exact", "args": {"path": "a.txt", "new": "!", "old": "line 10"}}
    text = json.dumps({"edits": [first, turned]})
    begun = await shown(world, "edit_apply_batch", text[: text.index("line 10") + 6])
    assert "!" not in (begun or ())[0].new


async def test_what_cannot_be_written_is_not_shown_and_not_tried_again(world: World) -> None:
    world.write("unread.txt", "secret\n", shown=False)
    for arguments in (
        {"path": "../out.txt", "content": "x"},
        {"path": ".git/config", "content": "x"},
        {"path": "unread.txt", "content": "x"},
    ):
        assert await shown(world, "edit_create_file", json.dumps(arguments)[:-2]) is None
    text = {"path": "unread.txt", "old": "secret", "new": "x"}
    call = arriving(world, "edit_replace_exact", json.dumps(text)[:-2])
    assert await call.preview() is None
    world.show("unread.txt")
    assert await call.preview() is None


async def test_an_unsaved_text_is_asked_for_once(world: World) -> None:
    asked: list[Path] = []

    class Open(NoneUnsaved):
        async def read_unsaved(self, path: Path) -> str | None:
            asked.append(path)
            return TEXT.replace("line 10", "unsaved 10")

    world.workspace = replace(world.workspace, editor=Open())
    call = arriving(world, "edit_replace_exact", '{"path": "a.txt", "old": "unsaved 10", "new": "x')
    for _ in range(3):
        made = await call.preview()
        assert made is not None
        assert "unsaved 10" in (made[0][0].old or "")
    assert asked == [world.root / "a.txt"]


@given(st.data())
async def test_no_beginning_of_a_call_shows_what_it_does_not_do(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    world = World(tmp_path_factory.mktemp("previews"))
    world.write("a.txt", TEXT)
    new = data.draw(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=30))
    text = json.dumps({"path": "a.txt", "old": "line 20\n", "new": new})
    end = data.draw(st.integers(0, len(text)))
    for one in await shown(world, "edit_replace_exact", text[:end]) or ():
        one.new.encode()
        before, _, after = one.new.partition("line 19\n")
        assert before.endswith("line 18\n")
        assert new.startswith(after.partition("line 21")[0].removesuffix("line 20\n")) or "line 20" in new
    world.conversation.close()


@given(st.text("ab\n", max_size=12), st.text("ab\n", max_size=12), st.booleans())
def test_a_preview_is_a_place_of_both_texts(old: str, new: str, is_growing: bool) -> None:
    one = preview(Path("x"), old, new, is_growing=is_growing)
    start = [len("".join(text.splitlines(keepends=True)[: one.line - 1])) for text in (old, new)]
    assert old.startswith(one.old or "", start[0])
    assert new.startswith(one.new, start[1])
    if not is_growing:
        rest = old[start[0] + len(one.old or "") :]
        assert old[: start[0]] + one.new + rest == new


def test_a_long_text_is_shown_by_its_end() -> None:
    one = preview(Path("x"), None, "".join(f"{number}\n" for number in range(10_000)))
    assert one.new.count("\n") == 200
    assert one.new.endswith("9999\n")
    assert one.line == 9801
    assert len(preview(Path("x"), "y" * 50_000, "x" * 50_000).new) == 16_000


async def test_file_blocks_are_shown_beside_what_they_replace() -> None:
    text = "one\ntwo\n"

    async def old() -> str | None:
        return "a\r\nb\r\nc\r\n"

    made = [
        await FilePreviewSource("f", Path("x"), lambda: text, old, appends=appends).preview()
        for appends in (False, True)
    ]
    assert made == [
        ([Preview(Path("x"), 1, "a\r\nb\r\n", "one\r\ntwo\r\n")], "2 lines"),
        ([Preview(Path("x"), 1, "a\r\nb\r\nc\r\n", "a\r\nb\r\nc\r\none\r\ntwo\r\n")], "2 lines"),
    ]


class _Edit:
    id = "e"

    def __init__(self) -> None:
        self.made = 0
        self.failing = False

    async def preview(self) -> tuple[Sequence[Preview], str] | None:
        self.made += 1
        if self.failing:
            raise RuntimeError("a defect")
        return (), str(self.made)


async def test_previews_have_a_rate_and_end_with_the_edit() -> None:
    events: list[Event] = []
    news = anyio.Event()
    failures: list[str] = []

    async def show(event: Event) -> None:
        events.append(event)
        if len(events) == 3:
            news.set()

    previews = Previews(show, lambda where, _: failures.append(where), seconds=0.02)
    edit = _Edit()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(previews.run)
        started = anyio.current_time()
        while not news.is_set():
            previews.note(edit)
            await anyio.lowlevel.checkpoint()
        assert anyio.current_time() - started >= 0.04
        assert events[:3] == [CallPreviewed("e", (), str(number)) for number in (1, 2, 3)]
        await previews.stop()
        shown = len(events)
        await anyio.sleep(0.03)
        assert len(events) == shown
        broken = _Edit()
        broken.failing = True
        previews.note(broken)
        with anyio.fail_after(PATIENCE):
            while not failures:
                await anyio.lowlevel.checkpoint()
        await previews.stop()
        tasks.cancel_scope.cancel()
    assert failures == ["preview"]


async def test_an_edit_that_is_complete_at_once_is_not_shown_before() -> None:
    events: list[Event] = []

    async def show(event: Event) -> None:
        events.append(event)

    previews = Previews(show, lambda where, _: None, seconds=3600)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(previews.run)
        previews.note(_Edit())
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        await previews.stop()
        tasks.cancel_scope.cancel()
    assert events == []
