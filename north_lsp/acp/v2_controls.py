"""What a client of version 2 can stop by itself: calls that run, and the terminals of commands among them. A command's
terminal is there while it runs; its output is the text of its call afterwards, live as in a replay."""

from __future__ import annotations

import base64
from typing import Any

Fields = dict[str, Any]
_COMMANDS = "shell_run"
_FINAL = ("completed", "failed", "cancelled")


class CallControls:
    """Stops calls and terminals of one session."""

    def __init__(self) -> None:
        self._commands: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._calls: set[str] = set()
        self._terminals: set[str] = set()

    def can_stop(self, field: str, id: str) -> bool:
        """Tell whether the client was told that it can stop this call (`toolCallId`) or terminal (`terminalId`)."""
        return id in (self._terminals if field == "terminalId" else self._calls)

    def asked(self, call: Fields) -> None:
        """Take note of a question about a call: it says where a command runs."""
        given = call.get("rawInput")
        if isinstance(given, dict) and isinstance(folder := given.get("cwd"), str):
            self._folders[call["toolCallId"]] = folder

    def updates(self, update: Fields, found: Fields) -> list[Fields]:
        """Return what is sent for an update of a call: `update` is that of version 1, `found` the same in version 2."""
        id, given = update["toolCallId"], update.get("rawInput")
        if update.get("name") == _COMMANDS:
            self._commands[id] = ""
        if id in self._commands and isinstance(given, dict) and isinstance(command := given.get("command"), str):
            self._commands[id] = command
        if found.get("status") in _FINAL:
            return self._ended(id, update, found)
        if update.get("_meta", {}).get("north", {}).get("canStop"):
            return self._running(id, found)
        return [found]

    def _running(self, id: str, found: Fields) -> list[Fields]:
        first = id not in self._calls
        self._calls.add(id)
        controls: Fields = {"capabilities": {"cancel": {}}}
        if id not in self._commands:
            return [found | controls] if first else [found]
        output = _text_of(found)
        if not first:
            return [_terminal(id, output=output)] if output is not None else []
        self._terminals.add(id)
        folder = self._folders.get(id)
        opened = _terminal(id, command=self._commands[id], **controls) | ({"cwd": folder} if folder else {})
        opened |= {"output": output} if output is not None else {}
        return [opened, found | controls | {"content": [{"type": "terminal", "terminalId": id}]}]

    def _ended(self, id: str, update: Fields, found: Fields) -> list[Fields]:
        self._commands.pop(id, None)
        self._folders.pop(id, None)
        closed: list[Fields] = []
        if id in self._terminals:
            self._terminals.discard(id)
            code = update.get("_meta", {}).get("north", {}).get("exitCode")
            exited = {"exitCode": code} if code is not None else {}
            closed = [_terminal(id, exitStatus=exited, capabilities=None)]
        if id not in self._calls:
            return [*closed, found]
        self._calls.discard(id)
        return [*closed, {"content": []} | found | {"capabilities": None}]


def _terminal(id: str, **fields: object) -> Fields:
    return {"sessionUpdate": "terminal_update", "terminalId": id, **fields}


def _text_of(found: Fields) -> Fields | None:
    """Return the output so far as a terminal has it; None if there is none."""
    for part in found.get("content") or []:
        if part["type"] == "content" and part["content"]["type"] == "text":
            text = part["content"]["text"].partition("\n")[2].rpartition("\n")[0]  # without its fence
            return {"data": base64.b64encode(text.encode("utf-8", "replace")).decode()}
    return None
