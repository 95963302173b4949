"""Lines that rules for paths cover, run for real among links that lead out, closed files and protected names: the
second wall alone, without the sandbox that stands behind it."""

import os
import subprocess
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from north_lsp.command_policy.allowed import Rule
from north_lsp.command_policy.places import Place
from north_lsp.command_policy.rules import find_uncovered
from north_lsp.workspace.paths import Roots

NAMES = [
    "docs",
    "sub",
    "f",
    "g",
    "up",
    "l",
    "O",
    "a",
    "b",
    "c",
    "rel",
    "r2",
    "x",
    "new",
    "..",
    ".",
    ".github",
    "workflows",
    "tmpl",
    "secret.txt",
    "priv",
    "p",
    "R",
    "out",
    "o.txt",
    "w.yml",
    "tasks.json",
    ".vscode",
    "settings",
]
RULES = [
    *(
        Rule((name,), ("-*",), "paths")
        for name in ["cat", "ls", "cp", "mv", "mkdir", "touch", "head", "wc", "grep", "find", "diff", "test", "echo"]
    ),
    *(Rule((name,)) for name in ("cd", "true", "false", "echo", "test")),
]
spelled = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
paths = st.one_of(
    spelled,
    spelled,
    st.builds(
        lambda before, path, after: before + path + after,
        st.sampled_from(["", "./", "../R/"]),
        spelled,
        st.sampled_from(["", "/", "/*", "/."]),
    ),
)
commands = st.one_of(
    st.builds(
        "{} {}".format,
        st.sampled_from(["cat", "ls", "ls -R", "ls -L", "touch", "mkdir -p", "head -n 5", "wc -l"]),
        paths,
    ),
    st.builds(
        "{} {} {}".format, st.sampled_from(["cp", "cp -r", "cp -a", "mv", "mv", "diff", "diff -r"]), paths, paths
    ),
    st.builds(
        "{} {}".format, st.sampled_from(["grep -r .", "grep -R E", "grep .", "find", "test -d", "cd", "! cd"]), paths
    ),
    st.sampled_from(["echo x", "true", "false"]),
)
lines = st.lists(st.tuples(commands, st.sampled_from(["&&", ";", "||", "|", "&"])), min_size=1, max_size=3).map(
    lambda parts: " ".join(word for part in parts for word in part).rsplit(" ", 1)[0]
)


def made(base: Path) -> Place:
    root, out = base / "R", base / "out"
    for folder in ("docs/sub", "sub", "tmpl/.github/workflows", "a/b/c", ".github", "workflows", "priv"):
        (root / folder).mkdir(parents=True)
    (out / "d").mkdir(parents=True)
    for name in ("f", "docs/g", "workflows/w.yml", "tasks.json", "tmpl/.github/workflows/x.yml", "settings"):
        (root / name).write_text("x\n")
    for name in ("secret.txt", "priv/p"):
        (root / name).write_text("CLOSED\n")
    for name in ("o.txt", "d/x", "hidden"):
        (out / name).write_text("OUTSIDE\n")
    for name, target in (
        ("docs/sub/up", "../.."),
        ("sub/l", "../docs"),
        ("docs/f", str(out / "o.txt")),
        ("docs/O", str(out)),
        ("a/b/rel", "../../../out"),
        ("a/b/c/r2", "../../docs"),
    ):
        (root / name).symlink_to(target)
    closed = "secret.txt", "priv"
    return Place(
        root,
        Roots.of(root),
        True,
        {"PATH": "/usr/bin:/bin"},
        lambda cwd, writes: None,
        lambda path: any(name in path.parts for name in closed),
    )


def outside(base: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in (base / "out").rglob("*")}


def is_protected(name: str) -> bool:
    moved = name.startswith("tmpl/.github/workflows")
    return (".github/workflows" in name and not moved) or ".vscode" in name.split("/")


def check(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        base = Path(os.path.realpath(name))
        place = made(base)
        before = outside(base)
        for text in texts:
            if find_uncovered(text, RULES, lambda part: False, place) is not None:
                continue
            ran = subprocess.run(
                ["/bin/bash", "--noprofile", "--norc", "-c", f"{text}\nwait"],
                cwd=place.cwd,
                env={"PATH": "/usr/bin:/bin"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=20,
                check=False,
            )
            assert outside(base) == before, text
            assert b"OUTSIDE" not in ran.stdout, text
            # What is closed below a folder is kept by the sandbox.
            assert b"CLOSED" not in ran.stdout or any(one in text for one in ("grep -r", "grep -R", "diff")), text
            names = [path.relative_to(place.cwd).as_posix() for path in place.cwd.rglob("*")]
            assert not [one for one in names if is_protected(one)], text


@settings(max_examples=8, deadline=None)
@given(st.lists(lines, min_size=20, max_size=20))
@example(["mv docs/sub/up up && touch up/O/x", "mv docs/sub/up up", "touch up/O/x", "cat up/a/b/rel/o.txt"])
@example(["grep -R E sub", "diff ../R docs", "diff -r sub/* ./f", "cat sub/l/../secret.txt", "ls -L docs/O"])
@example(["true || cd docs && cat f", "! cd new && cat docs/f", "cd docs && cat f", "cd sub/l && cat f"])
@example(
    ["cp -r tmpl/.github .", "mv workflows .github/", "cp tasks.json .vscode/tasks.json", "cp f docs", "cp f docs/"]
)
def test_no_line_reaches_outside_closed_files_or_protected_names(texts: list[str]) -> None:
    check(texts)


def test_the_oracle_sees_what_leads_out() -> None:
    with tempfile.TemporaryDirectory() as name:
        base = Path(os.path.realpath(name))
        place = made(base)
        before = outside(base)
        (place.cwd / "docs/O/new").write_text("x")
        assert outside(base) != before
        assert is_protected(".github/workflows/w.yml")
        assert not is_protected("tmpl/.github/workflows/x.yml")


def test_such_lines_do_pass() -> None:
    with tempfile.TemporaryDirectory() as name:
        place = made(Path(os.path.realpath(name)))
        for text in ("cat f", "mv f new", "cd sub && ls", "cat f | head -n 5", "mkdir -p new/x", "cp -r a/b/c new"):
            found = find_uncovered(text, RULES, lambda part: False, place)
            assert found is None or text.startswith("cp -r"), (text, found)
