import os
import sqlite3
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from north_lsp.agent.log.messages import Mention
from north_lsp.agent.log.prompt import FileLink, to_log
from north_lsp.errors import ToolError
from tests.tools.conftest import Desk

_QUIET = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def numbered(first: int, last: int) -> str:
    return "".join(f"{number}→line {number}\n" for number in range(first, last + 1))


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


async def test_a_file_comes_with_its_facts(desk: Desk) -> None:
    desk.write({"src/a.py": "x = 1\r\ny = 2\r\n"})
    data = await desk.call("read_file", path="src/a.py")
    tag = data.pop("snapshot").split("#")[1]
    assert len(tag) == 8
    assert data == {
        "path": "src/a.py",
        "totalLines": 2,
        "bytes": 14,
        "ranges": [{"start": 1, "end": 2}],
        "content": "1→x = 1\n2→y = 2\n",
        "truncated": False,
        "language": "python",
        "newline": "crlf",
        "meta": {"source": "disk"},
    }
    path = desk.root / "src/a.py"
    assert desk.workspace.seen.tags[path] == tag
    assert desk.workspace.seen.ranges[path] == ((1, 2),)


async def test_unsaved_text_wins(desk: Desk) -> None:
    desk.write({"a.py": "old\n"})
    desk.unsaved[desk.root / "a.py"] = "new\n"
    data = await desk.call("read_file", path="a.py")
    assert (data["content"], data["meta"]) == ("1→new\n", {"source": "editor"})
    assert (await desk.call("get_line_count", path="a.py"))["meta"]["source"] == "editor"
    assert (await desk.call("read_around", path="a.py", anchor="new"))["matchLine"] == 1
    assert (await desk.call("search_text", query="new"))["totalMatches"] == 1


async def test_a_page_says_what_is_left(desk: Desk) -> None:
    desk.write({"a": lines(1200)})
    data = await desk.call("read_file", path="a", startLine=100, endLine=900)
    assert data["ranges"] == [{"start": 100, "end": 599}]
    assert data["truncated"]
    assert data["nextRange"] == {"startLine": 600, "endLine": 900}
    rest = await desk.call("read_file", path="a", **data["nextRange"])
    assert (rest["content"], rest["truncated"]) == (numbered(600, 900), False)


async def test_behind_the_end_is_the_last_page(desk: Desk) -> None:
    desk.write({"a": lines(700)})
    data = await desk.call("read_file", path="a", startLine=5000)
    assert data["ranges"] == [{"start": 201, "end": 700}]
    assert "700 lines" in data["meta"]["notices"][0]
    assert (await desk.error("read_file", path="a", startLine=5, endLine=4)).code == "INVALID_INPUT"


async def test_long_lines_are_cut_by_bytes(desk: Desk) -> None:
    desk.write({"a": "x" * 60_000 + "\n" + "y" * 60_000 + "\n", "b": "é" * 100_000 + "\nend\n"})
    data = await desk.call("read_file", path="a")
    assert data["ranges"] == [{"start": 1, "end": 1}]
    assert data["nextRange"] == {"startLine": 2, "endLine": 2}
    data = await desk.call("read_file", path="b")
    assert "line 1 is cut" in data["meta"]["notices"][0]
    assert len(data["content"].encode()) < 110_000


async def test_windows_context_and_edges_are_merged_with_gaps_marked(desk: Desk) -> None:
    body = "".join(f"    a{number} = {number}\n" for number in range(40))
    desk.write(
        {"a.py": f"import os\nimport sys\n\n\ndef f():\n{body}\n\ndef g():\n    needle = 1\n    return needle\n"}
    )
    data = await desk.call("read_file", path="a.py", aroundMatch="needle = 1", windowLines=0, includeContext="imports")
    assert data["content"] == "1→import os\n2→import sys\n⋯ (lines 3–48)\n49→    needle = 1\n"
    data = await desk.call("read_file", path="a.py", aroundMatch="needle = 1", windowLines=0, includeContext="full")
    assert data["content"] == "48→def g():\n49→    needle = 1\n50→    return needle\n"
    data = await desk.call("read_file", path="a.py", startLine=20, endLine=21, includeHeadTail=True)
    assert [(part["start"], part["end"]) for part in data["ranges"]] == [(1, 10), (20, 21), (41, 50)]
    data = await desk.call("read_file", path="a.py", aroundMatch="needle", occurrence=2, windowLines=0)
    assert data["ranges"] == [{"start": 50, "end": 50}]
    data = await desk.call("read_file", path="a.py", startLine=1, endLine=1, lineNumbers=False)
    assert data["content"] == "import os\n"


async def test_a_text_that_is_not_there_has_near_matches(desk: Desk) -> None:
    desk.write({"a.py": "def hello_world():\n    pass\n"})
    error = await desk.error("read_file", path="a.py", aroundMatch="def hello_wrld():")
    assert error.code == "NO_MATCH"
    assert "hello_world" in error.message
    assert (await desk.error("read_file", path="a.py", aroundMatch="pass", occurrence=2)).code == "INVALID_INPUT"


async def test_white_space_is_disregarded_if_nothing_else_fits(desk: Desk) -> None:
    desk.write({"a.py": "def f(a,\n      b):\n    pass\n"})
    data = await desk.call("read_around", path="a.py", anchor="def  f(a,\nb):", before=0, after=0)
    assert data["matchLine"] == 1
    assert "white space" in data["meta"]["notices"][0]


async def test_missing_files_have_suggestions(desk: Desk) -> None:
    desk.write({"src/app.py": "1\n", "lib/App.py": "2\n", "notes.md": "n\n", "it’s.txt": "q\n", "closed.key": "k"})
    desk.write({".northignore": "*.key\n"})
    error = await desk.error("read_file", path="app.py")
    assert error.code == "NOT_FOUND"
    assert error.details["similar"] == ["lib/App.py", "src/app.py"]
    for spelled, meant in (("src/apq.py", "src/app.py"), ("notes", "notes.md"), ("it's.txt", "it’s.txt")):
        data = await desk.call("read_file", path=spelled)
        assert data["path"] == meant
        assert "does not exist" in data["meta"]["notices"][0]
    assert "closed" not in str((await desk.error("read_file", path="closed.kez")).details)


async def test_closed_and_private_files_stay_closed(desk: Desk) -> None:
    desk.write({".northignore": "secret\n", "secret": "x", "private/log": "x", "a": "x"})
    (desk.root / "link").symlink_to("secret")
    (desk.root / "outside").symlink_to("/etc/passwd")
    for tool in ("read_file", "get_line_count", "get_file_symbols", "get_file_outline", "find_blocks"):
        for path, code in (("secret", "IGNORED"), ("link", "IGNORED"), ("private/log", "OUTSIDE_WORKSPACE")):
            assert (await desk.error(tool, path=path)).code == code
        assert (await desk.error(tool, path="outside")).code == "OUTSIDE_WORKSPACE"
    assert (await desk.call("search_text", query="x"))["matches"] == [
        {"path": "a", "line": 1, "column": 1, "text": "x"}
    ]
    assert (await desk.call("find_files", pattern="*"))["files"] == ["a"]
    assert (await desk.error("read_around", path="secret", anchor="x")).code == "IGNORED"
    assert (await desk.error("find_code_block", path="secret", query="x")).code == "IGNORED"


async def test_a_closed_name_that_is_a_link_closes_what_it_leads_to(desk: Desk) -> None:
    desk.write({"data/real.txt": "needle", "data/folder/x.txt": "needle", "data/open.txt": "needle", "sub/y": "needle"})
    desk.write({"a": "needle"})
    for link, target in (
        ("by-root", "data/real.txt"),
        ("folder-link", "data/folder"),
        ("sub/deep", "y"),
        ("to-open", "data/open.txt"),
        ("around", "."),
    ):
        (desk.root / link).symlink_to(target)
    names = ("data/real.txt", "data/folder/x.txt", "folder-link/x.txt", "by-root", "sub/y", "sub/deep")
    for name in names:
        assert (await desk.call("read_file", path=name))["content"] == "1→needle\n"
    desk.write({".northignore": "by-root\nfolder-link/\naround\n", "sub/.northignore": "/deep\n"})
    for name in names:
        assert (await desk.error("read_file", path=name)).code == "IGNORED"
        assert (await desk.error("search_text", query="needle", path=name)).code == "IGNORED"
    assert (await desk.error("read_file", path=str(desk.root / "by-root"))).code == "IGNORED"
    assert (await desk.error("find_files", pattern="*", path="data/folder")).code == "IGNORED"
    assert (await desk.call("find_files", pattern="*"))["files"] == ["a", "data/open.txt"]
    found = await desk.call("search_text", query="needle")
    assert [match["path"] for match in found["matches"]] == ["a", "data/open.txt"]
    assert (await desk.call("read_file", path="to-open"))["content"] == "1→needle\n"
    desk.write({"plain": "needle"})
    (desk.root / "data" / "later").symlink_to("../plain")
    desk.write({".northignore": "later\n"})
    assert (await desk.error("read_file", path="plain")).code == "IGNORED"
    assert (await desk.error("read_file", path="data/later")).code == "IGNORED"
    assert "plain" not in [entry["name"] for entry in (await desk.call("list_root"))["entries"]]
    assert (await desk.call("read_file", path="data/real.txt"))["content"] == "1→needle\n"
    (desk.root / "data" / "later").unlink()
    assert (await desk.call("read_file", path="plain"))["content"] == "1→needle\n"


async def test_a_closed_link_in_a_folder_that_git_ignores_and_one_that_leads_elsewhere_later(desk: Desk) -> None:
    desk.write({"a": "1", "b": "2", ".gitignore": "out/\n", ".northignore": "/out/keys/mine\nlink\n", "out/keys/x": ""})
    (desk.root / "out" / "keys" / "mine").symlink_to("../../a")
    assert (await desk.error("read_file", path="a")).code == "IGNORED"
    assert (await desk.call("find_files", pattern="[ab]"))["files"] == ["b"]
    (desk.root / "out" / "keys" / "mine").unlink()
    assert (await desk.call("read_file", path="a"))["content"] == "1→1\n"
    assert (await desk.call("find_files", pattern="[ab]"))["files"] == ["a", "b"]
    (desk.root / "link").symlink_to("a")
    assert (await desk.call("find_files", pattern="[ab]"))["files"] == ["b"]
    (desk.root / "link").unlink()
    (desk.root / "link").symlink_to("b")
    assert (await desk.call("find_files", pattern="[ab]"))["files"] == ["a"]
    assert (await desk.error("read_file", path="b")).code == "IGNORED"
    assert (await desk.call("read_file", path="a"))["content"] == "1→1\n"


async def test_a_part_of_a_file_of_200_megabytes(desk: Desk) -> None:
    line = "a line of thirty-two bytes, é...\r\n".encode()
    block, blocks = line * (1 << 15), 185
    with (desk.root / "huge").open("wb") as file:
        for _ in range(blocks):
            file.write(block)
        file.write(b"the end")
    assert (desk.root / "huge").stat().st_size > 200_000_000
    count = blocks << 15
    assert (await desk.error("read_file", path="huge")).code == "TOO_LARGE"
    data = await desk.call("read_file", path="huge", startLine=count, endLine=count + 1)
    assert data["content"] == f"{count}→{line.decode().rstrip()}\n{count + 1}→the end\n"
    assert (data["totalLines"], data["newline"]) == (count + 1, "crlf")
    assert desk.workspace.seen.ranges[desk.root / "huge"] == ((count, count + 1),)


async def test_special_files_are_refused_with_their_kind(desk: Desk) -> None:
    os.mkfifo(desk.root / "pipe")
    (desk.root / "broken").symlink_to("nowhere")
    desk.write({"bin": b"\x7fELF\0\0", "folder/x": "x"})
    with (desk.root / "sparse").open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    assert (await desk.error("read_file", path="pipe")).code == "INVALID_INPUT"
    assert (await desk.error("read_file", path="broken")).code == "INVALID_INPUT"
    assert (await desk.error("read_file", path="folder")).code == "INVALID_INPUT"
    error = await desk.error("read_file", path="bin")
    assert (error.code, error.details) == ("BINARY_FILE", {"size": 6, "type": "ELF program"})
    assert (await desk.error("read_file", path="sparse")).code == "TOO_LARGE"
    assert (await desk.error("read_file", path="sparse", startLine=1)).code == "BINARY_FILE"


async def test_large_files_are_read_in_part(desk: Desk) -> None:
    row = b"some words in a line of a large file\r\n"
    count = 21 * 1024 * 1024 // len(row)
    desk.write({"large": row * count + b"the last line"})
    assert (await desk.error("read_file", path="large")).code == "TOO_LARGE"
    data = await desk.call("read_file", path="large", startLine=count, endLine=count + 1)
    assert data["content"] == f"{count}→some words in a line of a large file\n{count + 1}→the last line\n"
    assert (data["totalLines"], data["newline"], data["truncated"]) == (count + 1, "crlf", False)
    data = await desk.call("read_file", path="large", startLine=10)
    assert data["ranges"] == [{"start": 10, "end": 509}]
    assert data["nextRange"] == {"startLine": 510, "endLine": 1009}
    data = await desk.call("read_file", path="large", startLine=count + 100)
    assert data["content"].endswith(f"{count + 1}→the last line\n")
    assert (await desk.call("get_line_count", path="large"))["lines"] == count + 1


@_QUIET
@given(content=st.binary(max_size=300), start=st.integers(1, 12), length=st.integers(0, 12), window=st.integers(0, 3))
async def test_any_bytes_can_be_read(desk: Desk, content: bytes, start: int, length: int, window: int) -> None:
    (desk.root / "any").write_bytes(content)
    refused = set[str]()
    for arguments in ({}, {"startLine": start, "endLine": start + length}, {"aroundMatch": "a", "windowLines": window}):
        try:
            data = await desk.call("read_file", path="any", **arguments)
        except ToolError as error:
            refused.add(error.code)
            continue
        for part in data["ranges"]:
            assert 1 <= part["start"] <= part["end"] <= data["totalLines"]
        shown = sum(part["end"] - part["start"] + 1 for part in data["ranges"])
        assert len([row for row in data["content"].split("\n") if "→" in row]) >= min(shown, 1)
    assert refused <= {"BINARY_FILE", "NO_MATCH"}


@pytest.mark.parametrize(
    ("content", "shown", "newline"),
    [
        (b"\xef\xbb\xbfa\n", "1→a\n", "lf"),
        (b"\xff\xfe" + "é\r\nb".encode("utf-16-le"), "1→é\n2→b\n", "crlf"),
        (b"caf\xe9\n", "1→café\n", "lf"),
        (b"", "", "none"),
        (b"no end", "1→no end\n", "none"),
        (b"a\rb\n", "1→a\rb\n", "lf"),
    ],
)
async def test_encodings(desk: Desk, content: bytes, shown: str, newline: str) -> None:
    desk.write({"a": content})
    data = await desk.call("read_file", path="a")
    assert (data["content"], data["newline"]) == (shown, newline)


async def test_anchors_with_several_places_are_asked_about(desk: Desk) -> None:
    desk.write({"a": "x\nhit one\nx\nhit two\nx\n"})
    error = await desk.error("read_around", path="a", anchor="hit")
    assert error.code == "AMBIGUOUS"
    assert error.details["candidates"] == [
        {"occurrence": 1, "line": 2, "preview": "hit one"},
        {"occurrence": 2, "line": 4, "preview": "hit two"},
    ]
    data = await desk.call("read_around", path="a", anchor="hit", occurrence=2, before=1, after=0)
    assert data["content"] == "  3→x\n> 4→hit two\n"
    assert (data["matchCount"], data["occurrenceUsed"], data["matchLine"]) == (2, 2, 4)
    assert (await desk.error("read_around", path="a", anchor="hit", occurrence=3)).code == "INVALID_INPUT"
    assert (await desk.error("read_around", path="a", anchor="  ")).code == "INVALID_INPUT"
    assert (await desk.error("read_around", path="a", anchor="none")).code == "NO_MATCH"
    notices = (await desk.call("read_around", path="a", anchor="one", before=999))["meta"]["notices"]
    assert notices == ["before is 200, its maximum, instead of 999"]


async def test_archives_are_read_inside(desk: Desk) -> None:
    with zipfile.ZipFile(desk.root / "a.zip", "w") as archive:
        archive.writestr("in/x.txt", "one\ntwo\n")
        archive.writestr("in/bin", b"\0")
    with tarfile.open(desk.root / "a.tar.gz", "w:gz") as tar:
        tar.add(desk.root / "a.zip", "inner.zip")
        (desk.root / "t.txt").write_text("tar text\n")
        tar.add(desk.root / "t.txt", "t.txt")
    assert (await desk.call("read_file", path="a.zip"))["content"] == "1→in/x.txt\t8\n2→in/bin\t1\n"
    assert (await desk.call("read_file", path="a.zip:in/x.txt"))["content"] == "1→one\n2→two\n"
    assert (await desk.call("read_file", path="a.tar.gz:t.txt"))["content"] == "1→tar text\n"
    assert (await desk.error("read_file", path="a.zip:in/bin")).code == "BINARY_FILE"
    assert (await desk.error("read_file", path="a.zip:x.txt")).hint == "similar: in/x.txt"
    desk.write({"bad.zip": "no archive"})
    assert (await desk.error("read_file", path="bad.zip")).code == "IO_ERROR"


async def test_databases_notebooks_and_images(desk: Desk) -> None:
    database = sqlite3.connect(desk.root / "d.sqlite")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    database.executemany("INSERT INTO t VALUES (?, ?)", [(number, f"n{number}") for number in range(30)])
    database.commit()
    database.close()
    assert (await desk.call("read_file", path="d.sqlite"))["content"] == "1→table\trows\n2→t\t30\n"
    assert (await desk.call("read_file", path="d.sqlite:t"))["totalLines"] == 21
    assert (await desk.call("read_file", path="d.sqlite:t:7"))["content"] == "1→id\t7\n2→name\tn7\n"
    assert (await desk.error("read_file", path="d.sqlite:u")).hint == "tables: t"
    cells = '{"cells":[{"cell_type":"code","source":["x = 1\\n","x"],"outputs":[{"data":{"text/plain":["1"]}}]}]}'
    desk.write({"n.ipynb": cells, "i.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x20", "d.pdf": b"%PDF-"})
    assert (await desk.call("read_file", path="n.ipynb"))["content"] == "1→[1] code\n2→x = 1\n3→x\n4→→ 1\n"
    assert "16 x 32 pixels" in (await desk.call("read_file", path="i.png"))["content"]
    assert "pypdf" in str((await desk.error("read_file", path="d.pdf")).hint)


async def test_conflicts_get_addresses(desk: Desk) -> None:
    desk.write({"a": "x\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\ny\n"})
    data = await desk.call("read_file", path="a")
    assert data["conflicts"] == [{"id": "conflict://1", "startLine": 2, "endLine": 6}]
    assert (await desk.call("read_file", path="conflict://1/ours"))["content"] == "1→ours\n"
    assert (await desk.call("read_file", path="conflict://1/theirs"))["content"] == "1→theirs\n"
    assert (await desk.error("read_file", path="conflict://1/base")).code == "NOT_FOUND"
    desk.write({"a": "x\nours\ny\n"})
    assert (await desk.call("read_file", path="a"))["conflicts"] == []
    assert (await desk.error("read_file", path="conflict://1")).code == "NOT_FOUND"


async def test_unknown_addresses_name_the_schemes(desk: Desk) -> None:
    error = await desk.error("read_file", path="https://example.org")
    assert (error.code, "artifact://" in str(error.hint)) == ("NOT_FOUND", True)
    assert (await desk.error("read_file", path="artifact://1")).message == "no artifacts in this conversation"


async def test_line_counts_and_readme(desk: Desk) -> None:
    desk.write({"a": lines(300), "docs/README": "in docs", "b.txt": "x"})
    data = await desk.call("get_line_count", path="a")
    assert (data["lines"], data["advice"], data["encoding"]) == (300, "use outline first", "utf-8")
    assert (await desk.call("get_line_count", path="b.txt"))["advice"] == "read whole"
    assert (await desk.call("read_readme"))["path"] == "docs/README"
    desk.write({"Readme.rst": "rst", "README.txt": "x" * 9000, "README.md": "é" * 5000})
    data = await desk.call("read_readme")
    assert (data["path"], data["truncated"], len(data["content"])) == ("README.md", True, 4096)


async def test_every_reading_tool_has_a_title_for_half_arguments(desk: Desk) -> None:
    for spec in desk.tools.specs("ask"):
        tool = desk.tools.find(spec.name)
        assert tool is not None
        partial: dict[str, Any] = {}
        assert tool.title(partial)
        assert "\n" not in tool.title(partial)


async def test_titles_tell_counts_when_done(desk: Desk, tmp_path: Path) -> None:
    desk.write({"a.py": "def f():\n    pass\n", "b.py": "x\n"})
    assert (await desk.output("list_root")).title == "Listing project files - 2 entries"
    assert (await desk.output("find_files", pattern="*.py")).title == "Finding *.py - 2 files"
    assert (await desk.output("find_files", pattern="*.py", limit=1)).title == "Finding *.py - 1+ files"
    assert (await desk.output("search_text", query="pass")).title == 'Searching "pass" - 1 matches'
    output = await desk.output("read_file", path="a.py", startLine=2)
    assert (output.title, output.locations[0].line) == ("Reading a.py", 2)
    assert (await desk.output("get_file_symbols", path="a.py")).title == "Extracting symbols from a.py - 1 symbols"


async def keep_nothing(contents: Mapping[str, bytes]) -> None:
    assert not contents


async def test_what_the_user_attaches_is_read_even_if_it_is_closed_to_tools(desk: Desk) -> None:
    desk.write({".northignore": "secret\n", "secret": "by hand\n", "private/x": "x"})
    link, other, outside = await to_log(
        (FileLink("secret"), FileLink("private/x"), FileLink("/etc/passwd")), desk.workspace, keep_nothing
    )
    assert isinstance(link, Mention)
    assert link.preview == "by hand\n"
    assert "not attached" in str(other)
    assert "not attached" in str(outside)
    assert (await desk.error("read_file", path="secret")).code == "IGNORED"


async def test_what_stands_behind_a_name_and_names_no_part_is_said(desk: Desk) -> None:
    desk.write({"a.py": "1\n", "b:c": "2\n"})
    data = await desk.call("read_file", path="a.py:10-20")
    assert data["content"] == "1→1\n"
    assert "startLine" in data["meta"]["notices"][0]
    assert "notices" not in (await desk.call("read_file", path="b:c"))["meta"]


async def test_lines_beside_a_text_to_find_do_not_count_and_that_is_said(desk: Desk) -> None:
    desk.write({"a": "1\n2\n3\n"})
    data = await desk.call("read_file", path="a", aroundMatch="3", windowLines=0, startLine=1, endLine=2)
    assert (data["ranges"], len(data["meta"]["notices"])) == ([{"start": 3, "end": 3}], 1)
