"""How much tools show at once: one table for all of them, each row a setting `limits.<name>`."""

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class Limits:
    """The limits. `kb` and `mb` are 1024 and 1024² bytes; after `seconds` a search ends with what it has found."""

    read_lines: int = setting(
        "limits.readLines", 500, "How many lines a page has.", low=20, high=5000, project="stricter"
    )
    read_kb: int = setting("limits.readKb", 100, "How many KB a page has.", low=4, high=1000, project="stricter")
    around_lines: int = setting(
        "limits.aroundLines",
        200,
        "The most that `before` and `after` of `read_around` can be.",
        low=5,
        high=2000,
        project="stricter",
    )
    window_lines: int = setting(
        "limits.windowLines",
        250,
        "The most that `windowLines` of `read_file` can be.",
        low=5,
        high=2000,
        project="stricter",
    )
    readme_kb: int = setting(
        "limits.readmeKb", 8, "How many KB `read_readme` shows.", low=1, high=100, project="stricter"
    )
    root_entries: int = setting(
        "limits.rootEntries", 500, "How many entries `list_root` shows.", low=20, high=10_000, project="stricter"
    )
    files: int = setting(
        "limits.files", 500, "The most that `limit` of `find_files` can be.", low=20, high=10_000, project="stricter"
    )
    matches: int = setting(
        "limits.matches", 200, "The most that `limit` of `search_text` can be.", low=20, high=5000, project="stricter"
    )
    search_seconds: int = setting(
        "limits.searchSeconds", 20, "How many seconds a search may take.", low=1, high=600, project="stricter"
    )
    ast_matches: int = setting(
        "limits.astMatches", 200, "The most that `limit` of `ast_search` can be.", low=20, high=5000, project="stricter"
    )
    code_blocks: int = setting(
        "limits.codeBlocks", 20, "How many matches `find_code_block` shows.", low=1, high=500, project="stricter"
    )
    symbols: int = setting(
        "limits.symbols", 1000, "How many symbols `get_file_symbols` shows.", low=20, high=20_000, project="stricter"
    )
    outline_entries: int = setting(
        "limits.outlineEntries",
        1000,
        "How many entries `get_file_outline` shows.",
        low=20,
        high=20_000,
        project="stricter",
    )
    blocks: int = setting(
        "limits.blocks", 1000, "How many blocks `find_blocks` shows.", low=20, high=20_000, project="stricter"
    )
    hotfiles: int = setting(
        "limits.hotfiles", 50, "The most that `limit` of `hotfiles` can be.", low=5, high=500, project="stricter"
    )
    output_lines: int = setting(
        "limits.outputLines",
        2000,
        "How many lines of a command's output are shown where `digest.enabled` is `false`.",
        low=50,
        high=100_000,
        project="stricter",
    )
    artifacts_mb: int = setting(
        "limits.artifactsMb",
        500,
        "How many MB of full outputs one conversation keeps; the oldest are removed.",
        low=1,
        high=100_000,
        project="stricter",
    )

    @property
    def read_bytes(self) -> int:
        return self.read_kb * 1024
