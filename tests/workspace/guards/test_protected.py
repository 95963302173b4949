import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from north_lsp.workspace.edit.diff import make_change
from north_lsp.workspace.guards import protected
from north_lsp.workspace.guards.edit_guard import refusal
from north_lsp.workspace.guards.protected import write_reason, write_rule
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import TextEncoding


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        ".git/config",
        ".git/hooks/pre-commit",
        "sub/.git/HEAD",
        ".GIT/config",
        ".Git/Config",
        "sub\\.git\\config",
        ".git./config",
        ".git /config",
        ".g\u200cit/config",
        ".git::$INDEX_ALLOCATION/config",
        "GIT~1/config",
        ".north/allowlist.json",
        ".NORTH/AutoAccept.json",
        "./.git/config",
        "src//.git/x",
    ],
)
def test_never_written(path: str) -> None:
    assert write_rule(path, "src/a.py") == "never"
    assert write_rule("src/a.py", path) == "never"


_ASKED = """
    .gitmodules .gitattributes sub/.gitattributes .vscode/tasks.json x.code-workspace .idea/workspace.xml
    .zed/tasks.json .claude/settings.json .cursor/rules/a.mdc .codex/config.toml .gemini/settings.json
    .github/copilot-instructions.md CLAUDE.md sub/claude.md .cursorrules .clinerules
    .windsurfrules .north/settings.json .north/hooks/pre/x .gitignore
    .northignore .dockerignore .env .env.local .envrc .ENV deploy/key.pem id_rsa id_rsa.pub .ssh/config .bashrc .zshrc
    .profile package.json web/package.json .github/workflows/ci.yml .gitlab-ci.yml .mcp.json .husky/pre-commit
    .pre-commit-config.yaml .npmrc .north .vscode
"""
_FREE = """
    src/a.py AGENTS.md .github/ISSUE_TEMPLATE/bug.md environment.py docs/git.md gitconfig.py src/hooks/useThing.ts
    README.md legit/x my.git/readme a.pem.txt package.json.bak .
"""


@pytest.mark.parametrize("path", _ASKED.split())
def test_asked_every_time(path: str) -> None:
    assert write_rule(path, path) == "ask"
    assert write_reason(path, path)


@pytest.mark.parametrize("path", _FREE.split())
def test_free(path: str) -> None:
    assert write_rule(path, path) == "free"
    assert write_reason(path, path) is None


def test_the_stricter_of_both_spellings_holds() -> None:
    assert write_rule("conf/tasks.json", ".vscode/tasks.json") == "ask"
    assert write_rule(".git/config", ".vscode/tasks.json") == "never"
    assert write_rule("a.py", "file:///repo/%2Egit/config") == "never"


def rule(path: Path, root: Path, private: list[Path] | None = None) -> str:
    """Whether making a file there is refused."""
    made = make_change(path, path.name, None, "text\n", TextEncoding())
    return "free" if refusal([made], Roots((root,)), private or []) is None else "never"


def test_composed_and_decomposed_names_are_the_same(tmp_path: Path) -> None:
    own = tmp_path / "é"
    assert rule(tmp_path / "E\u0301" / "x", tmp_path, [own]) == "never"


def test_norths_own_folders_are_never_written(tmp_path: Path) -> None:
    own = tmp_path / "home" / "data"
    assert rule(own / "x", tmp_path, [own]) == "never"
    assert rule(own, tmp_path, [own]) == "never"
    assert rule(tmp_path / "home" / "database", tmp_path, [own]) == "free"


def test_outside_the_root_nothing_is_written(tmp_path: Path) -> None:
    assert rule(tmp_path / "x", tmp_path / "root") == "never"
    assert rule(tmp_path, tmp_path) == "never"


def test_a_bare_repository_is_never_written_nor_completed(tmp_path: Path) -> None:
    bare = tmp_path / "deep" / "store"
    (bare / "objects").mkdir(parents=True)
    assert rule(bare / "HEAD", tmp_path) == "free"
    (bare / "HEAD").touch()
    assert rule(bare / "refs" / "x", tmp_path) == "never"
    assert rule(bare / "config", tmp_path) == "free"
    (bare / "refs").mkdir()
    assert rule(bare / "config", tmp_path) == "never"
    assert rule(bare / "hooks" / "deep" / "x", tmp_path) == "never"
    assert rule(tmp_path / "deep" / "x", tmp_path) == "free"


def test_what_lies_above_the_root_protects_nothing_in_it(tmp_path: Path) -> None:
    root = tmp_path / ".git" / "worktrees" / "one"
    assert rule(root / "a.py", root) == "free"
    assert rule(root / ".git" / "a.py", root) == "never"


def test_every_name_of_the_list_is_found_by_its_beginning() -> None:
    for name in protected._names():
        sample = [re.sub(r"\[(.)[^\]]*\]", r"\1", one.pattern) for one in name.components]
        shown = [re.sub(r"\\(.)", r"\1", one[len("(?s:") : -len(r")\Z")]).replace(".*", "x") for one in sample]
        assert protected.edit_rule(["/".join(shown)], lambda: ["* filter=x"])[0] != "free", name


def test_every_row_says_why_and_where_it_comes_from() -> None:
    table = tomllib.loads(files("north_lsp.workspace.guards").joinpath("protected.toml").read_text("utf-8"))
    assert all(row["reason"] and row["source"] and row["patterns"] for rows in table.values() for row in rows)
    # It is shown after "This command writes to …, which": so it begins with a verb.
    for reason in (row["reason"] for rows in table.values() for row in rows):
        assert re.match(r"(is|can|may|[a-z]+s) ", reason), reason
