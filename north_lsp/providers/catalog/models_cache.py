"""Keeps what servers last said about their models: `<data>/models-cache.db`. If anything is wrong with this cache, it
counts as empty. SQLite is imported only when there is something to read or store."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.model import UNPRICED, Model, Prices, ProviderInfo
from north_lsp.providers.thinking import ThinkingInfo

if TYPE_CHECKING:
    import sqlite3

_MIGRATIONS = (("CREATE TABLE models (provider TEXT PRIMARY KEY, stamp TEXT, asked_at REAL, models TEXT)",),)


@dataclass(frozen=True, slots=True)
class Cached:
    """A provider's models; `asked_at` is in seconds since 1970."""

    models: tuple[Model, ...]
    asked_at: float


class ModelsCache:
    """The cache in one file. Methods block briefly, so call them on a thread. None of them raises."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, providers: Iterable[ProviderInfo]) -> dict[str, Cached]:
        """Return what is stored for these providers, by id, unless a provider's configuration has changed since."""
        if not self._path.exists():
            return {}
        found = {}
        with suppress(Exception), self._open() as database:
            rows = {row[0]: row[1:] for row in database.execute("SELECT provider, stamp, asked_at, models FROM models")}
            for info in providers:
                if info.id in rows and rows[info.id][0] == fingerprint(info):
                    _, asked_at, text = rows[info.id]
                    found[info.id] = Cached(tuple(_model(info, row) for row in json.loads(text)), float(asked_at))
        return found

    def keep(self, info: ProviderInfo, models: Iterable[Model]) -> None:
        text = json.dumps([_row(model) for model in models], separators=(",", ":"))
        with suppress(Exception), self._open() as database:
            values = (info.id, fingerprint(info), time.time(), text)
            database.execute("INSERT OR REPLACE INTO models VALUES (?, ?, ?, ?)", values)

    def _open(self) -> AbstractContextManager[sqlite3.Connection]:
        from north_lsp.storage.sqlite import transaction

        return transaction(self._path, _MIGRATIONS)


def fingerprint(info: ProviderInfo) -> str:
    """Hash everything that decides how a provider is asked and what its models are like, but no secrets."""
    parts = (
        info.api,
        info.address,
        info.base_url,
        info.discovery,
        info.credentials,
        sorted(info.headers),
        sorted(info.compat.items(), key=str),
        info.transform.strip,
    )
    return sha256(repr(parts).encode()).hexdigest()[:16]


def _row(model: Model) -> dict[str, Any]:
    thinking = model.thinking
    prices = model.prices
    return {
        "id": model.id,
        "title": model.title,
        "window": model.window,
        "windowKnown": model.window_known,
        "output": model.max_output,
        "images": model.images,
        "prices": [prices.input, prices.output, prices.cache_write, prices.cache_read] if prices.known else None,
        "thinking": None if thinking is None else [thinking.mode, thinking.budget, thinking.levels],
    }


def _model(info: ProviderInfo, row: dict[str, Any]) -> Model:
    prices = UNPRICED
    if row["prices"] is not None:
        read, written, cache_write, cache_read = map(float, row["prices"])
        prices = Prices(read, written, cache_write, cache_read)
    thinking = None
    if row["thinking"] is not None:
        mode, budget, levels = row["thinking"]
        thinking = ThinkingInfo(mode, int(budget), levels=tuple(levels))
    return Model(
        info,
        str(row["id"]),
        str(row["id"]),
        str(row["title"]),
        int(row["window"]),
        int(row["output"]),
        prices,
        thinking,
        api=info.api,
        images=bool(row["images"]),
        source="discovered",
        window_known=bool(row.get("windowKnown", True)),
    )
