"""The client of the Anthropic SDK alone, without helpers, tracing, types, classes of errors and the clients for other
vendors' clouds.

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
    # A class for each error that the vendor knows; the first refusal loads them.
    _ERRORS = "_error_classes"
    anthropic = import_lean("anthropic", [_ERRORS, *(f"lib.{name}" for name in (*_CLOUDS, *_HELPERS, *_TRACING))])

__all__ = ["anthropic"]
