"""Runs git in a repository that may be hostile: nothing that its configuration names is executed. Also locates what git
keeps in files that can be read without running it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from north_lsp import systems

_SWITCHES = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "credential.helper=",
    "diff.external=",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "log.showSignature=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
)
_WITH_DIFF = frozenset(
    {"blame", "annotate", "diff", "diff-files", "diff-index", "diff-tree", "format-patch", "log", "show"}
)
_WITH_SUBMODULES = frozenset({"diff", "diff-files", "diff-index", "status"})
_SYSTEMS = tuple(Path(place, "etc", "gitconfig") for place in ("/", "/usr/local", "/opt/homebrew"))
"""Where packages of git keep the settings of a whole machine. One that keeps them elsewhere is not asked about them."""
_MOST_SETTINGS = 1_000_000
_FILTER_KEYS = r"^filter\..*\.(clean|smudge|process|required)$"


def run_git(args: Sequence[str], cwd: Path, timeout: float = 5.0) -> str | None:
    """Run a git command and return what it prints, or None if there is no git, it fails, or it takes longer than
    `timeout` seconds.

    The first of `args` is the sub-command. Hooks, file system monitors, external diffs, text conversion, filters,
    pagers, signature programs, submodules and the network are switched off. Raises ValueError for an option in place
    of the sub-command.
    """
    if not args or not args[0].replace("-", "").isalnum() or args[0].startswith("-"):
        raise ValueError(f"the first argument must be a git command, not {args[:1]}")
    git = _git()
    if git is None or Path(os.path.realpath(git)).is_relative_to(os.path.realpath(cwd)):
        return None
    filters = _filters(git, cwd, timeout)
    if filters is None:
        return None
    command, *rest = args
    if command in _WITH_SUBMODULES:
        rest.insert(0, "--ignore-submodules=all")
    if command in _WITH_DIFF:
        rest[:0] = ["--no-ext-diff", "--no-textconv"]
    ended = _run([git, "--no-pager", *_options((*_SWITCHES, *filters)), command, *rest], cwd, timeout)
    return ended[1].decode("utf-8", "replace") if ended is not None and ended[0] == 0 else None


def configuration(cwd: Path, timeout: float = 5.0) -> list[tuple[str, str, str]] | None:
    """Return git's configuration in a folder, from every file that git reads, as rows of the file ("" if the setting
    comes from none), the key as git prints it (lower case) and the value. Empty without git; None if the configuration
    cannot be determined."""
    git = _git()
    if git is None:
        return []
    if Path(os.path.realpath(git)).is_relative_to(os.path.realpath(cwd)):
        return None
    ended = _run([git, "config", "--list", "--show-origin", "--includes", "-z"], cwd, timeout)
    if ended is None or ended[0] != 0:
        return None
    parts = os.fsdecode(ended[1]).split("\0")
    rows: list[tuple[str, str, str]] = []
    for origin, setting in zip(parts[::2], parts[1::2], strict=False):
        key, _, value = setting.partition("\n")
        rows.append((origin.removeprefix("file:") if origin.startswith("file:") else "", key, value))
    return rows


def read_blob(blob: str, cwd: Path, timeout: float = 5.0) -> bytes | None:
    """Return the bytes of a git object by its full name, or None if git cannot read it. Raises ValueError for anything
    but a full object name."""
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", blob):
        raise ValueError(f"not the name of an object: {blob[:100]!r}")
    git = _git()
    if git is None or Path(os.path.realpath(git)).is_relative_to(os.path.realpath(cwd)):
        return None
    ended = _run([git, "--no-pager", *_options(_SWITCHES), "cat-file", "blob", blob], cwd, timeout)
    return ended[1] if ended is not None and ended[0] == 0 else None


def top_level(folder: Path) -> Path | None:
    """Return the nearest folder from `folder` upwards that contains `.git`, or None. The home directory counts only if
    it is `folder` itself."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    for place in (folder, *folder.parents):
        if place != folder and place == home:
            return None
        if os.path.lexists(place / ".git"):
            return place
    return None


def git_folder(top: Path) -> Path | None:
    """Return the folder where git keeps a work tree's own files, also for a linked work tree; None if it cannot be
    determined."""
    named = _first_line(top / ".git")
    if named is None:
        return top / ".git" if (top / ".git").is_dir() else None
    return top / named.removeprefix("gitdir:").strip() if named.startswith("gitdir:") else None


def common_folder(folder: Path) -> Path:
    """Return the folder that a work tree shares with the other work trees of its repository; `folder` is the work
    tree's own git folder."""
    common = _first_line(folder / "commondir")
    return folder if common is None else folder / common.strip()


def exclude_file(top: Path) -> Path:
    """Return the path of the ignore file that is not part of the repository's contents (`info/exclude`), also for a
    linked work tree."""
    folder = git_folder(top)
    return (top / ".git" if folder is None else common_folder(folder)) / "info" / "exclude"


def users_ignore_file(top: Path) -> Path | None:
    """Return the ignore file of the user's that holds in every repository: `core.excludesFile`, by default one in git's
    own folder of settings; None if it is switched off. Runs git only where a configuration may name another one."""
    base = os.environ.get("XDG_CONFIG_HOME")
    settings = (Path(base) if base else Path(os.path.expanduser("~"), ".config")) / "git"
    folder = git_folder(top)
    own = () if folder is None else (common_folder(folder) / "config", folder / "config.worktree")
    known = (*_SYSTEMS, Path(os.path.expanduser("~"), ".gitconfig"), settings / "config", *own)
    if any(map(_may_name_ignore_file, known)):
        named = run_git(["config", "--type=path", "--get", "core.excludesFile"], top)
        if named is not None:
            return top / named.removesuffix("\n") if named != "\n" else None
    return settings / "ignore"


def _may_name_ignore_file(configuration: Path) -> bool:
    """Tell whether a file of git's settings has, or includes, something about ignore files."""
    try:
        if not configuration.is_file():
            return False
        with configuration.open("rb") as file:
            text = file.read(_MOST_SETTINGS).lower()
    except OSError:
        return False
    return b"excludesfile" in text or b"[include" in text or len(text) == _MOST_SETTINGS


def _first_line(path: Path) -> str | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return os.fsdecode(file.readline(4096).rstrip(b"\r\n")).replace("\0", "")
    except OSError:
        return None


@cache
def _git() -> str | None:
    found = systems.find_program("git", os.environ)
    return found if found is not None and os.path.isabs(found) else None


def _filters(git: str, cwd: Path, timeout: float) -> tuple[str, ...] | None:
    """Return settings that switch off every configured filter; None if the filters are unknown or cannot be switched
    off."""
    ended = _run([git, *_options(_SWITCHES), "config", "-z", "--name-only", "--get-regexp", _FILTER_KEYS], cwd, timeout)
    if ended is None or ended[0] not in (0, 1):  # 1: no filter is configured
        return None
    names = set[str]()
    for key in ended[1].decode("utf-8", "replace").split("\0"):
        name = key.partition(".")[2].rpartition(".")[0]
        if "=" in name or "\n" in name or "\ufffd" in name:
            return None
        if key:
            names.add(name)
    empty = (f"filter.{name}.{part}=" for name in sorted(names) for part in ("clean", "smudge", "process"))
    return (*empty, *(f"filter.{name}.required=false" for name in sorted(names)))


def _options(settings: Sequence[str]) -> list[str]:
    return [part for setting in settings for part in ("-c", setting)]


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.upper().startswith("GIT_")}
    off = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_PAGER": "cat"}
    return kept | off | {"GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C", "SSH_ASKPASS": "false"}


def _run(command: Sequence[str], cwd: Path, timeout: float) -> tuple[int, bytes] | None:
    """Run a command and return its exit status and output; None if it could not be started or took too long."""
    try:
        tree = systems.start_tree(
            command,
            cwd=cwd,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    with tree.process as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            tree.end()
            return None
    return process.returncode, output
