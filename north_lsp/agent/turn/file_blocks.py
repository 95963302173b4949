"""Files that a model writes in the text of its answer: kept as they arrive, continued when they are cut off,
reviewed."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.agent.calls.open_calls import OpenCalls
from north_lsp.agent.calls.previews import FilePreviewSource, Previews
from north_lsp.agent.edits.review import EditReviewer
from north_lsp.agent.log.block_parser import BlockEnd, BlockParser, BlockStart, BlockText, Prose
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import nudge
from north_lsp.agent.log.projection import block_began, block_id, block_title
from north_lsp.agent.log.transcript import FILE_BLOCK
from north_lsp.agent.ports.events import CallEnded, CallRunning
from north_lsp.agent.ports.results import Result, failed
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.prompts import render
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.providers.leaks import leak_in, may_leak
from north_lsp.storage.entries import now_ms
from north_lsp.storage.files import private_directory
from north_lsp.tools.edit.drafting import Draft
from north_lsp.tools.registry import plan_required
from north_lsp.tools.support.texts import resolve_open, text_of
from north_lsp.vocabulary import INCOMPLETE
from north_lsp.workspace.paths import Resolved
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import to_newlines

_STAGING = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | systems.NOFOLLOW | systems.CLOEXEC
_WINDOW = 30
_MAX_CONTINUATIONS = 3
_MAX_BLOCKS = 50
_MAX_BYTES = 5 * 1024 * 1024


@dataclass
class _Block:
    """A file that the model writes in its answer. For one that is not written, `resolved` is None and `refusal` is set.
    `unkept` says why what arrives is not kept on the disk meanwhile. A file whose end never came is not `is_whole`, and
    `is_anew` if the model has begun it again."""

    id: str
    path: str
    appends: bool = False
    resolved: Resolved | None = field(default=None, init=False)
    refusal: ToolError | None = field(default=None, init=False)
    text: str = field(default="", init=False)
    more: list[str] = field(default_factory=list, init=False)  # of the message that is arriving
    lines: int = field(default=0, init=False)
    size: int = field(default=0, init=False)  # in bytes, of what has arrived
    preview_source: FilePreviewSource | None = field(default=None, init=False)
    continuations: int = field(default=0, init=False)
    staging: Path | None = field(default=None, init=False)
    file: BinaryIO | None = field(default=None, init=False)
    unkept: str = field(default="", init=False)
    is_whole: bool = field(default=True, init=False)
    is_anew: bool = field(default=False, init=False)

    @property
    def call(self) -> ToolCall:
        return ToolCall(self.id, FILE_BLOCK, {"path": self.path})

    @property
    def title(self) -> str:
        return block_title(self.path)

    @property
    def kept(self) -> str:
        """Describe where the text so far is kept, to follow "it is" in a message."""
        return f"kept in {self.staging}" if self.file is not None else f"not kept: {self.unkept}"

    def keep(self, data: bytes) -> None:
        """Write what has arrived to the staging file. A disk that cannot take it ends the keeping, not the answer."""
        if self.file is not None:
            try:
                self.file.write(data)
                self.file.flush()
            except OSError as error:
                self.keep_no_more(error)

    def roll_back(self, text: str, size: int) -> None:
        """Take back what a continuation has added to `text`, which was `size` bytes as it arrived."""
        self.text, self.size, self.lines, self.more = text, size, text.count("\n"), []
        if self.file is not None:
            try:
                self.file.truncate(self.file.seek(len(text.encode("utf-8", "replace"))))
            except OSError as error:
                self.keep_no_more(error)

    def keep_no_more(self, error: OSError) -> None:
        file, self.file, self.unkept = self.file, None, error.strerror or str(error)
        if file is not None:
            with suppress(OSError):
                file.close()


class FileBlocks:
    """The files of one turn's answers."""

    def __init__(self, context: TurnContext, log: Log, calls: OpenCalls, edits: EditReviewer, ports: Ports) -> None:
        self._context = context
        self._log = log
        self._calls = calls
        self._edits = edits
        self._editor = ports.editor
        self._diagnostics = ports.diagnostics
        self._parser = BlockParser()
        self._entry_id = ""
        self._count = 0
        self._current: _Block | None = None
        self._open: _Block | None = None  # was cut off, and may be continued
        self._waited: tuple[_Block, str, int] | None = (
            None  # that block as it was before the answer, with text and size
        )
        self._finished: list[_Block] = []
        self._previews: Previews | None = None
        self._written: Callable[[str, str], None] | None = None

    @property
    def in_block(self) -> bool:
        """Whether the text that is arriving belongs to a file."""
        return self._current is not None and self._current.refusal is None

    @property
    def has_unreviewed(self) -> bool:
        """Whether files have arrived that are not reviewed yet."""
        return bool(self._finished) or self._open is not None or self._current is not None

    def begin(self, entry_id: str, previews: Previews, written: Callable[[str, str], None]) -> None:
        """Begin a new answer, or the same one again; `written` gets the path and each piece of the text of files."""
        self._written = written
        self._previews = previews
        self._parser = BlockParser()
        self._entry_id = entry_id
        self._count = 0
        self._current = None
        self._waited = (self._open, self._open.text, self._open.size) if self._open is not None else None

    async def take_up(self, entry_id: str, text: str, decided: Collection[str]) -> None:
        """Take over the files of an answer that an earlier process stored, but for those that are `decided`."""
        self._parser, self._entry_id, self._count = BlockParser(), entry_id, 0
        await self.take(text)
        await self.finish()
        self._finished = [block for block in self._finished if block.id not in decided]

    async def take(self, text: str) -> str:
        """Take text of the answer; returns the part to show as text."""
        return "".join([await self._piece(piece) for piece in self._parser.feed(text)])

    async def finish(self) -> str:
        """Take the end of the text; returns what is left to show."""
        return "".join([await self._piece(piece) for piece in self._parser.finish()])

    async def _piece(self, piece: Prose | BlockStart | BlockText | BlockEnd) -> str:
        block = self._current
        match piece:
            case Prose(text):
                return text
            case BlockStart():
                return await self._start(piece)
            case BlockText(text) if block is not None:
                if block.refusal is not None:
                    return text
                await self._text(block, text)
            case BlockEnd(complete) if block is not None:
                self._current = None
                if self._previews is not None:
                    await self._previews.stop()
                if block.refusal is not None:
                    self._finished.append(block)
                    return "</NORTH_FILE>\n" if complete else ""
                await anyio.to_thread.run_sync(_join, block)
                self._log_event("file_block_complete", block, ok=complete)
                if complete:
                    self._finished.append(block)
                    self._open = None if self._open is block else self._open
                else:
                    self._open = block
        return ""

    async def _start(self, start: BlockStart) -> str:
        waiting = self._open
        if waiting is not None and start.mode == "append" and start.path in ("", waiting.path):
            self._current = waiting
            self._log_event("file_block_continued", waiting)
            return ""
        if waiting is not None:  # it is not continued: what there is of it is decided
            waiting.is_whole, waiting.is_anew, self._open = False, start.path == waiting.path, None
            self._finished.append(waiting)
        self._count += 1
        block = _Block(block_id(self._entry_id, self._count), start.path, appends=start.mode == "append")
        self._current = block
        try:
            block.resolved = await self._resolve(start)
        except ToolError as error:
            block.refusal = error
            return f"{start.tag}\n"
        await anyio.to_thread.run_sync(self._stage, block)
        self._log_event("file_block_start", block)
        show = self._editor.show
        for event in block_began(block.id, block.path):
            await show(event)
        await show(CallRunning(block.id))
        block.preview_source = self._preview_source(block, block.resolved)
        return ""

    def _log_event(self, name: str, block: _Block, **data: object) -> None:
        self._diagnostics.event(name, callId=block.id, path=block.path, lines=block.lines, **data)

    def _preview_source(self, block: _Block, resolved: Resolved) -> FilePreviewSource:
        async def read_old() -> str | None:
            try:
                return (await text_of(resolved.path, self._context.workspace))[0].text
            except ToolError:
                return None

        def so_far() -> str:
            return block.text + "".join(list(block.more))

        return FilePreviewSource(block.id, resolved.path, so_far, read_old, appends=block.appends)

    async def _resolve(self, start: BlockStart) -> Resolved:
        """Resolve the path of a file. Raises ToolError if it cannot be written."""
        if self._context.plans:
            raise plan_required("files are not written in plan mode")
        if not self._context.may_write:
            raise ToolError("MODE_FORBIDDEN", "files are written in agent mode only")
        if self._count > _MAX_BLOCKS:
            raise ToolError("TOO_LARGE", f"at most {_MAX_BLOCKS} files are written in one answer")
        if not start.path:
            raise ToolError("INVALID_INPUT", "the tag names no path", 'write <NORTH_FILE path="…">')
        resolved = await resolve_open(start.path, self._context.workspace)
        if (hold := self._context.rules.hold()) is not None:
            hold.refuse_writing([resolved.path])
        if await anyio.to_thread.run_sync(os.path.isdir, resolved.path):
            raise ToolError("CONFLICT", f"{resolved.relative} is a folder")
        if start.mode == "append" and not resolved.exists:
            raise ToolError("NOT_FOUND", f"{resolved.relative} does not exist, so nothing can be appended to it")
        await Draft(self._context.workspace).check(start.path)
        return resolved

    def _stage(self, block: _Block) -> None:
        """Open a file that keeps the content as it arrives, so that it survives whatever happens."""
        name = Path(block.path).name[:80] or "file"
        try:
            folder = private_directory(self._log.folder / "staging")
            block.staging = folder / f"{self._entry_id}-{self._count}-{name}"
            block.file = os.fdopen(systems.open_file(block.staging, _STAGING, 0o600), "wb")
        except OSError as error:
            block.keep_no_more(error)

    async def _text(self, block: _Block, text: str) -> None:
        data = text.encode("utf-8", "replace")
        block.size += len(data)
        if block.size > _MAX_BYTES:
            return  # too long; the end of the turn reports what was kept so far
        block.more.append(text)
        if self._written is not None:
            self._written(block.path, text)
        block.lines += text.count("\n")
        if not block.continuations:
            block.keep(data)
        if self._previews is not None and block.preview_source is not None:
            self._previews.note(block.preview_source)

    # -- after the answer --------------------------------------------------------------------------------------------

    async def review_finished(self) -> bool:
        """Review the complete files. True if the model must be asked again: to continue a file that was cut off, or
        because a file was not written as proposed. Raises StopTurn."""
        outcomes = await self._decide_finished()
        block = self._open
        if block is None:
            return not all(outcomes)
        if block.continuations >= _MAX_CONTINUATIONS or block.size > _MAX_BYTES:
            self._open = None
            return not await self._decide(block, complete=False)
        block.continuations += 1
        window = "\n".join(block.text.split("\n")[-_WINDOW - 1 :])
        text = render("continue_file", path=block.path, lines=str(block.text.count("\n")), window=window)
        self._log.append(nudge(text, now_ms()))
        return True

    async def finish_incomplete(self) -> None:
        """Review the files that are left and what there is of an open one, since the model will not go on. Raises
        StopTurn."""
        await self._decide_finished()
        block, self._open = self._open, None
        if block is not None:
            await self._decide(block, complete=False)

    async def finalize(self) -> None:
        """Keep what had arrived after a cancel, and tell the user where."""
        await self.abandon("cancelled by the user before it was reviewed")

    async def abandon(self, reason: str) -> None:
        """Write none of the files that are not reviewed yet. What had arrived is kept, and the user is told where."""
        left = [*self._finished, *([self._open] if self._open is not None else [])]
        if self._current is not None and self._current not in left:
            left.append(self._current)
        self._finished, self._open, self._current = [], None, None
        for block in left:
            await self._give_up(block, reason)

    async def withdraw(self, reason: str) -> None:
        """Write none of the files of an answer that is asked for again. One that an earlier answer began waits for its
        continuation as before."""
        left = [*self._finished, *(block for block in (self._open, self._current) if block is not None)]
        self._finished, self._open, self._current = [], None, None
        if self._waited is not None:
            self._open, text, size = self._waited
            self._open.roll_back(text, size)
            self._open.is_whole, self._open.is_anew = True, False
        for block in left:
            if block is not self._open:
                await self._give_up(block, reason)

    async def _give_up(self, block: _Block, reason: str) -> None:
        """End a file without a review. One that was written when the turn was cancelled says so."""
        _join(block)
        if block.refusal is None:
            text = f"Not written. The {block.lines} lines that had arrived are {block.kept}"
            ended = CallEnded(block.id, block.title, False, text)
            left = Result(failed(ToolError("CANCELLED", reason)), True, ended)
            await self._end(block, self._calls.kept(block.id) or left)

    async def _decide_finished(self) -> list[bool]:
        """Review the files that will not go on; returns which were written as proposed. Raises StopTurn."""
        outcomes: list[bool] = []
        while self._finished:  # a file whose review is cancelled is left for `finalize`
            block = self._finished[0]
            if block.is_anew:
                await self._give_up(block, "the model began it again")
            else:
                outcomes.append(await self._decide(block, complete=block.is_whole))
            del self._finished[0]
        return outcomes

    async def _decide(self, block: _Block, *, complete: bool) -> bool:
        """Review a file; returns whether it was written as proposed."""
        if block.refusal is not None:
            await self._end(block, Result(failed(block.refusal), True, CallEnded(block.id, block.title, False, "")))
            return False
        title = block.title if complete else f"{block.title}{INCOMPLETE}"
        try:
            changes, asks = await self._changes(block, is_whole=complete)
            keep = partial(self._calls.keep, block.id)
            result = await self._edits.review(self._context.workspace, block.call, title, changes, keep, asks)
        except ToolError as error:
            text = f"{error.message}\nThe content is {block.kept}"
            result = Result(failed(error), True, CallEnded(block.id, title, False, text))
        await self._end(block, result)
        return complete and result.ended.ok

    async def _changes(self, block: _Block, *, is_whole: bool) -> tuple[Sequence[FileChange], Sequence[str]]:
        """Return the change, made by the rules of the edit tools, and reasons to ask the user in any case. Raises
        ToolError."""
        resolved, workspace = block.resolved, self._context.workspace
        assert resolved is not None
        leak = leak_in(block.text) if may_leak(self._context.model.id) else None
        if leak is not None:
            raise ToolError(
                "INVALID_INPUT",
                f"the content contains text that belongs to another channel ({one_line(block.text[leak:], 60)})",
                "write the file again without it",
            )
        if unknown := self._log.conversation.unknown_secrets(block.text):
            raise ToolError(
                "INVALID_INPUT",
                f"the value of {', '.join(unknown)} is not known any more, so the file was not written",
                "read the file that contains it again, and use the placeholder shown there",
            )
        if block.size > _MAX_BYTES:
            raise ToolError("TOO_LARGE", f"a file in an answer may have at most {_MAX_BYTES >> 20} MB")
        content = block.text
        if block.appends:
            text, _ = await text_of(resolved.path, workspace)
            content = text.text + (to_newlines(content, "\r\n") if text.newline == "crlf" else content)
        draft = Draft(workspace)
        asks = await draft.put(block.path, content, is_whole=is_whole)
        return await draft.changes(), asks

    async def _end(self, block: _Block, result: Result) -> None:
        if block.file is not None:
            with suppress(OSError):
                block.file.close()
        told = replace(result, text=f"{block.path or '(no path)'}: {result.text}")
        await self._calls.finish_standalone(block.call, told, refused=block.refusal is not None)


def _join(block: _Block) -> None:
    """Add what has arrived; if a continuation repeats the last lines, they are added only once."""
    more = "".join(block.more)
    block.more = []
    if block.continuations and block.text:
        more = more[overlap(block.text, more) :]
        block.keep(more.encode("utf-8", "replace"))
    block.text += more
    block.lines = block.text.count("\n")


def overlap(before: str, after: str) -> int:
    """Count the characters at the beginning of `after` that repeat the last lines (at most 30) of `before`."""
    window = before.split("\n")[-_WINDOW - 1 :]
    for size in range(len(window), 0, -1):
        tail = "\n".join(window[-size:])
        if tail.strip() and after.startswith(tail):
            return len(tail)
    return 0
