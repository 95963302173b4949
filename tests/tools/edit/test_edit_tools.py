"""Each edit tool: what it does, and how it says why it did not."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.calls.arguments import repair_arguments
from north_lsp.errors import ToolError
from north_lsp.storage.edit_settings import EditSettings
from north_lsp.tools.builtin import builtin_tools, edit_tools
from north_lsp.tools.edit.argument_coercion import raw_paths
from north_lsp.tools.support.texts import text_of
from north_lsp.workspace.proposal import FileChange, TextEncoding
from north_lsp.workspace.recent import RecentTexts
from tests.support.edits import World

TEXT = "one\ntwo\nthree\nfour\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.write("a.txt", TEXT)
    return world


async def fails(world: World, tool: str, /, **arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await world.prepare(tool, **arguments)
    return caught.value


async def new_text(world: World, tool: str, /, **arguments: Any) -> str:
    (change,) = await world.prepare(tool, **arguments)
    return change.new_text


def notices(changes: Sequence[FileChange]) -> str:
    return " ".join(notice for change in changes for notice in change.notices)


# -- exact -------------------------------------------------------------------------------------------------------------


async def test_exact_text_is_replaced(world: World) -> None:
    assert await new_text(world, "edit_replace_exact", path="a.txt", old="two\nthree", new="2") == "one\n2\nfour\n"
    assert await new_text(world, "edit_replace_exact", path="a.txt", old="o", new="0", expectedOccurrences=3) == (
        "0ne\ntw0\nthree\nf0ur\n"
    )


async def test_a_text_that_is_not_there_is_diagnosed(world: World) -> None:
    world.write("b.py", "def greet(name):\n\tif name:\n\t\treturn f'Hello, {name}'\n")
    error = await fails(world, "edit_replace_exact", path="b.py", old="    if name:\n        return", new="x")
    assert error.code == "NO_MATCH"
    assert "indented with tabs" in error.message
    error = await fails(world, "edit_replace_exact", path="b.py", old="def greet(nane):", new="x")
    assert "similar" in error.message
    assert "similar (94%) at line 1, line 1 differs at position 13" in error.message
    assert "differs at position" in error.message
    assert "'m' vs 'n'" in error.message
    assert error.details["near"]
    assert "aroundMatch" in (error.hint or "")


async def test_several_places_are_listed(world: World) -> None:
    error = await fails(world, "edit_replace_exact", path="a.txt", old="o", new="0")
    assert error.code == "AMBIGUOUS"
    assert [row["line"] for row in error.details["candidates"]] == [1, 2, 4]  # type: ignore[attr-defined]  # JSON data


async def test_tolerance_is_for_whoever_wants_it(tmp_path: Path) -> None:
    old, new = "if x:\n    call()", "if x:\n    other()\n    more()"
    text = "def f():\n    if x:  \n        call()\n    return\n"
    strict, tolerant = World(tmp_path / "1"), World(tmp_path / "2", EditSettings(tolerance="whitespace"))
    for world in (strict, tolerant):
        world.write("f.py", text)
    assert (await fails(strict, "edit_replace_exact", path="f.py", old=old, new=new)).code == "NO_MATCH"
    changes = await tolerant.prepare("edit_replace_exact", path="f.py", old=old, new=new)
    assert changes[0].new_text == "def f():\n    if x:\n        other()\n        more()\n    return\n"
    assert "except for whitespace" in notices(changes)
    tolerant.write("f.py", text * 2)
    assert (await fails(tolerant, "edit_replace_exact", path="f.py", old=old, new=new)).code == "NO_MATCH"


async def test_line_numbers_that_were_copied_along_are_left_out(world: World) -> None:
    changes = await world.prepare("edit_replace_exact", path="a.txt", old="2→two\n3→three", new="2→2\n3→3")
    assert changes[0].new_text == "one\n2\n3\nfour\n"
    assert "left out" in notices(changes)
    content = "[a.txt#12ab34cd]\n5→five\n6→six\n"
    assert await new_text(world, "edit_insert_at_line", path="a.txt", line=5, content=content) == TEXT + "five\nsix\n"
    assert await new_text(world, "edit_insert_at_line", path="a.txt", line=5, content="1: x\n5: y") == (
        TEXT + "1: x\n5: y\n"
    )


_PUT: dict[str, dict[str, Any]] = {
    "edit_after_anchor": {"anchor": "four"},
    "edit_before_anchor": {"anchor": "four"},
    "edit_by_anchor": {"anchor": "four", "mode": "replace_line"},
    "edit_insert_at_line": {"line": 5},
    "edit_replace_block": {"startAnchor": "one", "endAnchor": "four"},
}


@pytest.mark.parametrize("tool", _PUT)
async def test_numbers_are_left_out_only_where_it_is_certain(world: World, tool: str) -> None:
    async def put(content: str, path: str = "a.txt") -> str:
        return await new_text(world, tool, path=path, content=content, **_PUT[tool])

    for content in ('1: "one",\n2: "two",\n', "1: one\n2:\n", "1→one\n3→two\n", "5:x\n", "1→a\nb\n"):
        assert content in await put(content), content
    column = "     1\ta\n     2\tb\n"
    for content in ("1→alpha\n2→beta\n", "5→five\n", "1:alpha\n2:beta\n", "1:  a\n2:  b\n", column):
        assert (await fails(world, tool, path="a.txt", content=content, **_PUT[tool])).code == "INVALID_INPUT", content
    assert "two\nthree\nfour\nfive\n" in await put("2→two\n3→three\n4→four\n5→five\n")
    world.write("list.txt", "one\n1→a\n2→b\nfour\n")
    assert "3→c\n4→d\n" in await put("3→c\n4→d\n", "list.txt")


async def test_numbers_in_what_replaces_an_exact_text(world: World) -> None:
    exact = {"path": "a.txt", "old": "two\nthree\n"}
    assert "one\ntwo\n3\nfour" in await new_text(world, "edit_replace_exact", **exact, new="2→two\n3→3\n")
    assert (await fails(world, "edit_replace_exact", **exact, new="2→2\n3→3\n")).code == "INVALID_INPUT"
    assert "1: a\n2: b\n" in await new_text(world, "edit_replace_exact", **exact, new="1: a\n2: b\n")
    pasted = {"path": "a.txt", "old": "2→two\n3→three\n"}
    assert (await fails(world, "edit_replace_exact", **pasted, new="2→2\nnew\n3→3\n")).code == "INVALID_INPUT"
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,4 @@\n one\n+2→x\n+3→y\n two\n"
    assert (await fails(world, "edit_patch", patch=patch)).code == "INVALID_INPUT"
    with_line = await new_text(world, "edit_replace_exact", path="a.txt", old="four\n", new="four\n5→five\n6→six\n")
    assert with_line.endswith("four\n5→five\n6→six\n")


# -- whole files ------------------------------------------------------------------------------------------------------


_WHOLE: list[tuple[str, dict[str, Any]]] = [
    ("edit_create_file", {"path": "a.txt", "content": "new\n", "overwrite": True}),
    ("edit_delete_file", {"path": "a.txt"}),
    ("edit_move_file", {"from": "a.txt", "to": "c.txt"}),
    ("edit_move_file", {"from": "b.txt", "to": "a.txt", "overwrite": True}),
    ("edit_patch", {"patch": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"}),
    ("edit_patch", {"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -2,0 +3 @@\n+x\n"}),
    ("edit_apply_batch", {"edits": [{"tool": "edit_delete_file", "args": {"path": "a.txt"}}]}),
]


@pytest.mark.parametrize(("tool", "arguments"), _WHOLE)
async def test_a_file_that_changed_since_it_was_read_is_not_replaced_or_taken_away(
    world: World, tool: str, arguments: dict[str, Any]
) -> None:
    world.write("b.txt", "b\n")
    assert await world.prepare(tool, **arguments)
    world.write("a.txt", TEXT + "more\n", shown=False)
    error = await fails(world, tool, **arguments)
    assert error.code == "STALE"
    assert "a.txt has changed" in error.message


async def test_an_unseen_text_is_not_replaced(world: World) -> None:
    world.write("u.txt", TEXT, shown=False)
    world.write("empty.txt", "", shown=False)
    assert (await fails(world, "edit_create_file", path="u.txt", content="x\n", overwrite=True)).code == "STALE"
    assert (await fails(world, "edit_move_file", **{"from": "a.txt", "to": "u.txt", "overwrite": True})).code == "STALE"
    assert await new_text(world, "edit_create_file", path="empty.txt", content="x\n", overwrite=True) == "x\n"
    assert await world.prepare("edit_delete_file", path="u.txt")


async def test_no_batch_gets_around_what_was_not_seen(world: World) -> None:
    world.write("u.txt", TEXT, shown=False)
    world.write("a.txt", TEXT + "theirs\n", shown=False)
    overwrite = {"content": "x\n", "overwrite": True}
    for first, second in (
        (("edit_move_file", {"from": "u.txt", "to": "v.txt"}), {"path": "v.txt", **overwrite}),
        (("edit_delete_file", {"path": "u.txt"}), {"path": "u.txt", "content": "x\n"}),
        (("edit_replace_exact", {"path": "a.txt", "old": "two", "new": "2"}), {"path": "a.txt", **overwrite}),
    ):
        edits = [{"tool": first[0], "args": first[1]}, {"tool": "edit_create_file", "args": second}]
        assert (await fails(world, "edit_apply_batch", edits=edits)).code == "STALE", first


async def test_a_final_newline_that_was_forgotten_stays(world: World) -> None:
    world.write("n.txt", "no end")
    assert await new_text(world, "edit_create_file", path="a.txt", content="new", overwrite=True) == "new\n"
    assert await new_text(world, "edit_create_file", path="n.txt", content="new", overwrite=True) == "new"


async def test_a_place_in_a_file_is_no_path_to_write(world: World) -> None:
    world.write("t.zip", b"PK\x03\x04")
    for tool, arguments in (
        ("edit_create_file", {"path": "t.zip:new.txt", "content": "x"}),
        ("edit_create_file", {"path": "t.zip:deep/new.txt", "content": "x"}),
        ("edit_move_file", {"from": "a.txt", "to": "t.zip:a.txt"}),
        ("edit_patch", {"patch": "*** Begin Patch\n*** Add File: t.zip:b\n+x\n*** End Patch\n"}),
    ):
        assert "would be inside the file t.zip" in (await fails(world, tool, **arguments)).message
    assert await world.prepare("edit_create_file", path="a:b.txt", content="x")


async def test_protected_links_are_protected_by_every_spelling(tmp_path: Path) -> None:
    world = World(tmp_path, EditSettings(protected=("link.txt", "sub/*.cfg")))
    world.write("real.txt", "one\n")
    (world.root / "link.txt").symlink_to("real.txt")
    world.write("conf/a.cfg", "one\n")
    (world.root / "sub").symlink_to("conf")
    root, link = world.root, tmp_path / "way"
    link.symlink_to(root)
    for path in (
        "link.txt",
        f"file://{root}/link.txt",
        f"{root}/x/../link.txt",
        "real.txt",
        f"file://{root}/l%69nk.txt",
    ):
        assert (await fails(world, "edit_replace_exact", path=path, old="one", new="1")).code == "DENIED", path
    for path in ("sub/a.cfg", "conf/a.cfg", f"{link}/sub/a.cfg", f"file://{link}/SUB/../sub/a.cfg"):
        assert (await fails(world, "edit_create_file", path=path, content="x", overwrite=True)).code == "DENIED", path


# -- lines and anchors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [(1, "new\n" + TEXT), (3, "one\ntwo\nnew\nthree\nfour\n"), (5, TEXT + "new\n")],
)
async def test_lines_are_inserted_before_a_number(world: World, line: int, expected: str) -> None:
    assert await new_text(world, "edit_insert_at_line", path="a.txt", line=line, content="new") == expected


@pytest.mark.parametrize("line", [0, -1, 6])
async def test_a_line_that_is_not_there_is_refused_with_the_count(world: World, line: int) -> None:
    error = await fails(world, "edit_insert_at_line", path="a.txt", line=line, content="x")
    assert error.code == "INVALID_INPUT"
    assert error.details["totalLines"] == 4


async def test_lines_are_put_at_anchors(world: World) -> None:
    put = {"path": "a.txt", "content": "new"}
    assert await new_text(world, "edit_after_anchor", anchor="two", **put) == "one\ntwo\nnew\nthree\nfour\n"
    assert await new_text(world, "edit_before_anchor", anchor="two", **put) == "one\nnew\ntwo\nthree\nfour\n"
    assert await new_text(world, "edit_after_anchor", anchor="two\nthree", **put) == "one\ntwo\nthree\nnew\nfour\n"
    assert await new_text(world, "edit_after_anchor", anchor="o", occurrence=3, **put) == TEXT + "new\n"
    error = await fails(world, "edit_after_anchor", anchor="o", **put)
    assert error.code == "AMBIGUOUS"
    assert error.details["candidates"] == [
        {"occurrence": 1, "line": 1, "preview": "one"},
        {"occurrence": 2, "line": 2, "preview": "two"},
        {"occurrence": 3, "line": 4, "preview": "four"},
    ]
    error = await fails(world, "edit_before_anchor", anchor="thred", **put)
    assert error.code == "NO_MATCH"
    assert "three" in error.message
    assert (await fails(world, "edit_before_anchor", anchor=" ", **put)).code == "INVALID_INPUT"
    assert (await fails(world, "edit_before_anchor", anchor="o", occurrence=4, **put)).code == "INVALID_INPUT"


async def test_an_anchor_may_differ_in_white_space_if_nothing_fits_exactly(world: World) -> None:
    world.write("b.py", "if  a ==  b:\n    pass\n")
    changes = await world.prepare("edit_after_anchor", path="b.py", anchor="if a == b:", content="    x()")
    assert changes[0].new_text == "if  a ==  b:\n    x()\n    pass\n"
    assert "except for whitespace" in notices(changes)


@pytest.mark.parametrize(
    ("inclusive", "expected"), [(False, "one\nnew\nfour\n"), (True, "new\n")], ids=["between", "inclusive"]
)
async def test_a_block_is_replaced(world: World, inclusive: bool, expected: str) -> None:
    block = {"path": "a.txt", "content": "new", "inclusive": inclusive}
    assert await new_text(world, "edit_replace_block", startAnchor="one", endAnchor="four", **block) == expected
    between = {"mode": "replace_between", "anchor": "one", "anchorEnd": "four"}
    assert await new_text(world, "edit_by_anchor", **between, **block) == expected


async def test_a_block_without_its_end_says_which_anchor(world: World) -> None:
    error = await fails(world, "edit_replace_block", path="a.txt", startAnchor="three", endAnchor="one", content="x")
    assert (error.code, error.details["anchor"]) == ("NO_MATCH", "endAnchor")
    assert "before startAnchor" in error.message
    error = await fails(world, "edit_replace_block", path="a.txt", startAnchor="nine", endAnchor="one", content="x")
    assert (error.code, error.details["anchor"]) == ("NO_MATCH", "startAnchor")
    error = await fails(world, "edit_replace_block", path="a.txt", startAnchor="one", endAnchor="nine", content="x")
    assert (error.code, error.details["anchor"]) == ("NO_MATCH", "endAnchor")


async def test_a_line_is_replaced_or_deleted(world: World) -> None:
    line = {"path": "a.txt", "mode": "replace_line", "anchor": "two"}
    assert await new_text(world, "edit_by_anchor", content="2\n2b", **line) == "one\n2\n2b\nthree\nfour\n"
    assert await new_text(world, "edit_by_anchor", content="", **line) == "one\nthree\nfour\n"
    assert (await fails(world, "edit_by_anchor", content="", anchorEnd="four", **line)).code == "INVALID_INPUT"
    error = await fails(world, "edit_by_anchor", path="a.txt", mode="replace_between", anchor="one", content="")
    assert error.code == "INVALID_INPUT"


# -- files -------------------------------------------------------------------------------------------------------------


async def test_files_are_created_with_their_folders(world: World) -> None:
    await world.edit("edit_create_file", path="x/y/z.sh", content="#!/bin/sh\ntrue")
    assert world.read("x/y/z.sh") == b"#!/bin/sh\ntrue\n"
    assert os.access(world.root / "x/y/z.sh", os.X_OK)
    error = await fails(world, "edit_create_file", path="a.txt", content="x")
    assert (error.code, error.details["firstLines"]) == ("CONFLICT", ["one", "two", "three", "four", ""])
    assert (await fails(world, "edit_create_file", path="x/y", content="x")).code == "CONFLICT"
    (change,) = await world.prepare("edit_create_file", path="a.txt", content="x\n", overwrite=True)
    assert (change.action, change.old_text, change.new_text) == ("update", TEXT, "x\n")


async def test_new_files_look_like_their_neighbors(world: World) -> None:
    world.write("dos/a.py", "1\r\n2\r\n")
    world.write("dos/b.py", "1\r\n")
    assert await new_text(world, "edit_create_file", path="dos/c.py", content="x\ny") == "x\r\ny\r\n"
    config = "root = true\n[*]\nend_of_line = lf\n[*.{bat,cmd}]\nend_of_line = crlf\ninsert_final_newline = false\n"
    world.write(".editorconfig", config)
    assert await new_text(world, "edit_create_file", path="dos/d.py", content="x\ny") == "x\ny\n"
    assert await new_text(world, "edit_create_file", path="x/run.cmd", content="x\ny") == "x\r\ny"


@pytest.mark.parametrize(
    ("section", "met", "not_met"),
    [
        ("lib/**.js", ["lib/a.js", "lib/deep/er/a.js"], ["a.js", "lib/a.py"]),
        ("**.js", ["a.js", "lib/a.js"], ["a.py"]),
        ("lib/**", ["lib/a.js", "lib/deep/a"], ["a.js"]),
        ("lib/*.js", ["lib/a.js"], ["lib/deep/a.js"]),
    ],
)
async def test_two_stars_of_an_editorconfig_reach_over_folders(
    world: World, section: str, met: list[str], not_met: list[str]
) -> None:
    world.write(".editorconfig", f"root = true\n[{section}]\nend_of_line = crlf\n")
    for path in (*met, *not_met):
        end = "\r\n" if path in met else "\n"
        assert await new_text(world, "edit_create_file", path=path, content="x\n") == f"x{end}"


async def test_files_are_moved_and_deleted(world: World) -> None:
    (world.root / "a.txt").chmod(0o750)
    changes = await world.edit("edit_move_file", **{"from": "a.txt", "to": "new/b.txt"})
    assert [(change.action, change.shown) for change in changes] == [("rename", "new/b.txt")]
    assert world.files() == {"new/b.txt": TEXT.encode()}
    assert (world.root / "new/b.txt").stat().st_mode & 0o777 == 0o750
    await world.edit("edit_delete_file", path="new/b.txt")
    assert world.files() == {}
    assert await world.undo(2) == {"new/b.txt": "restored", "a.txt": "restored"}
    assert world.files() == {"a.txt": TEXT.encode()}
    assert (world.root / "a.txt").stat().st_mode & 0o777 == 0o750


async def test_what_stands_in_the_way_of_a_move_is_said(world: World) -> None:
    world.write("b.txt", "b\n")
    (world.root / "folder").mkdir()
    assert (await fails(world, "edit_move_file", **{"from": "a.txt", "to": "b.txt"})).code == "CONFLICT"
    assert (await fails(world, "edit_move_file", **{"from": "a.txt", "to": "folder"})).code == "CONFLICT"
    assert (await fails(world, "edit_move_file", **{"from": "a.txt", "to": "a.txt"})).code == "CONFLICT"
    assert (await fails(world, "edit_move_file", **{"from": "no.txt", "to": "c.txt"})).code == "NOT_FOUND"
    assert (await fails(world, "edit_delete_file", path=".")).code == "CONFLICT"
    assert (await fails(world, "edit_delete_file", path="no.txt")).code == "NOT_FOUND"
    await world.edit("edit_move_file", **{"from": "a.txt", "to": "b.txt", "overwrite": True})
    assert world.files() == {"b.txt": TEXT.encode()}


async def test_unsaved_changes_are_never_deleted_or_moved_away(world: World) -> None:
    world.editor.texts[world.root / "a.txt"] = TEXT + "unsaved\n"
    assert (await fails(world, "edit_delete_file", path="a.txt")).code == "CONFLICT"
    assert (await fails(world, "edit_move_file", **{"from": "a.txt", "to": "b.txt"})).code == "CONFLICT"


async def test_binary_files_can_be_moved_and_deleted_but_not_edited(world: World) -> None:
    data = b"\x89PNG\x00\xff\xfe" + bytes(range(256))
    world.write("p.png", data, shown=False)
    assert (await fails(world, "edit_replace_exact", path="p.png", old="P", new="Q")).code == "BINARY_FILE"
    await world.edit("edit_move_file", **{"from": "p.png", "to": "q.png"})
    assert world.read("q.png") == data
    (change,) = await world.edit("edit_delete_file", path="q.png")
    assert (change.binary, change.hunks) == (True, ())
    await world.undo(2)
    assert world.read("p.png") == data


# -- batches and patches -----------------------------------------------------------------------------------------------


async def test_a_batch_sees_its_own_edits_and_is_one_proposal(world: World) -> None:
    edits = [
        {"tool": "edit_insert_at_line", "args": {"path": "a.txt", "line": 1, "content": "zero"}},
        {"tool": "edit_after_anchor", "args": {"path": "a.txt", "anchor": "zero", "content": "half"}},
        {"tool": "edit_insert_at_line", "args": {"path": "a.txt", "line": 3, "content": "almost"}},
        {"tool": "edit_create_file", "args": {"path": "n.txt", "content": "new"}},
        {"tool": "edit_replace_exact", "args": {"path": "n.txt", "old": "new", "new": "newer"}},
        {"tool": "edit_move_file", "args": {"from": "a.txt", "to": "b.txt"}},
        {"tool": "edit_by_anchor", "args": {"path": "b.txt", "mode": "replace_line", "anchor": "four", "content": ""}},
    ]
    changes = await world.edit("edit_apply_batch", edits=edits)
    assert [(change.action, change.shown) for change in changes] == [("create", "n.txt"), ("rename", "b.txt")]
    assert world.files() == {"n.txt": b"newer\n", "b.txt": b"zero\nhalf\nalmost\none\ntwo\nthree\n"}


async def test_a_batch_that_fails_names_the_item_and_does_nothing(world: World) -> None:
    edits = [
        {"tool": "edit_create_file", "args": {"path": "n.txt", "content": "new"}},
        {"tool": "edit_replace_exact", "args": {"path": "a.txt", "old": "thred", "new": "3"}},
    ]
    error = await fails(world, "edit_apply_batch", edits=edits)
    assert (error.code, error.details["index"]) == ("NO_MATCH", 1)
    assert "edits[1] (edit_replace_exact)" in error.message
    assert error.details["near"]
    for bad in (
        [{"tool": "edit_apply_batch", "args": {"edits": edits}}],
        [{"tool": "undo_edit", "args": {}}],
        [{"tool": "shell_run", "args": {"command": "true"}}],
        [{"tool": "edit_create_file", "args": {"path": "n"}}],
        [],
        edits[:1] * 51,
    ):
        assert (await fails(world, "edit_apply_batch", edits=bad)).code == "INVALID_INPUT"
    assert world.files() == {"a.txt": TEXT.encode()}


async def test_a_batch_that_comes_to_nothing_changes_nothing(world: World) -> None:
    edits = [
        {"tool": "edit_create_file", "args": {"path": "n.txt", "content": "new"}},
        {"tool": "edit_delete_file", "args": {"path": "n.txt"}},
        {"tool": "edit_replace_exact", "args": {"path": "a.txt", "old": "two", "new": "2"}},
        {"tool": "edit_replace_exact", "args": {"path": "a.txt", "old": "2", "new": "two"}},
    ]
    assert await world.prepare("edit_apply_batch", edits=edits) == []


PATCH = """*** Begin Patch
*** Update File: a.txt
@@ one
-two
+2
 three
*** Add File: n.txt
+new
+file
*** Update File: c.txt
*** Move to: d.txt
@@
-c
+d
*** Delete File: e.txt
*** End Patch
"""


async def test_a_patch_in_both_forms(world: World) -> None:
    world.write("c.txt", "b\r\nc\r\n")
    world.write("e.txt", "e\n")
    await world.edit("edit_patch", patch=PATCH)
    assert world.files() == {
        "a.txt": b"one\n2\nthree\nfour\n",
        "n.txt": b"new\nfile\n",
        "d.txt": b"b\r\nd\r\n",
    }
    unified = "--- a/a.txt\n+++ b/a.txt\n@@ -102,2 +102,2 @@\n three\n-four\n+4\n\\ No newline at end of file\n"
    error = await fails(world, "edit_patch", patch=unified.replace("102", "502"))
    assert error.code == "NO_MATCH"
    assert "-four" not in error.message
    assert "three\nfour\n" in error.message
    changes = await world.edit("edit_patch", patch=unified)
    assert world.read("a.txt") == b"one\n2\nthree\n4"
    assert "99 lines earlier" in notices(changes)


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ("nothing here", "INVALID_INPUT"),
        ("*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n", "INVALID_INPUT"),
        ("*** Begin Patch\nwhat\n*** End Patch", "INVALID_INPUT"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -2,2 +2,1 @@\n-two\n", "INVALID_INPUT"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ broken @@\n-two\n", "INVALID_INPUT"),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-two\n+2\n", "OUTSIDE_WORKSPACE"),
        ("*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** Delete File: ../x\n*** End Patch", "OUTSIDE_WORKSPACE"),
    ],
)
async def test_a_patch_that_cannot_be_read_is_refused(world: World, patch: str, code: str) -> None:
    assert (await fails(world, "edit_patch", patch=patch)).code == code


# -- what every edit keeps to ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", [TextEncoding(), TextEncoding("utf-8", b"\xef\xbb\xbf"), TextEncoding("utf-16-le", b"\xff\xfe")]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", [True, False])
async def test_encoding_line_ends_and_the_last_one_are_kept(
    world: World, form: TextEncoding, newline: str, end: bool
) -> None:
    def spelled(text: str) -> bytes:
        text = text if end else text.removesuffix("\n")
        return form.bom + text.replace("\n", newline).encode(form.encoding)

    world.write("f.txt", spelled("ä\nb\nc\n"))
    (world.root / "f.txt").chmod(0o640)
    await world.edit("edit_replace_exact", path="f.txt", old="ä\nb", new="ä\nß\nB")
    assert world.read("f.txt") == spelled("ä\nß\nB\nc\n")
    await world.edit("edit_after_anchor", path="f.txt", anchor="c", content="d\ne")
    assert world.read("f.txt") == spelled("ä\nß\nB\nc\nd\ne\n")
    await world.edit("edit_insert_at_line", path="f.txt", line=1, content="start\n")
    assert world.read("f.txt") == spelled("start\nä\nß\nB\nc\nd\ne\n")
    assert (world.root / "f.txt").stat().st_mode & 0o777 == 0o640
    await world.undo(3)
    assert world.read("f.txt") == spelled("ä\nb\nc\n")


async def test_mixed_line_ends_stay_where_nothing_was_changed(world: World) -> None:
    world.write("m.txt", b"a\r\nb\nc\r\nd\r\ne")
    await world.edit("edit_before_anchor", path="m.txt", anchor="c", content="new")
    assert world.read("m.txt") == b"a\r\nb\nnew\r\nc\r\nd\r\ne"


async def test_a_character_that_the_encoding_lacks_is_named_and_nothing_is_written(world: World) -> None:
    world.write("l.txt", "Maß\n".encode("latin-1"))
    error = await fails(world, "edit_replace_exact", path="l.txt", old="Maß", new="10 €")
    assert "'€' (U+20AC)" in error.message
    assert "'\\ud800'" in (await fails(world, "edit_create_file", path="s.txt", content="a\ud800b")).message
    assert world.read("l.txt") == "Maß\n".encode("latin-1")


async def test_a_byte_that_is_no_utf8_is_kept_and_what_is_added_is_utf8(world: World) -> None:
    before = "grün\n".encode() + b"caf\xe9\n" + b"blau\n"
    world.write("n.txt", before)
    await world.edit("edit_after_anchor", path="n.txt", anchor="blau", content="weiß ä")
    await world.edit("edit_replace_exact", path="n.txt", old="grün", new="größer")
    assert world.read("n.txt") == "größer\n".encode() + b"caf\xe9\n" + "blau\nweiß ä\n".encode()
    await world.undo(2)
    assert world.read("n.txt") == before


async def test_where_the_encoding_is_not_known_only_known_characters_are_written(world: World) -> None:
    data = "a ß» b äöü\n".encode("latin-1")
    world.write("l.txt", data)
    await world.edit("edit_replace_exact", path="l.txt", old="a", new="ä")
    error = await fails(world, "edit_after_anchor", path="l.txt", anchor="b", content="é")
    assert "the encoding of l.txt is unknown" in error.message
    assert world.read("l.txt") == "ä ß» b äöü\n".encode("latin-1")


async def test_unsaved_text_of_a_file_with_other_bytes_is_not_written_over_them(world: World) -> None:
    path = world.write("n.txt", "grün\n".encode() + b"caf\xe9\n")
    world.editor.texts[path] = "grün\ncaf\ufffd\nmore\n"
    error = await fails(world, "edit_after_anchor", path="n.txt", anchor="more", content="x")
    assert error.code == "CONFLICT"


async def test_the_unsaved_text_is_what_is_edited(world: World) -> None:
    path = world.root / "a.txt"
    world.editor.texts[path] = TEXT + "unsaved\n"
    await world.edit("edit_after_anchor", path="a.txt", anchor="unsaved", content="more")
    assert world.editor.texts[path] == TEXT + "unsaved\nmore\n"
    assert world.read("a.txt") == TEXT.encode()
    assert world.editor.applied == [("a.txt",)]


async def test_a_file_has_to_be_read_first(world: World) -> None:
    world.write("unseen.txt", TEXT, shown=False)
    error = await fails(world, "edit_replace_exact", path="unseen.txt", old="two", new="2")
    assert error.code == "STALE"
    assert "not read" in error.message


async def test_what_was_read_and_has_changed_since(tmp_path: Path) -> None:
    policies: dict[str, list[str | None]] = {
        "warn": [None, "STALE"],
        "strict": ["STALE", "STALE"],
        "off": [None, None],
    }
    for policy, expected in policies.items():
        settings = EditSettings(stale_check=policy)  # type: ignore[arg-type]  # each of the literals
        world = World(tmp_path / policy, settings)
        world.write("a.txt", TEXT)
        await text_of(world.root / "a.txt", world.workspace)
        tag = world.workspace.seen.tags[world.root / "a.txt"]
        world.write("a.txt", TEXT + "more\n", shown=False)
        got: list[str | None] = []
        exact: dict[str, Any] = {"path": "a.txt", "old": "two", "new": "2"}
        for tool, args in (
            ("edit_replace_exact", exact),
            ("edit_insert_at_line", {"path": "a.txt", "line": 1, "content": "x"}),
        ):
            try:
                changes = await world.prepare(tool, **args)
                got.append(None)
                assert ("has changed since" in notices(changes)) == (policy == "warn")
            except ToolError as error:
                got.append(error.code)
        assert got == expected
        stale = await fails(world, "edit_replace_exact", **exact, snapshot=f"a.txt#{tag}")
        assert stale.code == "STALE"
        assert stale.details["changedLines"] == [(5, 5)]
        assert "changed: 5-5" in stale.message
        now = stale.details["snapshot"]
        await world.prepare("edit_replace_exact", **exact, snapshot=now)
        await world.prepare("edit_insert_at_line", path="a.txt", line=1, content="x", snapshot=now)


@pytest.mark.parametrize("name", ["package-lock.json", "gen.py"])
async def test_generated_files_are_guarded(tmp_path: Path, name: str) -> None:
    head = "# Code generated by protoc. DO NOT EDIT.\n" if name == "gen.py" else "{}\n"
    world, lifted = World(tmp_path / "1"), World(tmp_path / "2", EditSettings(allow_generated=("*.json", "gen.py")))
    for one in (world, lifted):
        one.write(name, head + TEXT)
    for tool, args in (
        ("edit_replace_exact", {"path": name, "old": "two", "new": "2"}),
        ("edit_create_file", {"path": name, "content": "x", "overwrite": True}),
        ("edit_delete_file", {"path": name}),
        ("edit_move_file", {"from": name, "to": "x"}),
    ):
        assert (await fails(world, tool, **args)).code == "GENERATED_FILE"
        assert await lifted.prepare(tool, **args)


async def test_the_users_own_protected_names(tmp_path: Path) -> None:
    world = World(tmp_path, EditSettings(protected=("vendor/**", "*.sql")))
    world.write("vendor/x/a.py", TEXT)
    world.write("db/b.sql", TEXT)
    for name in ("vendor/x/a.py", "db/b.sql"):
        assert (await fails(world, "edit_replace_exact", path=name, old="two", new="2")).code == "DENIED"
        assert (await fails(world, "edit_delete_file", path=name)).code == "DENIED"
        assert (await fails(world, "edit_move_file", **{"from": name, "to": "x"})).code == "DENIED"
    assert (await fails(world, "edit_create_file", path="vendor/new", content="")).code == "DENIED"


async def test_a_hard_link_is_broken_and_that_is_said(world: World, tmp_path: Path) -> None:
    os.link(world.root / "a.txt", tmp_path / "outside")
    changes = await world.edit("edit_replace_exact", path="a.txt", old="two", new="2")
    assert "2 hard links" in notices(changes)
    assert (tmp_path / "outside").read_text() == TEXT


async def test_arguments_that_are_too_large_are_refused(world: World) -> None:
    error = await fails(world, "edit_create_file", path="big", content="x" * 51 * 1024)
    assert error.code == "TOO_LARGE"


async def test_ask_mode_has_no_way_to_write(world: World) -> None:
    registry = builtin_tools()
    for tool in [*edit_tools(), registry.find("undo_edit")]:
        assert tool is not None
        with pytest.raises(ToolError) as caught:
            registry.check(tool.name, {}, "ask")
        assert caught.value.code == "MODE_FORBIDDEN"
    assert not [spec.name for spec in registry.specs("ask") if "edit" in spec.name]


def test_the_variant_decides_which_tools_are_offered() -> None:
    anchors = {spec.name for spec in builtin_tools("anchors").specs("agent")}
    patch = {spec.name for spec in builtin_tools("patch").specs("agent")}
    assert anchors - patch == {"edit_after_anchor", "edit_before_anchor", "edit_by_anchor", "edit_replace_block"}
    assert patch - anchors == {"edit_patch"}


# -- hostile paths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "",
        "../x",
        "/etc/passwd",
        "a/../../x",
        "link/x",
        "dangling",
        "x\0y",
        "x\ny",
        "file:///etc/passwd",
        "~/x",
        ".git/config",
        ".GIT/config",
        "sub/.git/hooks/x",
        ".git./config",
        "git~1/config",
        "fifo",
        "bare/HEAD",
        "bare/hooks/x",
        ".north/allowlist.json",
        "a.txt/x",
    ],
)
@pytest.mark.parametrize("tool", ["create", "delete", "move to", "batch", "patch"])
async def test_hostile_paths_write_nothing(world: World, path: str, tool: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (world.root / "link").symlink_to(outside)
    (world.root / "dangling").symlink_to(outside / "made")
    os.mkfifo(world.root / "fifo")
    for name in ("bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/hooks/x", ".git/config", "link/x"):
        world.write(name, "old\n", shown=False)
    before = {str(one): one.read_bytes() for one in tmp_path.rglob("*") if one.is_file() and "data" not in one.parts}
    create = {"path": path, "content": "evil", "overwrite": True}
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "create": ("edit_create_file", create),
        "delete": ("edit_delete_file", {"path": path}),
        "move to": ("edit_move_file", {"from": "a.txt", "to": path, "overwrite": True}),
        "batch": ("edit_apply_batch", {"edits": [{"tool": "edit_create_file", "args": create}]}),
        "patch": ("edit_patch", {"patch": f"*** Begin Patch\n*** Add File: {path}\n+evil\n*** End Patch\n"}),
    }
    name, arguments = calls[tool]
    with pytest.raises(ToolError):
        await world.edit(name, **arguments)
    after = {str(one): one.read_bytes() for one in tmp_path.rglob("*") if one.is_file() and "data" not in one.parts}
    assert after == before


# -- what has changed since --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "ranges"),
    [
        (TEXT, []),
        ("one\nTWO\nthree\nfour\n", [(2, 2)]),
        ("one\nthree\nfour\n", [(2, 1)]),
        ("zero\none\ntwo\nthree\nfour", [(1, 5)]),
    ],
)
def test_the_lines_that_changed_are_named(now: str, ranges: list[tuple[int, int]]) -> None:
    recent = RecentTexts()
    recent.keep("1234", TEXT)
    assert recent.changed_lines("1234", now) == ranges
    assert recent.changed_lines("5678", now) is None


def test_texts_are_forgotten_before_they_are_too_many() -> None:
    recent = RecentTexts()
    for number in range(100):
        recent.keep(str(number), f"{number}\n" + "x" * 200_000)
    assert recent.changed_lines("0", "") is None
    assert recent.changed_lines("99", "99\n" + "x" * 200_000) == []
    recent.keep("large", "x" * 5_000_000)
    assert recent.changed_lines("large", "") is None


@pytest.mark.parametrize("path", ["new/", "a.txt/", "./new/"])
async def test_a_name_of_a_folder_is_no_file(world: World, path: str) -> None:
    assert (await fails(world, "edit_create_file", path=path, content="x")).code == "INVALID_INPUT"
    assert (await fails(world, "edit_move_file", **{"from": "a.txt", "to": path})).code == "INVALID_INPUT"


# -- what a model needs to do better ---------------------------------------------------------------------------------


async def test_numbers_from_other_tools_are_left_out_of_what_is_looked_for(world: World) -> None:
    world.write("n.txt", "one\ntwo\nthree\n")
    for old in ("     1\tone\n     2\ttwo", "1|one\n2|two", "2\ttwo"):
        (change,) = await world.prepare("edit_replace_exact", path="n.txt", old=old, new="x")
        assert "copied from a read result" in change.notices[0]
    (change,) = await world.prepare("edit_after_anchor", path="n.txt", anchor="2→two", content="x")
    assert change.new_text == "one\ntwo\nx\nthree\n"


async def test_a_file_that_does_not_exist_is_told_with_similar_ones(world: World) -> None:
    world.write("package/module.py", "x = 1\n")
    for tool, arguments in (
        ("edit_replace_exact", {"path": "src/module.py", "old": "x", "new": "y"}),
        ("edit_delete_file", {"path": "module.py"}),
        ("edit_move_file", {"from": "module.py", "to": "m.py"}),
    ):
        with pytest.raises(ToolError) as caught:
            await world.prepare(tool, **arguments)
        assert (caught.value.code, caught.value.hint) == ("NOT_FOUND", "similar: package/module.py")


async def test_arguments_with_other_names_are_told_with_the_right_ones(world: World) -> None:
    with pytest.raises(ToolError) as caught:
        await world.prepare("edit_replace_exact", file_path="a.txt", old_string="x", new_string="y")
    assert "no argument called file_path, old_string, new_string; the arguments are path, old, new" in str(
        caught.value.hint
    )


async def test_a_batch_takes_arguments_that_stand_beside_the_tool(world: World) -> None:
    world.write("b.txt", "one\n")
    flat = {"tool": "edit_replace_exact", "path": "b.txt", "old": "one", "new": "two"}
    (change,) = await world.prepare("edit_apply_batch", edits=[flat])
    assert change.new_text == "two\n"


async def test_a_patch_that_does_not_fit_shows_the_place_that_comes_closest(world: World) -> None:
    world.write("p.txt", "".join(f"row {number}\n" for number in range(1, 80)) + "def load(name):\n    pass\n")
    patch = "*** Begin Patch\n*** Update File: p.txt\n@@\n-def laod(name):\n+def get(name):\n*** End Patch\n"
    with pytest.raises(ToolError) as caught:
        await world.prepare("edit_patch", patch=patch)
    assert "found at line 80:\ndef load(name):\n" in caught.value.message
    with pytest.raises(ToolError) as caught:
        await world.prepare("edit_patch", patch=patch.replace("@@\n", "@@ class Laoder\n"))
    assert "its line `@@ class Laoder` was not found" in caught.value.message


async def test_a_batch_is_understood_however_a_model_spells_it(world: World) -> None:
    args = {"path": "a.txt", "old": TEXT.split("\n", maxsplit=1)[0], "new": "1st"}
    item = {"tool": "edit_replace_exact", "args": args}
    wanted = await world.prepare("edit_apply_batch", edits=[item])
    for edits in (
        json.dumps([item]),
        item,
        json.dumps(item),
        [json.dumps(item)],
        [{"tool": "edit_replace_exact", "args": json.dumps(args)}],
        [{"tool": "edit_replace_exact", **args}],
        [{"name": "edit_replace_exact", "arguments": args}],
        [{"name": "edit_replace_exact", "input": json.dumps(args)}],
    ):
        given, _ = repair_arguments({"edits": edits}, world.tools.schema("edit_apply_batch"))
        assert await world.prepare("edit_apply_batch", **given) == wanted
        assert list(raw_paths({"edits": edits})) == ["a.txt"]
    wrong: list[Any] = ["[", "{}", [[]], [{"name": 3}], "no"]
    for broken in wrong:
        assert (await fails(world, "edit_apply_batch", edits=broken)).code == "INVALID_INPUT"


async def test_a_file_that_an_earlier_item_took_away_is_told_as_such(world: World) -> None:
    change = {"tool": "edit_replace_exact", "args": {"path": "a.txt", "old": "x", "new": "y"}}
    move = {"tool": "edit_move_file", "args": {"from": "a.txt", "to": "b.txt"}}
    delete = {"tool": "edit_delete_file", "args": {"path": "a.txt"}}
    error = await fails(world, "edit_apply_batch", edits=[move, change])
    assert "a.txt was moved to b.txt by an earlier edit" in error.message
    assert error.hint == "name b.txt"
    for last in (change, delete, move):
        assert (
            "was deleted by an earlier edit" in (await fails(world, "edit_apply_batch", edits=[delete, last])).message
        )


async def test_files_that_are_too_large_for_an_undo_are_left_to_commands(world: World) -> None:
    with (world.root / "huge.bin").open("wb") as file:
        file.truncate(21 * 1024 * 1024)
    for tool, args in (
        ("edit_delete_file", {"path": "huge.bin"}),
        ("edit_move_file", {"from": "huge.bin", "to": "b.bin"}),
        ("edit_create_file", {"path": "huge.bin", "content": "x", "overwrite": True}),
    ):
        error = await fails(world, tool, **args)
        assert (error.code, "with a command" in str(error.hint)) == ("TOO_LARGE", True)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/a.txt", "leave out the leading slash if you mean a.txt"),
        ("a.txt/b", "list the folder"),
        ("nowhere", "not the link"),
    ],
)
async def test_a_wrong_path_is_answered_with_what_to_do(world: World, path: str, hint: str) -> None:
    (world.root / "nowhere").symlink_to("gone")
    assert hint in str((await fails(world, "edit_create_file", path=path, content="x")).hint)


async def test_what_a_model_leaves_empty_counts_as_left_out(world: World) -> None:
    wanted = await world.prepare("edit_replace_exact", path="a.txt", old=TEXT, new="x")
    assert await world.prepare("edit_replace_exact", path="a.txt", old=TEXT, new="x", snapshot="") == wanted
    line = TEXT.split("\n", maxsplit=1)[0]
    inserted = await world.prepare("edit_by_anchor", path="a.txt", mode="insert_after", anchor=line, content="x")
    more = {"anchor": line, "content": "x", "anchorEnd": "", "snapshot": ""}
    assert await world.prepare("edit_by_anchor", path="a.txt", mode="insert_after", **more) == inserted
    assert (await fails(world, "edit_by_anchor", path="a.txt", mode="replace_between", **more)).code == "INVALID_INPUT"


async def test_line_numbers_that_were_copied_into_a_new_file_are_left_out(world: World) -> None:
    for content, wanted in (
        ("[a.txt#c3f9c8c2]\n1→one\n2→two\n", "one\ntwo\n"),
        ("[a.txt#c3f9c8c2]\none\n", "one\n"),
        ("1: one\n2: two\n", "1: one\n2: two\n"),
        ("1→one\n", "1→one\n"),
        ("1→one\n3→two\n", "1→one\n3→two\n"),
        ("1→one\ntwo\n", "1→one\ntwo\n"),
    ):
        (change,) = await world.prepare("edit_create_file", path="new.txt", content=content)
        assert change.new_text == wanted
        assert bool(change.notices) == (content.rstrip() != wanted.rstrip())
    assert "in sequence" in (await fails(world, "edit_create_file", path="new.txt", content="7→one\n8→two")).message


async def test_a_script_gets_no_line_ends_that_keep_it_from_running(world: World) -> None:
    world.write("b.sh", b"#!/bin/sh\r\nls\r\n")
    (script,) = await world.prepare("edit_create_file", path="c.sh", content="#!/bin/sh\nls")
    (other,) = await world.prepare("edit_create_file", path="d.sh", content="ls")
    assert (script.new_text, other.new_text) == ("#!/bin/sh\nls\n", "ls\r\n")
