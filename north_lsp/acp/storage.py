"""`_north/log/get` and `_north/storage/get`: North's own log, and what it keeps on the disk."""

from __future__ import annotations

from dataclasses import asdict

from north_lsp.acp import params as read
from north_lsp.agent.session.keeping.kept_data import KeptData
from north_lsp.rpc.messages import Params, invalid_params
from north_lsp.rpc.peer import Call, Handler

_LINES = 500
_LEVELS = ("debug", "info", "warn", "error")


def storage_methods(kept: KeptData) -> dict[str, Handler]:
    """Return the handlers by method name."""

    async def log(params: Params, call: Call) -> object:
        """Return the end of the log: `{lines?, level?, event?}` → `{path, lines}`."""
        lines = params.get("lines", _LINES)
        if not isinstance(lines, int) or isinstance(lines, bool) or not 0 < lines <= kept.most_lines:
            raise invalid_params("lines", f"must be a number from 1 to {kept.most_lines}")
        level = read.optional_text(params, "level") or "debug"
        if level not in _LEVELS:
            raise invalid_params("level", f"must be one of {', '.join(_LEVELS)}")
        event = read.optional_text(params, "event") or ""
        return {"path": str(kept.locations.log_file), "lines": await kept.log(lines, level, event)}

    async def storage(params: Params, call: Call) -> object:
        """Return what is kept, by area, the largest first."""
        rows = []
        for area in await kept.areas():
            row = asdict(area)
            rows.append(row | {"freedBy": row.pop("freed_by")})
        return {"data": str(kept.locations.data), "state": str(kept.locations.state), "areas": rows}

    return {"_north/log/get": log, "_north/storage/get": storage}
