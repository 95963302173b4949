"""What passes as reading, run for real: nothing appears, changes or runs, whatever the words are."""

import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from north_lsp.command_policy.allowed import Rule
from north_lsp.command_policy.grammar import read
from north_lsp.command_policy.parsing import NotSimple, parse
from north_lsp.command_policy.places import Place
from north_lsp.command_policy.rules import find_uncovered
from north_lsp.workspace.paths import Roots

TABLE = tomllib.loads(files("north_lsp.command_policy").joinpath("programs.toml").read_text("utf-8"))["reads"]
GIT = tomllib.loads(files("north_lsp.command_policy").joinpath("git.toml").read_text("utf-8"))["git"]
# They would wait, or set the machine if the table were wrong.
LEFT_OUT = {"sleep", "date", "hostname", "uptime", "free", "ps", "tail"}
PATH = "/usr/bin:/bin"
BUILTINS = ("echo", "printf", "true", "false", ":", "test", "[", "pwd", "type", "command")
NAMES = sorted(
    name
    for key, row in TABLE.items()
    for name in (key, *row.get("names", ()))
    if name not in LEFT_OUT and shutil.which(name, path=PATH)
)
NASTY = [
    "a",
    "b",
    "out",
    "sub",
    "./a",
    "a.gz",
    "-",
    "--",
    "-o",
    "-i",
    "-w",
    "-e",
    "-f",
    "-n",
    "-r",
    "-x",
    "-c",
    "-O",
    "-s",
    "1",
    "1,2",
    "x",
    "p",
    "d",
    "w out",
    "1w out",
    "s/a/b/w out",
    "e touch out",
    '{print > "out"}',
    "{print}",
    'BEGIN{system("touch out")}',
    ".",
    ".a",
    "input_filename",
    "env",
    "--output=out",
    "--output",
    "-oout",
    "-i.bak",
    "--in-place",
    "-exec",
    "touch",
    ";",
    "-delete",
    "-fprint",
    "--pre=touch",
    "--compress-program=touch",
    "=",
    "a=b",
    "x=a",
    "@a",
    "%n",
    "a[$(touch out)]",
    "-v",
    "HEAD",
    "HEAD:a",
    "main",
    "--all",
    "-l",
    "-p",
    "list",
    "show",
    "new",
    "|touch out",
    "`touch out`",
    "$(touch out)",
    "t",
    "tf",
    "-tf",
    "a.tar",
    "--to-command=touch out",
    "--checkpoint-action=exec=touch out",
    "-I",
    "/dev/stdin",
    "+x",
    "%G?",
    "--",
    "-C",
    "!",
]
nasty = st.sampled_from([*NASTY, "./*", "./*", "sub/*", "./?", "*", "./-*"])


def _flags(row: dict[str, str]) -> list[str]:
    return [word for key in ("flags", "text", "path", "script", "two", "joined") for word in row.get(key, "").split()]


def _row(name: str) -> dict[str, str]:
    return next(row for key, row in TABLE.items() if name == key or name in row.get("names", ()))


@st.composite
def words(draw: st.DrawFn) -> list[str]:
    name = draw(st.sampled_from([*NAMES, *["git"] * 8]))
    head = [name]
    row = _row(name) if name != "git" else {}
    if name == "git":
        command = draw(st.sampled_from(sorted(GIT)))
        row, head = GIT[command], ["git", command]
    listed = _flags(row) or ["-x"]
    flag = st.sampled_from(listed)
    joined = st.builds(lambda flag, value: f"{flag}={value}" if flag.startswith("--") else flag + value, flag, nasty)
    return [*head, *draw(st.lists(st.one_of(flag, nasty, joined), max_size=5))]


class World:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        (self.root / "sub").mkdir()
        for name, text in (("a", "a\nb\n"), ("b", '{"a": 1}\n'), ("x", "touch out\n"), ("-o", "x\n"), ("sub/c", "c\n")):
            (self.root / name).write_text(text)
        self.environ = {
            "PATH": PATH,
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_AUTHOR_NAME": "n",
            "GIT_AUTHOR_EMAIL": "e",
            "GIT_COMMITTER_NAME": "n",
            "GIT_COMMITTER_EMAIL": "e",
            "GIT_PAGER": "cat",
            "TMPDIR": str(folder),
        }
        for line in ("git init -q -b main", "git add .", "git commit -qm first", "tar -cf a.tar a", "gzip -k a"):
            subprocess.run(line.split(), cwd=self.root, env=self.environ, check=True, capture_output=True)
        self.place = Place(self.root, Roots.of(self.root), True, {"PATH": PATH}, lambda cwd, writes: None)
        self.before = self.seen()

    def seen(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for here, folders, names in os.walk(self.root.parent):
            for name in (*folders, *names):
                path = os.path.join(here, name)
                found[path] = Path(path).read_bytes() if os.path.isfile(path) else b""
        return found


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as name:
        yield World(Path(os.path.realpath(name)))


PATTERNS = ("./*", "sub/*", "./?", "*", "./-*")


def quoted(word: str) -> str:
    if word in PATTERNS:
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def passes(world: World, line: str) -> bool:
    try:
        commands = parse(line)
    except NotSimple:
        return False
    readings = [read(one) for one in commands]
    if any(isinstance(one, str) or one.kind != "reads" for one in readings):
        return False
    rules = [Rule((one.program,), ("*",)) for one in commands]
    return find_uncovered(line, rules, lambda text: False, world.place) is None


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(words(), min_size=12, max_size=12))
@example([["sed", "-n", "-e", "1w out"], ["awk", '{print > "out"}'], ["sort", "a", "-o", "out"], ["uniq", "a", "out"]])
@example(
    [["git", "log", "--output=out"], ["git", "branch", "new"], ["git", "diff", "--output", "out"], ["xxd", "a", "out"]]
)
@example([["tar", "-tf", "a.tar", "--to-command=touch out"], ["find", ".", "-fprint", "out"], ["tree", "-o", "out"]])
def test_what_passes_as_reading_changes_nothing(world: World, lines: list[list[str]]) -> None:
    texts = [" ".join([line[0], *map(quoted, line[1:])]) for line in lines]
    passing = [text for text in texts if passes(world, text)]
    if not passing:
        return
    script = "\n".join(f"(exec timeout 1 {text}) </dev/null" if _runs(text) else f"({text})" for text in passing)
    subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-c", script],
        cwd=world.root,
        env=world.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    after = world.seen()
    changed = {path for path in after.keys() | world.before.keys() if after.get(path) != world.before.get(path)}
    world.before = after
    assert not changed, (passing, changed)


def _runs(text: str) -> bool:
    """Whether it is no builtin command, so that it can be stopped."""
    return text.split(maxsplit=1)[0] not in (
        "echo",
        "printf",
        "true",
        "false",
        ":",
        "test",
        "[",
        "pwd",
        "type",
        "command",
    )


def test_the_oracle_sees_what_changes(world: World) -> None:
    subprocess.run(["touch", "made"], cwd=world.root, check=True)
    assert str(world.root / "made") in world.seen().keys() - world.before.keys()
    (world.root / "made").unlink()


def test_some_lines_do_pass(world: World) -> None:
    for line in ("cat 'a'", "sed '-n' 'p' 'a'", "git 'log' '--all'", "sort '-r' 'a'", "find '.' '-name' 'a'"):
        assert passes(world, line)
