"""The allowlist's rules, decided on a parsed command line: every simple command has to be covered."""

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from north_lsp.errors import ToolError
from north_lsp.review.parsing import NotSimple, Simple, Word, parse
from north_lsp.review.programs import (
    BUILTINS,
    excluded,
    follows_links,
    only_reads,
    only_tells,
    program_name,
    standing,
    writes_repository,
)
from north_lsp.review.repository import what_git_would_run
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.protected import write_reason

Args = Literal["any", "paths", "none"]

_MAX_RULES = 1000
_ALWAYS_RUN = ("", ";", "\n")  # the links behind which a command runs, whatever became of the one before
_MAX_PLACES = 8
_MAX_ENTRIES = 5000
_MAX_FOLDERS = 500
_MAX_LOOKED_AT = 20_000
_GLOB = re.compile(r"[*?\[\]]")
_DIGITS = re.compile(r"-\d+\Z")


@dataclass(frozen=True, slots=True)
class Rule:
    """`words` come first, literally; `flags` are patterns for further words with a dash; `args` is for all others."""

    words: tuple[str, ...]
    flags: tuple[str, ...] = ()
    args: Args = "any"

    def to_json(self) -> dict[str, Any]:
        return {"words": list(self.words), "flags": list(self.flags), "args": self.args}

    @classmethod
    def from_json(cls, value: object) -> "Rule | None":
        """None for what is no rule; such an entry allows nothing."""
        if not isinstance(value, dict) or not value.keys() <= {"words", "flags", "args"}:
            return None
        words, flags, args = value.get("words"), value.get("flags", []), value.get("args", "any")
        if not _texts(words) or not words or not _texts(flags) or args not in get_args(Args):
            return None
        return cls(tuple(words), tuple(flags), args)

    def described(self) -> str:
        """For people."""
        flags = f", flags {' '.join(self.flags)}" if self.flags else ", no flags"
        rest = {"any": "any words", "paths": "paths in the workspace", "none": "no other words"}[self.args]
        return f"`{' '.join(self.words)}`{flags}, {rest}"


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and one for one in value)


@dataclass(frozen=True)
class Place:
    """Where a command would run, and what is known there. `contained` says that a sandbox which holds is
    there: one that keeps to the workspace, has no network and can be relied on."""

    cwd: Path
    roots: Roots
    contained: bool
    environ: Mapping[str, str]
    git_check: Callable[[Path, bool], str | None] = field(
        default=lambda cwd, writes: what_git_would_run(cwd, writes=writes)
    )


@dataclass(frozen=True, slots=True)
class Asks:
    """Why a command has to be asked about, and which part of it; `part` is empty for the whole."""

    reason: str
    part: str = ""

    def described(self) -> str:
        return f"`{self.part}`: {self.reason}" if self.part else self.reason


def covered(command: str, rules: Sequence[Rule], exact: Callable[[str], bool], place: Place) -> Asks | None:
    """None if each simple command is covered by a rule or an exact entry; else the first that is not.

    Parses, looks at the disk and may run git: call it on a thread.
    """
    try:
        commands = parse(command)
    except NotSimple as problem:
        return Asks(f"rules do not decide on it: {problem.reason}", problem.part)
    here = {place.cwd}
    anywhere = {place.cwd}
    changes_nothing, last = True, ""
    for simple in commands:
        for cwd in sorted(here):
            if (asks := _covered_one(simple, rules, exact, place, cwd)) is not None:
                return asks
        after = {_after_cd(simple, cwd, place) for cwd in here} if simple.program == "cd" else here
        if None in after or len(anywhere) > _MAX_PLACES:
            return Asks("it leads out of the workspace", simple.source)
        found = {cwd for cwd in after if cwd is not None}
        before, last = last, simple.link
        changes_nothing = changes_nothing and _changes_nothing(simple)
        # Behind `&&` a change of directory has succeeded, and one to a folder that is there does not fail; behind
        # anything else it may have been left out.
        succeeds = before in _ALWAYS_RUN and simple.link in (";", "\n", "") and changes_nothing and _all_there(found)
        if simple.program == "cd" and succeeds and len(here) == 1:
            anywhere = found
        anywhere |= found
        here = found if simple.link == "&&" else set(anywhere)
    return None


def _changes_nothing(simple: Simple) -> bool:
    """Whether no folder can be gone after a command that was there before it."""
    return simple.program in BUILTINS or only_reads(simple.program)


def _all_there(folders: set[Path]) -> bool:
    return all(os.path.isdir(folder) and os.access(folder, os.X_OK) for folder in folders)


def _covered_one(
    simple: Simple, rules: Sequence[Rule], exact: Callable[[str], bool], place: Place, cwd: Path
) -> Asks | None:
    if exact(simple.source) and cwd == place.roots.main:
        return None
    judged = standing(simple.program)
    if only_tells(simple):
        told = any(matches(rule, simple, place.roots, cwd) for rule in rules)
        return None if told else Asks("no rule covers it", simple.source)
    if judged.standing == "never":
        return Asks(f"no rule covers it: {simple.program} {judged.reason}", simple.source)
    matching = [rule for rule in rules if matches(rule, simple, place.roots, cwd)]
    if not matching:
        return Asks("no rule covers it", simple.source)
    if (why := excluded(simple)) is not None:
        return Asks(f"no rule covers it: {why}", simple.source)
    if judged.standing == "project" and not place.contained:
        return Asks(f"{simple.program} {judged.reason}; rules for it hold only in the sandbox", simple.source)
    if judged.standing == "writer" and not any(rule.args == "paths" for rule in matching):
        return Asks(f"{simple.program} {judged.reason}; only rules for paths cover it", simple.source)
    if judged.standing != "free" and (why := _protected(simple, place.roots, cwd)) is not None:
        return Asks(why, simple.source)
    if (why := _strange_program(simple, place)) is not None:
        return Asks(why, simple.source)
    follows = all(rule.args == "paths" for rule in matching) and follows_links(simple)
    if follows and (why := _leads_out(simple, place.roots, cwd)) is not None:
        return Asks(why, simple.source)
    if (why := _opens_to_flags(simple, cwd)) is not None:
        return Asks(why, simple.source)
    if program_name(simple.program) == "git" and not place.contained:
        runs = place.git_check(cwd, writes_repository(simple))
        if runs is not None:
            return Asks(f"git would run what the repository names: {runs}", simple.source)
    return None


def matches(rule: Rule, simple: Simple, roots: Roots, cwd: Path) -> bool:
    """Whether a rule's words, flags and operands fit a command; there may be other reasons to ask."""
    words = simple.words
    size = len(rule.words)
    if len(words) < size or any(
        word.text != wanted or word.is_glob for word, wanted in zip(words[:size], rule.words, strict=True)
    ):
        return False
    reads = only_reads(simple.program)
    roots = roots if reads else replace(roots, extra=())
    options_end = False
    for word in words[size:]:
        if not options_end and word.text == "--":
            options_end = True
        elif not options_end and word.text.startswith("-") and word.text != "-":
            if word.is_glob or not any(_flag_matches(pattern, word.text) for pattern in rule.flags):
                return False
            if rule.args == "paths" and not _value_is_inside(word, roots, cwd):
                return False
        elif rule.args == "none" or (rule.args == "paths" and not _is_inside(word, roots, cwd, globs=reads)):
            return False
    return True


def _flag_matches(pattern: str, flag: str) -> bool:
    """`*` stands for anything inside the one word; nothing else is special."""
    if "*" not in pattern:
        return pattern == flag
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), flag, re.DOTALL) is not None


def _value_is_inside(word: Word, roots: Roots, cwd: Path) -> bool:
    """For a flag with a value joined to it: every way to read the value as a path has to lead inside."""
    name, has_value, value = word.text.partition("=")
    if has_value:
        return _is_inside(Word(value, value), roots, cwd)
    if name.startswith("--") or _DIGITS.match(name):
        return True
    return all(_is_inside(Word(name[at:], name[at:]), roots, cwd) for at in range(2, len(name)))


def _is_inside(word: Word, roots: Roots, cwd: Path, *, globs: bool = False) -> bool:
    if globs and word.is_glob:
        return _glob_is_inside(word, roots, cwd)
    if word.is_glob or word.starts_open or not word.text:
        return False
    pieces = [word.text] if "=" not in word.text else [word.text, word.text.partition("=")[2]]
    for piece in pieces:
        try:
            path = piece if os.path.isabs(piece) else os.path.join(cwd, piece)
            roots.resolve_readable(path)
        except ToolError:
            return False
    return True


def _glob_is_inside(word: Word, roots: Roots, cwd: Path) -> bool:
    """For a pattern of names in one folder: whether all that it could fit lies inside, links included."""
    folder, _, name = word.text.rpartition("/")
    if _GLOB.search(folder) or name.startswith(".") or word.text.startswith(("~", "-", "/")):
        return False
    try:
        resolved = roots.resolve(os.path.join(cwd, folder))
        with os.scandir(resolved.path) as entries:
            for count, entry in enumerate(entries):
                if count >= _MAX_ENTRIES:
                    return False
                if entry.is_symlink():
                    roots.resolve(entry.path)
    except (ToolError, OSError):
        return False
    return True


def _protected(simple: Simple, roots: Roots, cwd: Path) -> str | None:
    """For programs that write: whether a word names a protected file."""
    for word in simple.words[1:]:
        for text in _spellings(word.text):
            try:
                resolved = roots.resolve(text if os.path.isabs(text) else os.path.join(cwd, text))
            except ToolError:
                continue
            relative = resolved.path.relative_to(resolved.root).as_posix()
            if relative != "." and (reason := write_reason(relative, text)) is not None:
                return f"{text} {reason}"
            takes_trees = program_name(simple.program) in ("cp", "mv") and word is not simple.words[-1]
            if takes_trees and os.path.isdir(resolved.path) and (reason := _protected_below(resolved.path)) is not None:
                return reason
    return None


def _leads_out(simple: Simple, roots: Roots, cwd: Path) -> str | None:
    """Why the links in the folders that a program goes through are a reason to ask."""
    named = [os.path.join(cwd, word.text) for word in simple.words[1:]]
    starts, seen = [path for path in named if os.path.isdir(path)] or [str(cwd)], 0
    for here, folders, names in (row for start in starts for row in os.walk(start)):
        seen += 1 + len(folders) + len(names)
        if seen > _MAX_LOOKED_AT:
            return "it follows links, and there are too many files to look for some that lead out of the workspace"
        for name in (*folders, *names):
            path = os.path.join(here, name)
            if os.path.islink(path) and roots.root_of(Path(os.path.realpath(path))) is None:
                return f"it follows links, and {os.path.relpath(path, cwd)} leads out of the workspace"
    return None


def _spellings(text: str) -> list[str]:
    """A word, and what could be a path in it if it is a flag with a value."""
    if not text.startswith("-"):
        return [text]
    _, has_value, value = text.partition("=")
    return [text, *([value] if has_value else []), *(text[at:] for at in range(2, len(text)) if text[1] != "-")]


def _protected_below(folder: Path) -> str | None:
    """What a copied or moved folder has in it that would be protected where it comes to lie."""
    for seen, (here, folders, names) in enumerate(os.walk(folder)):
        if seen > _MAX_FOLDERS:
            return f"{folder.name} has too many folders to look at"
        for name in (*folders, *names):
            if (reason := write_reason(name, name)) is not None:
                return f"{os.path.join(os.path.relpath(here, folder), name)} in {folder.name} {reason}"
    return None


def _strange_program(simple: Simple, place: Place) -> str | None:
    """A program inside the workspace is project code; one that is found by a relative path could be anything."""
    name = simple.program
    if name in BUILTINS:
        return None
    if "/" in name:
        found: str | None = os.path.join(place.cwd, name)
    else:
        path = place.environ.get("PATH", "")
        if any(not os.path.isabs(entry) for entry in path.split(os.pathsep)):
            return "PATH has an entry that is no absolute path"
        found = shutil.which(name, path=path)
    if found is None or place.contained:
        return None
    real = Path(os.path.realpath(found))
    if place.roots.root_of(real) is not None or place.roots.root_of(Path(os.path.abspath(found))) is not None:
        return f"{name} is a program inside the workspace; rules for it hold only in the sandbox"
    return None


def _opens_to_flags(simple: Simple, cwd: Path) -> str | None:
    """A pattern becomes the names that it fits; a file may be called like a flag."""
    for word in simple.words[1:]:
        if not (word.is_glob and word.starts_open) or word.text.startswith("~"):
            continue
        try:
            names = os.listdir(cwd)
        except OSError:
            return "the directory cannot be read"
        if any(name.startswith("-") for name in names):
            return f"`{word.raw}` may become a flag: a file here has a name that begins with a dash"
    return None


def _after_cd(simple: Simple, cwd: Path, place: Place) -> Path | None:
    """Where the commands behind a `cd` run; None if it leads out of the workspace."""
    target = simple.words[1].text
    try:
        return place.roots.resolve(target if os.path.isabs(target) else os.path.join(cwd, target)).path
    except ToolError:
        return None


def propose(command: str, place: Place) -> Rule | None:
    """The narrowest rule that covers a command, or None where only its exact text can be remembered."""
    try:
        commands = parse(command)
    except NotSimple:
        return None
    if len(commands) != 1 or commands[0].link:
        return None
    simple = commands[0]
    if simple.program in BUILTINS or standing(simple.program).standing == "never" or only_tells(simple):
        return None
    words = [simple.program]
    rest = list(simple.words[1:])
    if rest and re.fullmatch(r"[a-z][a-z-]*", rest[0].raw) and _has_commands(simple.program):
        words.append(rest.pop(0).text)
    flags = tuple(
        dict.fromkeys(word.text for word in rest if word.text.startswith("-") and word.text not in ("-", "--"))
    )
    others = [word for word in rest if not word.text.startswith("-")]
    reads = only_reads(simple.program)
    roots = place.roots if reads else replace(place.roots, extra=())
    if not all(_is_inside(word, roots, place.cwd, globs=reads) for word in others):
        return None  # a rule for any words would be wide: the exact text is what fits
    args: Args = "paths" if others else "none"
    rule = Rule(tuple(words), flags, args)
    return rule if covered(command, [rule], lambda _: False, place) is None and len(rule.words[0]) > 0 else None


def _has_commands(program: str) -> bool:
    return program_name(program) in (
        "git", "npm", "pnpm", "yarn", "cargo", "go", "uv", "poetry", "make", "just", "dotnet", "mvn", "gradle", "bun",
        "deno", "tox", "pip", "ruff", "hatch", "pdm", "mix", "rails", "bundle", "composer", "flutter", "dart", "swift",
    )  # fmt: skip


def bounded(rules: Sequence[Rule]) -> Sequence[Rule]:
    """No file makes the question slow."""
    return rules[:_MAX_RULES]
