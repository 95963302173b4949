"""Makes random and damaged messages, as clients must not send them."""

import random
from pathlib import Path
from typing import Any, Literal

from north_lsp.acp.initialize import EXTENSION_METHODS
from north_lsp.rpc.framing import Framing

Carrier = Literal["acp", "acp 2", "lsp"]
_OWN = frozenset({"_north/keys/set", "_north/keys/remove", "_north/leaving"})
"""Left out: these ask vendors, or say that the client goes."""
_METHODS = (
    "initialize",
    "authenticate",
    "logout",
    "auth/login",
    "auth/status",
    "providers/list",
    "providers/set",
    "providers/disable",
    "session/archive",
    "session/cancel",
    "session/close",
    "session/fork",
    "session/list",
    "session/load",
    "session/new",
    "session/prompt",
    "session/resume",
    "session/set_config_option",
    "session/set_mode",
    "session/set_title",
    "session/status",
    "session/unarchive",
    "mcp/message",
    "terminal/cancel",
    "tool_call/cancel",
    "$/cancel_request",
    "$/setTrace",
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didClose",
    "textDocument/hover",
    "textDocument/codeAction",
    "textDocument/completion",
    "textDocument/documentSymbol",
    *(method for method in EXTENSION_METHODS if method not in _OWN),
)
_WORDS = (
    "",
    "hello",
    "find loads",
    "/help",
    "/mcp",
    "é😀",
    "\x00\x1b[2J",
    "\ud800",
    "a" * 5000,
    "../..",
    "mode",
    "ask",
)
_KEYS = (
    "sessionId",
    "cwd",
    "toolCallId",
    "terminalId",
    "serverId",
    "requestId",
    "prompt",
    "type",
    "text",
    "uri",
    "id",
    "limit",
    "query",
    "_meta",
    "north",
    "value",
    "x",
)


class Mutant:
    """Makes messages, the same ones for a seed."""

    def __init__(self, seed: int, carrier: Carrier, project: Path) -> None:
        self._random = random.Random(f"{seed} {carrier}")
        self._carrier = carrier
        self._project = project
        self._number = 0
        self.session = ""

    def data(self, framing: Framing) -> bytes:
        """Make what is sent for one message, which may be none any more."""
        message: object = self._message()
        if self._random.random() < 0.1:
            message = [self._message() for _ in range(self._random.randrange(4))]
        data = framing.encode(message)
        return self._damaged(data) if self._random.random() < 0.2 else data

    def _message(self) -> dict[str, Any]:
        chance = self._random
        method = chance.choice(_METHODS)
        self._number += 1
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": self._number,
            "method": method,
            "params": self._params(method),
        }
        if chance.random() < 0.2:
            del message["id"]
        if chance.random() < 0.7:
            self._change(message["params"])
        if chance.random() < 0.1:
            self._change(message)
        return message

    def _params(self, method: str) -> dict[str, Any]:
        cwd = str(self._project)
        params: dict[str, Any] = {"sessionId": self.session}
        match method:
            case "session/new" | "session/list" | "session/load" | "session/resume" | "session/fork":
                params |= {"cwd": cwd, "mcpServers": []}
            case "session/prompt" | "_north/steer" | "_north/followUp":
                params |= {"prompt": [{"type": "text", "text": self._random.choice(_WORDS)}]}
            case "session/set_mode":
                params |= {"modeId": "ask"}
            case "session/set_config_option" | "_north/config/get":
                params |= {"configId": "mode", "type": "id", "value": "ask", "key": "turn.maxRequests"}
            case "$/cancel_request":
                params = {"requestId": self._random.randrange(self._number)}
            case _ if method.startswith("textDocument/"):
                document = {"uri": (self._project / "a.py").as_uri(), "languageId": "python", "version": 1, "text": "x"}
                params = {"textDocument": document, "position": {"line": 0, "character": 0}, "contentChanges": []}
            case _:
                params |= {"cwd": cwd, "query": "he", "limit": 3, "id": "abcdef", "mode": "ask", "title": "A title"}
        return params

    def _change(self, value: Any, depth: int = 0) -> None:
        """Damage a value in one place or several."""
        chance = self._random
        keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
        for key in keys:
            roll = chance.random()
            if roll < 0.2:
                value[key] = self._value()
            elif roll < 0.3 and isinstance(value, dict):
                del value[key]
            elif roll < 0.7 and depth < 4:
                self._change(value[key], depth + 1)
        if isinstance(value, dict) and chance.random() < 0.2:
            value[chance.choice(_KEYS)] = self._value()

    def _value(self, depth: int = 0) -> Any:
        chance = self._random
        match chance.randrange(9 if depth < 3 else 6):
            case 0:
                return None
            case 1:
                return chance.random() < 0.5
            case 2:
                return chance.choice((0, -1, 2**31, 10**30, 7))
            case 3:
                return chance.choice((0.5, -1e300, 1e-9))
            case 6:
                return [self._value(depth + 1) for _ in range(chance.randrange(4))]
            case 7:
                return {chance.choice(_KEYS): self._value(depth + 1) for _ in range(chance.randrange(4))}
            case 8:
                deep: Any = 1
                for _ in range(chance.choice((20, 300))):
                    deep = [deep]
                return deep
            case _:
                return chance.choice(_WORDS)

    def _damaged(self, data: bytes) -> bytes:
        chance, found = self._random, bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(found)) if found else 0
            match chance.randrange(5):
                case 0:
                    del found[at : at + chance.randrange(1, 9)]
                case 1:
                    found[at:at] = chance.randbytes(chance.randrange(1, 9))
                case 2 if found:
                    found[at] ^= 1 << chance.randrange(8)
                case 3:
                    found = found[:at]
                case _:
                    found[at:at] = chance.choice(
                        (b"\n", b"\r\n\r\n", b"\x00", b'"', b"{", b"\xff", b"Content-Length: x\r\n")
                    )
        if self._carrier == "lsp":
            return _believable(bytes(found))
        return bytes(found)

    def answer(self) -> dict[str, Any]:
        """Make an answer to a request of the server's."""
        if self._random.random() < 0.3:
            return {"error": {"code": -32603, "message": "no"}}
        return {"result": self._value()}


def _believable(data: bytes) -> bytes:
    """Take away a length that would make the server wait for more than is sent in a whole campaign."""
    head, end, body = data.partition(b"\r\n\r\n")
    digits = bytes(byte for byte in head if byte in b"0123456789")
    return data if len(digits) < 5 else b"Content-Length: y" + end + body
