"""What a sandboxed command can do; every refusal is tried with real processes, files and sockets."""

import os
import socket
import subprocess
import tempfile
import venv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from north_lsp.agent.shell.setup import sandbox_of
from north_lsp.shell.environment import command_environment
from north_lsp.shell.launcher import landlock_version
from north_lsp.shell.options import Place
from north_lsp.shell.results import CommandResult
from north_lsp.shell.runner import CommandRunner
from north_lsp.shell.sandbox import ActiveRestrictions, Sandbox, probe, support
from north_lsp.storage.read_settings import ReadSettings
from north_lsp.storage.settings import Settings
from north_lsp.workspace.guards.sandbox_guards import Held
from tests.support.patience import PATIENCE


def make_project(base: Path) -> Path:
    root = base.resolve() / "project"
    (root / "sub").mkdir(parents=True)
    (root / ".north").mkdir()
    (root / "package.json").write_text("{}")
    (root / "sub/.env").write_text("A=1")
    (root.parent / "secret").write_text("hidden words")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@asynccontextmanager
async def shut_in(base: Path) -> AsyncIterator[CommandRunner]:
    """A session in a project with a repository; beside it lies a secret."""
    root = make_project(base)
    async with anyio.create_task_group() as background:
        environ = command_environment(os.environ | {"HOME": str(base.resolve() / "home")}, frozenset())
        sandbox = sandbox_of(Settings(sandbox="workspace"), (root,), environ)
        runner = CommandRunner(environ, background, root, sandbox)
        yield runner
        await runner.end_all(0.1)
        background.cancel_scope.cancel()


async def run(runner: CommandRunner, command: str, place: Place = "session") -> CommandResult:
    async def ignore(text: str) -> None:
        return None

    return await runner.run(command, None, PATIENCE, ignore, place)


async def test_what_stands_after_a_command_that_was_stopped_never_runs(tmp_path: Path) -> None:
    async def ignore(text: str) -> None:
        return None

    async with shut_in(tmp_path) as shell:
        ran = await shell.run("(trap '' INT; sleep 60); echo never", None, 0.3, ignore, "session")
        assert ran.sandbox is not None
        assert (ran.timed_out, ran.shell_ended, "never" in ran.output.text) == (True, False, False)


def test_this_machine_has_a_sandbox() -> None:
    assert support().available
    held = probe()
    assert isinstance(held, ActiveRestrictions)
    assert held.landlock == landlock_version() > 0


async def test_work_inside_goes_on_as_usual(tmp_path: Path) -> None:
    async with shut_in(tmp_path) as shell:
        ran = await run(
            shell, "echo a > a.txt && mkdir -p sub/x && cp a.txt sub/x && mv sub/x/a.txt b.txt && cat b.txt && rm b.txt"
        )
        assert (ran.output.text, ran.exit_code) == ("a\n", 0)
        assert ran.sandbox is not None
        assert (await run(shell, "f=$(mktemp) && echo t > $f && cat $f")).output.text == "t\n"
        assert (await run(shell, "git status --short | head -1")).output.text.startswith("??")
        assert (
            await run(shell, "echo x | cat; cat </dev/null; : >/dev/null; head -c 1 /dev/urandom | wc -c")
        ).exit_code == 0
        assert (await run(shell, "export A=1; cd sub")).exit_code == 0
        assert (await run(shell, "echo $A; pwd")).output.text == f"1\n{tmp_path.resolve()}/project/sub\n"


@pytest.mark.parametrize(
    "command",
    [
        "echo x > ../outside",
        "echo x >> ../secret",
        "mkdir ../outside",
        "rm -f ../secret; test ! -e ../secret",
        "mv ../secret .",
        "ln ../secret hard && echo x >> hard",
        "ln -s ../secret link; echo x >> link",
        "ln -s .. up; touch up/outside",
        "chmod 777 ..",
        "chmod 777 ../secret",
        "touch -d yesterday ../secret",
        "truncate -s 0 ../secret",
        "touch ~/x",
        "touch /etc/x",
        "touch /usr/local/x",
        "touch /var/tmp/x",
        "cp /bin/true /usr/local/bin/north-test",
    ],
)
async def test_nothing_outside_is_written(tmp_path: Path, command: str) -> None:
    async with shut_in(tmp_path) as shell:
        secret = tmp_path.resolve() / "secret"
        before = secret.stat()
        ran = await run(shell, command)
        assert ran.exit_code != 0, ran.output.text
        assert secret.read_text() == "hidden words"
        assert (secret.stat().st_mode, secret.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
        assert not (secret.parent / "outside").exists()


@pytest.mark.parametrize(
    "command",
    [
        "cat ../secret",
        "cat {base}/secret",
        "ln -s ../secret link; cat link",
        "ln -s {base} up; cat up/secret",
        "ln ../secret hard; cat hard",
        "cp ../secret .; cat secret",
        "cat /proc/self/root{base}/secret",
        "cat /proc/{pid}/root{base}/secret",
        "cat /proc/{pid}/cwd/../secret",
        "cat <../secret",
        "tar cf - ../secret",
        "python3 -c 'print(open(\"../secret\").read())'",
        "cat /proc/{pid}/environ",
        "cat /proc/{pid}/fd/*",
        "head -c 10 /proc/{pid}/mem",
        "cat /etc/shadow",
        "ls {base}",
    ],
)
async def test_no_secret_outside_is_read(tmp_path: Path, command: str) -> None:
    async with shut_in(tmp_path) as shell:
        ran = await run(shell, command.format(base=tmp_path.resolve(), pid=os.getpid()))
        assert ran.exit_code != 0, ran.output.text
        assert "hidden words" not in ran.output.text
        assert "HOME=" not in ran.output.text


@pytest.mark.parametrize(
    "command",
    [
        "echo x > .git/config",
        "touch .git/hooks/pre-commit",
        "git config core.pager x",
        "rm -rf .git",
        "mv .git other",
        "touch .north/allowlist.json",
        "echo x > package.json",
        "mv package.json other",
        "echo B=2 >> sub/.env",
        "rm -f sub/.env",
        "mount -o remount,rw .git",
        "umount .git",
        "unshare -Urm true",
        "unshare -n true",
        "python3 -c \"import ctypes; assert ctypes.CDLL(None).mount(b'x', b'.', b'tmpfs', 0, None) == 0\"",
    ],
)
async def test_protected_names_stay_as_they_are(tmp_path: Path, command: str) -> None:
    async with shut_in(tmp_path) as shell:
        root = tmp_path.resolve() / "project"
        config = (root / ".git/config").read_text()
        ran = await run(shell, command)
        assert ran.exit_code != 0, ran.output.text
        assert (root / ".git/config").read_text() == config
        assert (root / "package.json").read_text() == "{}"
        assert (root / "sub/.env").read_text() == "A=1"
        assert os.listdir(root / ".north") == []


CONNECT = "python3 -c \"import socket; s = socket.create_connection(('{host}', {port}), 2); print('connected')\""


async def test_the_folders_that_the_settings_open_are_read_and_not_written(tmp_path: Path) -> None:
    root, docs = make_project(tmp_path), tmp_path.resolve() / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("words")
    async with anyio.create_task_group() as background:
        environ = command_environment(os.environ | {"HOME": str(tmp_path.resolve() / "home")}, frozenset())
        settings = Settings(sandbox="workspace", reading=ReadSettings((str(docs),)))
        shell = CommandRunner(environ, background, root, sandbox_of(settings, (root,), environ))
        assert (await run(shell, f"cat {docs}/a.md")).output.text == "words"
        for command in (
            f"echo x >> {docs}/a.md",
            f"touch {docs}/b",
            f"rm {docs}/a.md",
            f"chmod 777 {docs}",
            f"cat {docs}/../secret",
        ):
            assert (await run(shell, command)).exit_code != 0, command
        assert os.listdir(docs) == ["a.md"]
        await shell.end_all(0.1)
        background.cancel_scope.cancel()


async def test_neither_this_machine_nor_the_net_can_be_reached(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        path = tmp_path.resolve() / "project-socket"
        local.bind(str(path))
        local.listen()
        port = server.getsockname()[1]
        async with shut_in(tmp_path) as shell:
            os.rename(path, tmp_path.resolve() / "project/socket")
            for command in (
                f"exec 3<>/dev/tcp/127.0.0.1/{port}",
                CONNECT.format(host="127.0.0.1", port=port),
                CONNECT.format(host="::ffff:127.0.0.1", port=port),
                CONNECT.format(host="192.0.2.1", port=80),
                CONNECT.format(host="localhost", port=port),
                "exec 3<>/dev/udp/192.0.2.1/53",
                "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('socket')\"",
                "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('\\0abstract')\"",
                'python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"',
                'python3 -c "import socket; socket.socket(socket.AF_PACKET)"',
                'python3 -c "import socket; socket.socket(socket.AF_VSOCK)"',
            ):
                ran = await run(shell, command)
                assert ran.exit_code != 0, command
                assert "connected" not in ran.output.text
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()


CALL = 'python3 -c "import ctypes, os; r = ctypes.CDLL(None).{call}; print(r); raise SystemExit(r >= 0)"'


async def test_other_processes_are_out_of_reach(tmp_path: Path) -> None:
    async with shut_in(tmp_path) as shell:
        other = os.getpid()
        for call in (
            f"ptrace(16, {other}, 0, 0)",
            f"ptrace(0x4206, {other}, 0, 0)",
            f"kill({other}, 0)",
            f"syscall(310, {other}, 0, 0, 0, 0, 0)",
            "syscall(425, 1, 0)",
            "syscall(321, 0, 0, 0)",
            "syscall(272, 0x10000000)",
            "syscall(308, 0, 0)",
            "unshare(0x20000)",
        ):
            ran = await run(shell, CALL.format(call=call))
            assert ran.output.text.strip() == "-1", call
        assert (await run(shell, f"kill -0 {other} || kill -9 {os.getppid()}")).exit_code != 0


PYTHON = 'python3 -c "import ctypes, os, resource, socket, time; c = ctypes.CDLL(None); {}"'
TRICKS = [
    *("unshare -Urmpf true", "unshare -r true", "chroot . /bin/true", "mknod dev b 8 0", "mount --bind / sub"),
    *("mount -t proc proc sub", "ls /proc/1/root/", "cat /proc/{ppid}/maps", "cat /proc/{ppid}/root{base}/secret"),
    *("echo x > /proc/{ppid}/comm", "echo 0 > /proc/{ppid}/oom_score_adj", "echo 1 > /proc/sys/vm/drop_caches"),
    *(
        "renice 5 -p {ppid}",
        "cat /dev/mem",
        "dmesg",
        "ls ~",
        "ls /root",
        "ls {base}",
        "git config --global user.name x",
    ),
    *("git init ../other", "cp a ../secret", "ln -sf /etc/passwd .git/config", "rm -rf .git/objects", "mv .north sub/"),
    *("mv package.json sub/", "ln -f a package.json", "cp a package.json", "touch package.json", "chmod 777 .git"),
    "true < /dev/tcp/127.0.0.1/{port}",
    PYTHON.format("resource.prlimit({ppid}, resource.RLIMIT_NOFILE, (19, 20))"),
    PYTHON.format("os.setpriority(0, {ppid}, 5)"),
    PYTHON.format("raise SystemExit(c.syscall(428, -100, b'/', 1) < 0)"),
    PYTHON.format("raise SystemExit(c.syscall(435, 0, 0) < 0)"),
    PYTHON.format("raise SystemExit(c.umount2(b'.git', 2) < 0)"),
    PYTHON.format("raise SystemExit(c.pivot_root(b'.', b'.') < 0)"),
    PYTHON.format("raise SystemExit(c.chroot(b'.') < 0)"),
    PYTHON.format("raise SystemExit(c.sethostname(b'x', 1) < 0)"),
    PYTHON.format("raise SystemExit(c.setuid(12345) < 0)"),
    PYTHON.format("raise SystemExit(c.ioctl(1, ctypes.c_ulong(0x100005412), b'x') < 0)"),
    PYTHON.format("raise SystemExit(c.renameat2(-100, b'a', -100, b'../secret', 2) < 0)"),
    PYTHON.format("time.clock_settime(0, time.time())"),
    PYTHON.format("os.setxattr('../secret', 'user.x', b'1')"),
    PYTHON.format("os.chown('../secret', 1, 1)"),
    PYTHON.format("print(open('secret', opener=lambda p, f: os.open(p, f, dir_fd=os.open('..', os.O_PATH))).read())"),
    PYTHON.format("os.symlink('../secret', 'l'); os.rename('l', 'm'); print(open('m').read())"),
    PYTHON.format("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)"),
]


async def test_no_trick_leads_out(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    with socket.create_server(("127.0.0.1", 0)) as server:
        async with shut_in(tmp_path) as shell:
            (base / "project/a").write_text("a")
            before = sorted(os.listdir(base))
            for trick in TRICKS:
                ran = await run(shell, trick.format(base=base, ppid=os.getpid(), port=server.getsockname()[1]))
                assert ran.exit_code != 0, (trick, ran.output.text)
                assert "hidden words" not in ran.output.text, trick
                if ran.shell_ended:
                    await run(shell, "true")
            assert (base / "secret").read_text() == "hidden words"
            assert (base / "project/package.json").read_text() == "{}"
            assert set(os.listdir(base)) - set(before) <= {"home"}
            assert (await run(shell, "ulimit -n 100; ulimit -n")).output.text == "100\n"


async def test_rules_run_in_the_same_sandbox_and_only_the_user_lets_out(tmp_path: Path) -> None:
    async with shut_in(tmp_path) as shell:
        assert (await run(shell, "cat ../secret", "clean")).exit_code != 0
        ran = await run(shell, "cat ../secret", "outside")
        assert ran.output.text == "hidden words"
        assert ran.sandbox is None
        await run(shell, "export PATH=/nonexistent; export WORD=carried; cd sub")
        ran = await run(shell, 'echo $WORD; basename "$PWD"; git --version | cut -c1-3', "outside")
        assert ran.output.text == "carried\nsub\ngit\n"


async def test_shared_memory_is_the_shells_own(tmp_path: Path) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as ours:
        async with shut_in(tmp_path) as shell:
            ran = await run(shell, f"test ! -e {ours.name} && touch /dev/shm/north-test")
            assert ran.exit_code == 0, ran.output.text
            assert not os.path.exists("/dev/shm/north-test")
            locks = "import multiprocessing as m; m.Lock().acquire(); print(m.Pool(1).map(abs, [-1]))"
            assert (await run(shell, f"python3 -c '{locks}'")).output.text == "[1]\n"


async def test_programs_cannot_gain_rights(tmp_path: Path) -> None:
    async with shut_in(tmp_path) as shell:
        text = (await run(shell, "cat /proc/self/status")).output.text
        assert "NoNewPrivs:\t1" in text
        assert "CapEff:\t0000000000000000" in text
        assert "CapBnd:\t0000000000000000" in text
        assert "Seccomp:\t2" in text


async def test_the_sandbox_ends_like_any_shell(tmp_path: Path) -> None:
    async with shut_in(tmp_path) as shell:
        ran = await shell.run("(setsid sleep 60 &); sleep 60", None, 0.3, _nothing)
        assert ran.timed_out
        assert ran.left_running == ()
        assert (await run(shell, "echo on; exit 3")).exit_code == 3
        assert (await run(shell, "echo on")).output.text == "on\n"


async def _nothing(text: str) -> None:
    return None


def test_home_and_what_is_above_it_is_never_opened(tmp_path: Path) -> None:
    home = tmp_path.resolve() / "home"
    (home / "bin").mkdir(parents=True)
    (home / ".local/bin").mkdir(parents=True)
    environ = {"HOME": str(home), "PATH": f"{home}/bin:{home}/.local/bin:{home}:/:relative:/usr/bin"}
    described = Sandbox((tmp_path,), environ, lambda: Held({}, {}, {})).described(tmp_path / "temp")
    read = described["rules"]["read"]
    assert str(home / "bin") in read
    assert not {"/", str(home), str(home / ".local"), str(tmp_path.resolve()), "/etc/shadow", "relative"} & set(read)


async def test_programs_of_the_home_folder_run_and_the_credentials_beside_them_stay_closed(tmp_path: Path) -> None:
    home, root = tmp_path.resolve() / "home", make_project(tmp_path)
    env = home / "envs/tool"
    venv.create(env, symlinks=True)
    (next((env / "lib").glob("python*/site-packages")) / "library.py").write_text("WORD = 'from the library'")
    secrets = (
        ".fly/config.yml", ".docker/config.json", ".pulumi/credentials.json", ".config/git/credentials",
        ".local/share/uv/credentials/credentials.toml", "envs/tool/.token",
    )  # fmt: skip
    for name in (*secrets, ".config/git/ignore", ".local/share/uv/tools/a", ".local/share/x/lib/y"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("hidden words" if name in secrets else "*.out")
    (home / ".config/git/config").write_text("[user]\n\tname = Ann\n")
    folders = [home / name for name in (".fly/bin", ".docker/bin", ".pulumi/bin", ".local/bin")]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    (home / ".fly/bin/flyctl").write_text("#!/bin/sh\necho flies\n")
    (home / ".fly/bin/flyctl").chmod(0o700)
    path = os.pathsep.join(map(str, (env / "bin", *folders, "/usr/bin", "/bin")))
    environ = command_environment(os.environ | {"HOME": str(home), "PATH": path}, frozenset())
    environ = {name: value for name, value in environ.items() if name != "XDG_CONFIG_HOME"}
    async with anyio.create_task_group() as background:
        runner = CommandRunner(environ, background, root, sandbox_of(Settings(sandbox="workspace"), (root,), environ))
        for name in secrets:
            ran = await run(runner, f"cat ~/{name}")
            assert (ran.exit_code, "hidden words" in ran.output.text) == (1, False), (name, ran.output.text)
        assert (await run(runner, "cat ~/.local/share/x/lib/y")).exit_code == 1
        assert (await run(runner, "flyctl")).output.text == "flies\n"
        ran = await run(runner, "python -c 'import library, sys; print(library.WORD, sys.prefix != sys.base_prefix)'")
        assert ran.output.text == "from the library True\n"
        assert (await run(runner, "git config user.name; cat ~/.local/share/uv/tools/a")).output.text == "Ann\n*.out"
        await run(runner, "touch b.out")
        assert "b.out" not in (await run(runner, "git status --short -uall")).output.text
        await runner.end_all(0.1)
        background.cancel_scope.cancel()
