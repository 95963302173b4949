"""The branches of a conversation that were left: what is not on the way to where it continues. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.agent.log.entries import Logged


def left_branches(entries: Sequence[Logged], path: Sequence[Logged]) -> list[list[Logged]]:
    """Return the entries that are not on the path, branch by branch, the oldest first: each from where it leaves the
    path, or another branch, to its end."""
    known, taken = {one.id: one for one in entries}, {one.id for one in path}
    parents = {one.parent for one in entries}
    branches: list[list[Logged]] = []
    # An entry of a cycle has no end: it is taken last, on its own way up.
    ends = [one for one in entries if one.id not in parents] + list(entries)
    for end in ends:
        branch: list[Logged] = []
        one: Logged | None = end
        while one is not None and one.id not in taken:
            taken.add(one.id)
            branch.append(one)
            one = known.get(one.parent) if one.parent is not None else None
        if branch:
            branches.append(branch[::-1])
    place = {id: number for number, id in enumerate(known)}
    return sorted(branches, key=lambda branch: place[branch[0].id])
