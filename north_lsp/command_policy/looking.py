"""Commands that only look, as strictly as can be: what runs where nothing may be changed; and those that change files
for certain. Loading the grammar takes a while: for a thread."""

from __future__ import annotations

from north_lsp.command_policy.grammar import name_of, read
from north_lsp.command_policy.parsing import NotSimple, Simple, parse
from north_lsp.command_policy.tables import git_writes, reason_against

_GIT = frozenset({"status", "log", "diff", "show"})
_GIT_WRITES = ("--output", "--ext-diff", "--textconv", "-O", "--open-files-in-pager")
_CHANGES = ("writes to ", "changes ", "installs ")
_VERSION = ("--version", "-V")
_SAYING = frozenset({"cargo", "docker", "go", "helm", "hg", "kubectl", "npm", "pnpm", "podman", "terraform", "tofu"})
"""Programs whose command `version` says their version: others take the word for a file, or a task to run."""


def only_looks(command: str) -> bool:
    """Tell whether a command is made of `git status|log|diff|show`, `ls` and questions for a version, and of nothing
    else."""
    try:
        simples = parse(command)
    except NotSimple:
        return False
    return bool(simples) and all(map(_looks, simples))


def changes_files(command: str) -> str:
    """Say why a command changes files; empty where it does not, or where nobody knows, as for what runs a project's
    code."""
    try:
        simples = parse(command)
    except NotSimple as problem:
        return "redirects to a file" if problem.part.lstrip("0123456789&").startswith(">") else ""
    return next((why for simple in simples if (why := _changes(simple))), "")


def _changes(simple: Simple) -> str:
    reading = read(simple)
    if not isinstance(reading, str):
        return "changes files" if reading.kind == "writes" else ""
    name = name_of(simple.program)
    if name == "git" and any(word.text in git_writes() for word in simple.words[1:2]):
        return "changes the repository"
    reason = reason_against(name) or ""
    return reason if reason.startswith(_CHANGES) else ""


def _looks(simple: Simple) -> bool:
    if any(word.is_glob for word in simple.words[:2]):
        return False
    program, *rest = (word.text for word in simple.words)
    if program == "ls":
        return True
    if program == "git":
        return bool(rest) and rest[0] in _GIT and not any(map(_may_write, rest[1:]))
    if "/" in program or len(rest) != 1:
        return False
    return rest[0] in _VERSION or (program in _SAYING and rest[0] == "version")


def _may_write(word: str) -> bool:
    """Tell whether a word is an option of git's that writes or runs something, or the beginning of one."""
    name = word.partition("=")[0]
    if not name.startswith("--") or name == "--":
        return name.startswith("-O")
    return any(one.startswith(name) or name.startswith(one) for one in _GIT_WRITES)
