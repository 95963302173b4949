"""The sandbox of macOS, as far as it can be tried elsewhere: what its profiles say, when it is believed, and how shells
get it. `tests/support/sandbox_exec.py` stands in for `sandbox-exec`."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.shell.output import denied_by_sandbox
from north_lsp.agent.shell.setup import sandbox_of
from north_lsp.cli.doctor import _sandbox
from north_lsp.errors import ToolError
from north_lsp.server.options import Options
from north_lsp.shell import sandbox, seatbelt, seatbelt_probe
from north_lsp.shell.environment import command_environment
from north_lsp.shell.options import Place
from north_lsp.shell.results import CommandResult
from north_lsp.shell.runner import CommandRunner
from north_lsp.shell.sandbox import ActiveRestrictions, probe, support
from north_lsp.shell.seatbelt import held_by, profile_of
from north_lsp.shell.seatbelt_trial import attempts
from north_lsp.storage.settings import Settings
from tests.support.patience import PATIENCE
from tests.support.sbpl import Rules, of_command, read, texts
from tests.support.try_sandbox import try_all

EXAMPLE = {
    "rules": {"read": ["/usr", "/opt/tools"], "write": ["/Users/me/project"], "device": ["/dev/null"]},
    "temp": "/private/var/folders/x/shell",
    "frozen": {"/Users/me/project/.git": (1, 2), "/Users/me/project/sub/.env": (1, 3)},
    "hidden": {"/Users/me/project/sub/deep/secret": (1, 4)},
    "open": ["/Users/me/project/.git/cache"],
}
RULES = """\
(allow file-read*
  (subpath (param "READ_0"))
  (subpath (param "READ_1"))
  (subpath (param "READ_2"))
  (subpath (param "READ_3")))
(allow file-write*
  (subpath (param "WRITE_0"))
  (subpath (param "WRITE_1")))
(allow file-read* file-write-data file-ioctl
  (literal (param "DEVICE_0")))
(deny file-write*
  (subpath (param "FROZEN_0"))
  (subpath (param "FROZEN_1")))
(allow file-write*
  (subpath (param "OPEN_0")))
(deny file-write-unlink
  (literal (param "STAYS_0"))
  (literal (param "STAYS_1"))
  (literal (param "STAYS_2"))
  (literal (param "STAYS_3"))
  (literal (param "STAYS_4")))
(deny file-read-data file-read-xattr file-write*
  (subpath (param "HIDDEN_0")))
"""


# -- what a profile says -----------------------------------------------------------------------------------------------


def test_a_profile_is_written_like_this() -> None:
    profile = profile_of(EXAMPLE)
    assert profile.text.endswith(RULES)
    assert profile.text.removesuffix(RULES) == Path(seatbelt.__file__).with_suffix(".sbpl").read_text()
    assert [path for name, path in profile.parameters.items() if name.startswith("STAYS")] == [
        "/Users/me/project",
        "/Users/me/project/.git/cache",
        "/Users/me/project/sub",
        "/Users/me/project/sub/deep",
        "/private/var/folders/x/shell",
    ]


@pytest.mark.parametrize(
    ("operation", "path", "allowed"),
    [
        ("file-write-create", "/Users/me/project/new", True),
        ("file-write-create", "/Users/me/project-evil/new", False),
        ("file-write-create", "/Users/me/other", False),
        ("file-write-create", "/private/var/folders/x/shell/t", True),
        ("file-write-create", "/private/var/folders/x/other", False),
        ("file-write-data", "/Users/me/project/.git/config", False),
        ("file-write-data", "/Users/me/project/.github", True),
        ("file-write-data", "/Users/me/project/.git/cache/a", True),
        ("file-write-unlink", "/Users/me/project/sub", False),
        ("file-write-unlink", "/Users/me/project/sub/other", True),
        ("file-read-data", "/Users/me/project/.git/config", True),
        ("file-read-data", "/Users/me/project/sub/deep/secret", False),
        ("file-read-metadata", "/Users/me/project/sub/deep/secret", True),
        ("file-read-data", "/Users/me/.ssh/id_ed25519", False),
        ("file-read-data", "/System/Volumes/Data/Users/me/.ssh/id_ed25519", False),
        ("file-read-data", "/usr/lib/a", True),
        ("file-write-data", "/usr/lib/a", False),
        ("file-write-data", "/dev/null", True),
        ("file-write-unlink", "/dev/null", False),
        ("file-write-data", "/dev/ttys003", True),
        ("file-write-data", "/dev/ttys004", False),
        ("file-link", "/Users/me/project/new", False),
        ("file-link", "/Users/me/.ssh/id_ed25519", False),
        ("network-outbound", "127.0.0.1", False),
        ("network-bind", "127.0.0.1", False),
        ("network-outbound", "/private/var/run/docker.sock", False),
        ("mach-lookup", "com.apple.system.logger", True),
        ("mach-lookup", "com.apple.coreservices.launchservicesd", False),
        ("mach-lookup", "com.apple.SecurityServer", False),
        ("sysctl-read", "hw.ncpu", True),
        ("sysctl-read", "kern.procargs2", False),
        ("signal", "another", False),
        ("process-info-pidinfo", "another", False),
        ("appleevent-send", "another", False),
        ("process-exec", "/bin/ls", True),
    ],
)
def test_what_it_allows(operation: str, path: str, allowed: bool) -> None:
    profile = profile_of(EXAMPLE)
    rules = Rules(profile.text, {**profile.parameters, "TERMINAL": "/dev/ttys003"})
    assert rules.allows(operation, path) is allowed
    assert rules.allows(operation, path, exact_first=True) is allowed


NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "A", '")', "(allow default)", '") (allow default) (literal "', "; x", '#"', "\\", "\n", "="]
    ),
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=6),
).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))


@st.composite
def described(draw: st.DrawFn) -> dict[str, Any]:
    write = draw(st.lists(PATHS, min_size=1, max_size=2))
    inside = st.builds(lambda root, path: root + path, st.sampled_from(write), PATHS)
    frozen = draw(st.lists(inside, max_size=3))
    opened = [f"{path}/.cache" for path in frozen if draw(st.booleans())]
    return {
        "rules": {"read": draw(st.lists(PATHS, max_size=2)), "write": write, "device": ["/dev/null"]},
        "temp": draw(PATHS),
        "frozen": dict.fromkeys(frozen, (1, 1)),
        "hidden": dict.fromkeys(draw(st.lists(inside, max_size=2)), (1, 1)),
        "open": opened,
    }


@given(described())
def test_no_path_is_ever_part_of_the_text(policy: dict[str, Any]) -> None:
    profile = profile_of(policy)
    fixed = texts(read(Path(seatbelt.__file__).with_suffix(".sbpl").read_text()))
    assert {*texts(read(profile.text))} <= {*fixed, *profile.parameters}
    assert all(name.replace("_", "").isalnum() and name.isascii() for name in profile.parameters)
    asked = {path for paths in policy["rules"].values() for path in paths} | {policy["temp"], *policy["open"]}
    assert asked | {*policy["frozen"], *policy["hidden"]} <= {*profile.parameters.values()}
    argv = seatbelt.command_prefix(profile)
    assert of_command([*argv, "--", "true"]) == (profile.text, profile.parameters, ["true"])


def is_in(path: str, folders: Any) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)


def may(policy: dict[str, Any], operation: str, path: str) -> bool:
    """What the policy itself says."""
    write = [*policy["rules"]["write"], policy["temp"]]
    if is_in(path, policy["hidden"]):
        return False
    if operation == "read":
        return path == "/" or is_in(path, [*policy["rules"]["read"], *write])
    if operation == "move":
        around = {str(above) for held in (*policy["frozen"], *policy["hidden"]) for above in Path(held).parents}
        if path in {*write, *policy["open"]} or (path in around and is_in(path, write)):
            return False
    if is_in(path, policy["open"]):
        return True
    return is_in(path, write) and not is_in(path, policy["frozen"])


@given(described(), st.data())
def test_it_says_what_the_policy_says(policy: dict[str, Any], data: st.DataObject) -> None:
    known = [*policy["rules"]["read"], *policy["rules"]["write"], policy["temp"], *policy["frozen"]]
    known += [*policy["hidden"], *policy["open"]]
    known += [str(above) for path in known for above in Path(path).parents]
    path = data.draw(
        st.sampled_from(known)
        | st.builds(lambda one, name: f"{one.rstrip('/')}/{name}", st.sampled_from(known), NAMES)
        | PATHS
    )
    profile = profile_of(policy)
    rules = Rules(profile.text, {**profile.parameters, "TERMINAL": "/dev/null"})
    for exact_first in (False, True):
        for operation, asked in (
            ("file-write-create", "write"),
            ("file-write-data", "write"),
            ("file-read-data", "read"),
            ("file-write-unlink", "move"),
        ):
            assert rules.allows(operation, path, exact_first=exact_first) == may(policy, asked, path), (operation, path)


def test_a_profile_that_is_too_long_to_be_passed_on_is_refused() -> None:
    many = {f"/Users/me/project/{'x' * 400}{number}": (1, 1) for number in range(2000)}
    with pytest.raises(ToolError, match="protected and closed names take"):
        profile_of({**EXAMPLE, "frozen": many})


def test_what_a_profile_holds_already() -> None:
    assert held_by(EXAMPLE, EXAMPLE["frozen"], EXAMPLE["hidden"])
    assert held_by(EXAMPLE, ["/Users/me/project/.git/new"], [])
    assert not held_by(EXAMPLE, ["/Users/me/project/.envrc"], [])
    assert not held_by(EXAMPLE, [], ["/Users/me/project/.git"])


def test_a_system_can_be_read_but_for_what_others_keep(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sandbox, "_SYSTEM", "darwin")
    home = tmp_path.resolve() / "home"
    (home / "Library/Application Support/tool/bin").mkdir(parents=True)
    (home / "project").mkdir()
    paths = [home / "bin", home / "Library/bin", home / "Library/Application Support/tool/bin", Path("/bin")]
    for path in paths:
        path.mkdir(exist_ok=True)
    environ = {"HOME": str(home), "PATH": os.pathsep.join(map(str, paths))}
    made = sandbox_of(Settings(), (home / "project",), environ).described(tmp_path / "temp")
    read = made["rules"]["read"]
    assert str(home / "Library/Application Support/tool/bin") in read
    for path in (
        home,
        home / "Library",
        home / "Library/Application Support/tool",
        home / ".ssh",
        Path("/"),
        Path("/System"),
        Path("/Library"),
    ):
        assert str(path) not in read
    assert made["hides"] is False
    assert made["prefix"][:2] == ["/usr/bin/sandbox-exec", "-p"]


# -- whether it is believed --------------------------------------------------------------------------------------------


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


@pytest.fixture
def on_macos(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, record: Path) -> Iterator[Callable[[str], None]]:
    """Makes this a macOS whose `sandbox-exec` is the one that stands in for it, in a mode, or any other script."""

    def use(mode: str) -> None:
        root = Path(__file__).parents[2]
        program = tmp_path / "sandbox-exec"
        script = f'PYTHONPATH={root} exec {sys.executable} -m tests.support.sandbox_exec {record} "{mode}" "$@"'
        program.write_text(mode if mode.startswith("#!") else f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        for module in (seatbelt, seatbelt_probe):
            monkeypatch.setattr(module, "SANDBOX_EXEC", str(program))

    monkeypatch.setattr(sandbox, "_SYSTEM", "darwin")
    monkeypatch.setattr(sandbox, "_tried_out", {})
    probe.cache_clear()
    yield use
    probe.cache_clear()


def test_it_is_believed_once_everything_was_refused_that_must_be(on_macos: Callable[[str], None]) -> None:
    assert not support().available
    on_macos("hold")
    assert probe() == ActiveRestrictions(0, namespaces=False, seatbelt=True)
    assert support().available


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("none", "a program in it could create outside"),
        ("open", "in it, a program could|a program in it could create outside"),
        ("os.remove", "a program in it could remove outside"),
        ("os.chmod", "a program in it could change permissions outside"),
        ("os.utime", "a program in it could change times outside"),
        ("os.link", "a program in it could link to outside"),
        ("os.rename", "a program in it could replace a protected file"),
        ("subprocess.Popen", "a program in it could write by a program of its own"),
        ("socket.connect", "a program in it could reach this machine"),
        ("socket.bind", "a program in it could listen"),
        ("os.kill", "a program in it could signal another program"),
        (
            "#!/bin/sh\necho 'sandbox-exec: no profile' >&2; exit 65",
            "programs do not run in it: exit code 65, sandbox-exec: no",
        ),
        ("#!/bin/sh\nexit 0", "could not be tried out"),
        ("#!/bin/sh\necho '[]'", "in it, a program could not write inside"),
        ("#!/bin/sh\necho '{}'", "no answer"),
        ("#!/nonexistent", "could not be tried out"),
    ],
)
def test_it_is_not_believed_where_anything_gets_through(
    on_macos: Callable[[str], None], mode: str, reason: str
) -> None:
    on_macos(mode)
    problem = probe()
    assert isinstance(problem, str)
    assert any(one in problem for one in reason.split("|")), problem
    assert support() == sandbox.Support(False, problem)


def test_a_program_that_lies_is_found_out_by_the_files(on_macos: Callable[[str], None], record: Path) -> None:
    allowed = json.dumps([name for name in attempts("", "", "", 0) if name.startswith("may ")])
    on_macos(f"#!/bin/sh\necho '{allowed}'")
    assert probe() == "in it, a program could not write inside"


def test_without_sandbox_exec_there_is_none(on_macos: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seatbelt_probe, "SANDBOX_EXEC", "/nonexistent/sandbox-exec")
    assert probe() == "there is no /nonexistent/sandbox-exec"


def test_doctor_says_what_there_is(on_macos: Callable[[str], None], tmp_path: Path) -> None:
    options = Options(environ={f"NORTH_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")})
    on_macos("none")
    (found,) = _sandbox(options)
    assert found.text.startswith("sandbox: not available here (a program in it could create outside): commands")
    assert "or macOS with /usr/bin/sandbox-exec" in (found.remedy or "")
    probe.cache_clear()
    on_macos("hold")
    assert [(one.level, one.text) for one in _sandbox(options)] == [
        ("ok", 'sandbox: for what runs without asking (`"sandbox": "workspace"`: for all); Seatbelt, no network')
    ]


# -- how shells get it -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def shut_in(base: Path) -> AsyncIterator[tuple[CommandRunner, Path]]:
    root = base.resolve() / "project"
    (root / "sub").mkdir(parents=True)
    (root / "sub/.env").write_text("A=1")
    (root / "closed.txt").write_text("hidden words")
    (root / ".northignore").write_text("closed.txt\n")
    async with anyio.create_task_group() as background:
        environ = command_environment(os.environ | {"HOME": str(base.resolve() / "home")}, frozenset())
        runner = CommandRunner(environ, background, root, sandbox_of(Settings(), (root,), environ))
        yield runner, root
        await runner.end_all(0.1)
        background.cancel_scope.cancel()


async def run(runner: CommandRunner, command: str, place: Place = "contained") -> CommandResult:
    async def ignore(text: str) -> None:
        return None

    return await runner.run(command, None, PATIENCE, ignore, place)


def calls(record: Path) -> list[tuple[str, dict[str, str], list[str]]]:
    return [of_command(["sandbox-exec", *json.loads(line)]) for line in record.read_text().splitlines()]


async def test_a_shell_is_started_with_the_profile(
    on_macos: Callable[[str], None], tmp_path: Path, record: Path
) -> None:
    on_macos("hold")
    async with shut_in(tmp_path) as (shell, root):
        with pytest.raises(ToolError, match="not tried out yet"):
            await run(shell, "true")
        assert isinstance(probe(), ActiveRestrictions)
        record.unlink()
        ran = await run(shell, "echo $TMPDIR; cd sub; A=1")
        assert ran.sandbox is not None
        assert ran.sandbox.seatbelt
        assert ran.output.text.strip() == ran.sandbox.temp
        assert (await run(shell, "pwd; echo $A")).output.text == f"{root}/sub\n1\n"
        ((profile, parameters, command),) = calls(record)
        assert command[1:] == ["--noprofile", "--norc", "--noediting", "-i"]
        assert parameters["TERMINAL"].startswith("/dev/")
        rules = Rules(profile, parameters)
        assert rules.allows("file-write-create", f"{root}/new")
        assert rules.allows("file-write-create", f"{ran.sandbox.temp}/new")
        assert not rules.allows("file-write-data", f"{root}/sub/.env")
        assert not rules.allows("file-write-unlink", f"{root}/sub")
        assert not rules.allows("file-read-data", f"{root}/closed.txt")
        assert not rules.allows("file-write-create", f"{tmp_path}/new")
        closed = await run(shell, f"echo 'cat: {root}/closed.txt: Operation not permitted' >&2; false")
        assert denied_by_sandbox(closed) is None
        other = await run(shell, "echo 'cat: other.txt: Operation not permitted' >&2; false")
        assert denied_by_sandbox(other) is not None


async def test_new_protected_names_are_taken_away_and_those_of_the_user_get_a_new_sandbox(
    on_macos: Callable[[str], None], tmp_path: Path, record: Path
) -> None:
    on_macos("hold")
    assert isinstance(probe(), ActiveRestrictions)
    async with shut_in(tmp_path) as (shell, root):
        ran = await run(shell, "A=1; touch .envrc")
        assert [one.path for one in ran.taken] == [root / ".envrc"]
        assert not (root / ".envrc").exists()
        assert (await run(shell, "echo $A")).output.text == "1\n"
        (root / ".envrc").write_text("the user's own")
        ran = await run(shell, "echo $A")
        assert ran.output.text == "\n"
        assert ran.lost == sandbox._NEW_NAMES
        profile, parameters, _ = calls(record)[-1]
        assert not Rules(profile, parameters).allows("file-write-data", f"{root}/.envrc")


async def test_a_job_that_is_ended_for_new_names_says_so(on_macos: Callable[[str], None], tmp_path: Path) -> None:
    on_macos("hold")
    assert isinstance(probe(), ActiveRestrictions)
    async with shut_in(tmp_path) as (shell, root):
        job = await shell.jobs.begin("echo up; sleep 1000", "contained", root)
        shell.expect([root / ".envrc"])  # as an edit that was accepted does
        (root / ".envrc").write_text("the user's own")
        await run(shell, "true")
        with anyio.fail_after(PATIENCE):
            await job.ended.wait()
        assert sandbox._NEW_NAMES in shell.jobs.output(job, 10)


async def test_what_is_tried_on_macos_is_so_in_the_sandbox_of_this_machine(tmp_path: Path) -> None:
    assert isinstance(await anyio.to_thread.run_sync(probe), ActiveRestrictions)
    assert await try_all(tmp_path.resolve()) == []
