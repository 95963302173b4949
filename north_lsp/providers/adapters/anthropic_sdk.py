"""The client of the Anthropic SDK alone, without helpers, tracing, types and the clients for other vendors' clouds.

Tracing is what pulls in the types of all messages. Make each client with `open_telemetry=False`, or its first request
loads them after all.
"""

from typing import TYPE_CHECKING

from north_lsp.providers.adapters.lean_import import import_lean

if TYPE_CHECKING:
    import anthropic
else:
    _CLOUDS = ("aws", "bedrock", "foundry", "google_cloud", "vertex")
    _HELPERS = ("middleware", "streaming", "tools")
    _TRACING = tuple(
        f"_tracing.{name}" for name in ("_api_call", "_content", "_streaming", "_tools", "_utils", "_work")
    )
    anthropic = import_lean("anthropic", [f"lib.{name}" for name in (*_CLOUDS, *_HELPERS, *_TRACING)])

__all__ = ["anthropic"]
