"""The methods that are loaded when they are first asked for."""

from typing import Any, cast

from north_lsp.acp.agent import OWN, OWN_BEGINNINGS
from north_lsp.acp.methods import Served, more_methods


class Nothing:
    """Stands for what the methods would use: everything of it is again this."""

    def __call__(self, *arguments: object, **named: object) -> "Nothing":
        return self

    def __getattr__(self, name: str) -> "Nothing":
        return self

    def __truediv__(self, name: str) -> "Nothing":
        return self


def test_all_of_them_are_acps_on_any_connection() -> None:
    nothing = cast(Any, Nothing())
    names = more_methods(Served(*[nothing] * 6), nothing, nothing, nothing)
    assert len(names) > 50
    assert [name for name in names if name not in OWN and not name.startswith(OWN_BEGINNINGS)] == []
