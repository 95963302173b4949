"""The one envelope in which every tool result reaches the model (text-first tools aside)."""

import json

from north_lsp.errors import ToolError


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def ok(data: object) -> str:
    return _json({"ok": True, "data": data})


def failed(error: ToolError) -> str:
    described: dict[str, object] = {"code": error.code, "message": error.message}
    if error.hint:
        described["hint"] = error.hint
    if error.details:
        described["details"] = error.details
    return _json({"ok": False, "error": described})
