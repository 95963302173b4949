"""What the user has written in Python: `<config>/extensions/<name>.py` or `<name>/__init__.py`, and what the setting
`extensions` names (`extension_places.py`), with a function `setup(api)` that calls `api.register_provider`, for models,
or `api.on`, to be told of events. They run in the server's process with the user's rights, so only what the user alone
has put there is read, never a project's.

    def setup(api):
        api.register_provider({"id": "mine", "name": "Mine", "models": [{"id": "m-1", "contextWindow": 32000}],
                               "stream": stream})

    async def stream(request):  # a north_lsp.providers.base.ModelRequest
        yield TextDelta(0, "Hello.")
        yield BlockEnd(0, Text("Hello."))
        yield Done("stop", AssistantMessage((Text("Hello."),)))
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, get_args

from north_lsp import __version__
from north_lsp.display import one_line
from north_lsp.errors import Problem
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.adapters.accumulator import append_delta
from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    BlockEnd,
    Done,
    Failed,
    ModelRequest,
    StreamEvent,
    ToolCall,
)
from north_lsp.providers.catalog.catalog import Catalog, catalog
from north_lsp.providers.catalog.extension_places import ExtensionPlaces
from north_lsp.providers.catalog.models_file import ModelsFileError, check_models_text
from north_lsp.providers.catalog.models_merge import merged
from north_lsp.providers.model import Model, ProviderInfo

Stream = Callable[..., AsyncGenerator[StreamEvent, None]]
API = "extension"
EVENTS = (
    "session_before_switch",
    "session_switch",
    "session_before_tree",
    "session_tree",
    "session_before_compact",
    "session.compacting",
    "session_compact",
    "context",
)
"""What an extension can be told of: the user goes, and has gone, to another conversation, or somewhere else in one; it
is summarized; what a model is sent of it."""
_SECONDS = 5.0
_OF_FILE = ("baseUrl", "api", "auth", "apiKey", "apiKeyEnv", "authHeader", "headers", "compat", "oauth")
"""What a provider without a `stream` of its own may say of itself, as in models.yml."""
_FIELDS = ("id", "name", "models", "stream", *_OF_FILE)
_loaded: dict[tuple[Path, int], Registered] = {}


@dataclass(frozen=True)
class Listener:
    """A function of the extension at `path` that is told of an event, with a dict, and may answer with another."""

    path: Path
    event: str
    handler: Callable[[dict[str, Any]], object]


@dataclass(frozen=True, slots=True)
class Server:
    """What a stream of an extension's is to ask: its address, the user's key or token (None: it takes none), and the
    headers that belong to each request."""

    address: str
    key: str | None
    headers: Mapping[str, str]


@dataclass
class Registered:
    """What one extension has registered; `problem` is one line for the user if it could not be loaded."""

    path: Path
    listeners: list[Listener] = field(default_factory=list)
    providers: list[ProviderInfo] = field(default_factory=list)
    models: list[Model] = field(default_factory=list)
    problem: str | None = None


class Api:
    """The API that an extension's `setup` receives."""

    version = __version__

    def __init__(self, registered: Registered) -> None:
        self._registered = registered

    def on(self, event: str, handler: Callable[[dict[str, Any]], object]) -> None:
        """Have a function, plain or async, told of an event. Raises ValueError for an unknown one."""
        if event not in EVENTS:
            raise ValueError(f"there is no event {event!r}: the events are {', '.join(EVENTS)}")
        if not callable(handler):
            raise ValueError(f"on: the handler for {event} must be a function")
        self._registered.listeners.append(Listener(self._registered.path, event, handler))

    def register_provider(self, definition: Mapping[str, Any]) -> None:
        """Register `{id, name?, models, stream}`: models as in models.yml, and a function that takes a request and
        yields the events of `providers/base.py`; for a server whose API North speaks, what models.yml says of one in
        place of `stream`; for one whose API it does not speak, both, without `api`: the function then takes a `Server`
        as well. Raises ValueError for an invalid definition and registers nothing."""
        unknown = set(definition) - set(_FIELDS)
        if unknown:
            raise ValueError(f"register_provider takes only {', '.join(_FIELDS)}, not {', '.join(sorted(unknown))}")
        stream, id = definition.get("stream"), str(definition.get("id", ""))
        there = {key: definition[key] for key in _OF_FILE if key in definition}
        if "baseUrl" not in definition:
            if not callable(stream):
                raise ValueError("register_provider: stream must be a function that yields events")
            if there:
                raise ValueError(f"register_provider: {', '.join(there)} belong to a provider with a baseUrl")
            there = {"baseUrl": "http://extension.invalid", "api": "openai-completions", "auth": "none"}
        elif stream is not None:
            if not callable(stream) or "api" in there:
                raise ValueError("register_provider: a stream is a function, and has an API of its own: leave out api")
            there |= {"api": "openai-completions"}  # for the check alone
        try:
            text = json.dumps({"providers": {id: there | {"models": definition.get("models", [])}}})
        except TypeError as error:
            raise ValueError(f"register_provider: {error}") from None
        try:
            file = check_models_text(Path("register_provider"), text)
        except ModelsFileError as error:
            raise ValueError(f"register_provider: {error.key}: {error.problem}") from None
        if not file.providers[0].models:
            raise ValueError("register_provider: models must list at least one")
        if id in ("offline", "north-test") or any(info.id == id for info in self._registered.providers):
            raise ValueError(f"register_provider: {id!r} is already registered or reserved")
        title = one_line(str(definition.get("name") or id), 80)
        known = merged(catalog(), file, {})
        found = [model for model in known.models if model.source == "models.yml"]
        info = replace(next(one for one in known.providers if one.id == id), title=title)
        if stream is not None:
            info = replace(info, api=API, stream=stream)
            found = [replace(model, api=API) for model in found]
        if "baseUrl" not in definition:
            info = ProviderInfo(id, API, title, (), address=f"{API}:{id}", keyless=True, stream=stream)
        self._registered.providers.append(info)
        self._registered.models += [replace(model, provider=info, source="extension") for model in found]


def with_extensions(known: Catalog, places: ExtensionPlaces) -> Catalog:
    """Add what extensions register: they replace providers and models of the same names. Runs their code."""
    known.problems = (*known.problems, *places.problems())
    for path in places.enabled():
        registered = _load(path)
        if registered.problem is not None:
            known.problems = (*known.problems, registered.problem)
        ids = {info.id for info in registered.providers}
        new = {model.selector for model in registered.models}
        known.providers = (*(info for info in known.providers if info.id not in ids), *registered.providers)
        others = [model for model in known.models if model.selector not in new and model.provider.id not in ids]
        offline = [model for model in others if model.api == "offline"]
        known.models = (*(model for model in others if model.api != "offline"), *registered.models, *offline)
    return known


def listeners(places: ExtensionPlaces, event: str) -> Sequence[Listener]:
    """Return what extensions have registered for an event, in their order. Runs their code, blocks."""
    return [one for path in places.enabled() for one in _load(path).listeners if one.event == event]


def _load(path: Path) -> Registered:
    """Load an extension, once for each modification time of its file."""
    key = (path, path.stat().st_mtime_ns)
    if key not in _loaded:
        registered = Registered(path)
        try:
            _set_up(path, registered)
        except Exception as error:  # noqa: BLE001 - an extension may raise anything
            text = f"the extension {path} is not used: {one_line(str(error), 300) or error!r}"
            registered = Registered(path, problem=Problem(text, path, event="extension_error"))
        _loaded[key] = registered
    return _loaded[key]


def _set_up(path: Path, registered: Registered) -> None:
    name = f"north_extension_{path.parent.name if path.name == '__init__.py' else path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError("it is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    failures: list[BaseException] = []

    def run() -> None:
        try:
            spec.loader.exec_module(module)  # type: ignore[union-attr]
            setup = getattr(module, "setup", None)
            if not callable(setup):
                raise ValueError("it has no function setup(api)")
            result = setup(Api(registered))
            if inspect.iscoroutine(result):
                asyncio.run(result)
        except BaseException as error:  # noqa: BLE001 - reported by the waiting thread
            failures.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    thread.join(_SECONDS)
    if thread.is_alive():
        raise TimeoutError(f"setup(api) did not finish within {_SECONDS:g} s")
    if failures:
        raise ValueError(f"{type(failures[0]).__name__}: {failures[0]}")


class ExtensionProvider:
    """An extension's stream, held to the contract: it ends with exactly one Done or Failed, and never raises."""

    def __init__(self, stream: Stream, title: str) -> None:
        self._stream = stream
        self._title = title

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        blocks: dict[int, Block] = {}
        try:
            events = self._stream(request)
            if not inspect.isasyncgen(events):
                raise TypeError("stream must be an async function that yields events")
            try:
                async for event in events:
                    if not isinstance(event, get_args(StreamEvent)):
                        raise TypeError(f"{type(event).__name__} is not a stream event")
                    _check_calls(event)
                    yield event
                    if isinstance(event, Done | Failed):
                        return
                    append_delta(blocks, event)
            finally:
                await events.aclose()
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise  # North itself cancels
            said = one_line(f"{type(error).__name__}: {error}", 300)
            yield Failed("network", f"{self._title} failed ({said}): fix its extension", _partial(blocks))
            return
        yield Failed(
            "network", f"{self._title} ended its answer without Done or Failed", _partial(blocks), retryable=True
        )

    async def aclose(self) -> None:
        """Do nothing: an extension has no connections that North knows of."""


def _check_calls(event: StreamEvent) -> None:
    """Check that a call's arguments are a JSON object, or they could not be stored. Raises TypeError, ValueError."""
    blocks: Sequence[Block] = ()
    match event:
        case BlockEnd(_, block):
            blocks = (block,)
        case Done(_, message) | Failed(_, _, message):
            blocks = message.blocks
    for call in blocks:
        if isinstance(call, ToolCall):
            json.dumps(dict(call.arguments))


def _partial(blocks: Mapping[int, Block]) -> AssistantMessage:
    return AssistantMessage(tuple(blocks[index] for index in sorted(blocks)), "error")
