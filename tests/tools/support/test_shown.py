"""What people see of results."""

from north_lsp.tools.support.shown import shown_result
from tests.tools.conftest import Desk


async def shown(desk: Desk, name: str, /, **arguments: object) -> list[str]:
    return shown_result((await desk.output(name, **arguments)).data).splitlines()


async def test_what_was_found_comes_with_its_place(desk: Desk) -> None:
    desk.write({"a.py": "def one():\n    pass\n", "src/b.py": "x = one()\n"})
    assert await shown(desk, "search_text", query="one") == ["a.py:1: def one():", "src/b.py:1: x = one()"]
    assert await shown(desk, "search_text", query="one", mode="count") == ["a.py: 1", "src/b.py: 1"]
    assert await shown(desk, "search_text", query="one", mode="files") == ["a.py", "src/b.py"]
    assert await shown(desk, "find_files", pattern="*.py") == ["a.py", "src/b.py"]
    assert await shown(desk, "list_root") == ["src/", "a.py: 20 bytes"]
    assert await shown(desk, "get_file_symbols", path="a.py") == ["a.py:1: def one()"]
    assert (await shown(desk, "get_file_outline", path="a.py"))[0].startswith("a.py:1: ")
    assert await shown(desk, "find_code_block", path="a.py", query="one") == ["a.py:1: def one():"]


async def test_a_text_comes_with_its_numbers(desk: Desk) -> None:
    desk.write({"a.py": "".join(f"x = {number}\n" for number in range(1, 12))})
    assert (await shown(desk, "read_file", path="a.py"))[8:] == [" 9  x = 9", "10  x = 10", "11  x = 11"]
    assert await shown(desk, "read_around", path="a.py", anchor="= 5", before=0, after=0) == ["> 5  x = 5"]


async def test_it_is_bounded_and_says_so(desk: Desk) -> None:
    desk.write({"a.py": "y\n" * 100, "long.py": "z" * 1_000})
    lines = await shown(desk, "read_file", path="a.py")
    assert (len(lines), lines[-1]) == (61, "… 40 more")
    (line,) = await shown(desk, "search_text", query="zz")
    assert len(line) < 400
    assert line.endswith("…")
    assert len(shown_result({"files": ["x" * 290] * 60})) < 4_100


def test_what_is_no_result_shows_nothing() -> None:
    assert shown_result(None) == ""
    assert shown_result(["a"]) == ""
    assert shown_result({"path": "a.py", "totalLines": 3}) == "path: a.py\ntotalLines: 3"
