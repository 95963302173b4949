"""All that rules and context files say about a workspace at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial
from itertools import islice
from pathlib import Path

from north_lsp.agent.context.above import folders_between, resolver_above
from north_lsp.agent.context.documents import Place, Resolve
from north_lsp.agent.context.files import (
    ContextFile,
    Places,
    files_around,
    files_in,
    fitted,
    plugin_files,
    touched_folders,
    user_files,
)
from north_lsp.agent.context.globs import matching_glob
from north_lsp.agent.context.own_prompt import OwnPrompt, OwnText, own_prompt
from north_lsp.agent.context.rules import Rule, Rules
from north_lsp.agent.context.sources import nested_rules, project_rules, rules_above, user_rules
from north_lsp.agent.ports.stream_rules import StreamRule
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.locations import Locations
from north_lsp.storage.plugins import find_plugins
from north_lsp.workspace.git import top_level
from north_lsp.workspace.workspace import Workspace

_MAX_STREAM_RULES = 100
UNTRUSTED = "this workspace is not trusted: its rules and context files are left out (`/trust` trusts it)"


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """The rules and files that were found, those that do not apply included; `places` decides what else may be read,
    None in a workspace that is not trusted, which `note` says; `disabled` are the names of what the user has switched
    off; `profile` is what was learned earlier, and `memory` what was remembered."""

    rules: tuple[Rule, ...] = ()
    files: tuple[ContextFile, ...] = ()
    own: OwnPrompt = field(default_factory=OwnPrompt)
    problems: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()
    places: Places | None = None
    note: str = ""
    disabled: tuple[str, ...] = ()
    profile: OwnText | None = None
    memory: OwnText | None = None

    @property
    def all_problems(self) -> list[str]:
        """What is wrong, a line each."""
        rules = (f"{rule.shown}: {problem}" for rule in self.rules for problem in rule.problems)
        files = (f"{one.shown}: {problem}" for one in self.files for problem in one.problems)
        return [*self.problems, *self.own.problems, *rules, *files]

    def matching(self, path: Path) -> list[Rule]:
        """Return the rules that are told with a real path: those whose globs it matches, and those of the folders
        around it, which are read now."""
        own = [rule for rule in self.rules if rule.applies and "glob" in rule.buckets and self._matches(rule, path)]
        root = next((root for root in self.roots if path.is_relative_to(root)), None)
        if root is None or self.places is None:
            return own
        folders = touched_folders(path, root)
        loaders = (one for folder in folders for one in nested_rules(folder, root, self.places.of(folder)))
        nested = (rule for rule in Rules(self.disabled).load(loaders).used if rule.is_told)
        return [*own, *(rule for rule in nested if not rule.globs or rule.always or self._is_about(rule, root, path))]

    def _is_about(self, rule: Rule, root: Path, path: Path) -> bool:
        """Tell whether a rule of a folder further in is about a path: its globs begin there, or at the root."""
        return self._matches(rule, path) or self._matches(replace(rule, root=root), path)

    def files_for(self, path: Path) -> list[ContextFile]:
        """Read the context files of the folders around a file that are not included from the start."""
        root = next((root for root in self.roots if path.is_relative_to(root)), None)
        if root is None or self.places is None:
            return []
        known = {one.path for one in self.files}
        found = (one for folder in touched_folders(path, root) for one in files_in(folder, self.places.of(folder)))
        return [one for one in found if one.applies and one.path not in known]

    @property
    def stream_rules(self) -> tuple[StreamRule, ...]:
        """The rules that watch answers."""
        found = (rule for rule in self.rules if rule.applies and rule.condition is not None)
        return tuple(
            StreamRule(rule.name, rule.body, rule.condition, partial(self._matches, rule) if rule.globs else None)
            for rule in islice(found, _MAX_STREAM_RULES)
            if rule.condition is not None
        )

    def find_rule(self, name: str) -> Rule | None:
        """Return the rule that applies under a name."""
        return next((rule for rule in self.rules if rule.name == name and rule.applies), None)

    def _matches(self, rule: Rule, path: Path) -> bool:
        roots = self.roots if rule.root is None else (rule.root,)
        inside = (path.relative_to(root).as_posix() for root in roots if path.is_relative_to(root))
        return any(matching_glob(rule.globs, relative) is not None for relative in inside)


def load_project(
    workspace: Workspace, locations: Locations, home: Path, disabled: Sequence[str], trusted: bool | None
) -> ProjectContext:
    """Read everything; takes a while. Of a workspace that is not `trusted`, nothing is read; while that is undecided
    (None), nothing that would replace North's own instructions."""
    roots = workspace.roots.roots
    loaders = [*user_rules(locations, home)]
    files = user_files(locations, home)
    problems: list[str] = []
    note, places, folders = "", None, [roots[0]]
    plugins = find_plugins(roots[0], home, locations, of_project=trusted is not False)
    problems += plugins.problems
    if trusted is False:
        note = UNTRUSTED
    else:
        tops = {root: top_level(root) or root for root in roots}
        places = Places(
            roots, Place("project", _gate(workspace)), Place("project", resolver_above(tuple(tops.values())))
        )
        for root, top in tops.items():
            loaders += [*project_rules(root, places.inside), *rules_above(root, places.above)]
            known = {one.path for one in files}
            files += [one for one in files_around(root, top, places) if one.path not in known]
        folders = folders_between(tops[roots[0]], roots[0])
    files[:0] = plugin_files(plugins.used, places.inside if places is not None else None)
    own_place = Place("project", lambda path: places.of(path).resolve(path)) if places is not None else None
    own = own_prompt(locations, folders, own_place if trusted else None)
    rules = Rules(disabled).load(loaders)
    problems += rules.problems
    return ProjectContext(
        tuple(rules.all), tuple(fitted(files)), own, tuple(problems), roots, places, note, tuple(disabled)
    )


def _gate(workspace: Workspace) -> Resolve:
    def resolve(path: Path) -> tuple[Path, str]:
        resolved = workspace.trees.resolve(str(path))
        return resolved.path, one_line(resolved.relative, 300)

    return resolve
