"""A kernel that offers no sandbox, or only half of one: said, never pretended. Played by a filter of system calls that
a process of the test's own puts on itself."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.patience import PATIENCE

REFUSING = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
rows = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (6, 0, 0, 0x50000 | 38), (6, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code)), 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""
LANDLOCK, UNSHARE = "444", {"x86_64": "272", "aarch64": "97"}.get(os.uname().machine, "272")
TRYING = """
import json, sys
from pathlib import Path
import anyio
from north_lsp.agent.ports.events import Notice
from north_lsp.cli.doctor import _sandbox
from north_lsp.server.options import Options
from north_lsp.storage.settings import Settings
from north_lsp.storage.shell_settings import ShellSettings
from tests.agent.shell.test_run import shell

async def main(folder):
    (folder / "config").mkdir()
    (folder / "config/config.json").write_text('{"sandbox": "workspace"}')
    options = Options(environ={f"NORTH_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE")})
    found = {"doctor": [(one.level, one.text, one.remedy) for one in _sandbox(options)]}
    async with shell(folder, Settings(sandbox="workspace", shell=ShellSettings(snapshot=False))) as one:
        one.approvals.allow_command("echo ran")
        one.approvals.approve_commands_of_this_session()
        found["auto"] = await one.text(command="touch made")
        found["reasons"] = one.editor.reviews[0].reasons
        found["told"] = [event.text for event in one.editor.shown if isinstance(event, Notice)]
        one.editor.reviews.clear()
        found["text"] = await one.text(command="echo ran")
        found["asked"] = len(one.editor.reviews)
        if one.editor.reviews:
            review = one.editor.reviews[0]
            found |= {"warnings": review.warnings, "remember": review.may_remember, "held": review.held}
        else:
            found["written"] = await one.text(command="touch ../outside")
            found["held"] = one.editor.reviews[-1].held
    print(json.dumps(found))

anyio.run(main, Path(sys.argv[1]))
"""


def without(call: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", REFUSING, call, sys.executable, "-c", TRYING, str(folder)],
        cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_without_landlock_every_command_asks_and_doctor_and_the_question_say_why(tmp_path: Path) -> None:
    found = without(LANDLOCK, tmp_path)
    ((level, text, remedy),) = found["doctor"]
    assert level == "warning"
    assert text.startswith(
        "sandbox: not available here (this kernel has no Landlock, or has it switched off): commands"
    )
    assert "commands that you have allowed permanently still ask, except plain ones that only" in text
    assert text.endswith("so does every other command: the settings ask for the sandbox")
    assert remedy.startswith("it needs Linux 5.13 or newer with Landlock and user namespaces")
    assert found["asked"] == 1
    assert found["remember"] is False
    assert found["held"] is None
    (warning,) = found["warnings"]
    assert warning.startswith("runs without the sandbox that the settings ask for (this kernel has no Landlock")
    assert found["text"] == "ran"


def test_without_namespaces_what_does_not_hold_is_said(tmp_path: Path) -> None:
    found = without(UNSHARE, tmp_path)
    texts = [text for _, text, _ in found["doctor"]]
    assert "protected names and closed files cannot be guarded here" in texts[0]
    assert "no sockets" in texts[1]
    assert any("protected names in the workspace can be written" in text for text in texts[1:])
    assert found["asked"] == 0
    assert found["text"] == "ran"
    assert "exit code" in found["written"]
    assert "no sockets at all" in found["held"]
    assert "Not blocked here: git's files and other protected names" in found["held"]
    assert not (tmp_path / "outside").exists()
    assert any("cannot guard protected and closed names" in reason for reason in found["reasons"])
    assert len(found["told"]) == 1
    assert "The sandbox of this machine cannot guard protected and closed names" in found["told"][0]
