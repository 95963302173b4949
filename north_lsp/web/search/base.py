"""What every search provider is given and returns, and the requests that it makes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal

import anyio.to_thread

from north_lsp import __version__
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.tls import verification

if TYPE_CHECKING:
    import httpx2

Recency = Literal["day", "week", "month", "year"]
_MAX_BYTES = 10 * 1024 * 1024
_DAYS: Mapping[Recency, int] = {"day": 1, "week": 7, "month": 30, "year": 365}


class SearchFailed(Exception):
    """A provider did not answer; the text is one line for models and people."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Query:
    """What is searched for. `limit` and `count` both say how many results are wanted."""

    text: str
    recency: Recency | None = None
    limit: int | None = None
    count: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    def wanted(self, most: int, usual: int, least: int = 1) -> int:
        """Return how many results to ask for."""
        asked = self.count if self.count is not None else self.limit
        return min(max(usual if asked is None else asked, least), most)

    def since(self) -> str:
        """Return the first day that counts, empty without a recency."""
        return "" if self.recency is None else (date.today() - timedelta(days=_DAYS[self.recency])).isoformat()


@dataclass(frozen=True)
class Source:
    """A page that was found; `when` is its date or age."""

    title: str
    url: str
    snippet: str = ""
    when: str = ""


@dataclass(frozen=True)
class Citation:
    """Where an answer takes something from."""

    url: str
    title: str = ""
    text: str = ""


@dataclass(frozen=True)
class Found:
    """What a provider answered."""

    sources: Sequence[Source] = ()
    answer: str = ""
    citations: Sequence[Citation] = ()
    related: Sequence[str] = ()
    queries: Sequence[str] = ()


@dataclass(frozen=True)
class SearchClient:
    """Makes the requests of one provider: `key` is its credential, `base` where its API is, `environ` what else it may
    be told. `wait` waits before another attempt."""

    key: str
    base: str
    environ: Mapping[str, str] = field(default_factory=dict)
    wait: Callable[[float], Awaitable[None]] = anyio.sleep

    async def get(self, path: str, params: Mapping[str, str], headers: Mapping[str, str]) -> Any:
        """Ask with GET. Raises SearchFailed."""
        return await self._json("GET", path, headers, params=dict(params))

    async def post(self, path: str, body: object, headers: Mapping[str, str]) -> Any:
        """Ask with POST. Raises SearchFailed."""
        return await self._json("POST", path, headers, body=body)

    @property
    def bearer(self) -> Mapping[str, str]:
        return {"authorization": f"Bearer {self.key}"} if self.key else {}

    async def _json(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: object = None,
        params: Mapping[str, str] | None = None,
    ) -> Any:
        import httpx2

        told = {"accept": "application/json", "user-agent": f"north-lsp/{__version__}", **headers}
        if body is not None:
            told["content-type"] = "application/json"
        content = None if body is None else json.dumps(body).encode()
        try:
            verify = await anyio.to_thread.run_sync(verification, self.environ, self.base)
            async with httpx2.AsyncClient(verify=verify, timeout=None, follow_redirects=False) as client:
                url = self.base + path
                async with client.stream(method, url, headers=told, content=content, params=params) as response:
                    data = await _bounded(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise SearchFailed(f"cannot be reached: {one_line(str(error) or type(error).__name__, 200)}") from None
        if response.status_code >= 300:
            raise SearchFailed(_refusal(response.status_code, data), response.status_code)
        return _decoded(data, response.headers.get("content-type", ""))


async def _bounded(response: httpx2.Response) -> bytes:
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > _MAX_BYTES:
            raise SearchFailed("its answer is too long")
    return bytes(data)


def _decoded(data: bytes, kind: str) -> Any:
    """Decode JSON, or the last message of an event stream."""
    text = data.decode("utf-8", "replace")
    if "event-stream" in kind:
        messages = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
        text = messages[-1] if messages else ""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise SearchFailed("its answer cannot be read") from None


def _refusal(status: int, data: bytes) -> str:
    said = data[:2000].decode("utf-8", "replace")
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and name in found:
            inner = found[name]
            said = str(inner.get("message") or inner.get("detail") or inner) if isinstance(inner, dict) else str(inner)
            break
    return f"HTTP {status}: {one_line(said, 200)}".rstrip(": ")


def rows(value: object, *path: str) -> list[dict[str, Any]]:
    """Return the objects of a list inside an answer, empty if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def text(row: object, *names: str) -> str:
    """Return the first of the named texts that an object has."""
    found = (row.get(name) for name in names) if isinstance(row, dict) else ()
    return next((value for value in found if isinstance(value, str) and value), "")


def sources(found: Sequence[Mapping[str, Any]], title: str, url: str, snippet: str, when: str = "") -> list[Source]:
    """Make sources of rows whose fields have these names."""
    made = [
        Source(text(row, title) or text(row, url), text(row, url), text(row, snippet), text(row, when) if when else "")
        for row in found
    ]
    return [one for one in made if one.url]
