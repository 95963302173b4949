"""The client of the Anthropic SDK alone, without helpers, tracing, types, classes of errors and the clients for other
vendors' clouds.

Tracing is what pulls in the types of all messages. Make each client with `open_telemetry=False`, or its first request
loads them after all.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from north_lsp.providers.adapters.lean_import import import_lean, import_without

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

_RESOURCES = ("lib.bedrock._beta", "lib.bedrock._mantle", "lib.vertex._beta", "resources.messages")


def bedrock_client() -> Any:
    """Return the class of the client for Amazon Bedrock."""
    return _cloud("lib.bedrock").AsyncAnthropicBedrock


def vertex_client() -> Any:
    """Return the class of the client for Google Vertex AI."""
    return _cloud("lib.vertex").AsyncAnthropicVertex


def _cloud(module: str) -> ModuleType:
    """Import a cloud's client without the resources, which bring in the types of all messages."""
    return import_without(f"anthropic.{module}", [f"anthropic.{name}" for name in _RESOURCES])


__all__ = ["anthropic", "bedrock_client", "vertex_client"]
