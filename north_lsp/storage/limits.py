"""How much tools show at once: one table for all of them, each row a setting `limits.<name>`."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields


def _limit(default: int, low: int, high: int) -> int:
    value: int = field(default=default, metadata={"low": low, "high": high})
    return value


@dataclass(frozen=True)
class Limits:
    """`kb` and `mb` are 1024 and 1024² bytes; `seconds` end a search with what was found till then."""

    read_lines: int = _limit(500, 20, 5000)
    read_kb: int = _limit(100, 4, 1000)
    around_lines: int = _limit(200, 5, 2000)
    window_lines: int = _limit(250, 5, 2000)
    readme_kb: int = _limit(8, 1, 100)
    root_entries: int = _limit(500, 20, 10_000)
    files: int = _limit(500, 20, 10_000)
    matches: int = _limit(200, 20, 5000)
    search_seconds: int = _limit(20, 1, 600)
    ast_matches: int = _limit(200, 20, 5000)
    code_blocks: int = _limit(20, 1, 500)
    symbols: int = _limit(1000, 20, 20_000)
    outline_entries: int = _limit(1000, 20, 20_000)
    blocks: int = _limit(1000, 20, 20_000)
    hotfiles: int = _limit(50, 5, 500)
    output_lines: int = _limit(2000, 50, 100_000)
    artifacts_mb: int = _limit(500, 1, 100_000)

    @property
    def read_bytes(self) -> int:
        return self.read_kb * 1024


def read_limits(number: Callable[[str, int, int, int], int]) -> Limits:
    """The limits that are set. `number` gives a whole number by key, default, lowest and highest value."""
    return Limits(
        **{
            row.name: number(key_of(row.name), int(str(row.default)), row.metadata["low"], row.metadata["high"])
            for row in fields(Limits)
        }
    )


def key_of(name: str) -> str:
    """`read_lines` as it is written in the settings: `limits.readLines`."""
    first, *rest = name.split("_")
    return f"limits.{first}{''.join(word.capitalize() for word in rest)}"
