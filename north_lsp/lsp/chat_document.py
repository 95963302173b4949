"""The document of one conversation: prompts and answers as Markdown, which the user's editor shows and edits.

Answers are written into it a few times a second, each below its prompt, wherever the user types meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

import anyio

from north_lsp.agent.ports.events import (
    AnswerDelta,
    CallEnded,
    CompactionChanged,
    Event,
    RetryWaiting,
    TranscriptReset,
    TurnStopped,
    UserSaid,
)
from north_lsp.background import Background
from north_lsp.display import visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lsp import chat_text
from north_lsp.lsp.chat_edits import ChatEdits, Refused, write_document
from north_lsp.lsp.chat_text import Answer, Insertion, ShownCall

_PACE_SECONDS = 0.3
_END_SECONDS = 10.0
_MOST_CALLS = 2000
_TRIES = 5
_FORMER = "chat.old.md"


def rendered(events: Iterable[Event], root: Path) -> tuple[str, list[ShownCall]]:
    """Return a document of what was said so far, up to where the user's next prompt begins; and its calls."""
    calls: list[ShownCall] = []
    parts, answer = [chat_text.BEGINNING], Answer()

    def close() -> None:
        if text := answer.take(all=True):
            heading = f"{chat_text.NORTH}" if len(parts) > 1 else f"{chat_text.YOU}\n\n{chat_text.NORTH}"
            parts.append(f"{heading}{text}\n\n")

    for event in events:
        if isinstance(event, UserSaid):
            close()
            parts.append(f"{chat_text.YOU}\n\n{_prompt_text(event)}\n\n")
        else:
            _add(event, answer, calls, root)
    close()
    return "".join(parts), calls


def _prompt_text(event: UserSaid) -> str:
    shown = [visible(event.text.strip())] if event.text.strip() else []
    return chat_text.without_headings(" ".join([*shown, *("[picture]" for _ in event.images)]))


def _add(event: Event, answer: Answer, calls: list[ShownCall], root: Path) -> None:
    match event:
        case AnswerDelta(message_id, text):
            answer.add_text(visible(text.replace("\r", "")), message_id)
        case CallEnded():
            call = chat_text.shown_call(event, root)
            calls.append(call)
            del calls[:-_MOST_CALLS]
            answer.add_call(call.line)
        case CompactionChanged(_, "done"):
            answer.add_note("The conversation so far was summarized for the model.")
        case RetryWaiting(_, _, _, _, message, "stopped"):
            answer.add_note(f"North stopped asking the model again: {visible(message)}")
        case TurnStopped():
            answer.add_note("Stopped.")
        case _:
            pass


@dataclass
class _Part:
    """An answer under way, to the user's section of this number (from 1)."""

    number: int
    answer: Answer = field(default_factory=Answer)


class ChatDocument:
    """The document of one conversation at `path`. `is_lost` is set when an answer finds no place in it any more, since
    the user has changed or undone what was around it; `is_outdated` when it shows something else than the conversation
    for another reason. `draft` is a prompt that the user went back to."""

    def __init__(self, id: str, path: Path, root: Path, edits: ChatEdits, background: Background) -> None:
        self.id = id
        self.path = path
        self.calls: list[ShownCall] = []
        self.is_lost = False
        self.is_outdated = False
        self.draft = ""
        self._root = root
        self._edits = edits
        self._background = background
        self._parts: deque[_Part] = deque()
        self._queued: list[tuple[str, int]] = []
        self._sections_written = 0
        self._last_written = ""
        self._lock = anyio.Lock()
        self._news = anyio.Event()
        self._is_running = False
        self._finished = anyio.Event()

    @property
    def is_answering(self) -> bool:
        return self._is_running

    async def text(self) -> str:
        return await self._edits.text(self.path) or ""

    async def write(self, events: Iterable[Event]) -> None:
        """Write the document again, unless the editor has it open. What is unsent in it stays. Raises OSError."""
        former = await self.text()
        text, self.calls = self._anew(events, former)
        if text == former or (former and self._edits.opened(self.path) is not None):
            return
        if former:
            await self._keep(former)
        await anyio.to_thread.run_sync(write_document, self.path, text)

    async def renew(self, events: Iterable[Event]) -> None:
        """Write the document again, also where the editor has it open. Raises Refused, OSError."""
        shown = tuple(events)
        async with self._lock:
            for _ in range(_TRIES):
                text, self.calls = self._anew(shown, former := await self.text())
                if text == former:
                    break
                if former and self._edits.opened(self.path) is None:
                    await self._keep(former)
                if await self._edits.replace(self.path, former, text):
                    break
            else:
                raise Refused
            self.is_lost = self.is_outdated = False
            self._last_written = ""
        draft, self.draft = self.draft, ""
        if draft.strip():
            await self.add_to_unsent(chat_text.without_headings(draft))

    async def _keep(self, former: str) -> None:
        """Keep a text that is replaced: it may have the user's own notes. Raises OSError."""
        await anyio.to_thread.run_sync(write_document, self.path.with_name(_FORMER), former)

    def _anew(self, events: Iterable[Event], former: str) -> tuple[str, list[ShownCall]]:
        text, calls = rendered(events, self._root)
        unsent = chat_text.unsent(former)
        return text + (f"{chat_text.YOU}\n\n{unsent}\n" if unsent else chat_text.EMPTY), calls

    # -- what the user sends -------------------------------------------------------------------------------------------

    async def send(self, *, waits: bool) -> tuple[str, int] | None:
        """Make what is unsent a prompt. Returns its text and the number of its section; None if there is none. Raises
        Refused, OSError."""
        prompt, number = "", 0

        def place(text: str) -> Insertion | None:
            nonlocal prompt, number
            prompt, number = chat_text.unsent(text), len(chat_text.prompts(text))
            return chat_text.when_sent(text, waits=waits)

        async with self._lock:
            if not await self._edits.insert(self.path, place, typed=True):
                if chat_text.unsent_section(await self.text()) is None:
                    await self._edits.insert(self.path, chat_text.heading_below, typed=True)
                return None
        if waits:
            self._queued.append((prompt, number))
        return prompt, number

    async def ask(self, prompt: str) -> int:
        """Add a prompt that was not written in the document; returns the number of its section. Raises Refused,
        OSError."""
        number = 0

        def place(text: str) -> Insertion:
            nonlocal number
            asked, last = len(chat_text.prompts(text)), chat_text.unsent_section(text)
            number = asked if last is not None else asked + 1
            return chat_text.when_asked(text, prompt)

        async with self._lock:
            await self._edits.insert(self.path, place)
        return number

    async def add_to_unsent(self, text: str) -> None:
        """Add a text to what is unsent. Raises Refused, OSError."""
        async with self._lock:
            await self._edits.insert(self.path, lambda now: chat_text.added_to_unsent(now, text), typed=True)

    def is_behind(self) -> bool:
        """Tell whether the editor's text lacks what North has written into the file: the user has to reload it."""
        opened = self._edits.opened(self.path)
        return (
            opened is not None
            and not self._edits.edits
            and self._sections_written > len(chat_text.prompts(opened.text))
        )

    async def is_stale(self) -> bool:
        """Tell whether the file lacks something, where the editor does not show it any more: an editor that closes a
        document drops what was not saved."""
        if self._is_running or self._edits.opened(self.path) is not None:
            return False
        text = (await self.text()).replace("\r\n", "\n")
        lacks_prompts = self._sections_written > len(chat_text.prompts(text))
        return lacks_prompts or self.is_lost or self.is_outdated or self._last_written not in text

    # -- answers -------------------------------------------------------------------------------------------------------

    def begin(self, number: int) -> None:
        """Expect the answer to a section. Call `end` afterwards."""
        self.is_lost = False
        self._sections_written = number + 1
        self._parts.append(_Part(number))
        if not self._is_running:
            self._is_running = True
            self._finished = anyio.Event()
            self._background.start_soon(self._write_on)

    def show(self, event: Event) -> None:
        """Note what is to be shown of an answer under way."""
        if not self._parts:
            return
        if isinstance(event, TranscriptReset):
            self.is_outdated, self.draft = True, event.draft.text if event.draft is not None else ""
        elif isinstance(event, UserSaid):
            self._parts.append(_Part(self._number_of(event)))
        else:
            _add(event, self._parts[-1].answer, self.calls, self._root)
        self._news.set()

    def note(self, text: str) -> None:
        """Add something that North says itself to the answer under way."""
        if self._parts:
            self._parts[-1].answer.add_note(visible(text))
            self._news.set()

    def forget(self, number: int) -> None:
        """Forget that the prompt in a section waits for the answer under way."""
        self._queued = [one for one in self._queued if one[1] != number]

    def _number_of(self, event: UserSaid) -> int:
        """Return the section of a prompt that had to wait."""
        said = event.text.strip()
        found = next((one for one in self._queued if said.startswith(one[0])), None) or next(iter(self._queued), None)
        if found is None:
            return self._parts[-1].number + 1
        self._queued.remove(found)
        return found[1]

    async def end(self) -> list[str]:
        """Wait until the answer is written, for a limited time. Returns the prompts that waited in vain."""
        self._is_running = False
        self._news.set()
        with anyio.move_on_after(_END_SECONDS) as limit:
            await self._finished.wait()
        self.is_lost = self.is_lost or limit.cancelled_caught
        left, self._queued = [text for text, _ in self._queued], []
        return left

    async def _write_on(self) -> None:
        """Write what comes in, a few times a second, until the end."""
        try:
            while True:
                await self._news.wait()
                self._news = anyio.Event()
                is_last = not self._is_running
                try:
                    async with self._lock:
                        await self._write_out(is_last=is_last)
                except (Refused, OSError):
                    self.is_lost = self.is_lost or is_last
                if is_last:
                    break
                await anyio.sleep(_PACE_SECONDS)
        finally:
            self._parts.clear()
            self._finished.set()

    async def _write_out(self, *, is_last: bool) -> None:
        while self._parts:
            part = self._parts[0]
            is_over = is_last or len(self._parts) > 1
            if text := part.answer.take(all=is_over):
                try:
                    found = await self._insert(part.number, text)
                except (Refused, OSError):
                    part.answer.put_back(text)
                    raise
                self.is_lost = self.is_lost or not found
            if not is_over:
                return
            self._parts.popleft()

    async def _insert(self, number: int, answer: str) -> bool:
        self._last_written = answer.strip()
        return await self._edits.insert(self.path, lambda text: chat_text.when_answered(text, number, answer))
