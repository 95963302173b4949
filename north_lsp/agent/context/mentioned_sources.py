"""What a prompt can mention besides files and names: the changes that git sees (`@diff`), the problems that the editor
shows (`@problems`), what is selected there (`@selection`), a symbol (`@symbol:name`), a page of the web (`@web:…`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.log.editor_state import EditorState
from north_lsp.agent.log.prompt import Attached, FileLink, Part, typed
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.tools.support.texts import resolve_open
from north_lsp.workspace.git import run_git
from north_lsp.workspace.language_features import FoundSymbol
from north_lsp.workspace.workspace import Workspace

_SOURCE = lazy_pattern(
    r"""(?<![\w@/.`"'])@(?:"(?P<quoted>(?:web|symbol):[^"\n]{1,2000})"|"""
    r"""(?P<alone>diff|problems|diagnostics|selection)(?![\w:/.#-]*[\w/])|(?P<bare>(?:web|symbol):[^\s"`]{1,2000}))"""
)
_AFTER_WORDS = ".,;:!?]}>'’”"
_MOST = 5
_MOST_FILES = 500
_MOST_CHARACTERS = 200_000
_MOST_PROBLEMS = 100
_GIT_SECONDS = 10.0
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_SEVERITIES = ("error", "warning", "info", "hint")

ReadPage = Callable[[str], Awaitable[str]]
"""Reads what is at an address of the web; raises ToolError."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of what is attached, with what it is asked for; `about` is empty for those that stand alone."""

    kind: str
    about: str = ""


def find_sources(text: str) -> list[Source]:
    """Return the sources that a text mentions, each once, in its order."""
    found: dict[Source, None] = {}
    for match in _SOURCE.finditer(text):
        if alone := match["alone"]:
            found[Source("problems" if alone == "diagnostics" else alone)] = None
            continue
        kind, _, about = (match["quoted"] or _without_end(match["bare"])).partition(":")
        if about:
            found[Source(kind, about)] = None
    return list(found)[:_MOST]


def _without_end(bare: str) -> str:
    """Take off what ends a sentence; a closing bracket only if none is open in the word."""
    while bare and (bare[-1] in _AFTER_WORDS or (bare[-1] == ")" and bare.count(")") > bare.count("("))):
        bare = bare[:-1]
    return bare


async def from_sources(parts: Sequence[Part], workspace: Workspace, page: ReadPage | None = None) -> list[Part]:
    """Return what the sources say that the words of a prompt mention, or why they say nothing; `page` reads those of
    the web. A symbol that is not
    found remains text, and what the client itself attached of a source (as `diff:…`, `problems:…`, or the lines of a
    file) is not attached again."""
    words = [text for text in typed(parts) if "@" in text]
    state = next((part for part in reversed(parts) if isinstance(part, EditorState)), None)
    given = {_kind_of(part.name) for part in parts if isinstance(part, Attached)}
    found: list[Part] = []
    for source in dict.fromkeys(one for text in words for one in find_sources(text)):
        if source.kind in given:
            continue
        try:
            found += await _read(source, workspace, state, page)
        except ToolError as error:
            name = f"{source.kind}:{source.about}" if source.about else source.kind
            found.append(Attached(one_line(name, 300), f"(not attached: {error.message})"))
    return found


def _kind_of(name: str) -> str:
    return "selection" if name.startswith("file:") and "#L" in name else name.partition(":")[0]


async def _read(
    source: Source, workspace: Workspace, state: EditorState | None, page: ReadPage | None
) -> Sequence[Part]:
    match source.kind:
        case "diff":
            return [Attached("git diff", await _diff(workspace))]
        case "problems":
            return [Attached("problems", await _problems(workspace, state))]
        case "selection":
            if state is None or state.active is None or state.selection is None:
                raise ToolError("UNAVAILABLE", "the editor reported no selection")
            return [FileLink(state.active, state.selection)]
        case "symbol":
            return [FileLink(str(path), lines) for path, lines in await _symbol(source.about, workspace)]
        case _:
            if page is None:
                raise ToolError("UNAVAILABLE", "pages of the web cannot be fetched here")
            return [Attached(one_line(source.about, 300), await page(source.about))]


async def _diff(workspace: Workspace) -> str:
    """Return how the files that tools may see differ from git's last commit. Raises ToolError UNAVAILABLE."""
    shown = [await anyio.to_thread.run_sync(_diff_of, root, workspace) for root in workspace.roots.roots]
    if all(one is None for one in shown):
        raise ToolError("UNAVAILABLE", "this folder is not a git repository, or git is not installed")
    return "\n".join(one for one in shown if one) or "(nothing differs from the last commit)"


def _diff_of(root: Path, workspace: Workspace) -> str | None:
    """Return the changes below a root; None without a repository."""
    git = partial(run_git, cwd=root, timeout=_GIT_SECONDS)
    base = "HEAD" if git(["rev-parse", "--verify", "--quiet", "HEAD"]) is not None else _EMPTY_TREE
    named = git(["diff", "--relative", "--no-renames", "--name-only", "-z", base, "--"])
    if named is None:
        return None
    changed = _open(named, root, workspace)
    new = _open(git(["ls-files", "--others", "--exclude-standard", "-z"]) or "", root, workspace)
    paths = [f":(literal){name}" for name in changed[:_MOST_FILES]]
    diff = git(["diff", "--relative", "--no-color", "--no-renames", base, "--", *paths]) if paths else ""
    shown = (diff or "").rstrip("\n")
    if len(shown) > _MOST_CHARACTERS:  # here, on a thread, since nobody needs the rest
        shown = f"({len(shown)} characters: only the first {_MOST_CHARACTERS} are here)\n{shown[:_MOST_CHARACTERS]}"
    more = [f"({len(changed) - _MOST_FILES} more files have changed)"] if len(changed) > _MOST_FILES else []
    more += ["Untracked files:", *new[:_MOST_FILES]] if new else []
    return "\n".join([shown, *more]).strip("\n")


def _open(names: str, root: Path, workspace: Workspace) -> list[str]:
    """Return those of the files that git names which tools may see."""
    found = []
    for name in names.split("\0"):
        try:
            if name and workspace.trees.resolve(str(root / name)) is not None:
                found.append(name)
        except ToolError:
            continue
    return found


async def _problems(workspace: Workspace, state: EditorState | None) -> str:
    """List what the editor's language servers say is wrong; of an editor that does not let them be asked, what it sent
    of the active file. Raises ToolError UNAVAILABLE."""
    if workspace.language is None:
        if state is None or state.active is None:
            raise ToolError("UNAVAILABLE", "this editor does not report its problems to North")
        name = (await resolve_open(state.active, workspace)).relative
        rows = [f"{name}:{one.line}: {one.severity}: {one_line(one.message, 1000)}" for one in state.problems]
        return "\n".join(rows) or f"(the editor shows no problems in {name})"
    told = (await workspace.language.problems(None)).found
    names: dict[Path, str] = {}
    for path in {one.path for one in told}:  # each once: a broken build has thousands of problems in a file
        with suppress(ToolError):
            names[path] = (await resolve_open(str(path), workspace)).relative
    rows = []
    for one in sorted(told, key=lambda one: (_SEVERITIES.index(one.severity), str(one.path), one.start.line)):
        if one.path not in names:
            continue
        by = f" ({' '.join(filter(None, (one.source, one.code)))})" if one.source or one.code else ""
        place = f"{names[one.path]}:{one.start.line + 1}:{one.start.character + 1}"
        rows.append(f"{place}: {one.severity}: {one_line(one.message, 1000)}{by}")
    more = [f"… and {len(rows) - _MOST_PROBLEMS} more"] if len(rows) > _MOST_PROBLEMS else []
    return "\n".join([*rows[:_MOST_PROBLEMS], *more]) or "(the editor shows no problems)"


async def _symbol(name: str, workspace: Workspace) -> list[tuple[Path, tuple[int, int]]]:
    """Return where a symbol is, as the editor's language servers know it; several places if they all have its name."""
    if workspace.language is None:
        raise ToolError("UNAVAILABLE", "this editor does not let North ask its language servers for symbols")
    wanted = name.rpartition(".")[2] or name
    found = [one for one in await workspace.language.find_symbols(wanted) if _is_named(one, name)]
    places: dict[tuple[Path, tuple[int, int]], None] = {}
    for one in found:
        try:
            path = (await resolve_open(str(one.place.path), workspace)).path
        except ToolError:
            continue
        lines = await _whole(one, path, workspace)
        places[(path, lines)] = None
    return list(places)[:_MOST]


def _is_named(one: FoundSymbol, name: str) -> bool:
    container, _, last = name.rpartition(".")
    bare = one.name.partition("(")[0]
    return bare in (last or name, name) and (not container or container in (one.container, "") or bare == name)


async def _whole(one: FoundSymbol, path: Path, workspace: Workspace) -> tuple[int, int]:
    """Return the lines of all of a symbol: of a search, some language servers tell only the place of its name."""
    first, last = one.place.start.line, one.place.end.line
    assert workspace.language is not None
    try:
        inside = await workspace.language.symbols(path)
    except ToolError:
        inside = ()
    around = [
        each.place.end.line
        for each in inside
        if each.name.partition("(")[0] == one.name.partition("(")[0]
        and each.place.start.line <= first <= each.place.end.line
    ]
    return first + 1, max([last, *around]) + 1
