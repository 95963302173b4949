"""Asks servers which models they have: local ones, and providers that have a key but no shipped models.

Nothing waits for it: it runs in the background, for all servers at once, and a server that is absent, slow or not a
model server is silently skipped."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from north_lsp.display import one_line
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.models_merge import DEFAULT_THINKING
from north_lsp.providers.compat import is_local
from north_lsp.providers.model import DEFAULT_OUTPUT, DEFAULT_WINDOW, FREE, UNPRICED, Model, Prices, ProviderInfo
from north_lsp.providers.thinking import ThinkingInfo
from north_lsp.providers.tls import may_be_proxied, verification
from north_lsp.storage.switches import is_off

if TYPE_CHECKING:
    from north_lsp.providers.catalog.models_cache import ModelsCache

LOCAL_SECONDS = 2.0
# Asked even though they are not configured.
_PROBED = ("ollama", "llama.cpp", "lm-studio")
_REMOTE_SECONDS = 5.0
_FRESH_LOCAL_SECONDS = 60.0
_FRESH_REMOTE_SECONDS = 24 * 3600.0
_MAX_BYTES = 8 * 1024 * 1024
_MAX_MODELS = 2000
_GOOGLE_SEES = lazy_pattern(r"gemini-|gemma-(?!3-1b)[3-9]")
_GOOGLE_THINKING = ThinkingInfo("budget", 8_192)


class Discoverer:
    """Asks servers, one instance per process. Keeps what it found while it is fresh, and if a remote server does not
    answer."""

    def __init__(
        self,
        catalog: Catalog,
        environ: Mapping[str, str],
        *,
        local_seconds: float = LOCAL_SECONDS,
        cache: ModelsCache | None = None,
        asks_local: bool = True,
    ) -> None:
        self._catalog = catalog
        self._cache = cache
        self._asks_local = asks_local
        self._environ = environ
        self._local_seconds = local_seconds
        self._asked: dict[str, float] = {}
        self._ages: dict[str, float] = {}  # in seconds, at the time of `recall`
        self._running = anyio.Lock()

    async def refresh(self) -> bool:
        """Ask every server whose answer is not fresh, and put the models into the catalog. Returns whether the catalog
        has changed. Raises nothing but cancellation."""
        async with self._running:
            now = anyio.current_time()
            due = [info for info in self._catalog.providers if self._is_due(info, now)]
            if not due:
                return False
            changed = False

            absent = await self._absent(due)

            async def ask(info: ProviderInfo) -> None:
                nonlocal changed
                found = await self._ask(info) if info.id not in absent else None
                if found is not None:
                    self._asked[info.id] = now
                    self._catalog.found_at[info.id] = time.time()
                    changed = self._catalog.add(found, info.id) or changed
                    if self._cache is not None:
                        await anyio.to_thread.run_sync(self._cache.keep, info, found)
                elif self._is_local(info):  # a stopped local server has no models; others keep theirs
                    changed = self._catalog.add([], info.id) or changed

            if len(absent) < len(due):
                await anyio.to_thread.run_sync(_import_client, abandon_on_cancel=True)
            async with anyio.create_task_group() as tasks:
                for info in due:
                    tasks.start_soon(ask, info)
            return changed

    def recall(self) -> None:
        """Add what servers said last time, so that it can be chosen before they are asked. Blocks: call it on a thread,
        before `refresh`."""
        if self._cache is None:
            return
        asked = [info for info in self._catalog.providers if self._is_wanted(info)]
        for id, kept in self._cache.load(asked).items():
            self._catalog.add(kept.models, id)
            self._catalog.found_at[id] = kept.asked_at
            self._ages[id] = max(time.time() - kept.asked_at, 0.0)

    def _is_local(self, info: ProviderInfo) -> bool:
        return info.keyless and is_local(info.address_in(self._environ) or "")

    def _is_wanted(self, info: ProviderInfo) -> bool:
        if info.discovery is None or info.address_in(self._environ) is None:
            return False
        asks = self._asks_local and not is_off(self._environ, "NORTH_DISCOVERY")
        if not asks and info.keyless and info.id in _PROBED:
            return False
        return self._catalog.is_usable(info, self._environ)

    def _is_due(self, info: ProviderInfo, now: float) -> bool:
        if not self._is_wanted(info):
            return False
        fresh = (
            _FRESH_LOCAL_SECONDS if info.discovery in ("ollama", "llama.cpp", "lm-studio") else _FRESH_REMOTE_SECONDS
        )
        if info.id in self._asked:
            return now - self._asked[info.id] >= fresh
        return self._ages.get(info.id, fresh) >= fresh

    async def _absent(self, infos: Sequence[ProviderInfo]) -> set[str]:
        """Return the ids of the servers on this machine that refuse a connection. Loading the HTTP client only to be
        told the same takes a while; where a proxy may stand between, only the client can tell."""
        if may_be_proxied():
            return set()
        absent: set[str] = set()

        async def connect(info: ProviderInfo) -> None:
            try:
                address = urlsplit(info.address_in(self._environ) or "")
                port = address.port or (443 if address.scheme == "https" else 80)
                with anyio.move_on_after(self._local_seconds):
                    await (await anyio.connect_tcp(address.hostname or "", port)).aclose()
            except OSError:
                absent.add(info.id)
            except ValueError:  # not a port: the client says what it makes of it
                pass

        async with anyio.create_task_group() as tasks:
            for info in filter(self._is_local, infos):
                tasks.start_soon(connect, info)
        return absent

    async def _ask(self, info: ProviderInfo) -> list[Model] | None:
        """Ask a server for its models, None if it did not answer as a model server."""
        import httpx2

        from north_lsp.providers.keys.credential_lookup import find_key

        address = info.address_in(self._environ)
        assert address is not None
        limit = self._local_seconds if is_local(address) and info.keyless else _REMOTE_SECONDS
        try:
            with anyio.fail_after(limit):
                headers = {}
                key = await anyio.to_thread.run_sync(
                    find_key, info, self._environ, self._catalog.keys, abandon_on_cancel=True
                )
                if key is not None and info.discovery == "google-models":
                    headers["x-goog-api-key"] = key.secret
                elif key is not None:
                    headers["Authorization"] = f"Bearer {key.secret}"
                for name, source in info.headers.items():
                    resolved = await anyio.to_thread.run_sync(source.resolve, self._environ, abandon_on_cancel=True)
                    headers[name] = resolved.secret
                verify = await anyio.to_thread.run_sync(verification, self._environ, address)
                async with httpx2.AsyncClient(headers=headers, timeout=limit, verify=verify) as client:
                    return await _read(client, info, address)
        except Exception:  # noqa: BLE001 - any failure means that the server offers no models
            return None


def _import_client() -> None:
    import httpx2

    assert httpx2


async def _read(client: Any, info: ProviderInfo, address: str) -> list[Model]:
    """Read a server's list of models. Raises ValueError for an answer that is not such a list."""
    if info.discovery == "ollama":
        root = address.removesuffix("/v1")
        rows = _rows(await _get(client, f"{root}/api/tags"), "models")
        names = [row["name"] for row in rows if isinstance(row.get("name"), str)]
        windows: dict[str, dict[str, Any]] = {}

        async def show(name: str) -> None:
            windows[name] = await _post(client, f"{root}/api/show", {"model": name})

        async with anyio.create_task_group() as tasks:
            for name in names[:20]:
                tasks.start_soon(show, name)
        return [_model(info, address, {"id": name}, _ollama_window(windows.get(name, {}))) for name in names]
    if info.discovery == "google-models":
        rows = _rows(await _get(client, f"{address}/models?pageSize=1000"), "models")
        return [_google_model(info, address, row) for row in rows if _is_google_chat(row)]
    rows = _rows(await _get(client, f"{address}/models"), "data")
    return [_model(info, address, row, _window(row)) for row in rows if isinstance(row.get("id"), str) and row["id"]]


async def _get(client: Any, url: str) -> dict[str, Any]:
    return await _json(client, "GET", url, None)


async def _post(client: Any, url: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the server's answer, an empty object if it does not know the request."""
    import httpx2

    try:
        return await _json(client, "POST", url, body)
    except (ValueError, httpx2.HTTPError):
        return {}


async def _json(client: Any, method: str, url: str, body: dict[str, Any] | None) -> dict[str, Any]:
    import json

    async with client.stream(method, url, json=body) as response:
        if response.status_code != 200:
            raise ValueError("no list")
        data = b""
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > _MAX_BYTES:
                raise ValueError("too long")
    read = json.loads(data)
    if isinstance(read, list):  # Together AI gives the list alone
        return {"data": read}
    if not isinstance(read, dict):
        raise ValueError("no object")
    return read


def _rows(data: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    rows = data.get(key)
    if not isinstance(rows, list):
        raise ValueError("no list of models")
    return [row for row in rows[:_MAX_MODELS] if isinstance(row, dict)]


def _model(info: ProviderInfo, address: str, row: Mapping[str, Any], window: int | None) -> Model:
    id = row["id"]
    title = row.get("name") if isinstance(row.get("name"), str) else id
    size = window or DEFAULT_WINDOW
    limit = _tokens(row.get("max_output_tokens")) or _tokens(_inner(row, "top_provider").get("max_completion_tokens"))
    parameters = row.get("supported_parameters")
    can_think = isinstance(parameters, Sequence) and "reasoning" in parameters
    images = "image" in (_inner(row, "architecture").get("input_modalities") or ())
    return Model(
        info,
        id,
        id,
        one_line(str(title), 80),
        size,
        min(limit or DEFAULT_OUTPUT, size),
        _prices(row, address),
        DEFAULT_THINKING if can_think else None,
        api=info.api,
        images=images,
        source="discovered",
        window_known=window is not None,
    )


def _is_google_chat(row: Mapping[str, Any]) -> bool:
    """Return whether a model answers with text: the list also has models for images, speech and embeddings."""
    name, methods = row.get("name"), row.get("supportedGenerationMethods")
    if not isinstance(name, str) or not isinstance(methods, list) or "generateContent" not in methods:
        return False
    return not any(word in name for word in ("-image", "-tts", "-audio", "-live", "embedding", "robotics"))


def _google_model(info: ProviderInfo, address: str, row: Mapping[str, Any]) -> Model:
    known = {
        "id": row["name"].removeprefix("models/"),
        "name": row.get("displayName"),
        "max_output_tokens": row.get("outputTokenLimit"),
    }
    found = _model(info, address, known, _tokens(row.get("inputTokenLimit")))
    found = replace(found, images=_GOOGLE_SEES.match(found.id) is not None)  # the list does not say
    return replace(found, thinking=_GOOGLE_THINKING) if row.get("thinking") is True else found


def _prices(row: Mapping[str, Any], address: str) -> Prices:
    """Return the prices that a row gives in OpenRouter's form: strings, in dollars per token."""
    if is_local(address):
        return FREE
    pricing = _inner(row, "pricing")
    try:
        values = [float(pricing[key]) * 1_000_000 for key in ("prompt", "completion")]
        written = float(pricing.get("input_cache_write") or pricing["prompt"]) * 1_000_000
        read = float(pricing.get("input_cache_read") or pricing["prompt"]) * 1_000_000
    except (KeyError, TypeError, ValueError):
        return UNPRICED
    return Prices(values[0], values[1], written, read) if min(*values, written, read) >= 0 else UNPRICED


def _window(row: Mapping[str, Any]) -> int | None:
    """Return the context window in tokens, under whichever name the server gives it, None if it gives none."""
    for place in (row, _inner(row, "meta"), _inner(row, "top_provider")):
        for key in ("context_length", "context_window", "max_model_len", "max_context_length", "n_ctx", "n_ctx_train"):
            if (size := _tokens(place.get(key))) is not None:
                return size
    return None


def _ollama_window(shown: Mapping[str, Any]) -> int | None:
    """Return the window in tokens: a `num_ctx` that the user has set, else what the model was made for."""
    parameters = shown.get("parameters")
    for line in parameters.splitlines() if isinstance(parameters, str) else ():
        name, _, value = line.partition(" ")
        if name == "num_ctx" and value.strip().isdecimal():
            return int(value)
    sizes = (_tokens(value) for key, value in _inner(shown, "model_info").items() if key.endswith(".context_length"))
    return next((size for size in sizes if size is not None), None)


def _inner(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}


def _tokens(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
