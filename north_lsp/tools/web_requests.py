"""What tools ask of the web."""

from __future__ import annotations

from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A page to fetch. `prompt` is a question about it, empty for the page itself, of which at most `most` bytes are
    kept; `raw`: as it was sent."""

    url: str
    prompt: str = ""
    most: int = 100_000
    raw: bool = False
