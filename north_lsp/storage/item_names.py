"""Items of several kinds that a setting names, as `<kind>:<name>`."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.storage.setting import PartlyWrong


def named_items(written: object, kinds: Sequence[str]) -> tuple[str, ...]:
    """Read names of items with their kinds. Raises PartlyWrong for those without, ValueError for what is not a list."""
    if not isinstance(written, list):
        raise ValueError("must be a list of strings")
    right = [one for one in written if isinstance(one, str) and one.startswith(tuple(f"{kind}:" for kind in kinds))]
    right = [one for one in right if not one.endswith(":")]
    if len(right) < len(written):
        known = ", ".join(f"{kind}:<name>" for kind in kinds)
        wrong = [number for number, one in enumerate(written, 1) if one not in right]
        raise PartlyWrong([f"has item {number}, which is not one of {known}" for number in wrong], tuple(right))
    return tuple(right)
