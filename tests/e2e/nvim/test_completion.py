"""What the Neovim plugin offers while a prompt is typed: slash commands, files and folders."""

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import IDLE, Bed, bed, in_chat

__all__ = ["bed"]

PROMPT = "require('helpers').text('north://prompt')"
OFFERED = """vim.tbl_map(function(item) return item.word end, vim.fn.complete_info({ 'items' }).items)"""


def opened(nvim: Nvim) -> None:
    nvim.command("North new")
    nvim.until("require('north.state').phase == 'ready' and require('north.completion').count() > 0")
    nvim.command("North")
    if not comes_by_itself(nvim):
        nvim.command("set completeopt=menuone,noselect")


def type_word(nvim: Nvim, keys: str) -> None:
    """Type, and have what fits offered: Neovim 0.10 has to be asked."""
    nvim.keys(keys if comes_by_itself(nvim) else f"{keys}<C-x><C-o>")


def comes_by_itself(nvim: Nvim) -> bool:
    return nvim.lua("return vim.fn.has('nvim-0.11') == 1") is True


def test_files_behind_an_at_sign_and_what_is_chosen_goes_along(bed: Bed) -> None:
    with bed.nvim() as nvim:
        opened(nvim)
        type_word(nvim, "iexplain greet, see @greeti")
        nvim.until(f"vim.fn.pumvisible() == 1 and vim.list_contains({OFFERED}, '@hello/greeting.py')")
        assert nvim.lua(f"return {PROMPT}") == "explain greet, see @greeti"  # nothing is inserted unasked
        nvim.keys("<C-n>")
        nvim.until(f"{PROMPT} == 'explain greet, see @hello/greeting.py'")
        nvim.keys("<CR>")
        nvim.until("vim.fn.pumvisible() == 0")
        assert nvim.lua(f"return {PROMPT}") == "explain greet, see @hello/greeting.py"  # chosen, not sent
        nvim.keys("<CR>")
        nvim.until(in_chat("## You\n\nexplain greet, see @hello/greeting.py"))
        nvim.until(IDLE)


def test_rules_behind_their_kind(bed: Bed) -> None:
    rule = bed.project / ".cursor" / "rules" / "web.mdc"
    rule.parent.mkdir(parents=True)
    rule.write_text("---\ndescription: How pages look\n---\nBe brief.\n")
    with bed.nvim() as nvim:
        opened(nvim)
        type_word(nvim, "ifollow @rule:w")
        nvim.until(f"vim.fn.pumvisible() == 1 and vim.deep_equal({OFFERED}, {{ '@rule:web' }})")
        nvim.keys("<C-n><CR>")
        nvim.until("vim.fn.pumvisible() == 0")
        assert nvim.lua(f"return {PROMPT}") == "follow @rule:web"


def test_the_changes_and_what_else_can_be_mentioned(bed: Bed) -> None:
    with bed.nvim() as nvim:
        opened(nvim)
        type_word(nvim, "ireview @di")
        nvim.until(f"vim.fn.pumvisible() == 1 and vim.list_contains({OFFERED}, '@diff')")
        type_word(nvim, "<Esc>ccfix @")
        nvim.until(f"vim.fn.pumvisible() == 1 and vim.list_contains({OFFERED}, '@problems')")
        type_word(nvim, "<Esc>ccread @web")
        nvim.until(f"vim.fn.pumvisible() == 1 and vim.deep_equal({OFFERED}, {{ '@web:' }})")


def test_slash_commands_at_the_beginning_only(bed: Bed) -> None:
    with bed.nvim() as nvim:
        opened(nvim)
        type_word(nvim, "i/tre")
        nvim.until(f"vim.fn.pumvisible() == 1 and vim.deep_equal({OFFERED}, {{ '/tree' }})")
        nvim.keys("<Esc>ccsee /tre")
        nvim.until(f"{PROMPT} == 'see /tre'")
        assert nvim.lua("return vim.fn.pumvisible()") == 0


def test_words(bed: Bed) -> None:
    with bed.nvim() as nvim:
        word = "return { require('north.completion').word(...) }"
        cases = {
            ("/co", True): ["command", 0, "co"],
            ("/co", False): [None, -1, ""],
            ("see @", True): ["path", 4, ""],
            ("(@src/a", True): ["path", 1, "src/a"],
            ("me@home", True): [None, -1, ""],
            ("@a b", True): [None, -1, ""],
        }
        for (line, is_first), expected in cases.items():
            assert nvim.lua(word, line, is_first) == expected, line
