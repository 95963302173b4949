"""Tries this machine's sandbox as a session has it: `python -m tests.support.try_sandbox`, for machines where the other
tests of the sandbox do not run, like macOS. Ends with 1 if there is none, or if anything in it is wrong."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio

from north_lsp import systems
from north_lsp.agent.shell.setup import sandbox_of
from north_lsp.shell.environment import command_environment
from north_lsp.shell.runner import CommandRunner
from north_lsp.shell.sandbox import probe
from north_lsp.storage.settings import Settings
from tests.support.patience import PATIENCE

WORKS = [
    "echo a > a.txt && mkdir -p sub/x && cp a.txt sub/x && mv sub/x/a.txt b.txt && cat b.txt && rm b.txt",
    "f=$(mktemp) && echo t > $f && cat $f",
    "git status --short && git log --oneline | cat",
    "echo x | cat; cat </dev/null; : >/dev/null; head -c 1 /dev/urandom | wc -c",
    "cat <(echo a)",
    "id -un && uname -a && date && ls -la . && pwd -P",
    f"{sys.executable} -c 'import os, subprocess, tempfile; tempfile.mkdtemp(); subprocess.run([\"ls\"], check=True)'",
    "export A=1; cd sub",
    'test "$A" = 1 && test "$(basename "$PWD")" = sub && cd ..',
    "sleep 0.01 & wait",
]
FAILS = [
    "echo x > ../outside",
    "echo x >> ../secret",
    "cat ../secret",
    "ln ../secret hard && cat hard",
    "ln -s ../secret link; cat link",
    "echo x > ~/outside",
    "chmod 777 ../secret",
    "echo x >> .git/config",
    "echo x >> .GIT/config",
    "mv .git git",
    "echo x >> sub/.env",
    "mv sub other",
    "cat closed.txt",
    "cat CLOSED.TXT",
    "mv closed.txt open.txt",
    "cp .git/config x && ln .git/config y && echo x >> y",
    "exec 3<>/dev/tcp/127.0.0.1/{port}",
    "kill -0 {pid}",
]


def make_project(base: Path) -> Path:
    """Create a project with protected and closed names, beside a secret."""
    root = base / "project"
    (root / "sub").mkdir(parents=True)
    (base / "secret").write_text("hidden words")
    (base / "home").mkdir()
    (root / "sub/.env").write_text("A=1")
    (root / "closed.txt").write_text("hidden words")
    (root / ".northignore").write_text("closed.txt\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


async def try_all(base: Path) -> list[str]:
    """Return what is not as it should be."""
    root = make_project(base)
    environ = command_environment(os.environ | {"HOME": str(base / "home")}, frozenset())
    wrong = []
    async with anyio.create_task_group() as background, await anyio.create_tcp_listener(local_host="127.0.0.1") as open:
        port = open.extra(anyio.abc.SocketAttribute.local_port)
        runner = CommandRunner(environ, background, root, sandbox_of(Settings(), (root,), environ))

        async def ignore(text: str) -> None:
            return None

        for command, works in [*((one, True) for one in WORKS), *((one, False) for one in FAILS)]:
            text = command.replace("{port}", str(port)).replace("{pid}", str(os.getpid()))
            ran = await runner.run(text, None, PATIENCE, ignore, "contained")
            if (ran.exit_code == 0) is not works:
                wrong.append(f"{text}\n  exit code {ran.exit_code}: {ran.output.text}")
        await runner.end_all(0.1)
        background.cancel_scope.cancel()
    if (base / "secret").read_text() != "hidden words" or {one.name for one in base.iterdir()} != {
        "project", "secret", "home"
    }:  # fmt: skip
        wrong.append("something outside was changed")
    return wrong


def main() -> int:
    held = probe()
    sys.stdout.write(f"{held}\n")
    if isinstance(held, str) or not held.holds:
        return 1
    with tempfile.TemporaryDirectory() as folder:
        wrong = anyio.run(try_all, Path(systems.true_path(folder)))
    sys.stdout.write("".join(f"{one}\n" for one in wrong) or "everything is as it should be\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
