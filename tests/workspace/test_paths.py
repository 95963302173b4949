import errno
import os
import socket
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.errors import ToolError
from north_lsp.workspace.paths import Roots, ensure_regular


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("a")
    (tmp_path / "repo-evil").mkdir()
    (tmp_path / "repo-evil" / "x").write_text("x")
    return Path(os.path.realpath(root))


def refused(roots: Roots, raw_path: str) -> str:
    with pytest.raises(ToolError) as caught:
        roots.resolve(raw_path)
    assert caught.value.code in ("OUTSIDE_WORKSPACE", "INVALID_INPUT", "IO_ERROR")
    return caught.value.code


@pytest.mark.parametrize(
    ("raw_path", "relative"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/../src//a.py", "src/a.py"),
        ("src/new/deep/b.py", "src/new/deep/b.py"),
        (".", "."),
        ("src/", "src"),
        ("a b/ü.py", "a b/ü.py"),
    ],
)
def test_relative_paths_are_taken_from_the_main_root(repo: Path, raw_path: str, relative: str) -> None:
    resolved = Roots.of(repo).resolve(raw_path)
    assert (resolved.relative, resolved.root, resolved.path) == (relative, repo, repo / relative)
    assert resolved.exists == resolved.path.exists()


def test_absolute_home_and_uri_spellings(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(repo))
    roots = Roots.of(repo)
    (repo / "ü #?%.py").touch()
    for spelled in (
        str(repo / "src/a.py"),
        "~/src/a.py",
        f"file://{repo}/src/a.py",
        f"FILE://localhost{repo}/src/a.py",
        f"file:{repo}/src/%61.py",
    ):
        assert roots.resolve(spelled).path == repo / "src/a.py"
    assert roots.resolve(f"file://{quote(str(repo))}/{quote('ü #?%.py')}").exists


@pytest.mark.parametrize(
    "raw_path",
    [
        "",
        "  ",
        "a\0b",
        "a\nb",
        "a\x1b[2Jb",
        "a\x85b",
        "a\udc80b",
        "file:///repo/%00",
        "file:///repo/%ff",
        "file:///repo/a?b",
        "file:///repo/a#b",
        "https://example.org/a",
        "a" * 256,
        "/".join(["a" * 200] * 30),
    ],
)
def test_what_is_no_path_is_refused(repo: Path, raw_path: str) -> None:
    assert refused(Roots.of(repo), raw_path) == "INVALID_INPUT"


@pytest.mark.parametrize(
    "raw_path",
    [
        "..",
        "../repo-evil/x",
        "src/../../repo-evil/x",
        "/etc/passwd",
        "//etc/passwd",
        "~",
        "~/x",
        "file:///etc/passwd",
        "file:///%2e%2e/etc/passwd",
        "file://server/share/x",
        "file://%2Fetc/passwd",
    ],
)
def test_what_leads_outside_is_refused(repo: Path, raw_path: str) -> None:
    assert refused(Roots.of(repo), raw_path) == "OUTSIDE_WORKSPACE"


def test_a_root_does_not_cover_a_neighbour_with_a_longer_name(repo: Path) -> None:
    assert refused(Roots.of(repo), f"{repo}-evil/x") == "OUTSIDE_WORKSPACE"
    assert refused(Roots.of(repo), f"file://{repo}/..%2frepo-evil%2fx") == "OUTSIDE_WORKSPACE"


def test_the_error_says_what_was_spelled_and_which_roots_there_are(repo: Path) -> None:
    with pytest.raises(ToolError, match=r"'\.\./x' is outside .*repo") as caught:
        Roots.of(repo).resolve("../x")
    assert caught.value.details == {"path": "../x", "roots": [str(repo)]}


def test_links_are_followed_and_judged_by_where_they_lead(repo: Path) -> None:
    roots = Roots.of(repo)
    (repo / "inside").symlink_to("src")
    (repo / "outside").symlink_to("../repo-evil")
    (repo / "absolute").symlink_to("/etc")
    (repo / "hop").symlink_to("outside")
    (repo / "file").symlink_to("/etc/passwd")
    assert roots.resolve("inside/a.py").path == repo / "src/a.py"
    assert roots.resolve("inside/new.py").relative == "src/new.py"
    for spelled in ("outside/x", "outside/new/deep", "absolute/passwd", "hop", "hop/x", "file"):
        assert refused(roots, spelled) == "OUTSIDE_WORKSPACE"


def test_links_that_lead_nowhere_or_in_circles_are_refused(repo: Path) -> None:
    roots = Roots.of(repo)
    (repo / "gone").symlink_to("missing/deep")
    (repo / "near").symlink_to("src/missing")
    (repo / "one").symlink_to("two")
    (repo / "two").symlink_to("one")
    for spelled in ("gone", "gone/x", "near", "one", "one/x", "src/a.py/x"):
        assert refused(roots, spelled) == "INVALID_INPUT"


def test_a_folder_that_may_not_be_entered_is_no_pass(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is forbidden to root, so the system's answer is given here."""
    real = os.lstat

    def forbidding(path: str | os.PathLike[str]) -> os.stat_result:
        if "locked" in os.fspath(path):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return real(path)

    roots = Roots.of(repo)
    monkeypatch.setattr(os, "lstat", forbidding)
    assert refused(roots, "locked/x") == "IO_ERROR"
    assert refused(roots, "/locked/x") == "OUTSIDE_WORKSPACE"


def test_what_lies_outside_is_not_told_apart(repo: Path) -> None:
    """Neither what there is, nor of what kind, nor why it cannot be reached."""
    outside = repo.parent / "outside"
    (outside / "folder").mkdir(parents=True)
    (outside / "file").touch()
    (outside / "loop").symlink_to("loop")
    (outside / "dangling").symlink_to("nowhere")
    (repo / "way").symlink_to("../outside")
    (repo / "none").symlink_to("/nowhere/at/all")
    (repo / "into").symlink_to("../outside/missing")
    (repo / "over").symlink_to("../outside/file/x")
    names = ("file", "file/x", "folder", "folder/x", "missing", "missing/x", "loop", "loop/x", "dangling", "é" * 100)
    spelled = [*(f"{outside}/{name}" for name in names), *(f"way/{name}" for name in names)]
    told = set[str]()
    for name in (*spelled, "none", "none/x", "into", "over", "/etc/shadow/x", "/proc/1/root/x", "/dev/fd/99/x"):
        for resolve in (Roots.of(repo).resolve, replace(Roots.of(repo), extra=(repo / "src",)).resolve_readable):
            with pytest.raises(ToolError) as caught:
                resolve(name)
            told.add(f"{caught.value.code} {caught.value.message.replace(repr(name), '')} {caught.value.hint}")
    assert len(told) == 1
    assert "OUTSIDE_WORKSPACE" in told.pop()


def test_every_name_by_which_a_path_is_reached_is_known(repo: Path) -> None:
    (repo / "one").symlink_to("two")
    (repo / "two").symlink_to(repo / "src")
    names = Roots.of(repo).resolve("./one//x/../a.py").names
    assert names == tuple(str(repo / name) for name in ("one/a.py", "two/a.py", "src/a.py"))


def test_roots_are_real_and_named(tmp_path: Path) -> None:
    for name in ("main/lib", "other/lib", "third/lib"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("main")
    roots = Roots.of(tmp_path / "link", tmp_path / "other/lib", tmp_path / "third/lib", tmp_path / "main")
    real = Path(os.path.realpath(tmp_path))
    assert roots.roots == (real / "main", real / "other/lib", real / "third/lib")
    assert roots.main == real / "main"
    assert roots.resolve("lib/x").path == real / "other/lib/x"
    assert roots.resolve("lib-2/x").path == real / "third/lib/x"
    assert roots.resolve(str(tmp_path / "link" / "x")).relative == "x"
    assert roots.resolve("./lib/x").path == real / "main/lib/x"
    assert refused(roots, "lib/../../x") == "OUTSIDE_WORKSPACE"
    assert roots.resolve("lib//etc/passwd").path == real / "other/lib/etc/passwd"
    for path in ("main/lib/x", "main/y", "other/lib", "other/lib/x", "third/lib/deep/x"):
        resolved = roots.resolve(str(real / path))
        assert roots.resolve(resolved.relative) == resolved


_PART = st.sampled_from(
    [
        "..",
        ".",
        "",
        "src",
        "a.py",
        "in",
        "out",
        "abs",
        "loop",
        "gone",
        "repo",
        "repo-evil",
        "~",
        "file:",
        "%2e%2e",
        "new",
    ]
)


@pytest.fixture(scope="module")
def maze(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = Path(os.path.realpath(tmp_path_factory.mktemp("maze")))
    root = base / "repo"
    (root / "src" / "src").mkdir(parents=True)
    (base / "repo-evil").mkdir()
    (root / "src" / "a.py").touch()
    for link, target in {
        "in": "src",
        "out": "../repo-evil",
        "abs": "/",
        "loop": "loop",
        "gone": "../gone",
        "src/in": "..",
        "src/out": "../..",
    }.items():
        (root / link).symlink_to(target)
    return root


@given(
    parts=st.lists(_PART, min_size=1, max_size=7), form=st.sampled_from(["{}", "/{}", "{root}/{}", "file://{root}/{}"])
)
def test_no_spelling_escapes(maze: Path, parts: list[str], form: str) -> None:
    roots = Roots.of(maze)
    try:
        resolved = roots.resolve(form.format("/".join(parts), root=maze))
    except ToolError:
        return
    real = Path(os.path.realpath(resolved.path))
    assert real == resolved.path
    assert real.is_relative_to(maze)
    assert resolved.exists == os.path.lexists(real)
    assert roots.resolve(resolved.relative) == resolved


@given(st.text(max_size=30))
def test_any_text_is_resolved_inside_or_refused(maze: Path, raw_path: str) -> None:
    try:
        resolved = Roots.of(maze).resolve(raw_path)
    except ToolError:
        return
    assert Path(os.path.realpath(resolved.path)).is_relative_to(maze)


def test_only_regular_files_pass(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    ensure_regular(tmp_path / "file")
    with socket.socket(socket.AF_UNIX) as listener:
        place = os.path.relpath(tmp_path / "s")
        listener.bind(place)
        for path in (tmp_path, tmp_path / "pipe", tmp_path / "link", tmp_path / "s", Path("/dev/null")):
            with pytest.raises(ToolError) as caught:
                ensure_regular(path)
            assert caught.value.code == "INVALID_INPUT"
    for path in (tmp_path / "missing", tmp_path / "file" / "x"):
        with pytest.raises(ToolError) as caught:
            ensure_regular(path)
        assert caught.value.code == "NOT_FOUND"
