"""Going back in a conversation, in a real Neovim: to a message, with files, on the tree, and copies."""

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import (
    IDLE,
    NEW,
    OLD,
    REPLACE,
    REVIEW_IS_CLOSED,
    Bed,
    ask,
    asked,
    bed,
    chat,
    in_chat,
    open_review,
    replace_select,
)

__all__ = ["bed"]

TYPED = "require('helpers').text('north://prompt')"


def two_turns(nvim: Nvim) -> None:
    """A question, and an edit that is accepted."""
    ask(nvim, "explain greet")
    nvim.until(f"{in_chat('is defined in')} and {IDLE}")
    open_review(nvim)
    nvim.keys("ga")
    nvim.until(f"{REVIEW_IS_CLOSED} and {in_chat('I replaced')} and {IDLE}")


def test_rewinding_gives_the_message_back_and_restores_files(bed: Bed) -> None:
    with bed.nvim("README.md") as nvim:
        two_turns(nvim)
        assert NEW in bed.file.read_text()
        replace_select(nvim, f"▶ You: {REPLACE}", "Conversation and files")
        nvim.command("North rewind")
        nvim.until(f"{TYPED} == [==[{REPLACE}]==]")
        nvim.until(f"not {in_chat('I replaced')} and {in_chat('is defined in')} and {IDLE}")
        assert OLD in bed.file.read_text()
        first, second = asked(nvim)
        assert first == {"prompt": "Go back to before", "names": ["• You: explain greet", f"▶ You: {REPLACE}"]}
        assert second["prompt"] == "Changed since: hello/greeting.py"
        # On the tree, the branch that was left is still there.
        replace_select(nvim, "  You: " + REPLACE, "")
        nvim.command("North tree user-only")
        nvim.until("#require('helpers').asked >= 1")
        ask(nvim, "list files")
        nvim.until(f"{in_chat('## You' + chr(10) * 2 + 'list files')} and {IDLE}")
        assert chat(nvim).count("## You") == 2


def test_what_is_left_behind_may_be_summarized(bed: Bed) -> None:
    """The model of these tests writes none: that is said, and nothing moves."""
    config = bed.folder / "config"
    config.mkdir(exist_ok=True)
    (config / "config.json").write_text('{"branchSummary": {"enabled": true}}')
    with bed.nvim("README.md") as nvim:
        two_turns(nvim)
        replace_select(nvim, f"▶ You: {REPLACE}", "Conversation only", "Summarize")
        nvim.command("North rewind")
        nvim.until("vim.api.nvim_exec2('messages', { output = true }).output:find('cannot write a summary') ~= nil")
        assert in_chat("I replaced")
        assert asked(nvim)[-1] == {
            "prompt": "What is left behind",
            "names": ["No summary", "Summarize", "Summarize, with instructions …"],
        }
        replace_select(nvim, f"▶ You: {REPLACE}", "Conversation only", "No summary")
        nvim.command("North rewind")
        nvim.until(f"{TYPED} == [==[{REPLACE}]==]")
        nvim.until(f"not {in_chat('I replaced')} and {IDLE}")


def test_the_tree_leads_to_a_branch_that_was_left(bed: Bed) -> None:
    with bed.nvim("README.md") as nvim:
        two_turns(nvim)
        replace_select(nvim, f"▶ You: {REPLACE}", "Conversation only")
        nvim.command("North rewind")
        nvim.until(f"{TYPED} ~= '' and not {in_chat('I replaced')}")
        assert NEW in bed.file.read_text()
        ask(nvim, "list files")
        nvim.until(f"{in_chat('list files')} and {IDLE}")
        names = "return vim.iter(require('helpers').asked[1].names):find(function(n) return n:find('I replaced') end)"
        replace_select(nvim)
        nvim.command("North tree no-tools")
        nvim.until("#require('helpers').asked == 1")
        replace_select(nvim, str(nvim.lua(names)), "Conversation only")
        nvim.command("North tree no-tools")
        nvim.until(f"{in_chat('I replaced')} and not {in_chat('list files')}")


def test_branches_and_forks_are_shown(bed: Bed) -> None:
    with bed.nvim("README.md") as nvim:
        for text in ("explain greet", "list files"):
            ask(nvim, text)
            nvim.until(f"{in_chat(chr(10) + text)} and {IDLE}")
        replace_select(nvim, "▶ You: list files")
        nvim.command("North branch")
        nvim.until(f"{TYPED} == 'list files' and {in_chat('is defined in')} and {IDLE}")
        assert chat(nvim).count("## You") == 1
        ask(nvim, "find greet")
        nvim.until(f"{in_chat('## You' + chr(10) * 2 + 'find greet')} and {IDLE}")
        folder = bed.folder / "data" / "conversations"
        nvim.command("North fork")
        nvim.until(f"#vim.fn.glob([[{folder}/*.jsonl]], false, true) == 3 and {in_chat('find greet')} and {IDLE}")
        logs = list(folder.glob("*.jsonl"))
        relations = [log.read_text().splitlines()[0].count('"relation":"fork"') for log in logs]
        assert sum(relations) == 1


def test_slash_commands_show_it_anew(bed: Bed) -> None:
    with bed.nvim("README.md") as nvim:
        for text in ("explain greet", "list files"):
            ask(nvim, text)
            nvim.until(f"{in_chat(chr(10) + text)} and {IDLE}")
        ask(nvim, "/rewind 2")
        nvim.until(f"{in_chat('The conversation continues from before this prompt')} and {TYPED} == 'list files'")
        nvim.until(IDLE)
        assert chat(nvim).count("## You") == 2  # the first message, and the command
        nvim.command("North tree nonsense")
        nvim.until("vim.fn.execute('messages'):find('North tree default', 1, true) ~= nil")
