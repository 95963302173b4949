"""What a prompt can mention besides files and names, and what comes of it."""

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from north_lsp.agent.context.mentioned_sources import Source, find_sources, from_sources
from north_lsp.agent.log.editor_state import EditorProblem, EditorState
from north_lsp.agent.log.prompt import Attached, FileLink, Part, TextPart
from north_lsp.errors import ToolError
from north_lsp.tools.support.texts import resolve_open
from north_lsp.workspace.language_features import FoundSymbol, LanguageFeatures, Place, Position, Problem, Problems
from north_lsp.workspace.paths import Resolved
from north_lsp.workspace.workspace import Workspace
from tests.support.workspaces import make_workspace


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @diff", Source("diff")),
        ("(@diff)", Source("diff")),
        ("@problems, please", Source("problems")),
        ("@diagnostics", Source("problems")),
        ("What is @selection?", Source("selection")),
        ("@symbol:Lamp.on.", Source("symbol", "Lamp.on")),
        ("see @web:https://a.example/b_(c).", Source("web", "https://a.example/b_(c)")),
        ("(see @web:https://a.example/b)", Source("web", "https://a.example/b")),
        ("@web:https://a.example/@me", Source("web", "https://a.example/@me")),
        ('@"web:https://a.example/x y"', Source("web", "https://a.example/x y")),
    ],
)
def test_sources_are_found(text: str, found: Source) -> None:
    assert find_sources(text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "@diffs",
        "@diff/a.py",
        "@problems.md",
        "@diff.txt",
        "me@diff",
        "`@diff`",
        "@web:",
        "@web",
        "@symbol: a",
        "@differ",
    ],
)
def test_what_only_looks_like_a_source_is_none(text: str) -> None:
    assert find_sources(text) == []


class Servers:
    """Language servers that know some problems and symbols."""

    def __init__(self, problems: Sequence[Problem] = (), symbols: Sequence[FoundSymbol] = ()) -> None:
        self._problems = problems
        self._symbols = symbols

    async def problems(self, paths: Sequence[Path] | None, *, settled: bool = False) -> Problems:
        assert paths is None
        return Problems(tuple(self._problems))

    async def find_symbols(self, query: str) -> Sequence[FoundSymbol]:
        return [one for one in self._symbols if query.casefold() in one.name.casefold()]

    async def symbols(self, path: Path) -> Sequence[FoundSymbol]:
        return [
            replace(one, place=replace(one.place, end=Position(one.place.start.line + 4, 0)))
            for one in self._symbols
            if one.place.path == path
        ]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "repo"
    root.mkdir()
    (root / ".northignore").write_text("secret*\n")
    for name in ("lamp.py", "secret.py"):
        (root / name).write_text("one\n")
    return make_workspace(root)


def git(root: Path, *words: str) -> None:
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *named, *words], cwd=root, check=True, capture_output=True)


async def said(workspace: Workspace, text: str, *more: Part) -> str:
    (found,) = await from_sources((TextPart(text), *more), workspace)
    assert isinstance(found, Attached)
    return found.text


async def test_the_changes_since_the_last_commit_are_attached_as_far_as_tools_may_see_them(
    workspace: Workspace,
) -> None:
    root = workspace.roots.main
    git(root, "init", "-q")
    git(root, "add", ".")
    assert "+one" in await said(workspace, "@diff"), "before the first commit"
    git(root, "commit", "-qm", "first")
    assert await said(workspace, "@diff") == "(nothing differs from the last commit)"
    for name in ("lamp.py", "secret.py", "new file.py", "secret2.py"):
        (root / name).write_text("two\n")
    told = await said(workspace, "Review @diff.")
    assert "-one\n+two" in told
    assert told.endswith("Untracked files:\nnew file.py")
    assert "secret" not in told


async def test_without_a_repository_it_is_said_why_nothing_is_attached(workspace: Workspace) -> None:
    assert "not a git repository" in await said(workspace, "@diff")


async def test_problems_are_listed_the_worst_first_without_closed_files(workspace: Workspace) -> None:
    root = workspace.roots.main
    found = [
        Problem(root / "lamp.py", Position(4, 2), "warning", "unused"),
        Problem(root / "lamp.py", Position(0, 0), "error", "no such name", "pyright", "E1"),
        Problem(root / "secret.py", Position(0, 0), "error", "the key is wrong"),
    ]
    known = replace(workspace, language=cast(LanguageFeatures, Servers(found)))
    assert await said(known, "Fix @problems") == (
        "lamp.py:1:1: error: no such name (pyright E1)\nlamp.py:5:3: warning: unused"
    )
    none = replace(workspace, language=cast(LanguageFeatures, Servers()))
    assert await said(none, "@problems") == "(the editor shows no problems)"


async def test_an_editor_without_language_servers_for_north_tells_of_the_active_file(workspace: Workspace) -> None:
    state = EditorState("lamp.py", problems=(EditorProblem(3, "error", "wrong"),))
    assert await said(workspace, "@problems", state) == "lamp.py:3: error: wrong"
    assert "does not report its problems" in await said(workspace, "@problems")


async def test_what_is_selected_is_attached_by_its_lines(workspace: Workspace) -> None:
    state = EditorState("lamp.py", selection=(2, 3))
    assert await from_sources((TextPart("@selection"), state), workspace) == [FileLink("lamp.py", (2, 3))]
    assert "the editor reported no selection" in await said(workspace, "@selection")


async def test_a_symbol_is_attached_whole_and_an_unknown_one_remains_text(workspace: Workspace) -> None:
    root = workspace.roots.main
    places = [
        Place(root / name, Position(line, 4), Position(line, 6)) for name, line in (("lamp.py", 2), ("secret.py", 0))
    ]
    symbols = [
        FoundSymbol("on()", "method", places[0], "Lamp"),
        FoundSymbol("on()", "method", places[1], "Lamp"),
        FoundSymbol("once", "function", places[0]),
    ]
    known = replace(workspace, language=cast(LanguageFeatures, Servers(symbols=symbols)))
    for text in ("@symbol:on", "@symbol:Lamp.on"):
        assert await from_sources((TextPart(text),), known) == [FileLink(str(root / "lamp.py"), (3, 7))]
    assert await from_sources((TextPart("@symbol:Torch.on and @symbol:gone"),), known) == []
    assert "language servers" in await said(workspace, "@symbol:on")


async def test_a_page_is_attached_or_the_reason_why_not(workspace: Workspace) -> None:
    async def page(address: str) -> str:
        if address != "https://a.example/b":
            raise ToolError("NOT_FOUND", "there is no such page")
        return "What it says."

    said_of_both = TextPart("@web:https://a.example/b and @web:https://a.example/c")
    found = await from_sources((said_of_both,), workspace, page)
    assert found == [
        Attached("https://a.example/b", "What it says."),
        Attached("web:https://a.example/c", "(not attached: there is no such page)"),
    ]
    assert "cannot be fetched here" in await said(workspace, "@web:https://a.example/b")


@pytest.mark.parametrize(
    ("text", "name"),
    [("@diff", "diff:git"), ("@problems", "problems:lamp.py"), ("@selection", "file:///repo/lamp.py#L2-L3")],
)
async def test_what_the_client_attached_itself_is_not_attached_again(
    workspace: Workspace, text: str, name: str
) -> None:
    assert await from_sources((TextPart(text), Attached(name, "as the editor shows it")), workspace) == []


async def test_of_a_large_change_only_the_beginning_is_attached(workspace: Workspace) -> None:
    root = workspace.roots.main
    git(root, "init")
    (root / "lamp.py").write_text(
        "".join(f"{number} and a long line of a generated file\n" for number in range(30_000))
    )
    git(root, "add", "lamp.py")
    found = await said(workspace, "@diff")
    assert len(found) < 250_000
    assert "characters: only the first 200000 are here)" in found.splitlines()[0]


async def test_a_file_with_many_problems_is_looked_at_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def counted(path: str, workspace: Workspace) -> Resolved:
        asked.append(path)
        return await resolve_open(path, workspace)

    monkeypatch.setattr("north_lsp.agent.context.mentioned_sources.resolve_open", counted)
    path = workspace.roots.main / "lamp.py"
    told = [Problem(path, Position(line, 0), "error", "wrong") for line in range(300)]
    found = await said(replace(workspace, language=cast(LanguageFeatures, Servers(told))), "@problems")
    assert found.splitlines()[-1] == "… and 200 more"
    assert asked == [str(path)]
