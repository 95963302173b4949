"""How long a vendor asks to wait, from the headers of its answer."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_ms(headers: Mapping[str, str], now: datetime | None = None) -> int | None:
    """Milliseconds; None without a usable hint. The headers, in this order: `retry-after-ms`, `retry-after` (seconds or
    a date), `x-ratelimit-reset-ms` and `x-ratelimit-reset` (a time since 1970, or a duration)."""
    now = now or datetime.now(UTC)
    if (wait := _number(headers.get("retry-after-ms"))) is not None:
        return round(wait)
    after = headers.get("retry-after")
    if (seconds := _number(after)) is not None:
        return round(seconds * 1000)
    if after is not None and (date := _date(after)) is not None:
        return max(round((date - now).total_seconds() * 1000), 0)
    for name, unit in (("x-ratelimit-reset-ms", 1), ("x-ratelimit-reset", 1000)):
        if (value := _number(headers.get(name))) is not None:
            wait = value * unit
            since_epoch = now.timestamp() * 1000
            return round(wait - since_epoch if wait > since_epoch / 2 else wait) if wait >= 0 else None
    return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 1e15 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
