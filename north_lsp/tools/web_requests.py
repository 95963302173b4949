"""What tools ask of the web: a page, a search."""

from typing import Literal

from north_lsp.lazy_dataclass import dataclass

Recency = Literal["day", "week", "month", "year"]


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A page to fetch. `prompt` is a question about it, empty for the page itself, of which at most `most` bytes are
    kept; `raw`: as it was sent."""

    url: str
    prompt: str = ""
    most: int = 100_000
    raw: bool = False


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search. `count` and `limit` both say how many results are wanted; a provider takes what it knows of."""

    query: str
    recency: Recency | None = None
    limit: int | None = None
    count: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    @property
    def wanted(self) -> int | None:
        return self.count if self.count is not None else self.limit
