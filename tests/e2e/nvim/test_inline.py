"""An edit that is reviewed inside the user's own files: marks without the cursor, hunks and files left out."""

from typing import cast

import pytest

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import (
    ASKED,
    FILE,
    IDLE,
    NEW,
    OLD,
    REPLACE,
    REVIEW_IS_CLOSED,
    REVIEW_IS_OPEN,
    Bed,
    ask,
    bed,
    in_chat,
    text_of,
    with_options,
)
from tests.e2e.nvim.wire import Value

__all__ = ["bed"]

INLINE = with_options('review_style = "inline"')
MARKS = "vim.inspect(vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('%s'), vim.api.nvim_get_namespaces()['north.inline'], "
MARKS += "0, -1, { details = true }))"
MAPS = "vim.tbl_filter(function(lhs) return #lhs == 2 and lhs:sub(1, 1) == 'g' end, "
MAPS += "vim.tbl_map(function(m) return m.lhs end, vim.api.nvim_buf_get_keymap(0, 'n')))"


def marks(nvim: Nvim, file: str = FILE) -> str:
    return str(nvim.lua(f"return {MARKS % file}"))


def test_marks_come_without_the_cursor_and_keys_hold_only_after_going_there(bed: Bed) -> None:
    with bed.nvim(init=INLINE) as nvim:
        nvim.lua("vim.keymap.set('n', 'gr', 'mine', { buffer = true })")
        before = text_of(nvim)
        ask(nvim, REPLACE)
        nvim.until(f"{MARKS % FILE}:find('Good morning', 1, true) ~= nil")
        assert "NorthRemoved" in marks(nvim)
        assert nvim.lua(f"return {MAPS}") == ["gr"]
        assert nvim.lua("return vim.fn.line('.')") == 1
        nvim.command("North review")
        nvim.until("vim.fn.line('.') == 5")
        assert nvim.lua(f"return {REVIEW_IS_CLOSED}")
        assert {"ga", "gr", "gh", "gl"} <= set(cast(list[str], nvim.lua(f"return {MAPS}")))
        assert "ga%* Accept │ %#NorthKey#gr%* Reject │ %#NorthKey#gh%* hunk out/in" in str(
            nvim.lua("return vim.wo.winbar")
        )
        assert text_of(nvim) == before
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        assert text_of(nvim) == before.replace(OLD, NEW)
        assert NEW in bed.file.read_text()
        assert marks(nvim) == "{}"
        assert nvim.lua("return { vim.wo.winbar, vim.fn.maparg('gr', 'n') }") == ["", "mine"]
        assert nvim.lua(f"return {MAPS}") == ["gr"]


def many(bed: Bed) -> str:
    gap = "#\n" * 12
    text = f"ITEM = 1\n{gap}ITEM = 2\n{gap}ITEM = 3\n"
    (bed.project / "many.py").write_text(text)
    return text


def test_hunks_are_left_out_and_taken_in_again(bed: Bed) -> None:
    text = many(bed)
    with bed.nvim("many.py", init=INLINE) as nvim:
        ask(nvim, 'replace "ITEM" by "ENTRY" in many.py')
        nvim.until(ASKED)
        nvim.command("North review")
        nvim.until("vim.fn.maparg('gh', 'n') ~= ''")
        nvim.keys("gh]h")
        nvim.until("vim.fn.line('.') == 14")
        nvim.keys("gh]hgh")
        nvim.until("vim.fn.line('.') == 27")
        nvim.keys("ga")
        nvim.until("vim.fn.execute('messages'):find('nothing is left', 1, true)")
        nvim.keys("gh[hgh")
        nvim.until("vim.fn.line('.') == 14")
        nvim.until(f"select(2, {MARKS % 'many.py'}:gsub('left out', '')) == 1")
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        buffer = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('many.py'), 0, -1, true), '\\n') .. '\\n'"
        assert nvim.lua(f"return {buffer}") == text.replace("ITEM = 2", "ENTRY = 2").replace("ITEM = 3", "ENTRY = 3")


def test_what_was_changed_meanwhile_is_shown_side_by_side(bed: Bed) -> None:
    with bed.nvim(init=INLINE) as nvim:
        ask(nvim, REPLACE)
        nvim.until(ASKED)
        nvim.command("North stop")
        nvim.until(IDLE)
        assert marks(nvim) == "{}"
        ask(nvim, REPLACE)
        nvim.until(f"{MARKS % FILE}:find('Good morning', 1, true) ~= nil")
        nvim.command("North review tab")
        nvim.until(REVIEW_IS_OPEN)
        assert marks(nvim) == "{}"
        nvim.command("tabclose")
        nvim.until(REVIEW_IS_CLOSED)
        nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('hello/greeting.py'), 0, 0, true, { '# mine' })")
        nvim.command("North review")
        nvim.until(REVIEW_IS_OPEN)
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        assert NEW in text_of(nvim)
        assert text_of(nvim).startswith("# mine\n")


def test_lines_are_changed_where_they_are(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("5North edit greet otherwise")
        nvim.until(in_chat("Change these lines as follows"))
        nvim.until(f"{in_chat('[greeting.py:5]')} and {IDLE}")
        ask(nvim, REPLACE)  # the offline model understands only such words; the wish still holds
        nvim.until(f"{MARKS % FILE}:find('Good morning', 1, true) ~= nil")
        nvim.command("North review")
        nvim.until("vim.fn.maparg('ga', 'n') ~= ''")
        nvim.keys("gr")
        nvim.until(f"{in_chat('Rejected; nothing was written.')} and {IDLE}")
        assert OLD in text_of(nvim)


def test_a_long_line_is_shown_whole_and_what_is_not_printable_is_seen(bed: Bed) -> None:
    long = "x = '" + "word " * 60 + "rm -rf'"
    with bed.nvim(init=INLINE) as nvim:
        nvim.lua(
            """
            local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\\n") .. "\\n"
            require("north.inline").open({
              title = "One file", notes = {},
              files = { { path = vim.api.nvim_buf_get_name(0), kind = "update",
                hunks = { { id = "h1", oldStart = 1, oldLines = 3 } } } },
              diffs = { { path = vim.api.nvim_buf_get_name(0), oldText = text, newText = ... .. "\\n" .. text } },
              options = {},
            }, false, function() end)
            """,
            f"{long}\n\ta\u202eb",
        )
        lines = (
            "vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['north.inline'], 0, -1, { details = true })"
        )
        rows = f"vim.tbl_map(function(l) return l[1][1] end, {lines}[1][4].virt_lines)"
        shown = cast(list[str], nvim.lua(f"return {rows}"))
        assert "".join(shown[:-1]).replace("↪ ", "") == long
        assert shown[-1] == " " * int(str(nvim.lua("return vim.bo.tabstop"))) + "a<202e>b"
        width = int(str(nvim.lua("return vim.api.nvim_win_get_width(0)")))
        assert max(map(len, shown)) <= width
        nvim.command("vsplit")
        nvim.until(f"#{rows} > {len(shown)}")


SEVERAL = """
local function file(name, old, new) return { path = name, oldText = old, newText = new } end
local root = vim.fn.getcwd() .. "/"
local one, two = root .. "one.py", root .. "two.py"
require("north.inline").open({
  title = "Three files",
  notes = {},
  files = {
    { path = one, kind = "update", hunks = { { id = "h1", oldStart = 1, oldLines = 2 } } },
    { path = two, kind = "update", hunks = { { id = "h2", oldStart = 1, oldLines = 1 } } },
    { path = root .. "new.py", kind = "create", hunks = { { id = "h3", oldStart = 0, oldLines = 0 } } },
  },
  diffs = {
    file(one, "a\\nb\\n", "a\\nc\\nd\\n"),
    file(two, "x\\n", "first\\nx\\n"),
    file(root .. "new.py", nil, "new\\n"),
  },
  options = {
    { optionId = "a", name = "Accept", kind = "allow_once" },
    { optionId = "c", name = "Reject", kind = "reject_once" },
  },
}, true, function(option, extra) vim.g.chosen = { option.optionId, extra or false } end)
"""


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        ("", None),
        ("]f]f", None),
        ("]f]fgl", ["one.py", "two.py"]),
        ("gl", ["two.py", "new.py"]),
        ("]fgh", ["one.py", "new.py"]),
        ("<C-w>jGgl", ["one.py", "two.py"]),
    ],
)
def test_several_files_are_listed_and_left_out(bed: Bed, keys: str, left: list[str] | None) -> None:
    (bed.project / "one.py").write_text("a\nb\n")
    (bed.project / "two.py").write_text("x\n")
    with bed.nvim("one.py") as nvim:
        nvim.lua(SEVERAL)
        listed = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('^north://files$'), 0, -1, true), '|')"
        shown = str(nvim.lua(f"return {listed}"))
        assert shown == "▸ changed   one.py  +2/-1|  changed   two.py  +1/-0|  new       new.py  +1/-0"
        assert nvim.lua("return vim.fn.line('.')") == 2
        nvim.keys(keys)
        if keys == "]f]f":
            nvim.until("table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '|') == 'new'")
            assert not nvim.lua("return vim.bo.modifiable")
        nvim.keys("ga")
        nvim.until("vim.g.chosen ~= nil")
        option, extra = cast(tuple[str, object], nvim.lua("return vim.g.chosen"))
        assert option == "a"
        ids = {"one.py": ["h1"], "two.py": ["h2"], "new.py": ["h3"]}
        root = str(nvim.lua("return vim.fn.getcwd()"))
        assert extra == (False if left is None else {"hunks": {f"{root}/{name}": ids[name] for name in left}})


LINES = "vim.fn.expand('%') == 'north://lines'"


def test_what_comes_is_changed_where_it_is_shown(bed: Bed) -> None:
    text = many(bed)
    with bed.nvim("many.py", init=INLINE) as nvim:
        ask(nvim, 'replace "ITEM" by "ENTRY" in many.py')
        nvim.until(ASKED)
        nvim.command("North review")
        nvim.until("vim.fn.maparg('ge', 'n') ~= ''")
        nvim.keys("gh]hge")
        nvim.until(LINES)
        assert nvim.lines() == ["ENTRY = 2"]
        nvim.keys("cc# mine<CR>ENTRY = 22<Esc>q")  # left without being written
        nvim.until(f"not ({LINES})")
        assert "mine" not in marks(nvim, "many.py")
        nvim.keys("ge")
        nvim.until(LINES)
        nvim.keys("cc# mine<CR>ENTRY = 22<Esc>:w<CR>")
        nvim.until(f"not ({LINES}) and {MARKS % 'many.py'}:find('# mine', 1, true) ~= nil")
        nvim.keys("ga")
        nvim.until(f"not ({ASKED}) and {IDLE}")
        buffer = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('many.py'), 0, -1, true), '\\n') .. '\\n'"
        wanted = text.replace("ITEM = 2", "# mine\nENTRY = 22").replace("ITEM = 3", "ENTRY = 3")
        assert nvim.lua(f"return {buffer}") == wanted


@pytest.mark.parametrize(
    ("old", "new", "row", "lines", "wanted"),
    [
        ("a\nb\nc\n", "a\nX\nc\n", 1, ["Y", "Z"], "a\nY\nZ\nc\n"),
        ("a\nb\n", "first\na\nb\n", 0, ["other"], "other\na\nb\n"),
        ("a\nb\n", "a\nb\nlast\n", 1, ["other"], "a\nb\nother\n"),
        ("a\nb\nc\n", "a\nc\n", 1, ["B"], "a\nB\nc\n"),
        ("a\nb", "a\nX", 1, ["Y"], "a\nY"),
        ("a\r\nb\r\n", "a\r\nX\r\n", 1, ["Y"], "a\r\nY\r\n"),
        ("a\n", "X\n", 0, [], ""),
        ("a\nb\n", "X\nb\nmore\n", 0, ["Y"], "Y\nb\nmore\n"),
        ("a\nb\n", "a\nX\n", 1, ["b"], None),
    ],
)
def test_the_text_of_changed_lines(bed: Bed, old: str, new: str, row: int, lines: Value, wanted: str | None) -> None:
    (bed.project / "one.txt").write_text(old, newline="")
    made = """
    local old, new, row, lines = ...
    local blocks, path = require("north.inline_blocks"), vim.fn.getcwd() .. "/one.txt"
    local files = blocks.files_of({ files = { { path = path, kind = "update", hunks = { { id = "h", oldStart = 0,
      oldLines = 9 } } } }, diffs = { { path = path, oldText = old, newText = new } } })
    local block = blocks.at(files[1], row)
    block.added, block.is_changed = lines, true
    local stands = blocks.what_stands({ files = files, out = {}, left = {} })
    return stands and stands.texts[path]
    """
    with bed.nvim("one.txt") as nvim:
        assert nvim.lua(made, old, new, row, lines) == (wanted if wanted is not None else False)
