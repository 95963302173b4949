"""The settings of reading tools."""

from dataclasses import field

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.limits import Limits
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class ReadSettings:
    """How reading tools behave."""

    extra_roots: tuple[str, ...] = setting(
        "files.extraReadRoots",
        (),
        "Folders outside the workspace (absolute, or with `~`) that may be read and searched by their absolute "
        "paths; nothing there can be changed.",
        restart=True,
    )
    digest: bool = setting(
        "digest.enabled",
        True,
        "Shorten long results; with `false` they are sent in full, up to their limits.",
    )
    discovery_threshold: int = setting(
        "tools.discoveryThreshold",
        40,
        "Rarely used tools are listed by name only and looked up with `search_tools`, and with more other tools than "
        "this those of MCP servers as well (0: all are described).",
        project="yes",
    )
    limits: Limits = field(default_factory=Limits)
    index_limit: int = setting(
        "files.indexLimit",
        5000,
        "How many files of a root can be suggested as you type; if there are more, the open and most recent ones.",
        low=100,
        high=1_000_000,
        project="stricter",
    )
