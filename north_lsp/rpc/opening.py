"""The opening of a connection: everything up to the answer to `initialize`.

It is separate from the peer because it needs no event loop: on stdio it runs with plain blocking reads and writes
before anything heavy is imported, so that an editor gets its answer while the rest of the program is still loading.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import field

from north_lsp.lazy_dataclass import dataclass
from north_lsp.rpc.framing import Framing
from north_lsp.rpc.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Invalid,
    Message,
    Notification,
    Params,
    Request,
    RpcError,
    classify,
    error_reply,
    result_reply,
)

_CHUNK = 64 * 1024


class ConnectionEnded(Exception):
    """The client left before it initialized. `exit_code` is the process's."""

    def __init__(self, exit_code: int) -> None:
        super().__init__()
        self.exit_code = exit_code


@dataclass
class Opening:
    """Answers messages until `initialize` is answered; what came after it in the same read is kept in `rest`.

    `initialize` turns params into a result and may raise RpcError (the connection then stays unopened).
    """

    framing: Framing
    initialize: Callable[[Params], object]
    not_ready_code: int = INVALID_REQUEST
    params: Params = field(default_factory=dict)
    request: Request | None = None
    rest: list[Message] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return self.request is not None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the replies to send, already framed, in order."""
        for frame in self.framing.feed(data):
            message = classify(frame)
            if self.done:
                self.rest.append(message)
                continue
            reply = self._reply(message)
            if reply is not None:
                yield self.framing.encode(reply)

    def _reply(self, message: Message) -> dict[str, object] | None:
        match message:
            case Request(id, "initialize", params):
                try:
                    result = self.initialize(params)
                except RpcError as error:
                    return error_reply(id, error)
                except Exception:  # noqa: BLE001 - unexpected params: the connection stays unopened
                    return error_reply(id, RpcError(INTERNAL_ERROR, "initialize has params that North cannot read"))
                self.params = params
                self.request = message
                return result_reply(id, result)
            case Request(id, method):
                return error_reply(id, RpcError(self.not_ready_code, f"{method} came before initialize"))
            case Notification("exit"):
                raise ConnectionEnded(1)
            case Invalid(reply):
                return reply
            case _:
                return None

    def run_blocking(self, read_fd: int, write_fd: int) -> None:
        """Read and answer on two descriptors until `done`. Raises ConnectionEnded when either is closed."""
        while not self.done:
            data = os.read(read_fd, _CHUNK)
            if not data:
                raise ConnectionEnded(0)
            for reply in self.feed(data):
                view = memoryview(reply)
                try:
                    while view:
                        view = view[os.write(write_fd, view) :]
                except BrokenPipeError:
                    raise ConnectionEnded(0) from None
