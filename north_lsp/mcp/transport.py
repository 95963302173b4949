"""What carries the messages of one connection, and the limits that hold for every carrier."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import anyio
import anyio.abc
import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.rpc.framing import Frame, decode_message

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""A longer message is skipped; a request that it would have answered fails."""
LARGE_BYTES = 256 * 1024
"""What is longer is decoded on a thread: it takes milliseconds."""


class Transport(Protocol):
    """Carries messages both ways."""

    def post(self, message: dict[str, Any]) -> None:
        """Send a message; never waits. Raises ToolError if the other side does not take any more."""
        ...

    def frames(self) -> AsyncIterator[Frame]:
        """Yield what arrives, until the connection ends."""
        ...

    def negotiated(self, version: str) -> None:
        """Take note of the protocol's version, once the server has answered `initialize`."""
        ...

    @property
    def reached(self) -> bool:
        """Whether what was sent last has reached the other side, as far as is known."""
        ...

    @property
    def why(self) -> str:
        """Why the connection has ended."""
        ...


LogLine = Callable[[str], None]


async def decoded(data: bytes) -> Frame:
    """Decode a message that its carrier has framed."""
    if len(data) <= LARGE_BYTES:
        return decode_message(data)
    return await anyio.to_thread.run_sync(decode_message, data)


def failure(message: str, hint: str | None = None) -> ToolError:
    """Make the error of a connection that does not work."""
    return ToolError("REMOTE_ERROR", f"MCP error: {message}", hint)
