"""An MCP server's tool in a real Neovim: asked about with its origin and its arguments, run, and listed."""

import json
import sys

from tests.e2e.nvim.test_plugin import Bed, ask, bed, in_chat
from tests.e2e.nvim.with_model import model, nvim_with
from tests.support import mcp_server
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call

__all__ = ["bed", "model"]

QUESTION = (
    "vim.iter(vim.api.nvim_list_wins()):map(function(win) return vim.wo[win].winbar .. '\\n'"
    " .. table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true), '\\n') end):join('\\n')"
)
"""All that the windows show."""


def be_patient(bed: Bed) -> None:
    """How busy the machine is must not decide whether a server's tools are there."""
    (bed.folder / "config").mkdir()
    (bed.folder / "config" / "config.json").write_text('{"mcp.startupWaitMs": 60000}')


def test_a_tool_is_asked_about_run_and_listed(bed: Bed, model: ModelServer) -> None:
    entry = {"command": sys.executable, "args": ["-I", mcp_server.__file__]}
    be_patient(bed)
    (bed.folder / ".claude.json").write_text(json.dumps({"mcpServers": {"helper": entry}}))
    model.script(answer(call("mcp_helper_echo", text="good morning")), answer(Say("It said so.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "say good morning")
        nvim.until(f"{QUESTION}:find('good morning\"', 1, true) ~= nil")
        shown = str(nvim.lua(f"return {QUESTION}"))
        assert "Run echo of the MCP server helper?" in shown
        assert '"text": "good morning"' in shown
        assert "~/.claude.json" in shown
        nvim.command("North review")
        nvim.keys("ga")
        nvim.until(in_chat("It said so."))
        ask(nvim, "/mcp")
        nvim.until(in_chat("`helper`: ready"))
    assert "echo: good morning" in json.dumps(model.requests[-1].body)


def test_a_new_server_of_the_project_is_asked_about_with_its_whole_entry(bed: Bed, model: ModelServer) -> None:
    entry = {"command": sys.executable, "args": ["-I", mcp_server.__file__], "env": {"A_TOKEN": "0123456789abcdef"}}
    be_patient(bed)
    model.script(answer(Say("Good morning.")))
    with nvim_with(bed, model) as nvim:
        ask(nvim, "/trust on")
        nvim.until(in_chat("This workspace is trusted"))
        (bed.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"helper": entry}}))
        ask(nvim, "good morning")
        nvim.until(f"{QUESTION}:find('[masked]', 1, true) ~= nil")
        shown = str(nvim.lua(f"return {QUESTION}"))
        assert "The MCP server helper is new in this project since you trusted it. Start it?" in shown
        assert json.dumps(mcp_server.__file__) in shown
        assert "0123456789abcdef" not in shown
        nvim.until(in_chat("Good morning."))
        nvim.command("North review")
        nvim.keys("Gga")  # all of it must have been in view
        nvim.until(f"{QUESTION}:find('[masked]', 1, true) == nil")
        ask(nvim, "/mcp reload helper")
        nvim.until(in_chat("`helper`: ready"))
