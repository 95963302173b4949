"""One JSON-RPC peer: requests both ways over one pipe, with ids, cancel scopes and writes that wait for the reader.

It knows no methods but the two that LSP and ACP have for cancelling. Services say which methods are theirs.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import field
from typing import Any, Protocol, cast

import anyio
import anyio.abc
import anyio.lowlevel

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass
from north_lsp.rpc.batch import MOST_MESSAGES, Batch, Reply
from north_lsp.rpc.framing import Frame, Framing
from north_lsp.rpc.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    Id,
    Invalid,
    Message,
    Notification,
    Params,
    Request,
    Response,
    RpcError,
    classify,
    error_reply,
    is_id,
    result_reply,
)
from north_lsp.rpc.pipe import Pipe, PipeClosed

_CANCEL_METHODS = {"$/cancelRequest": "id", "$/cancel_request": "requestId"}
_MESSAGES_PER_CHECKPOINT = 64
_SHUTDOWN_SECONDS = 0.8
_MAX_WAITING_REPLIES = 200
_SIGNALLED = 128  # and the signal's number is the exit code


@dataclass
class Call:
    """The request that a service is answering, with hooks for the service to set.

    `after` is awaited once the answer is on its way: for what must not come before it.
    `on_cancel` replaces the default reaction to the client's cancel (ending the handler with `-32800`): a service that
    has a better answer sets it.
    """

    id: Id
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    on_cancel: Callable[[], None] | None = None
    after: Callable[[], Awaitable[None]] | None = None
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True
        if self.on_cancel is not None:
            self.on_cancel()
        else:
            self.scope.cancel()


Handler = Callable[[Params, Call], Awaitable[object]]
"""Answers the requests of one method: returns the result, as JSON data. Raises RpcError."""

Late = Callable[[Any], Awaitable[None]]
"""Takes the result of a request of ours that came after the wait for it was cancelled, in a task of its own."""


class Service(Protocol):
    """Answers the methods that it owns; the first service that owns a method gets it."""

    def owns(self, method: str) -> bool: ...

    async def request(self, method: str, params: Params, call: Call) -> object:
        """Answer a request: return the result, as JSON data. Raises RpcError."""
        ...

    async def notification(self, method: str, params: Params) -> None: ...


class ForeignProtocol(Protocol):
    """A second protocol engine on the same connection, fed with raw messages in order; it owns its own ids."""

    async def handle(self, raw: dict[str, Any]) -> None: ...


class Peer:
    """Serves a connection until the client leaves, a signal arrives or `stop` is called.

    `cancel_method` tells the other side that a request of ours is withdrawn: if `tells_cancel`, or once it has used
    that method itself. With `accepts_batches`, an array of messages is answered by an array.
    `on_failure(where, error)` is called for every exception that no service caught; the client gets an internal error
    without its text.
    """

    def __init__(
        self,
        pipe: Pipe,
        framing: Framing,
        cancel_method: str,
        on_failure: Callable[[str, BaseException], None],
        *,
        tells_cancel: bool = True,
        accepts_batches: bool = False,
    ) -> None:
        self._cancel_method = cancel_method
        self._tells_cancel = tells_cancel
        self._accepts_batches = accepts_batches
        self._pipe = pipe
        self._framing = framing
        self._on_failure = on_failure
        self._services: Sequence[Service] = ()
        self._foreign: ForeignProtocol | None = None
        self._write_lock = anyio.Lock()
        self._rest = 0.0
        self._pending: dict[Id, tuple[anyio.Event, list[Response]]] = {}
        self._late: dict[Id, Late] = {}
        self._calls: dict[Id, Call] = {}
        self._next_id = 0
        self._waiting_replies = 0
        self._ended = False
        self._scope = anyio.CancelScope()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._exit_code = 0
        self.ended_by = "client gone"
        """Why nothing is read any more."""

    # -- talking to the other side ---------------------------------------------------------------------------------

    async def send(self, message: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Write one message whole, or an array of them. A cancelled caller never leaves half a frame behind; a closed
        pipe ends the peer."""
        data = self._framing.encode(message)
        async with self._write_lock:
            with anyio.CancelScope(shield=True):
                try:
                    await self._pipe.send(data)
                except PipeClosed:
                    self.stop(self._exit_code, self.ended_by)
            if self._rest and isinstance(message, dict) and "method" not in message:
                await anyio.sleep(self._rest)

    async def notify(self, method: str, params: object) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: object, *, cancellable: bool = False, late: Late | None = None) -> Any:
        """Send a request and wait for its answer. Raises RpcError with the other side's error. If the wait is
        cancelled, the other side is told if it is `cancellable`, and a result that comes anyway goes to `late`, or is
        dropped."""
        if self._ended:
            raise RpcError(INTERNAL_ERROR, "the connection has ended")
        self._next_id += 1
        id = f"n{self._next_id}"
        answered, box = anyio.Event(), list[Response]()
        self._pending[id] = (answered, box)
        try:
            await self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            await answered.wait()
        except anyio.get_cancelled_exc_class():
            if cancellable and not box and self._tells_cancel:
                with anyio.CancelScope(shield=True):
                    await self.notify(self._cancel_method, {_CANCEL_METHODS[self._cancel_method]: id})
            if late is not None:
                self._late[id] = late
                if box:
                    self._take_late(id, box[0])
            raise
        finally:
            del self._pending[id]
        if not box:
            raise RpcError(INTERNAL_ERROR, "the connection ended before the answer")
        if (error := box[0].error) is not None:
            raise error
        return box[0].result

    def _take_late(self, id: Id, answer: Response) -> None:
        """Hand over an answer that came after the wait for it was cancelled, in a task of its own."""
        late = self._late.pop(id)
        if answer.error is None and self._tasks is not None:
            self._tasks.start_soon(self._run_late, late, answer.result)

    async def _run_late(self, late: Late, result: object) -> None:
        try:
            await late(result)
        except Exception as error:  # noqa: BLE001 - the task's outermost frame
            self._on_failure("a late answer", error)

    def rest_after_answers(self, seconds: float) -> None:
        """Send nothing right after an answer: the other side loses what it reads together with one."""
        self._rest = seconds

    def tell_cancels(self) -> None:
        """Tell the other side from now on which requests are withdrawn: it has shown that it can read that."""
        self._tells_cancel = True

    @property
    def has_ended(self) -> bool:
        """Whether nothing is read any more, so that no answer will come."""
        return self._ended

    @property
    def is_killed(self) -> bool:
        """Whether a signal has asked the process to end."""
        return self._exit_code >= _SIGNALLED

    @property
    def exit_code(self) -> int:
        """What `serve` returns."""
        return self._exit_code

    def stop(self, exit_code: int = 0, why: str = "client gone") -> None:
        """End the connection; `serve` returns `exit_code`."""
        self._exit_code, self.ended_by = exit_code, why
        self._scope.cancel()

    # -- serving ---------------------------------------------------------------------------------------------------

    async def serve(
        self,
        services: Sequence[Service],
        *,
        first: Sequence[Message] = (),
        foreign: ForeignProtocol | None = None,
        on_end: Callable[[], Any] | None = None,
    ) -> int:
        """Read until the end and return the exit code. `first` are messages that came in with the opening; `on_end` is
        awaited once nothing more is read; what it sends is given up after less than a second."""
        self._services = services
        self._foreign = foreign
        async with AsyncExitStack() as stack:
            tasks = self._tasks = await stack.enter_async_context(anyio.create_task_group())
            with self._scope:
                await tasks.start(self._watch_signals)
                for message in first:
                    await self._take(message, tasks)
                await self._read(tasks)
            # From here on no answers are read: what waits for one must give up before anything else is shut down.
            self._ended = True
            for answered, _ in self._pending.values():
                answered.set()
            if on_end is not None:
                with anyio.CancelScope(shield=True):
                    async with anyio.create_task_group() as ending:
                        ending.start_soon(self._abort_later)
                        await on_end()
                        ending.cancel_scope.cancel()
            self._pipe.abort()
            tasks.cancel_scope.cancel()
        return self._exit_code

    async def _abort_later(self) -> None:
        """Release writes that still wait for a client that no longer reads."""
        await anyio.sleep(_SHUTDOWN_SECONDS)
        self._pipe.abort()

    async def _watch_signals(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        with systems.end_signals() as signals:
            task_status.started()
            async for number in signals:
                self.stop(_SIGNALLED + number, signal.Signals(number).name)

    async def _read(self, tasks: anyio.abc.TaskGroup) -> None:
        count = 0
        while data := await self._pipe.receive():
            for frame in self._framing.feed(data):
                if self._accepts_batches and isinstance(frame, list) and frame:
                    await self._take_all(cast("list[Frame]", frame), tasks)
                else:
                    await self._take(classify(frame), tasks)
                count += 1
                if count % _MESSAGES_PER_CHECKPOINT == 0:
                    await anyio.lowlevel.checkpoint()

    async def _take_all(self, frames: list[Frame], tasks: anyio.abc.TaskGroup) -> None:
        """Handle an array of messages; one that is too long is refused as a whole."""
        if len(frames) > MOST_MESSAGES:
            refused = RpcError(INVALID_REQUEST, f"an array may have {MOST_MESSAGES} messages, not {len(frames)}")
            await self._reply_aside(error_reply(None, refused), tasks, None)
            return
        messages = [classify(frame) for frame in frames]
        batch = Batch(messages, self.send)
        for message in messages:
            await self._take(message, tasks, batch)

    async def _take(self, message: Message, tasks: anyio.abc.TaskGroup, batch: Batch | None = None) -> None:
        """Handle a message and catch its failures: whatever happens, the next one is read."""
        try:
            await self._dispatch(message, tasks, batch)
        except Exception as error:  # noqa: BLE001 - the reading's outermost frame
            self._on_failure("reading a message", error)
            if isinstance(message, Request):
                failed = RpcError(INTERNAL_ERROR, f"{message.method} failed inside North; see the log")
                await self._reply_aside(error_reply(message.id, failed), tasks, batch)

    async def _dispatch(self, message: Message, tasks: anyio.abc.TaskGroup, batch: Batch | None) -> None:
        """Start the handler of a message. Handlers start in the order of their messages; each runs in its own task."""
        match message:
            case Invalid(reply):
                if reply is not None:
                    await self._reply_aside(reply, tasks, batch)
            case Response(id):
                await self._take_answer(id, message)
            case Notification(method, params, raw):
                self._tells_cancel = self._tells_cancel or method == self._cancel_method
                if method in _CANCEL_METHODS and self._cancel_call(params.get(_CANCEL_METHODS[method])):
                    return
                service = self._owner(method)
                if service is not None:
                    tasks.start_soon(self._run_notification, service, method, params)
                elif self._foreign is not None:
                    await self._foreign.handle(raw)
            case Request(id, method, _, raw):
                service = self._owner(method)
                if service is None and self._foreign is not None:
                    await self._foreign.handle(raw)
                elif service is None:
                    unknown = RpcError(METHOD_NOT_FOUND, f"unknown method {method}")
                    await self._reply_aside(error_reply(id, unknown), tasks, batch)
                elif id in self._calls:
                    in_use = RpcError(INVALID_REQUEST, f"the id {id} is in use")
                    await self._reply_aside(error_reply(id, in_use), tasks, batch)
                else:
                    call = self._calls[id] = Call(id)
                    tasks.start_soon(self._run_request, service, message, call, batch)

    async def _reply_aside(self, reply: Reply, tasks: anyio.abc.TaskGroup, batch: Batch | None) -> None:
        """Send a reply without making the reading wait for the client, unless it floods North with requests."""
        if batch is not None:
            if batch.put(reply):
                tasks.start_soon(batch.send)
            return
        if self._waiting_replies >= _MAX_WAITING_REPLIES:
            await self.send(reply)
            return
        self._waiting_replies += 1
        tasks.start_soon(self._send_counted, reply)

    async def _send_counted(self, reply: dict[str, Any]) -> None:
        try:
            await self.send(reply)
        finally:
            self._waiting_replies -= 1

    def _owner(self, method: str) -> Service | None:
        return next((service for service in self._services if service.owns(method)), None)

    async def _take_answer(self, id: Id, message: Response) -> None:
        waiting = self._pending.get(id)
        if waiting is not None:
            answered, box = waiting
            box.append(message)
            answered.set()
        elif id in self._late:
            self._take_late(id, message)
        elif self._foreign is not None and not (isinstance(id, str) and id.startswith("n")):
            await self._foreign.handle(message.raw)
        # else: a late answer to a question that was withdrawn

    def _cancel_call(self, id: object) -> bool:
        call = self._calls.get(id) if is_id(id) else None
        if call is not None:
            call.cancel()
        return call is not None

    async def _run_request(self, service: Service, message: Request, call: Call, batch: Batch | None) -> None:
        reply: dict[str, Any] | None = None
        try:
            with call.scope:
                result = await service.request(message.method, message.params, call)
                reply = result_reply(message.id, result)
            if reply is None and call.cancelled:
                reply = error_reply(message.id, RpcError(REQUEST_CANCELLED, f"{message.method} was cancelled"))
        except RpcError as error:
            reply = error_reply(message.id, error)
        except Exception as error:  # noqa: BLE001 - the task's outermost frame
            self._on_failure(message.method, error)
            reply = error_reply(
                message.id, RpcError(INTERNAL_ERROR, f"{message.method} failed inside North; see the log")
            )
        finally:
            self._calls.pop(message.id, None)
        if reply is not None:
            await self._answer(reply, message.method, batch)
        if call.after is not None:
            try:
                await call.after()
            except Exception as error:  # noqa: BLE001 - the task's outermost frame
                self._on_failure(f"after {message.method}", error)

    async def _answer(self, reply: Reply, method: str, batch: Batch | None) -> None:
        try:
            if batch is None:
                await self.send(reply)
                return
            self._framing.encode(reply)
        except (TypeError, ValueError) as error:  # a result that is not JSON data
            self._on_failure(method, error)
            reply = error_reply(reply["id"], RpcError(INTERNAL_ERROR, f"{method} gave an answer that is not JSON"))
        await (batch.add(reply) if batch is not None else self.send(reply))

    async def _run_notification(self, service: Service, method: str, params: Params) -> None:
        try:
            await service.notification(method, params)
        except Exception as error:  # noqa: BLE001 - the task's outermost frame
            self._on_failure(method, error)
