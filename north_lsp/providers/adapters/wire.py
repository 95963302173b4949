"""From a request to the events of the contract: timeouts, server-sent events, faults. Shared by all vendors; an adapter
supplies the request and an Answer that understands the vendor's events."""

from __future__ import annotations

import json
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Literal, Protocol

import anyio
import httpx2

from north_lsp.providers.adapters import failures
from north_lsp.providers.adapters.connection import Connection
from north_lsp.providers.adapters.failures import Endpoint, Refused
from north_lsp.providers.adapters.sse import NoEventStream, ServerEvent, SseDecoder
from north_lsp.providers.base import AssistantMessage, Counted, Done, Failed, StreamEvent, Timeouts, Usage
from north_lsp.providers.json_values import read_event

_MAX_UNREADABLE = 20
_DRAIN_SECONDS = 0.25
_ERROR_BYTES = 64 * 1024
_EVENT_STREAMS = ("text/event-stream", "application/vnd.amazon.eventstream", "")
_SIGNS_OF_LIFE = ("ping", "keepalive")  # events that bring nothing of an answer


class Unreachable(Exception):
    """Raised when a server did not answer; the cause says why."""


class StreamError(Exception):
    """Raised when the vendor reported an error within its stream; `body` is its object."""

    def __init__(self, body: object) -> None:
        super().__init__()
        self.body = body


class _LimitHit(Exception):
    """A timeout; the text completes "the answer from X …"."""


class _NoModelServer(Exception):
    """The content type or the body is not that of a model's stream."""


class Answer(Protocol):
    """A message while it arrives."""

    @property
    def ended(self) -> bool:
        """Whether the vendor has said that it is complete."""
        ...

    @property
    def usage(self) -> Usage:
        """What has been counted so far."""
        ...

    def take(self, name: str, data: dict[str, Any]) -> list[StreamEvent]:
        """Process one event of the vendor and return what it adds. Raises StreamError."""
        ...

    def take_done(self) -> None:
        """Process the stream's `[DONE]`."""
        ...

    def finish(self) -> tuple[list[StreamEvent], Done | None]:
        """End the stream: return what was held back, and Done, or None if the message is not complete."""
        ...

    def partial(self, reason: Literal["error"]) -> AssistantMessage: ...


class Decoder(Protocol):
    """Makes events of an answer's bytes, however they have been split."""

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that a chunk completes. Raises NoEventStream."""
        ...

    def end(self) -> Iterator[ServerEvent]:
        """Yield what the end of the stream completes."""
        ...


Post = Callable[[], Awaitable[httpx2.Response]]


async def stream(
    post: Post,
    answer: Answer,
    connection: Connection,
    model: str,
    decoder: Callable[[], Decoder] = SseDecoder,
) -> AsyncGenerator[StreamEvent, None]:
    """Send one request and yield its events. `post` raises Refused or Unreachable; Refused is passed on to the caller,
    so that the adapter can send the request in another form."""
    problem: Failed
    endpoint, timeouts = connection.endpoint, connection.timeouts
    counted = answer.usage
    try:
        async with aclosing(_vendor_events(post, answer, timeouts, decoder())) as events:
            async for name, data in events:
                for event in answer.take(name, data):
                    yield event
                if answer.usage != counted:
                    counted = answer.usage
                    yield Counted(counted)
        last, done = answer.finish()
        for event in last:
            yield event
        if done is not None:
            yield done
            return
        problem = failures.broken(endpoint, "ended early", answer.partial("error"))
    except StreamError as error:
        problem = refusal(Refused(None, {}, error.body, ""), endpoint, model, answer.partial("error"))
    except _LimitHit as error:
        problem = failures.broken(endpoint, str(error), answer.partial("error"))
    except NoEventStream as error:
        problem = failures.broken(endpoint, str(error), answer.partial("error"))
    except _NoModelServer as error:
        problem = failures.no_model_server(endpoint, str(error), answer.partial("error"))
    except Unreachable as error:
        problem = failures.unreachable(endpoint, cause(error), answer.partial("error"))
    except httpx2.HTTPError as error:
        problem = failures.broken(endpoint, f"broke off ({cause(error)})", answer.partial("error"))
    yield problem


def refusal(error: Refused, endpoint: Endpoint, model: str, partial: AssistantMessage) -> Failed:
    return failures.refused(error, endpoint, model, partial, time.time())


async def send(http: httpx2.AsyncClient, url: str, content: bytes, headers: Mapping[str, str]) -> httpx2.Response:
    """Post a request and return the answer, whose body has not been read. Raises Refused and Unreachable."""
    try:
        asked = http.build_request("POST", url, content=content, headers=headers)
        response = await http.send(asked, stream=True)
        if response.status_code == 200:
            return response
        try:
            raw = b""
            async for chunk in response.aiter_bytes():
                raw += chunk
                if len(raw) > _ERROR_BYTES:
                    break
        finally:
            await response.aclose()
    except httpx2.HTTPError as error:
        raise Unreachable from error
    text = raw.decode("utf-8", "replace")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    raise Refused(response.status_code, response.headers, said, text)


async def _vendor_events(
    post: Post, answer: Answer, timeouts: Timeouts, decoder: Decoder
) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
    """Yield the vendor's events as JSON objects. Data that is not a JSON object is skipped and counted."""
    deadline = _deadline(timeouts)
    try:
        response = await _limited(post(), deadline, timeouts)
    except Unreachable as error:
        if any(isinstance(reason, httpx2.TimeoutException) for reason in _causes(error)):
            raise _LimitHit(_timeout_text(error, timeouts)) from error
        raise
    try:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in ("text/html", "application/xhtml+xml") or kind.endswith("json"):
            await _refuse_body(response, kind, deadline, timeouts)
        unreadable, readable = 0, 0
        chunks = response.aiter_bytes()
        while not answer.ended:
            try:
                if _is_held_by_silence(deadline, timeouts):
                    # The client gives up before the deadline could pass, so no timer is needed around every chunk.
                    chunk = await _translated(anext(chunks), timeouts)
                else:
                    chunk = await _limited(anext(chunks), deadline, timeouts)
            except StopAsyncIteration:
                found = decoder.end()
                chunk = None
            else:
                found = decoder.feed(chunk)
            try:
                for event in found:
                    if event.data.startswith("[DONE]"):
                        answer.take_done()
                        continue
                    try:
                        data = read_event(event.data)
                    except ValueError:
                        data = None
                    if isinstance(data, dict):
                        readable += 1
                        if data.get("type") not in _SIGNS_OF_LIFE:
                            deadline = _deadline(timeouts)
                        yield event.name, data
                        continue
                    unreadable += 1
                    if unreadable > _MAX_UNREADABLE:
                        raise NoEventStream(f"has more than {_MAX_UNREADABLE} events that are not JSON objects")
            except NoEventStream:
                if not readable and kind not in _EVENT_STREAMS:
                    raise _NoModelServer(kind) from None
                raise
            if chunk is None:
                if not readable and kind not in _EVENT_STREAMS:
                    raise _NoModelServer(kind)
                return
        # Read to the end, so that the connection can serve the next request.
        with anyio.move_on_after(_DRAIN_SECONDS):
            async for _ in chunks:
                pass
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(1):
            await response.aclose()


def _deadline(timeouts: Timeouts) -> float:
    return math.inf if timeouts.request is None else anyio.current_time() + timeouts.request


def _is_held_by_silence(deadline: float, timeouts: Timeouts) -> bool:
    """Tell whether the client gives up a silent server before the deadline could pass."""
    return deadline == math.inf or (timeouts.idle is not None and deadline - anyio.current_time() > timeouts.idle)


async def _limited(waiting: Awaitable[Any], deadline: float, timeouts: Timeouts) -> Any:
    """Wait until the deadline at most. The client itself limits connecting and silence."""
    try:
        with anyio.fail_after(max(deadline - anyio.current_time(), 0)):
            return await _translated(waiting, timeouts)
    except TimeoutError:
        raise _LimitHit(f"did not continue for {timeouts.request:g} s (provider.requestTimeoutS)") from None


async def _translated(waiting: Awaitable[Any], timeouts: Timeouts) -> Any:
    try:
        return await waiting
    except httpx2.TimeoutException as error:
        raise _LimitHit(_timeout_text(error, timeouts)) from error


def _timeout_text(error: BaseException, timeouts: Timeouts) -> str:
    if any(isinstance(reason, httpx2.ConnectTimeout | httpx2.PoolTimeout) for reason in _causes(error)):
        return f"could not be requested: no connection within {timeouts.connect:g} s"
    return f"stalled: nothing came for {timeouts.idle:g} s (provider.idleTimeoutS)"


async def _refuse_body(response: httpx2.Response, kind: str, deadline: float, timeouts: Timeouts) -> None:
    """Raise for an answer that is not a stream: StreamError for an error in JSON with status 200, else
    _NoModelServer."""
    body = b""
    chunks: AsyncIterator[bytes] = response.aiter_bytes()
    while len(body) < _ERROR_BYTES:
        try:
            body += await _limited(anext(chunks), deadline, timeouts)
        except StopAsyncIteration:
            break
    if kind.endswith("json"):
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict) and data.get("error"):
            raise StreamError(data)
    raise _NoModelServer(kind)


def _causes(error: BaseException) -> Iterator[BaseException]:
    reason: BaseException | None = error
    while reason is not None:
        yield reason
        reason = reason.__cause__


def refused_in(error: BaseException) -> Refused | None:
    """Return what refused a request before it was sent, which SDKs report as a connection that failed."""
    return next((reason for reason in _causes(error) if isinstance(reason, Refused)), None)


def cause(error: BaseException) -> str:
    """Return the text of the innermost cause, which is the helpful one."""
    innermost = list(_causes(error))[-1]
    return str(innermost) or type(innermost).__name__
