"""What a client of the tests answers to a permission request."""

from typing import Any

_KINDS = {
    "accept": "allow_once",
    "run": "allow_once",
    "always": "allow_always",
    "reject": "reject_once",
    "deny": "reject_once",
}


def selected(params: dict[str, Any], wanted: str) -> dict[str, Any]:
    """Choose the option with this id, else the first of this kind. Every client answers edits and commands by the same
    words: one that does not know North got the options' kinds as their ids."""
    kind = _KINDS.get(wanted, wanted)
    of_kind = [row["optionId"] for row in params["options"] if row["kind"] == kind]
    is_offered = any(row["optionId"] == wanted for row in params["options"])
    chosen = wanted if is_offered or not of_kind else of_kind[0]
    return {"outcome": {"outcome": "selected", "optionId": chosen}}
