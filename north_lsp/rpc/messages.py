"""JSON-RPC 2.0: tells requests, notifications and responses apart, and has the error codes. Knows no methods."""

from __future__ import annotations

from typing import Any, TypeGuard

from north_lsp.lazy_dataclass import dataclass
from north_lsp.rpc.framing import Frame, Malformed

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800
SERVER_NOT_INITIALIZED = -32002
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002

Id = str | int
Params = dict[str, Any]


class RpcError(Exception):
    """An error answer: `code` of JSON-RPC, one-line `message`, details in `data`."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def to_wire(self) -> dict[str, object]:
        line = " ".join(self.message.split()) or "error"
        wire: dict[str, object] = {"code": self.code, "message": line}
        if self.data is not None:
            wire["data"] = self.data
        return wire


def invalid_params(field: str, expected: str) -> RpcError:
    """Make the `-32602` error that names the field and what it must be."""
    return RpcError(INVALID_PARAMS, f"invalid params: {field} {expected}", {"field": field})


@dataclass(frozen=True, slots=True)
class Request:
    id: Id
    method: str
    params: Params
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Notification:
    method: str
    params: Params
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Response:
    id: Id
    result: Any
    error: RpcError | None
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Invalid:
    """A message that cannot be handled; `reply` is the error answer to send, or None if none may be sent."""

    reply: dict[str, Any] | None


Message = Request | Notification | Response | Invalid


def is_id(value: object) -> TypeGuard[Id]:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def error_reply(id: Id | None, error: RpcError) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": error.to_wire()}


def result_reply(id: Id, result: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def _invalid(id: Id | None, reason: str, code: int = INVALID_REQUEST) -> Invalid:
    return Invalid(error_reply(id, RpcError(code, reason)))


def classify(frame: Frame) -> Message:
    """Turn a decoded frame into a message. Never raises; batches are refused as a whole."""
    if isinstance(frame, Malformed):
        return _unread(frame)
    if not isinstance(frame, dict):
        return _invalid(None, "a message must be one JSON object")
    id = frame.get("id")
    method = frame.get("method")
    if isinstance(method, str):
        has_id = "id" in frame
        if has_id and not is_id(id):
            return _invalid(None, "a request's id must be a string or an integer")
        params = frame.get("params")
        if params is None:
            params = {}
        if not isinstance(params, dict):
            return Invalid(error_reply(id, invalid_params("params", "must be an object")) if is_id(id) else None)
        return Request(id, method, params, frame) if is_id(id) else Notification(method, params, frame)
    if is_id(id) and ("result" in frame or "error" in frame):
        return Response(id, frame.get("result"), _read_error(frame.get("error")), frame)
    if "error" in frame:  # an answer to something of ours that the other side could not even read
        return Invalid(None)
    return _invalid(id if is_id(id) else None, "a message needs a method, or an id with a result or an error")


def _unread(frame: Malformed) -> Message:
    """Report a malformed frame to the side that waits: the client, under its request's id, or North's code that waits
    for this answer."""
    id = frame.fragment.id
    if id is not None and frame.fragment.is_answer:
        error = RpcError(INTERNAL_ERROR, f"the answer cannot be read: {frame.reason}")
        return Response(id, None, error, error_reply(id, error))
    return _invalid(id, frame.reason, PARSE_ERROR)


def _read_error(value: object) -> RpcError | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        return RpcError(INTERNAL_ERROR, f"the other side failed: {value}")
    code = value.get("code")
    message = value.get("message")
    return RpcError(
        code if isinstance(code, int) else INTERNAL_ERROR,
        message if isinstance(message, str) and message else "the other side failed without saying why",
        value.get("data"),
    )
