"""Values out of a vendor's JSON, which may hold anything: what has another type counts as absent. Pure."""

from typing import Any


def as_object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    return max(value, 0) if isinstance(value, int) else 0
