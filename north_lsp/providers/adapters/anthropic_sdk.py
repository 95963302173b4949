"""The Anthropic SDK: its client alone, without those for other vendors' clouds, its helpers and its types."""

from typing import TYPE_CHECKING

from north_lsp.providers.adapters.lean_import import import_lean

if TYPE_CHECKING:
    import anthropic
else:
    _CLOUDS = ("aws", "bedrock", "foundry", "google_cloud", "vertex")
    _HELPERS = ("middleware", "streaming", "tools")
    anthropic = import_lean("anthropic", [f"lib.{name}" for name in (*_CLOUDS, *_HELPERS)])

__all__ = ["anthropic"]
