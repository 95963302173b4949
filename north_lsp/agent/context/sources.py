"""Where rules are looked for: the folders and files of North and of other tools, in the project and in the user's home.
The table is all there is to add for another tool."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from north_lsp.agent.context.above import found_above
from north_lsp.agent.context.documents import Place, documents_in, read_document, user_place, users_own
from north_lsp.agent.context.rules import Provider, Rule, parse_rule
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class Found:
    """The rules of one level, and what went wrong on the way."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()


def project_rules(root: Path, place: Place) -> Found:
    """Read the rules of one root; `place` decides what may be read."""
    return _all(_of(source, root / source.path, root, place) for source in PROJECT)


def nested_rules(folder: Path, root: Path, place: Place) -> tuple[Rule, ...]:
    """Read the rules of a folder below a root. Their names begin with it."""
    found = _all(_of(source, folder / source.path, folder, place) for source in NESTED)
    prefix = folder.relative_to(root).as_posix()
    return tuple(replace(rule, name=one_line(f"{prefix}/{rule.name}", 120)) for rule in found.rules)


def rules_above(root: Path, place: Place, known: Iterable[Rule]) -> Found:
    """Read the rules of folders above a root, in the same repository. Those of names that are `known` do not count:
    they are nearer."""
    names = {rule.name: rule.shown for rule in known if rule.applies}
    places = ((source, *one) for source in PROJECT for one in found_above(root, source.path))
    found = _all(_of(source, path, folder, place) for source, folder, path in places)
    rules = (
        replace(rule, why=f"shadowed by {names[rule.name]}") if rule.name in names else rule for rule in found.rules
    )
    return Found(tuple(rules), found.problems)


def user_rules(locations: Locations, home: Path) -> Found:
    """Read the user's own rules: North's, and those for other tools."""
    own = (Source("north", "rules", _MDC, deep=True), Source("north", "instructions", _MD, always=True))
    folders = [(source, locations.config / source.path) for source in own]
    folders += [(source, home / source.path) for source in USER]
    return _all(_of(source, path, None, user_place(path)) for source, path in folders if path.exists())


def _all(found: Iterator[Found]) -> Found:
    every = list(found)
    rules = tuple(rule for one in every for rule in one.rules)
    return Found(rules, tuple(problem for one in every for problem in one.problems))


def _of(source: Source, path: Path, root: Path | None, place: Place) -> Found:
    if source.suffixes:
        return _in_folder(source, path, root, place) if path.is_dir() else Found()
    return _files(source, path.parent, [path], root, place) if path.is_file() else Found()


def _in_folder(source: Source, folder: Path, root: Path | None, place: Place) -> Found:
    try:
        real = place.resolve(folder)[0]
    except ToolError as error:
        return Found(problems=(one_line(error.message, 300),))
    paths, more = documents_in(real, source.suffixes, deep=source.deep)
    found = _files(source, real, paths, root, place)
    told = (f"{one_line(str(folder), 200)}: {more}",) if more else ()
    return Found(found.rules, (*found.problems, *told))


def _files(source: Source, folder: Path, paths: Sequence[Path], root: Path | None, place: Place) -> Found:
    rules: list[Rule] = []
    problems: list[str] = []
    for path in paths:
        try:
            real, shown = users_own(path) if place.level == "user" else place.resolve(path)
            text, size = read_document(real)
        except ToolError as error:
            problems.append(one_line(error.message, 300))
            continue
        about = Rule(_name(path, folder, source), source.provider, place.level, shown, "", root, size=size)
        rule = parse_rule(text, about)
        rules.append(replace(rule, always=True, globs=()) if source.always else rule)
    return Found(tuple(rules), tuple(problems))


def _name(path: Path, folder: Path, source: Source) -> str:
    relative = path.relative_to(folder).as_posix()
    suffix = next((one for one in (*source.suffixes, *_MDC) if relative.endswith(one)), "")
    return one_line(relative.removesuffix(suffix).removeprefix("."), 120)
