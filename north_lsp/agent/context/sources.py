"""Where rules are looked for: the folders and files of North and of other tools, in the project and in the user's home.
The table is all there is to add for another tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from north_lsp.agent.context.above import found_above
from north_lsp.agent.context.documents import Place, documents_in, read_document, user_place, users_own
from north_lsp.agent.context.rules import Provider, Rule, parse_rule
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.kinds import Loader
from north_lsp.storage.locations import Locations

_MD = (".md",)
_MDC = (".md", ".mdc")


@dataclass(frozen=True, slots=True)
class Source:
    """A folder whose files with one of the `suffixes` are rules, also those below it if it is `deep`; or, without
    suffixes, a file that is one. `path` is relative to a root or, for the user's, to the home folder."""

    provider: Provider
    path: str
    suffixes: Sequence[str] = ()
    deep: bool = False
    always: bool = False


PROJECT = (
    Source("north", ".north/rules", _MDC, deep=True),
    Source("north", ".north/instructions", _MD, always=True),
    Source("claude", ".claude/rules", _MD, deep=True),
    Source("cursor", ".cursor/rules", (".mdc", ".md"), deep=True),
    Source("cursor", ".cursorrules"),
    Source("windsurf", ".windsurf/rules", _MD),
    Source("windsurf", ".windsurfrules"),
    Source("cline", ".clinerules", _MD),
    Source("cline", ".clinerules"),
    Source("github", ".github/copilot-instructions.md", always=True),
    Source("github", ".github/instructions", (".instructions.md",), deep=True),
)
NESTED = tuple(
    source for source in PROJECT if source.suffixes and source.provider in ("north", "claude", "cursor", "windsurf")
)
"""What also counts in a folder further in, for the files there."""
USER = (
    Source("claude", ".claude/rules", _MD, deep=True),
    Source("cursor", ".cursor/rules", (".mdc", ".md")),
    Source("windsurf", ".codeium/windsurf/memories/global_rules.md"),
)
CURSOR_FOLDER = ".cursor/rules"


def user_rules(locations: Locations, home: Path) -> Iterator[Loader[Rule]]:
    """Return what reads the user's own rules: North's, and those for other tools."""
    own = (Source("north", "rules", _MDC, deep=True), Source("north", "instructions", _MD, always=True))
    folders = [(source, locations.config / source.path) for source in own]
    folders += [(source, home / source.path) for source in USER]
    for source, path in folders:
        if path.exists():
            yield Loader(source.provider, partial(_of, source, path, _Roots(), user_place(path)))


def project_rules(root: Path, place: Place) -> Iterator[Loader[Rule]]:
    """Return what reads the rules of one root; `place` decides what may be read."""
    for source in PROJECT:
        yield Loader(source.provider, partial(_of, source, root / source.path, _Roots(root, root), place))


def rules_above(root: Path, place: Place) -> Iterator[Loader[Rule]]:
    """Return what reads the rules of folders above a root, in the same repository."""
    for source in PROJECT:
        yield Loader(source.provider, partial(_above, source, root, place))


def nested_rules(folder: Path, root: Path, place: Place) -> Iterator[Loader[Rule]]:
    """Return what reads the rules of a folder below a root. Their names begin with it."""
    prefix = folder.relative_to(root).as_posix()
    for source in NESTED:
        about = _Roots(folder, folder, f"{prefix}/")
        yield Loader(source.provider, partial(_of, source, folder / source.path, about, place))


@dataclass(frozen=True, slots=True)
class _Roots:
    """Says to which root and folder the rules of a source apply: their globs begin in `root`, they apply `within` a
    root, and their names begin with `prefix`."""

    root: Path | None = None
    within: Path | None = None
    prefix: str = ""


def _above(source: Source, root: Path, place: Place) -> Iterator[Rule | str]:
    for folder, path in found_above(root, source.path):
        yield from _of(source, path, _Roots(folder, root), place)


def _of(source: Source, path: Path, about: _Roots, place: Place) -> Iterator[Rule | str]:
    if not source.suffixes:
        if path.is_file():
            yield from _files(source, path.parent, [path], about, place)
        return
    if not path.is_dir():
        return
    try:
        real = place.resolve(path)[0]
    except ToolError as error:
        yield one_line(error.message, 300)
        return
    paths, more = documents_in(real, source.suffixes, deep=source.deep)
    yield from _files(source, real, paths, about, place)
    if more:
        yield f"{one_line(str(path), 200)}: {more}"


def _files(source: Source, folder: Path, paths: Sequence[Path], about: _Roots, place: Place) -> Iterator[Rule | str]:
    for path in paths:
        try:
            real, shown = users_own(path) if place.level == "user" else place.resolve(path)
            text, size = read_document(real)
        except ToolError as error:
            yield one_line(error.message, 300)
            continue
        name = one_line(f"{about.prefix}{_name(path, folder, source)}", 120)
        bare = Rule(name, source.provider, place.level, shown, "", about.root, about.within, size=size)
        rule = parse_rule(text, bare)
        yield replace(rule, always=True, globs=()) if source.always else rule


def _name(path: Path, folder: Path, source: Source) -> str:
    relative = path.relative_to(folder).as_posix()
    suffix = next((one for one in (*source.suffixes, *_MDC) if relative.endswith(one)), "")
    return one_line(relative.removesuffix(suffix).removeprefix("."), 120)
