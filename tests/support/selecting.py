"""What a client of the tests answers to a permission request."""

from typing import Any

_KINDS = {
    "accept": "allow_once",
    "run": "allow_once",
    "always": "allow_always",
    "reject": "reject_once",
    "deny": "reject_once",
    "none": "allow_once",
    "summarize": "allow_always",
    "stay": "reject_once",
}


def selected(params: dict[str, Any], wanted: str) -> dict[str, Any]:
    """Choose the option with this id, else the first of this kind. Every client answers edits and commands by the same
    words: one that does not know North got the options' kinds as their ids."""
    kinds = {row["optionId"]: row["kind"] for row in params["options"]}
    by_word = _KINDS.get(wanted, wanted)
    if wanted in kinds:
        chosen = wanted
    elif by_word in kinds:
        chosen = by_word
    else:
        chosen = next((id for id, kind in kinds.items() if kind == wanted), wanted)
    return {"outcome": {"outcome": "selected", "optionId": chosen}}
