"""What each model has used and cost: `<data>/costs.json`, shared by all conversations and processes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import json_bytes, private_directory, read_json, set_aside, short_lock, write_atomic
from north_lsp.storage.locations import Locations
from north_lsp.storage.relaxed_json import JsonError

_DAYS = 90


@dataclass(frozen=True, slots=True)
class Spent:
    """One request's use of a model (`provider/id`): tokens, and US dollars."""

    model: str
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float


class Costs:
    """The totals of all conversations. Methods block, and take a lock for a moment: call them on a thread."""

    def __init__(self, locations: Locations) -> None:
        self._locations = locations
        self._path = locations.data / "costs.json"

    def add(self, spent: Iterable[Spent], now: datetime | None = None) -> Path | None:
        """Add requests. Returns the path to which a file that could not be read was moved. Raises OSError, also for a
        lock that stays taken."""
        return self.add_and_read(spent, now)[0]

    def add_and_read(self, spent: Iterable[Spent], now: datetime | None = None) -> tuple[Path | None, dict[str, Any]]:
        """Add requests as `add` does, and return the new totals, too."""
        day = (now or datetime.now(UTC)).date()
        with short_lock(self._locations, "costs"):
            content, aside = self._read_or_set_aside()
            for request in spent:
                _add(content, request, day.isoformat())
            oldest = (day - timedelta(days=_DAYS)).isoformat()
            content["byDay"] = {date: amount for date, amount in content["byDay"].items() if date > oldest}
            content["lastUpdated"] = round(time.time() * 1000)
            private_directory(self._path.parent)
            write_atomic(self._path, json_bytes(content))
        return aside, content

    def reset(self) -> None:
        """Start counting from zero. Raises OSError."""
        with short_lock(self._locations, "costs"):
            private_directory(self._path.parent)
            write_atomic(self._path, json_bytes(_empty() | {"lastUpdated": round(time.time() * 1000)}))

    def read(self) -> dict[str, Any]:
        """Read the totals, in the file's form; empty ones if there is no file, or it cannot be read."""
        try:
            return _checked(read_json(self._path)) or _empty()
        except (OSError, JsonError):
            return _empty()

    def _read_or_set_aside(self) -> tuple[dict[str, Any], Path | None]:
        try:
            content = _checked(read_json(self._path))
        except FileNotFoundError:
            return _empty(), None
        except JsonError:
            content = None
        return (content, None) if content is not None else (_empty(), set_aside(self._path))


def _add(content: dict[str, Any], spent: Spent, day: str) -> None:
    row = content["byModel"].setdefault(spent.model, {})
    counts = {
        "inputTokens": spent.input,
        "outputTokens": spent.output,
        "cacheReadTokens": spent.cache_read,
        "cacheWriteTokens": spent.cache_write,
        "requests": 1,
    }
    for key, count in counts.items():
        row[key] = _count(row.get(key)) + max(count, 0)
    row["costUsd"] = _amount(row.get("costUsd")) + spent.cost_usd
    content["allTimeCostUsd"] = _amount(content.get("allTimeCostUsd")) + spent.cost_usd
    content["byDay"][day] = _amount(content["byDay"].get(day)) + spent.cost_usd


def _empty() -> dict[str, Any]:
    return {"allTimeCostUsd": 0.0, "byModel": {}, "byDay": {}}


def _checked(value: object) -> dict[str, Any] | None:
    """Return the content if it has the form that North writes; unknown keys stay."""
    if not isinstance(value, dict):
        return None
    content = _empty() | value
    groups = (content["byModel"], content["byDay"])
    if not all(isinstance(group, dict) for group in groups):
        return None
    return content if all(isinstance(row, dict) for row in content["byModel"].values()) else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _amount(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
