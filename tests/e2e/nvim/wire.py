"""MessagePack as Neovim speaks it, on the standard library alone: enough of the format for its RPC channel.

Strings are bytes in Neovim: those that are not UTF-8 come and go with surrogate escapes. Handles of buffers,
windows and tab pages come as their numbers, which Neovim takes in their place.
"""

import io
import struct
from collections.abc import Callable
from typing import TypeAlias, cast

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"

_FALSE, _TRUE, _NIL = 0xC2, 0xC3, 0xC0
_FLOAT64, _INT64, _STR32, _ARRAY32, _MAP32 = 0xCB, 0xD3, 0xDB, 0xDD, 0xDF

_FLOATS = {0xCA: "f", 0xCB: "d"}
_INTEGERS = {0xCC: "B", 0xCD: "H", 0xCE: "I", 0xCF: "Q", 0xD0: "b", 0xD1: "h", 0xD2: "i", 0xD3: "q"}
_TEXT_SIZES = {0xC4: "B", 0xC5: "H", 0xC6: "I", 0xD9: "B", 0xDA: "H", 0xDB: "I"}
_ARRAY_SIZES = {0xDC: "H", 0xDD: "I"}
_MAP_SIZES = {0xDE: "H", 0xDF: "I"}
_HANDLE_SIZES = {0xC7: "B", 0xC8: "H", 0xC9: "I"}
_FIXED_HANDLE_SIZES = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}


def pack(value: Value) -> bytes:
    """Encode a value, in the longest form of its type."""
    match value:
        case None:
            return bytes([_NIL])
        case bool():
            return bytes([_TRUE if value else _FALSE])
        case int():
            return struct.pack(">Bq", _INT64, value)
        case float():
            return struct.pack(">Bd", _FLOAT64, value)
        case str():
            data = value.encode(errors="surrogateescape")
            return struct.pack(">BI", _STR32, len(data)) + data
        case list():
            return struct.pack(">BI", _ARRAY32, len(value)) + b"".join(map(pack, value))
        case dict():
            return struct.pack(">BI", _MAP32, len(value)) + b"".join(pack(k) + pack(v) for k, v in value.items())


def unpack(read: Callable[[int], bytes]) -> Value:
    """Decode the next value of a stream; `read(n)` waits for n bytes and gives fewer only at the end.

    Raises EOFError at the end of the stream.
    """

    def take(size: int) -> bytes:
        data = read(size)
        if len(data) < size:
            raise EOFError
        return data

    def integer(layout: str) -> int:
        return cast(int, struct.unpack(">" + layout, take(struct.calcsize(layout)))[0])

    def floating(layout: str) -> float:
        return cast(float, struct.unpack(">" + layout, take(struct.calcsize(layout)))[0])

    def text(size: int) -> Value:
        return take(size).decode(errors="surrogateescape")

    def array(size: int) -> Value:
        return [unpack(read) for _ in range(size)]

    def table(size: int) -> Value:
        return {str(unpack(read)): unpack(read) for _ in range(size)}

    def handle(size: int) -> Value:
        take(1)  # its kind
        return unpack(io.BytesIO(take(size)).read)

    lead = take(1)[0]
    match lead:
        case _ if lead < 0x80:
            return lead
        case _ if lead < 0x90:
            return table(lead - 0x80)
        case _ if lead < 0xA0:
            return array(lead - 0x90)
        case _ if lead < 0xC0:
            return text(lead - 0xA0)
        case _ if lead >= 0xE0:
            return lead - 0x100
        case 0xC0:
            return None
        case 0xC2 | 0xC3:
            return lead == _TRUE
        case _ if lead in _FLOATS:
            return floating(_FLOATS[lead])
        case _ if lead in _INTEGERS:
            return integer(_INTEGERS[lead])
        case _ if lead in _TEXT_SIZES:
            return text(integer(_TEXT_SIZES[lead]))
        case _ if lead in _ARRAY_SIZES:
            return array(integer(_ARRAY_SIZES[lead]))
        case _ if lead in _MAP_SIZES:
            return table(integer(_MAP_SIZES[lead]))
        case _ if lead in _HANDLE_SIZES:
            return handle(integer(_HANDLE_SIZES[lead]))
        case _ if lead in _FIXED_HANDLE_SIZES:
            return handle(_FIXED_HANDLE_SIZES[lead])
        case _:
            raise ValueError(f"not MessagePack: {lead:#x}")
