"""What the demo prints and asks. It shows only what came over the protocol."""

from __future__ import annotations

import contextlib
import difflib
import os
import sys
from pathlib import Path
from typing import Any

import anyio

from north_lsp.cli.talking import is_colored
from north_lsp.display import visible

_RESET, _BOLD, _DIM, _RED, _GREEN, _CYAN, _YELLOW = (
    "\033[0m",
    "\033[1m",
    "\033[2m",
    "\033[31m",
    "\033[32m",
    "\033[36m",
    "\033[33m",
)
_MOST_LINES = 6
"""How much of a result is shown."""
_NEXT = "`north-lsp login` stores a key, `north-lsp docs start/install` tells how to set up your editor."
_APPROVING = ("allow_once", "allow_always")


class Terminal:
    """The screen of one demo. `unattended` answers every question with the first option that approves."""

    def __init__(self, *, unattended: bool) -> None:
        self._unattended = unattended
        self._color = is_colored(sys.stdout)
        self._in_text = False
        self._titles: dict[str, str] = {}
        self._typed = b""

    def _paint(self, text: str, *codes: str) -> str:
        return f"{painted}{text}{_RESET}" if self._color and (painted := "".join(codes)) else text

    def _line(self, text: str = "") -> None:
        if self._in_text:
            print()
            self._in_text = False
        print(text, flush=True)

    def introduce(self, project: Path, prompt: str) -> None:
        self._line(
            self._paint("North", _BOLD)
            + f": a whole turn, on a copy of the project {project.name}, which is removed at the end"
        )
        self._line(self._paint("The server runs as `north-lsp acp`; this terminal is its editor.", _DIM))
        self._line()
        self._line(self._paint("You: ", _BOLD, _CYAN) + prompt)
        self._line()

    def show(self, update: dict[str, Any]) -> None:
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                text = str(update["content"].get("text", ""))
                print(text, end="", flush=True)
                self._in_text = not text.endswith("\n")
            case "tool_call":
                self._titles[update["toolCallId"]] = update["title"]
            case "tool_call_update":
                self._titles[update["toolCallId"]] = update.get("title") or self._titles.get(update["toolCallId"], "")
                if update.get("status") in ("completed", "failed"):
                    self._ended(update)
            case _:
                pass

    def _ended(self, update: dict[str, Any]) -> None:
        done = update["status"] == "completed"
        mark = self._paint("done", _GREEN) if done else self._paint("not done", _RED)
        self._line(f"  {self._paint('*', _YELLOW)} {visible(self._titles[update['toolCallId']])}  {mark}")
        for part in update.get("content") or ():
            if part.get("type") == "content":
                text = str(part["content"].get("text", ""))
                lines = [line for line in text.split("\n") if not line.startswith("```")]
                more = [f"… {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES + 1 else []
                for line in [*lines[:_MOST_LINES], *more] if more else lines:
                    self._line(self._paint(f"    {line}", _DIM))
        self._line()

    async def ask(self, params: dict[str, Any]) -> str:
        """Show what a permission request is about, and return the id of the option that was chosen."""
        call = params["toolCall"]
        options = params["options"]
        self._line()
        self._line(self._paint(f"  ? {visible(call['title'])}", _BOLD))
        for part in call.get("content") or ():
            if part.get("type") == "diff":
                self._diff(part)
            elif part.get("type") == "content" and call.get("kind") != "execute":
                self._line(f"    {part['content'].get('text', '')}")
        if self._unattended:
            chosen = next(option for option in options if option["kind"] in _APPROVING)
            self._line(self._paint(f"    -> {chosen['name']} (--yes)", _GREEN))
            self._line()
            return str(chosen["optionId"])
        return await self._read_choice(options)

    async def _read_choice(self, options: list[dict[str, Any]]) -> str:
        for number, option in enumerate(options, 1):
            self._line(f"    {number}  {option['name']}")
        refusing = next(option for option in options if option["kind"] not in _APPROVING)
        while True:
            print(f"    1-{len(options)} (Ctrl-D rejects): ", end="", flush=True)
            typed = await self._read_line()
            if typed is None:
                self._line()
                return str(refusing["optionId"])
            if typed.isdecimal() and 1 <= int(typed) <= len(options):
                self._line()
                return str(options[int(typed) - 1]["optionId"])

    async def _read_line(self) -> str | None:
        """Read a line that the user types, or None at the end of the input; unlike `input`, it can be cancelled."""
        descriptor = sys.stdin.fileno()
        while b"\n" not in self._typed:
            with contextlib.suppress(PermissionError):  # a file is always ready
                await anyio.wait_readable(descriptor)
            more = os.read(descriptor, 4096)
            if not more:
                return None
            self._typed += more
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    def _diff(self, part: dict[str, Any]) -> None:
        name = Path(part["path"]).name
        old, new = (part.get("oldText") or "").split("\n"), part["newText"].split("\n")
        before = name if part.get("oldText") is not None else "/dev/null"
        for line in difflib.unified_diff(old, new, before, name, lineterm=""):
            color = {"+": _GREEN, "-": _RED, "@": _CYAN}.get(line[:1], "")
            self._line("    " + self._paint(visible(line), color))

    def failure(self, where: str, error: BaseException) -> None:
        self._line(self._paint(f"{where}: {error!r}", _RED))

    def say(self, text: str) -> None:
        self._line()
        self._line(self._paint(visible(text), _DIM))

    def conclude(self, stopped: str | None) -> None:
        self._line()
        if stopped is None:
            self._line(self._paint("The server ended before the turn did.", _RED))
        else:
            self._line(self._paint(f"The turn ended ({stopped}). Nothing of yours was changed. Next: {_NEXT}", _DIM))
