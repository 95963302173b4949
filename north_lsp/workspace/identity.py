"""Tells what distinguishes a folder from others, wherever it is: git's history, else the files in it. Reads only."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from north_lsp.storage.files import read_regular
from north_lsp.storage.locations import Locations
from north_lsp.storage.projects import Identity, Project, is_fresh, read_project, write_project
from north_lsp.workspace.git import run_git, top_level
from north_lsp.workspace.project_root import project_hash

_HISTORY_SECONDS = 10.0
_MOST_FILES = 20
_LARGEST_FILE = 256 * 1024
_PREFERRED = ("origin", "upstream")


def identity_of(root: Path) -> Identity:
    """Look at a folder. Blocks; in a repository with a very long history for up to ten seconds."""
    top = top_level(root)
    if top is None:
        return Identity(files=_files(root))
    first = run_git(["rev-list", "--max-parents=0", "HEAD"], root, _HISTORY_SECONDS)
    commit = " ".join(sorted(first.split())) if first else None
    place = os.path.relpath(root, top)
    remote = _remote(run_git(["config", "--get-regexp", r"^remote\..*\.url$"], root) or "")
    files = {} if commit or remote else _files(root)
    return Identity(commit, remote, "" if place == "." else place, files)


def remembered(locations: Locations, root: Path) -> Project:
    """Return what is known of a folder, and remember it; it is looked at once a day. Blocks."""
    root = Path(os.path.realpath(root))
    hash = project_hash(root)
    known = read_project(locations, hash)
    if known is not None and known.root == root and is_fresh(locations, known):
        return known
    known = Project(hash, root, identity_of(root), known.declined if known is not None else ())
    with suppress(OSError):
        write_project(locations, known)
    return known


def is_same_folder(locations: Locations, former: str, root: Path) -> bool | None:
    """Tell whether a folder is the former one in another place, by the hash of that one's root; None if too little is
    known of that one. Blocks."""
    known = read_project(locations, former)
    if known is None or known.identity.is_vague:
        return None
    return known.identity.same_as(remembered(locations, root).identity) is not None


def _remote(rows: str) -> str | None:
    """Return the address of the preferred remote, without the user's name, a password and the way there."""
    found: dict[str, str] = {}
    for row in rows.splitlines():
        key, _, address = row.partition(" ")
        found[key.removeprefix("remote.").removesuffix(".url")] = _plain(address)
    for name in (*_PREFERRED, *sorted(found)):
        if found.get(name):
            return found[name]
    return None


def _plain(address: str) -> str:
    bare = re.sub(r"^[a-z+]+://", "", address.strip())
    bare = re.sub(r"^[^/@]*@", "", bare)
    bare = re.sub(r"^([^/:]+):(?!\d+/)", r"\1/", bare)  # `host:path`, as ssh has it
    return bare.rstrip("/").removesuffix(".git")


def _files(root: Path) -> dict[str, str]:
    """Return the digests of the first files in a folder, by name; empty and large ones are left out."""
    digests: dict[str, str] = {}
    names: list[str] = []
    with suppress(OSError), os.scandir(root) as entries:
        names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    for name in names:
        with suppress(OSError):
            status = os.lstat(root / name)
            if stat.S_ISREG(status.st_mode) and 0 < status.st_size <= _LARGEST_FILE:
                digests[name] = hashlib.sha256(read_regular(root / name, _LARGEST_FILE)).hexdigest()[:32]
        if len(digests) >= _MOST_FILES:
            break
    return digests
