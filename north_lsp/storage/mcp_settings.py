"""The settings of MCP servers, under `mcp.` in the user's settings file."""

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class McpSettings:
    """Which servers are started, how long a prompt waits for them, and how often each is asked whether it is there."""

    enabled: bool = setting("mcp.enabled", True, "Start MCP servers and offer their tools to models.", strict=False)
    project_config: bool = setting(
        "mcp.enableProjectConfig",
        True,
        "Start the MCP servers that files of a trusted project name, too.",
        strict=False,
    )
    startup_wait_ms: int = setting(
        "mcp.startupWaitMs",
        2000,
        "How many milliseconds the first prompt waits for MCP servers that are still starting.",
    )
    ping_interval_ms: int = setting(
        "mcp.pingIntervalMs",
        60_000,
        "After how many milliseconds an idle MCP server is asked whether it is still there; 0 never asks.",
        low=1000,
        or_zero=True,
    )
