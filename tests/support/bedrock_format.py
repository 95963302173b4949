"""Amazon Bedrock's stream for a scripted answer: events of Anthropic's API in messages of Amazon's event streams."""

import binascii
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support import anthropic_format
from tests.support.anthropic_format import Piece
from tests.support.script import Answer, Fail

CONTENT_TYPE = "application/vnd.amazon.eventstream"
EXCEPTIONS = {"overloaded_error": "serviceUnavailableException", "rate_limit_error": "throttlingException"}


def message(payload: bytes, **headers: str) -> bytes:
    """One message, with its length and its two checksums."""
    head = b"".join(
        bytes([len(name)]) + name + b"\x07" + len(text).to_bytes(2, "big") + text
        for name, text in ((f":{name.replace('_', '-')}".encode(), text.encode()) for name, text in headers.items())
    )
    prelude = (16 + len(head) + len(payload)).to_bytes(4, "big") + len(head).to_bytes(4, "big")
    prelude += binascii.crc32(prelude).to_bytes(4, "big")
    whole = prelude + head + payload
    return whole + binascii.crc32(whole).to_bytes(4, "big")


def chunk(data: bytes) -> bytes:
    payload = json.dumps({"bytes": b64encode(data).decode(), "p": "abcdefgh"}).encode()
    return message(payload, event_type="chunk", content_type="application/json", message_type="event")


def exception(type: str, text: str) -> bytes:
    payload = json.dumps({"message": text}).encode()
    return message(payload, exception_type=type, content_type="application/json", message_type="exception")


def error_body(fail: Fail) -> bytes:
    return json.dumps({"message": fail.message}).encode()


def error_headers(type: str) -> dict[str, str]:
    """The error's name, as AWS says it."""
    return {"x-amzn-ErrorType": f"{type}:http://internal.amazon.com/coral/com.amazon.bedrock/"} if type else {}


def stream(answer: Answer, request: Mapping[str, Any]) -> Iterator[Piece]:
    for piece in anthropic_format.stream(answer, request):
        if not isinstance(piece, bytes):
            yield piece
            continue
        for event in piece.decode().split("\n\n"):
            data = event.partition("data: ")[2]
            error = json.loads(data).get("error") if data.startswith('{"type": "error"') else None
            if error is not None:
                yield exception(EXCEPTIONS.get(error["type"], "internalServerException"), error["message"])
            elif data:
                yield chunk(data.encode())
