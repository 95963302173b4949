"""What walks of a root find: its files, folders and links by name, and what the user has closed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Listing:
    """What walks find, by kind, relative to the root and in path order (a folder's contents at the folder's place).
    `others` are links and everything else that is neither file nor folder. `whole` stands for all files in fewer names:
    folders of which nothing is left out at any depth, and files elsewhere; None if that is unknown."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    others: tuple[str, ...]
    whole: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class FolderExtras:
    """What is in a folder besides what lists show: all links, the sub-folders that are left out, and whether it is the
    top of a repository."""

    path: str
    links: tuple[str, ...]
    hidden: tuple[str, ...]
    has_git: bool


@dataclass(frozen=True, slots=True)
class Closing:
    """What a listing knows about the user's lists: whether there are any, the links (absolute paths) to check against
    them, and the closed files that are known. `named_paths` are paths that lines name, which may be links in places
    that are not looked through; `unseen` are closed folders that are not looked through; `problems` name lists whose
    meaning is unknown."""

    listed: bool
    links: tuple[str, ...]
    named_paths: tuple[str, ...]
    files: tuple[str, ...]
    problems: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


def in_path_order(relative: str) -> str:
    """Return a key that sorts paths by their components: no character of a name sorts before NUL."""
    return relative.replace("/", "\0")


def without(listing: Listing, left_out: Iterable[str]) -> Listing:
    """Return a listing without some paths and everything below them."""
    gone = set(left_out)
    if not gone:
        return listing
    if "." in gone:
        return Listing((), (), ())

    kinds = (listing.files, listing.folders, listing.others)
    return Listing(*(tuple(path for path in paths if not is_among(path, gone)) for paths in kinds))


def is_among(path: str, chosen: Container[str]) -> bool:
    """Return whether a path, or a folder around it, is one of these."""
    return path in chosen or any(folder in chosen for folder in folders_around(path))


def folders_around(file: str) -> Iterator[str]:
    """Yield the folders around a path, the innermost first; not the root."""
    while (file := file.rpartition("/")[0]) != "":
        yield file
