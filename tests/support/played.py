"""A model whose events a test emits one by one, in the server's own process: for what happens between two of them."""

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from north_lsp.providers.base import ModelRequest, StreamEvent

Stream = Callable[[ModelRequest], AsyncGenerator[StreamEvent, None]]
_streams: dict[str, Stream] = {}
_EXTENSION = """
from tests.support.played import stream_of


def setup(api):
    models = [{{"id": "m-1", "contextWindow": 50000}}, {{"id": "m-2", "contextWindow": 900000}}]
    api.register_provider({{"id": "played", "models": models, "stream": lambda request: stream_of({key!r})(request)}})
"""


def play(config: Path, stream: Stream) -> str:
    """Add the models `played/m-1` and `played/m-2` (which has a larger window) to a config folder. Return the selector
    of the first."""
    path = config / "extensions" / "played.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_EXTENSION.format(key=str(path)))
    _streams[str(path)] = stream
    return "played/m-1"


def stream_of(key: str) -> Stream:
    return _streams[key]
