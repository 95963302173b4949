"""Show the chat, a review and a question in Neovim, and print those screens with their colors as JSON: what
`vscode/pictures.mjs` draws. The environment says which model answers; its answers are an edit and a command."""

import json
import os
import sys
from pathlib import Path

from tests.e2e.nvim.screen import nvim_screen

_PLUGIN = Path(__file__).parents[3] / "nvim-client"
_CONFIGURATION = f"""
vim.opt.runtimepath:prepend([[{_PLUGIN}]])
vim.o.termguicolors = true
vim.o.number = false
"""


def screens(project: Path, folder: Path, prompt: str) -> dict[str, str]:
    """Ask in a project whose server keeps its files in a folder."""
    init = folder / "init.lua"
    init.write_text(_CONFIGURATION)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    shown: dict[str, str] = {}
    with nvim_screen("hello/greeting.py", init=init, columns=120, rows=34, cwd=project, env={"PATH": path}) as screen:
        screen.wait_for("SALUTATION")
        screen.write(":North")
        screen.keys("Enter")
        screen.wait_for("Enter send")
        screen.keys("i")
        screen.wait_for("-- INSERT --")
        screen.write(prompt)
        screen.keys("Enter")
        screen.wait_for(r"asks \(:North review\)")
        screen.write(":North review")
        screen.keys("Enter")
        screen.wait_for("ga Accept")
        screen.wait_for("def once")
        shown["review"] = screen.colored()
        screen.keys("Enter")
        screen.write("ga")
        screen.wait_for("North asks to run this command")
        screen.wait_for("ga Run")
        shown["command"] = screen.colored()
    return shown


if __name__ == "__main__":
    sys.stdout.write(json.dumps(screens(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])))
