"""How the plugin's chat looks and what its keys do: headings, folds, windows, what its bars and status lines say."""

import re
from typing import cast

import pytest

from tests.e2e.nvim.nvim_driver import Nvim, NvimError
from tests.e2e.nvim.test_plugin import (
    ASKED,
    FILE,
    IDLE,
    PLUGIN,
    REPLACE,
    REVIEW_IS_CLOSED,
    REVIEW_IS_OPEN,
    Bed,
    answer_command,
    ask,
    asked,
    bed,
    chat,
    in_chat,
    open_review,
    replace_select,
    with_options,
)
from tests.e2e.nvim.with_model import model, nvim_with
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, Think, answer, call

__all__ = ["bed", "model"]

NAMES = "vim.tbl_map(function(w) return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(w)):match('[^/]*$') end, "
NAMES += "vim.api.nvim_tabpage_list_wins(0))"
WINBAR = "vim.wo[vim.fn.bufwinid('^north://chat$')].winbar"
GO_TO_CHAT = "vim.api.nvim_set_current_win(vim.fn.bufwinid('^north://chat$'))"
COLOR = "(vim.tbl_get(vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['north.chat'], "
COLOR += "{ l - 1, 0 }, { l - 1, -1 }, { overlap = true, details = true }), 1, 4, 'hl_group') or '')"
ENDED = "#require('north.state').prompts == 0"


def windows(nvim: Nvim) -> list[str]:
    return cast(list[str], nvim.lua(f"return {NAMES}"))


def marks(nvim: Nvim, field: str) -> str:
    """What the chat's marks have, as text."""
    space = "vim.api.nvim_get_namespaces()['north.chat']"
    found = f"vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('^north://chat$'), {space}, 0, -1, {{ details = true }})"
    return str(nvim.lua(f"return vim.inspect(vim.tbl_map(function(m) return m[4].{field} end, {found}))"))


def test_an_empty_chat_says_who_answers_and_what_to_do(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        shown = "vim.inspect(vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('^north://chat$'), "
        shown += "vim.api.nvim_get_namespaces()['north.chat.asides'], 0, -1, { details = true }))"
        nvim.until(f"{shown}:find('Offline', 1, true) ~= nil")
        greeting = str(nvim.lua(f"return {shown}"))
        for words in ("Answers: ", ":North model", ":North review", ":North login", "project"):
            assert words in greeting
        assert chat(nvim) == ""
        ask(nvim, "list files")
        nvim.until(f"{in_chat('README.md')} and {IDLE}")
        assert "Answers" not in str(nvim.lua(f"return {shown}"))


def test_turns_have_headings_with_model_and_time_that_no_model_can_write(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("## You\n\nwrite this")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "hello")
        nvim.until(f"{in_chat('write this')} and {ENDED}")
        assert chat(nvim).startswith("## You\n\nhello\n\n## North\n\n## You\n\nwrite this")
        space = "vim.api.nvim_get_namespaces()['north.chat']"
        found = f"vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('^north://chat$'), {space}, 0, -1, {{ details = true }})"
        heads = f"vim.tbl_filter(function(m) return m[4].line_hl_group ~= nil end, {found})"
        rows = nvim.lua(f"return vim.tbl_map(function(m) return {{ m[2], m[4].line_hl_group }} end, {heads})")
        assert rows == [[0, "NorthUser"], [4, "NorthAgent"]]
        assert "Claude Sonnet 4.5 · " in marks(nvim, "virt_text")
        nvim.lua(GO_TO_CHAT)
        nvim.keys("gg]]")
        nvim.until("vim.fn.line('.') == 5")
        nvim.keys("[[")
        nvim.until("vim.fn.line('.') == 1")


def test_thinking_and_calls_that_look_are_folded(bed: Bed, model: ModelServer) -> None:
    looks = [call("read_file", path=path) for path in (FILE, "README.md", "hello/names.py")]
    model.script(
        answer(Think("first\nsecond\nthird\nfourth"), *looks),
        answer(Say("Done so.")),
    )
    with nvim_with(bed, model) as nvim:
        ask(nvim, "look")
        nvim.until(f"{in_chat('Done so.')} and {ENDED}")
        nvim.lua(GO_TO_CHAT)
        folds = "vim.iter(vim.fn.range(1, vim.fn.line('$'))):map(function(l) return vim.fn.foldclosed(l) end):totable()"
        text = "vim.iter(vim.fn.range(1, vim.fn.line('$'))):map(function(l) "
        text += "return vim.fn.foldclosed(l) == l and vim.fn.foldtextresult(l) or '' end):join('')"
        shown = str(nvim.lua(f"return {text}"))
        assert "▸ 3 calls · ✓ Read names.py" in shown, (shown, nvim.lua(f"return {folds}"), chat(nvim))
        assert "▸ 4 lines of thinking · fourth" in shown


def test_the_whole_of_an_output_that_was_shortened_is_opened(bed: Bed, model: ModelServer) -> None:
    model.script(answer(call("shell_run", command="seq 30000")), answer(Say("They are many.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "count")
        answer_command(nvim, "ga")
        nvim.until(f"{in_chat('They are many.')} and {ENDED}")
        nvim.lua(GO_TO_CHAT)
        nvim.keys("gg/seq 30000<CR>K")
        floats = "vim.iter(vim.api.nvim_list_wins()):filter(function(w) "
        floats += "return vim.api.nvim_win_get_config(w).relative ~= '' end):map(vim.api.nvim_win_get_buf):totable()"
        nvim.until(f"#{floats} == 1")
        said = "\n".join(nvim.lines(cast(list[int], nvim.lua(f"return {floats}"))[0]))
        assert re.search(r"The model got \d+ of 30\d\d\d lines; `go` opens all of it\.", said), said
        nvim.keys("go")
        nvim.until("vim.fn.tabpagenr() == 2")
        assert [str(number) for number in range(1, 30001)] == nvim.lines()[-30000:]
        nvim.keys("q")
        nvim.until("vim.fn.tabpagenr('$') == 1")
        nvim.keys("gggo")  # the line of a heading
        nvim.until("vim.fn.execute('messages'):find('no call whose output was shortened', 1, true)")


def test_a_long_output_comes_in_parts(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.lua(
            "asked = {} local outputs = require('north.outputs') local function ask(method, params, on_answer)"
            " table.insert(asked, { method, params.artifactId, params.offset })"
            " local next = ({ [0] = 7, [7] = 20000000 })[params.offset]"
            " on_answer(nil, { text = params.offset .. '\\n', totalCharacters = 20000005, nextOffset = next })"
            " end outputs.open(ask, { artifactId = '3' })"
        )
        method = "_north/artifacts/read"
        assert nvim.lua("return asked") == [[method, "3", 0], [method, "3", 7]]
        assert nvim.lines() == ["0", "7", "", "(5 more characters are not shown)"]
        words = "return require('north.outputs').words(...)"
        assert nvim.lua(words, {"totalLines": 5, "outputLines": 2}, "go") == ["", "The model got 2 of 5 lines."]
        assert nvim.lua(words, {"artifactId": "3"}, False) == ["", "The model got a part of it."]
        nvim.lua("require('north.outputs').open(nil, {})")
        assert "the whole output of this call was not kept" in nvim.messages()


def test_what_follows_thinking_or_a_notice_does_not_get_its_color(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        for add in ("add_thought('one\\ntwo', '1')", "add_notice('three')", "add_answer('four\\nfive', '2')"):
            nvim.lua(f"require('north.chat').{add}")
        nvim.lua(GO_TO_CHAT)
        colors = nvim.lua(
            f"return vim.iter(vim.fn.range(1, vim.fn.line('$'))):map(function(l) return {COLOR} end):totable()"
        )
        shown = dict(zip(nvim.lines(), cast(list[str], colors), strict=True))
        assert shown["> one"] == shown["> two"] == "NorthThought"
        assert shown["> three"] == "NorthNotice"
        assert shown["four"] == shown["five"] == ""


def test_code_has_colors_and_is_copied(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("Look:\n\n```python\ndef a():\n    return 1\n```\n\nEnd.")))
    with nvim_with(bed, model) as nvim:
        nvim.command("syntax on")
        ask(nvim, "code")
        nvim.until(f"{in_chat('End.')} and {ENDED}")
        nvim.lua(GO_TO_CHAT)
        nvim.lua("vim.fn.search('def a')")
        name = "vim.fn.synIDattr(vim.fn.synID(vim.fn.line('.'), 1, 1), 'name')"
        assert str(nvim.lua(f"return {name}")).startswith("python")
        is_parsed = nvim.lua("return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil")
        assert is_parsed == nvim.lua("return vim.fn.has('nvim-0.11') == 1")  # before, all of it would be for each piece
        nvim.keys("gy")
        nvim.until("vim.fn.execute('messages'):find('copied 2 lines', 1, true)")
        assert nvim.lua("return vim.fn.getreg('\"')") == "def a():\n    return 1\n"
        nvim.lua("vim.fn.search('End')")
        nvim.keys("gy")
        nvim.until("vim.fn.execute('messages'):find('no code block here', 1, true)")


def test_windows_that_a_session_file_opened_go_together_and_look_alike(bed: Bed) -> None:
    session = bed.folder / "session.vim"
    with bed.nvim() as nvim:
        nvim.command("North")
        nvim.command(f"mksession {session}")
    with bed.nvim("-S", str(session)) as nvim:
        nvim.command("set number")
        nvim.command("North")
        assert windows(nvim) == ["greeting.py", "chat", "prompt"]
        nvim.lua(GO_TO_CHAT)
        assert nvim.lua("return { vim.wo.number, vim.wo.foldmethod }") == [False, "expr"]
        nvim.keys(":q<CR>")
        nvim.until("#vim.api.nvim_list_wins() == 1")


def test_both_windows_come_and_go_together(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        assert windows(nvim) == ["greeting.py", "chat", "prompt"]
        nvim.lua(GO_TO_CHAT)
        nvim.keys(":q<CR>")
        nvim.until("#vim.api.nvim_list_wins() == 1")
        nvim.command("North toggle")
        assert windows(nvim) == ["greeting.py", "chat", "prompt"]
        nvim.command("North toggle")
        assert windows(nvim) == ["greeting.py"]
        nvim.command("North")
        nvim.keys(":q<CR>")
        nvim.until("#vim.api.nvim_list_wins() == 2")
        ask(nvim, "list files")
        nvim.until(f"{in_chat('README.md')} and {IDLE}")
        assert windows(nvim) == ["greeting.py", "chat", "prompt"]
        nvim.lua(GO_TO_CHAT)
        nvim.keys("q")
        nvim.until("#vim.api.nvim_list_wins() == 1")
        nvim.command("North")
        nvim.command("wincmd t")
        nvim.command("quit")
        nvim.lua(GO_TO_CHAT)
        nvim.keys(":q<CR>")
        nvim.until("#vim.api.nvim_list_wins() == 1 and vim.api.nvim_buf_get_name(0) == ''")
        assert nvim.lua("return vim.wo.winbar") == ""


@pytest.mark.parametrize("layout", ["left", "bottom", "float", "tab"])
def test_where_the_chat_stands_can_be_set(bed: Bed, layout: str) -> None:
    with bed.nvim(init=with_options(f'layout = "{layout}"')) as nvim:
        nvim.command("North")
        assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == "north://prompt"
        ask(nvim, "list files")
        nvim.until(f"{in_chat('README.md')} and {IDLE}")
        expected = {
            "left": ["chat", "prompt", "greeting.py"],
            "bottom": ["greeting.py", "chat", "prompt"],
            "float": ["greeting.py", "prompt", "chat"],
            "tab": ["chat", "prompt"],
        }
        assert windows(nvim) == expected[layout]
        floats = "return vim.api.nvim_win_get_config(vim.fn.bufwinid('^north://chat$')).relative"
        assert (nvim.lua(floats) == "editor") == (layout == "float")
        nvim.command("North close")
        assert "chat" not in windows(nvim)


def test_the_chat_gets_a_tab_page_of_its_own_and_back(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("North")
        nvim.command("North zoom")
        assert windows(nvim) == ["chat", "prompt"]
        nvim.command("North zoom")
        assert windows(nvim) == ["greeting.py", "chat", "prompt"]


def test_a_narrow_screen_has_the_chat_below(bed: Bed) -> None:
    with bed.nvim() as nvim:
        nvim.command("set columns=60")
        nvim.command("North")
        widths = "vim.tbl_map(vim.api.nvim_win_get_width, vim.api.nvim_tabpage_list_wins(0))"
        assert nvim.lua(f"return {widths}") == [60, 60, 60]


def test_the_chat_never_opens_in_a_review(bed: Bed) -> None:
    with bed.nvim() as nvim:
        open_review(nvim)
        before = windows(nvim)
        nvim.command("North steer go on")
        assert windows(nvim) == before
        nvim.command("North")
        assert windows(nvim) == ["greeting.py", "chat", "prompt"]
        assert nvim.lua(f"return {REVIEW_IS_OPEN}")
        nvim.command("North review")
        assert nvim.lua("return vim.wo.diff and vim.bo.modifiable")


def test_nothing_typed_and_enter_shows_the_question(bed: Bed) -> None:
    with bed.nvim() as nvim:
        ask(nvim, REPLACE)
        nvim.until(ASKED)
        nvim.command("North")
        nvim.keys("i<CR>")
        nvim.until(REVIEW_IS_OPEN)
        nvim.command("tabclose")
        nvim.until(REVIEW_IS_CLOSED)
        nvim.lua(GO_TO_CHAT)
        nvim.lua("vim.fn.search('asks you')")
        nvim.keys("<CR>")
        nvim.until(REVIEW_IS_OPEN)


@pytest.mark.parametrize("keys", ["<C-c>", "i<C-c>"])
def test_a_key_stops_the_turn(bed: Bed, model: ModelServer, keys: str) -> None:
    model.script(answer(Say("I will look"), Gate("never")))
    with nvim_with(bed, model) as nvim:
        nvim.command("North")
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        nvim.keys(keys)
        nvim.until(in_chat("Stopped."))
        nvim.until(IDLE)
        assert nvim.lua("return vim.api.nvim_get_mode().mode") == "n"


def test_keys_are_listed_changed_and_taken_away(bed: Bed) -> None:
    with bed.nvim(init=with_options('keys = { stop = "gs", close = false }')) as nvim:
        nvim.command("North")
        nvim.keys("g?")
        text = "vim.iter(vim.api.nvim_list_bufs()):map(function(b) return table.concat("
        text += "vim.api.nvim_buf_get_lines(b, 0, -1, false), ' ') end):join(' ')"
        nvim.until(f"{text}:find('stop the turn', 1, true) ~= nil")
        shown = str(nvim.lua(f"return {text}"))
        assert "`gs` stop the turn" in shown
        assert "close the chat" not in shown
        nvim.lua(GO_TO_CHAT)
        maps = "vim.tbl_map(function(m) return m.lhs end, vim.api.nvim_buf_get_keymap(0, 'n'))"
        found = cast(list[str], nvim.lua(f"return {maps}"))
        assert "gs" in found
        assert "q" not in found
        for wrong in ("keys = { accept = false }", 'layout = "up"', 'keys = { nothing = "x" }', 'review = "maybe"'):
            with pytest.raises(NvimError, match=r"nothing|accept|layout|review"):
                nvim.lua(f"require('north').setup({{ {wrong} }})")


def test_what_waits_for_the_end_of_the_turn_is_shown(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look"), Gate("never")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))
        ask(nvim, "list files")
        shown = "vim.inspect(vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('^north://chat$'), "
        shown += "vim.api.nvim_get_namespaces()['north.chat.asides'], 0, -1, { details = true }))"
        nvim.until(f"{shown}:find('list files', 1, true) ~= nil and {shown}:find('waits: ', 1, true) ~= nil")
        nvim.command("North stop")
        nvim.until(IDLE)
        assert "waits: " not in str(nvim.lua(f"return {shown}"))


# -- what is chosen, and what bars say -------------------------------------------------------------------------------


def test_model_thinking_and_mode_are_chosen_from_lists(bed: Bed, model: ModelServer) -> None:
    with nvim_with(bed, model) as nvim:
        nvim.command("North")
        replace_select(nvim, "  Claude Haiku 4.5")
        nvim.command("North model")
        nvim.until(f"#require('helpers').asked == 1 and {WINBAR}:find('Haiku', 1, true) ~= nil")
        names = cast(list[str], asked(nvim)[0]["names"])
        assert any(name.startswith("● ") and "Sonnet 4.5" in name for name in names), names
        nvim.command("North model anthropic/claude-sonnet-4-5")
        nvim.until(f"{WINBAR}:find('Sonnet 4.5', 1, true) ~= nil")
        nvim.command("North thinking off")
        nvim.until("vim.fn.execute('messages'):find('[Tt]hink.*: ')")
        nvim.lua("require('helpers').replace_select({})")
        nvim.command("North mode")
        nvim.until("#require('helpers').asked == 1")
        assert len(cast(list[str], asked(nvim)[0]["names"])) == 3
        nvim.command("North options")
        nvim.until("#require('helpers').asked == 2")
        assert any("Edits in this project" in name for name in cast(list[str], asked(nvim)[1]["names"]))


def test_the_winbar_says_what_is_used_and_what_is_not_asked_about(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("Hello.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "hello")
        nvim.until(f"{in_chat('Hello.')} and {ENDED}")
        nvim.until(f"{WINBAR}:find('%%', 1, true) ~= nil")
        nvim.lua(
            "require('helpers').replace_select({ 'Edits in this project: Review', ... })",
            "  Accept  (Edits are applied; protected files still ask)",
        )
        nvim.command("North options")
        nvim.until(f"{WINBAR}:find('edits without asking', 1, true) ~= nil")
        status = cast(dict[str, object], nvim.lua("return require('north').status()"))
        assert status["unasked"] == ["edits"]
        assert status["phase"] == "ready"
        line = str(nvim.lua("return require('north').statusline()"))
        assert line.startswith("North agent")
        assert line.endswith("edits without asking")
        nvim.lua("require('helpers').replace_select({ ... })", "all edits  (in this folder)")
        nvim.command("North permissions")
        nvim.until("#require('helpers').asked == 1")
        names = cast(list[str], asked(nvim)[0]["names"])
        assert len(names) == 1, names


def test_a_narrow_winbar_leaves_out_the_model_and_shows_the_costs_whole(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("Hello.")))
    chat_window = "vim.fn.bufwinid('^north://chat$')"
    drawn = f"vim.api.nvim_eval_statusline({WINBAR}, {{ winid = {chat_window}, use_winbar = true }}).str"
    with nvim_with(bed, model) as nvim:
        nvim.command("set columns=150")
        ask(nvim, "hello")
        nvim.until(f"{in_chat('Hello.')} and {ENDED}")
        nvim.until(f"{WINBAR}:find('$', 1, true) ~= nil")
        nvim.lua(f"vim.api.nvim_win_set_width({chat_window}, 60)")
        wide = r"^ North · agent +Claude Sonnet 4.5 · \d+% \$[0-9.]+ $"
        nvim.until(f"vim.api.nvim_strwidth({drawn}) == 60")
        assert re.fullmatch(wide, str(nvim.lua(f"return {drawn}")))
        for width, shown in ((30, r" North · agent +\d+% \$[0-9.]+ "), (18, " North · agent *")):
            nvim.lua(f"vim.api.nvim_win_set_width({chat_window}, {width})")
            nvim.until(f"not {WINBAR}:find('Sonnet', 1, true)")
            nvim.until(f"not {drawn}:find('<', 1, true)")
            assert re.fullmatch(shown, str(nvim.lua(f"return {drawn}")))
        nvim.lua(f"vim.api.nvim_win_set_width({chat_window}, 60)")
        nvim.until(f"{WINBAR}:find('Sonnet', 1, true) ~= nil")
        nvim.lua("require('north.chat').set_state(('long '):rep(30), {})")
        assert str(nvim.lua(f"return {drawn}")).startswith(" long long")  # and not cut at its beginning


def test_a_status_line_loads_nothing_before_north_is_used(bed: Bed) -> None:
    with bed.nvim() as nvim:
        assert nvim.lua("return require('north').statusline()") == ""
        loaded = "return vim.tbl_filter(function(n) return n:find('^north') end, vim.tbl_keys(package.loaded))"
        assert sorted(cast(list[str], nvim.lua(loaded))) == ["north", "north.compat", "north.status"]


EVENTS = f"""
vim.opt.runtimepath:prepend([[{PLUGIN}]])
_G.seen = {{}}
vim.api.nvim_create_autocmd("User", {{
  pattern = "North*",
  callback = function(event)
    if event.match ~= "NorthChanged" then
      table.insert(_G.seen, event.match .. ":" .. ((event.data or {{}}).kind or (event.data or {{}}).stop_reason or ""))
    end
  end,
}})
vim.api.nvim_create_autocmd("User", {{ pattern = "NorthTurnEnd", callback = function() error("mine") end }})
"""


def test_what_happens_is_told_to_the_user_s_own_configuration(bed: Bed) -> None:
    with bed.nvim(init=EVENTS) as nvim:
        open_review(nvim)
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        seen = cast(list[str], nvim.until("#_G.seen >= 5 and _G.seen"))
        assert seen == [
            "NorthStarted:",
            "NorthTurnStart:",
            "NorthQuestion:edit",
            "NorthAnswered:edit",
            "NorthTurnEnd:end_turn",
        ]
        assert "init.lua" in nvim.messages()  # what fails there is told, and holds up nothing


def test_checkpoints_and_prompts_are_chosen_from_lists(bed: Bed) -> None:
    with bed.nvim() as nvim:
        open_review(nvim)
        nvim.keys("ga")
        nvim.until(f"{in_chat('I replaced')} and {IDLE}")
        nvim.lua(
            "local words = { 'edit: ', 'all later ones', 'replace' } vim.ui.select = function(items, options, choose)"
            " local word = table.remove(words, 1)"
            " for index, item in ipairs(items) do"
            " if options.format_item(item):find(word, 1, true) then return choose(item, index) end end choose(nil) end"
        )
        nvim.command("North checkpoints")
        nvim.until(in_chat("> Restored "))
        assert 'SALUTATION = "Hello"' in bed.file.read_text()
        nvim.command("North prompts replace")
        nvim.until(f"require('helpers').text('north://prompt') == [==[{REPLACE}]==]")
