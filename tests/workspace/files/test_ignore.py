import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from north_lsp.workspace import git
from north_lsp.workspace.files import ignore
from north_lsp.workspace.files.gitignore import parse
from north_lsp.workspace.files.ignore import IgnoreRules, walk
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Roots


@pytest.fixture(autouse=True)
def no_global_ignore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    monkeypatch.setenv("HOME", str(tmp_path / "no-home"))
    monkeypatch.setattr(git, "_SYSTEMS", ())


def tree(root: Path, files: dict[str, str]) -> IgnoreRules:
    for name, content in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode())
    return IgnoreRules.of(root)


def walked(root: Path, rules: IgnoreRules) -> list[str]:
    return [entry.relative for entry in walk(root, rules)]


_NAMES = st.sampled_from(["a", "b", "ab", "a.txt", ".h", "foo", "a b", "é", "[x]", "a*", "!a", "#a", "x\\y"])
_PLAIN_ATOMS = ["a", "b", "ab", ".txt", "foo", " ", "\\ ", "é", "x", ".", "\\"]
_WILD_ATOMS = [
    "*",
    "**",
    "?",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-",
    "[]x]",
    "[[:alpha:]]",
    "[[:nope:]]",
    "\\*",
    "[x]",
    "[\\]a]",
    "[a-c]",
]
_ATOMS = st.sampled_from(_PLAIN_ATOMS) | st.sampled_from(_WILD_ATOMS)
_BODIES = st.lists(st.lists(_ATOMS, max_size=3).map("".join), min_size=1, max_size=3).map("/".join)
_PATTERNS = st.builds(
    lambda front, body, back: front + body + back,
    st.sampled_from(["", "", "", "!", "/", "!/", "#", "\\!", "\\#", "**/", " "]),
    _BODIES,
    st.sampled_from(["", "", "", "/", "/*", "/**", "  ", "\t", "\r"]),
)
_IGNORE_FILES = st.lists(_PATTERNS, max_size=5).map("\n".join)
_PATHS = st.lists(_NAMES, min_size=1, max_size=3).map("/".join)


@pytest.fixture(scope="module")
def git_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("home")
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C",
    }


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    paths=st.lists(_PATHS, min_size=1, max_size=8),
    ignores=st.dictionaries(st.sampled_from(["", "a/", "a/b/", "foo/"]), _IGNORE_FILES, min_size=1, max_size=3),
    exclude=st.one_of(st.just(""), _IGNORE_FILES),
)
def test_git_agrees_about_random_trees(
    tmp_path: Path, git_environment: dict[str, str], paths: list[str], ignores: dict[str, str], exclude: str
) -> None:
    root = tmp_path / "repo"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, env=git_environment, check=True)
    for path in paths:
        place = root / path
        if not any(parent.is_file() for parent in place.parents) and not place.is_dir():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_bytes(exclude.encode())
    for folder, content in ignores.items():
        if (root / folder).is_dir():
            (root / folder / ".gitignore").write_bytes(content.encode())
    every = sorted(
        (Path(base, name).relative_to(root).as_posix(), name in folders)
        for base, folders, files in os.walk(root)
        for name in (*folders, *files)
        if ".git" not in Path(base, name).relative_to(root).parts
    )
    asked = "\0".join(path for path, _ in every).encode()
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    told = subprocess.run(command, cwd=root, env=git_environment, input=asked, capture_output=True)
    assert told.returncode in (0, 1), told.stderr
    expected = set(told.stdout.decode().split("\0")) - {""}
    rules = IgnoreRules.of(root)
    assert {path for path, is_dir in every if rules.ignored(path, is_dir)} == expected
    assert walked(root, rules) == sorted(
        (path for path, _ in every if path not in expected), key=lambda p: p.split("/")
    )
    listing = Trees.of(Roots.of(root)).tree(root).listing()
    assert sorted((*listing.files, *listing.folders, *listing.others)) == sorted(walked(root, rules))


def test_nested_files_and_the_strongest_last_pattern(tmp_path: Path) -> None:
    rules = tree(
        tmp_path,
        {
            ".git/info/exclude": "*.excluded\n",
            ".gitignore": "*.log\n!keep.log\n/out/\nlogs/*\n!logs/kept/\n",
            "sub/.gitignore": "!*.log\nkeep.log\n",
            "out/.gitignore": "!*\n",
        },
    )
    ignored = {
        "a.log": True,
        "keep.log": False,
        "sub/a.log": False,
        "sub/keep.log": True,
        "out/x": True,
        "sub/out/x": False,
        "logs/x": True,
        "logs/kept/x": False,
        "x.excluded": True,
    }
    assert {path: rules.ignored(path, False) for path in ignored} == ignored


def test_some_folders_are_always_skipped(tmp_path: Path) -> None:
    rules = tree(tmp_path, {".gitignore": "!node_modules/\n!build\n", "build": "a file", "src/node_modules/x.js": ""})
    assert rules.ignored("node_modules/x", False)
    assert rules.ignored(".git", False)
    assert not rules.ignored("build", False)
    assert walked(tmp_path, rules) == [".gitignore", "build", "src"]


def test_the_users_global_file_counts_least(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    tree(tmp_path / "config", {"git/ignore": "*.tmp\n*.bak\n"})
    rules = tree(tmp_path / "repo", {".gitignore": "!*.bak\n"})
    assert rules.ignored("a.tmp", False)
    assert not rules.ignored("a.bak", False)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    tree(tmp_path / ".config", {"git/ignore": "*.old\n"})
    assert IgnoreRules.of(tmp_path / "repo").ignored("a.old", False)


@pytest.mark.parametrize(
    ("configured", "is_ignored"),
    [
        ({}, True),
        ({"home/.gitconfig": "[user]\n\tname = n\n"}, True),
        ({"home/.gitconfig": "[core]\n\texcludesFile = ~/mine\n", "home/mine": "a.tmp\n"}, True),
        ({"home/.gitconfig": "[core]\n\texcludesfile = ~/mine\n", "home/mine": "b.tmp\n"}, False),
        ({"home/.gitconfig": "[core]\n\texcludesFile = ~/missing\n"}, False),
        ({"home/.gitconfig": "[core]\n\texcludesFile =\n"}, False),
        ({"home/.gitconfig": "[include]\n\tpath = more\n", "home/more": "[CORE]\n\tEXCLUDESFILE=/nowhere\n"}, False),
        ({"config/git/config": "[core]\n\texcludesFile = ~/mine\n", "home/mine": "b.tmp\n"}, False),
        ({"repo/.git/config": "[core]\n\texcludesFile = mine\n", "repo/mine": "a.*\n!a.tmp\n"}, False),
        ({"home/.gitconfig": "[core\n\texcludesFile = broken\n"}, True),
    ],
)
def test_git_says_which_file_the_users_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: dict[str, str], is_ignored: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "repo").mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path / "repo", check=True)
    tree(tmp_path, {"config/git/ignore": "*.tmp\n", "repo/a.tmp": "", **configured})
    assert IgnoreRules.of(tmp_path / "repo").ignored("a.tmp", False) == is_ignored
    if "broken" not in str(configured):
        asked = subprocess.run(["git", "check-ignore", "-q", "a.tmp"], cwd=tmp_path / "repo")
        assert asked.returncode == (0 if is_ignored else 1)


def test_git_is_not_asked_what_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(ignore, "users_ignore_file", asked.append)
    rules = tree(tmp_path, {".northignore": "a\n", "a": "", "b": ""})
    assert (rules.closed("a"), rules.closed("b"), asked) == (True, False, [])
    assert not rules.ignored("b", False)
    assert asked == [tmp_path]


def test_a_root_within_a_repository_has_the_rules_from_above(tmp_path: Path) -> None:
    tree(tmp_path, {".git/info/exclude": "*.x\n", ".gitignore": "/app/gen\n*.log\n/app\n"})
    rules = tree(tmp_path / "app", {"a.py": ""})
    assert rules.ignored("gen", False)
    assert rules.ignored("a.log", False)
    assert rules.ignored("a.x", False)
    assert not rules.ignored("a.py", False)


def test_a_linked_work_tree_finds_the_exclude_file(tmp_path: Path) -> None:
    tree(tmp_path, {"main/info/exclude": "*.x\n", "main/worktrees/one/commondir": "../..\n"})
    rules = tree(tmp_path / "one", {".git": "gitdir: ../main/worktrees/one\n"})
    assert rules.ignored("a.x", False)


def test_northignore_closes_and_nothing_opens_it_again(tmp_path: Path) -> None:
    rules = tree(
        tmp_path,
        {
            ".northignore": "secret/\n*.key\n!public.key\n",
            ".gitignore": "!*.key\nnoise/\n",
            "noise/.northignore": "deep\n",
            "secret/.northignore": "!*\n",
            "secret/x": "",
            "a.key": "",
            "b.py": "",
        },
    )
    assert rules.closed("secret/x")
    assert rules.closed("secret")
    assert rules.closed("a.key")
    assert rules.closed("A.KEY")
    assert rules.closed("noise/deep")
    assert not rules.closed("public.key")
    assert not rules.closed("noise/other")
    assert not rules.closed(".")
    assert rules.ignored("a.key", False)
    assert walked(tmp_path, rules) == [".gitignore", ".northignore", "b.py"]
    for strange in ("../x", "/etc/passwd", "a\0"):
        assert rules.closed(strange)
        assert rules.ignored(strange, False)


def test_a_changed_list_counts_at_once(tmp_path: Path) -> None:
    rules = tree(tmp_path, {"a": ""})
    assert not rules.closed("a")
    (tmp_path / ".northignore").write_text("a")
    assert rules.closed("a")
    (tmp_path / ".northignore").write_text("b ")
    assert not rules.closed("a")


def test_a_list_that_cannot_be_read_closes_everything(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".northignore").symlink_to(".northignore")
    rules = tree(tmp_path, {"a": "", "sub/x": ""})
    assert rules.closed("sub/x")
    assert not rules.closed("a")


def test_ignore_files_that_are_no_files_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".gitignore").symlink_to("../patterns")
    rules = tree(tmp_path, {"patterns": "*\n", "sub/x": ""})
    assert not rules.ignored("sub/x", False)


def test_a_walk_is_in_order_and_follows_no_link(tmp_path: Path) -> None:
    rules = tree(tmp_path, {"b/x": "", "b.txt": "", "a/.hid/y": "", ".git/config": "", "sub/.git": "gitdir: x"})
    (tmp_path / "c").symlink_to("b")
    (tmp_path / "d").symlink_to("d")
    assert walked(tmp_path, rules) == ["a", "a/.hid", "a/.hid/y", "b", "b/x", "b.txt", "c", "d", "sub"]
    assert [entry.relative for entry in walk(tmp_path, rules, hidden=False)] == [
        "a",
        "b",
        "b/x",
        "b.txt",
        "c",
        "d",
        "sub",
    ]
    entries = {entry.relative: entry for entry in walk(tmp_path, rules)}
    assert entries["b"].is_dir
    assert not entries["c"].is_dir
    assert entries["b/x"].path == tmp_path / "b" / "x"


def test_a_walk_from_a_folder_keeps_the_rules_and_an_ignored_start_opens_it(tmp_path: Path) -> None:
    rules = tree(
        tmp_path,
        {
            ".gitignore": "*.log\n",
            ".northignore": "*.key\n",
            "src/a.py": "",
            "src/a.log": "",
            "node_modules/m/b.js": "",
            "node_modules/m/b.log": "",
            "node_modules/m/b.key": "",
            "node_modules/.git/x": "",
        },
    )
    assert walked(tmp_path / "src", rules) == ["src/a.py"]
    assert walked(tmp_path / "node_modules" / "m", rules) == ["node_modules/m/b.js", "node_modules/m/b.log"]
    assert walked(tmp_path / "node_modules", rules)[0] == "node_modules/m"


@example(content="*", names=["a"], folder="")
@settings(max_examples=300, deadline=None)
@given(
    content=_IGNORE_FILES,
    names=st.lists(_NAMES | st.sampled_from(["a\nb", "foo.txt", "z"]), min_size=1, max_size=6, unique=True),
    folder=st.sampled_from(["", "a/", "a/b/", "foo/a b/"]),
)
def test_a_whole_folder_is_never_passed_over_wrongly(content: str, names: list[str], folder: str) -> None:
    file = parse(content.encode())
    prefix = folder.encode()
    joined = b"/" + b"/".join(name.encode() for name in names) + b"/"
    met = [name for name in names if file.verdict(name.encode(), prefix + name.encode(), True) is not None]
    may_meet = file.may_meet_names(names, joined)
    may_meet |= file.meets_paths_at(prefix.count(b"/")) and file.may_meet_paths(joined, prefix)
    assert may_meet or not met


@pytest.mark.parametrize(
    ("lines", "ignored"),
    [
        ("*", {"a", "b.c", ".x"}),
        ("**", {"a", "b.c", ".x"}),
        ("**/*", {"a", "b.c", ".x"}),
        ("*.*", {"b.c", ".x"}),
        ("**/a", {"a"}),
        ("/**/a", {"a"}),
        ("/b.c", {"b.c"}),
        ("[!a]", set()),
        ("", set()),
    ],
)
def test_patterns_that_take_much_or_nothing(tmp_path: Path, lines: str, ignored: set[str]) -> None:
    (tmp_path / ".gitignore").write_text(f"{lines}\n!.gitignore\n")
    for name in ("a", "b.c", ".x"):
        (tmp_path / name).write_text("")
    listed = Trees.of(Roots.of(tmp_path)).tree(tmp_path).listing().files
    assert {"a", "b.c", ".x"} - set(listed) == ignored


def compilations(root: Path, name: str, folders: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often an expression with a word of an ignore file was compiled to list a root whose folders each have one of
    their own."""
    root.mkdir()
    (root / name).write_text("*.outermost\noutermost?\n/x/outermost*\n")
    words = ["outermost"]
    for number in range(folders):
        words.append(f"inner{number}x")
        (root / f"d{number}").mkdir()
        (root / f"d{number}" / name).write_text(f"*.{words[-1]}\n")
        (root / f"d{number}" / "a.txt").write_text("")
    counts: Counter[str] = Counter()
    compile_ = re.compile

    def counted(pattern: Any, flags: int = 0) -> Any:
        text = pattern.decode("latin-1") if isinstance(pattern, bytes) else str(pattern)
        counts.update(word for word in words if word in text)
        return compile_(pattern, flags)

    with monkeypatch.context() as patched:
        patched.setattr(re, "compile", counted)
        assert len(Trees.of(Roots.of(root)).tree(root).listing().files) >= folders
    return counts


@pytest.mark.parametrize("name", [".gitignore", ".northignore"])
def test_an_ignore_file_is_not_compiled_again_for_each_folder_with_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    one = compilations(tmp_path / "one", name, 1, monkeypatch)
    many = compilations(tmp_path / "many", name, 50, monkeypatch)
    assert many["outermost"] == one["outermost"] > 0
    assert {many[f"inner{number}x"] for number in range(50)} == {one["inner0x"]}


def test_many_names_are_looked_at_quickly() -> None:
    file = parse(b"*.log\n/out/*.tmp\n[!a]*b*c*d\n")
    names = [f"some_long_name_{number}.txt" for number in range(50_000)]
    joined = f"/{'/'.join(names)}/".encode()
    assert not file.may_meet_names(names, joined)
    assert file.may_meet_names([*names, "a.log"], joined + b"a.log/")
    assert not file.may_meet_paths(joined, b"out/")
    assert file.may_meet_paths(joined.replace(b"1.txt", b"1.tmp"), b"out/")
    assert [depth for depth in range(4) if file.meets_paths_at(depth)] == [1]
