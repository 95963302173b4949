"""What editors offer in a chat document: lenses and actions for all that can be done, completion, results of calls on
hover, links, folding and the list of prompts. Types of LSP are made where pygls is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from north_lsp.agent.log.modes import MODES
from north_lsp.agent.ports.events import CommandInfo
from north_lsp.agent.session.session import Session
from north_lsp.display import one_line, visible
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.lsp import chat_text, work_text
from north_lsp.lsp.chat import Chat
from north_lsp.lsp.chat_document import ChatDocument
from north_lsp.lsp.chat_edits import ChatEdits
from north_lsp.lsp.code_lenses import ACCEPT, REJECT
from north_lsp.lsp.conversation import CurrentConversation
from north_lsp.lsp.features import Completions, Offered, Span
from north_lsp.uris import local_path
from north_lsp.workspace.edit.positions import offset_of, position_of
from north_lsp.workspace.language_features import Position

_MOST_PATHS = 30
_LONGEST_HOVER = 20_000
_COMMAND = lazy_pattern(r"/([\w-]*)\Z")
_ARGUMENT = lazy_pattern(r"/(model|mode|thinking)[ \t]+(\S*)\Z")
_PATH = lazy_pattern(r"""(?<![\w@/.`"'])@("?)([^\s"`@]*)\Z""")


class ChatFeatures:
    """The features of one connection's chat documents; everything is empty for other files."""

    def __init__(self, chat: Chat, edits: ChatEdits, conversation: CurrentConversation, encoding: str) -> None:
        self._chat = chat
        self._edits = edits
        self._conversation = conversation
        self._encoding = encoding

    def text(self, uri: object) -> str | None:
        """Return the text of a chat document that is open; None for anything else."""
        path = local_path(uri)
        if path is None or self._chat.id_of(path) is None:
            return None
        opened = self._edits.opened(path)
        return opened.text if opened is not None else None

    def _known(self, uri: object) -> ChatDocument | None:
        """Return the current conversation's document, if it is this one."""
        document, path = self._conversation.document, local_path(uri)
        return document if document is not None and self._chat.id_of(path) == document.id else None

    # -- what can be done ----------------------------------------------------------------------------------------------

    def lenses(self, uri: str, text: str) -> list[dict[str, Any]]:
        """Return the code lenses of a document."""
        return [
            {
                "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}},
                "command": {"title": title, "command": command, "arguments": arguments},
            }
            for line, title, command, arguments in self._choices(uri, text)
        ]

    def actions(self, uri: str, text: str) -> list[dict[str, Any]]:
        """Return the same as code actions, wherever the cursor is; what is most likely wanted comes first."""
        rows = sorted(self._choices(uri, text), key=lambda row: -row[0])
        found = []
        for _, title, command, arguments in rows:
            named = f"North: {title[0].lower()}{title[1:]}"
            one = {"title": named, "command": command, "arguments": arguments}
            found.append({"title": named, "kind": "quickfix" if command == "north.send" else "north", "command": one})
        return found

    def _choices(self, uri: str, text: str) -> list[tuple[int, str, str, list[Any]]]:
        """Return what can be done: line, title, command and arguments."""
        here, document, session = [{"uri": uri}], self._known(uri), self._conversation.session
        rows: list[tuple[int, str, str, list[Any]]] = []
        if document is None or session is None:
            rows.append((0, "Continue this conversation", "north.openChat", here))
        else:
            rows += [
                (0, f"Mode: {session.mode}", "north.setMode", []),
                (0, f"Model: {session.choice.model.selector}", "north.setModel", []),
                (0, "Undo the last change", "north.undo", []),
                (0, "Redo", "north.redo", []),
                (0, "Costs", "north.run", ["/costs"]),
                (0, "New conversation", "north.run", ["/new"]),
                *self._work(session),
            ]
        rows.append((0, "Other conversations", "north.openConversation", []))
        if document is not None and not self._conversation.is_running:
            rows.append((0, "Show it all again", "north.renewChat", here))
        last = chat_text.unsent_section(text)
        at = last.line if last is not None else text.count("\n")
        is_running = document is not None and self._conversation.is_running
        if is_running:
            rows += [(at, "Stop", "north.cancel", []), *self._decisions(at)]
            rows += [(at, "Steer with this", "north.steer", here), (at, "Send when it is done", "north.send", here)]
        else:
            rows.append((at, "Send", "north.send", here))
        return rows

    def _work(self, session: Session) -> Iterator[tuple[int, str, str, list[Any]]]:
        """Yield how far the goal and the workflow are, and what the user can decide about them. A running turn
        continues by itself."""
        work = session.goal_and_work.now
        offered = [one for one in work.decisions if one.id != "continue" or not self._conversation.is_running]
        for title, prompt in (*work_text.words(work), *work_text.choices(offered)):
            yield 0, visible(title), "north.run", [prompt]

    def _decisions(self, line: int) -> list[tuple[int, str, str, list[Any]]]:
        """Return the answers to the question that waits."""
        question, reviews = self._conversation.editor.questions.waiting, self._conversation.editor.reviews
        if question is not None:
            about = {"question": question.id}
            return [(line, title, "north.answer", [about | {"answer": title}]) for title in question.actions]
        if (review := reviews.waiting) is not None:
            whole = [{"reviewId": review.id}]
            return [(line, "Accept all", ACCEPT, whole), (line, "Reject all", REJECT, whole)]
        return []

    # -- completion ----------------------------------------------------------------------------------------------------

    async def complete(self, uri: object, at: Position) -> Completions:
        """Complete slash commands, their values, and paths in what is unsent."""
        text = self.text(uri)
        last = chat_text.unsent_section(text) if text is not None else None
        if text is None or last is None:
            return Completions()
        offset = offset_of(text, at, self._encoding)
        if offset < last.begin:
            return Completions()
        before = text[last.begin : offset]
        typed = before.lstrip()
        if (path := _PATH.search(before)) is not None:
            return await self._paths(text, last.begin + path.start(), offset, path[2])
        session = await self._conversation.current()
        if (argument := _ARGUMENT.fullmatch(typed)) is not None:
            start = offset - len(argument[2])
            return self._offered(text, start, offset, _values(session, argument[1]), "value")
        if (command := _COMMAND.fullmatch(typed)) is not None:
            rows = [(f"/{one.name}", _about(one)) for one in await session.refresh_commands()]
            return self._offered(text, offset - len(command[0]), offset, rows, "command")
        return Completions()

    async def _paths(self, text: str, start: int, end: int, query: str) -> Completions:
        session = await self._conversation.current()
        found = await session.mentioning.complete(query, _MOST_PATHS)
        rows = [(_mentioned(one.spelled), one.detail if one.kind == one.spelled else one.kind) for one in found.names]
        for one in found.paths.found:
            name = one.shown + ("/" if one.is_folder and not one.shown.endswith("/") else "")
            rows.append((_mentioned(name), "folder" if one.is_folder else "file"))
        offered = self._offered(text, start, end, rows, "file")
        return Completions(offered.items, True)

    def _offered(self, text: str, start: int, end: int, rows: Sequence[tuple[str, str]], kind: str) -> Completions:
        places = [position_of(text, offset, self._encoding) for offset in (start, end)]
        return Completions(tuple(Offered(name, name, about, places[0], places[1], kind) for name, about in rows))

    # -- reading -------------------------------------------------------------------------------------------------------

    def hover(self, uri: object, at: Position) -> str | None:
        """Return the result of the call in a line, the goal and the workflow on the first one, or the change that waits
        at a place of a file, as Markdown."""
        text, document = self.text(uri), self._known(uri)
        if text is None:
            return self._conversation.editor.reviews.hover(local_path(uri), at.line)
        session = self._conversation.session
        if at.line == 0 and document is not None and session is not None:
            return work_text.markdown(session.goal_and_work.now) or None
        call = chat_text.call_at(text, at.line, document.calls) if document is not None else None
        return visible(call.details)[:_LONGEST_HOVER] if call is not None else None

    def folds(self, uri: object) -> list[tuple[int, int]]:
        """Return what can be folded, by first and last line."""
        text = self.text(uri)
        return list(chat_text.folds(text)) if text is not None else []

    def prompts(self, uri: object) -> list[Span]:
        """Return the prompts of a document, each with its answer."""
        text = self.text(uri)
        if text is None:
            return []
        found, spans = chat_text.prompts(text), []
        ends = [section.start for section in found[1:]] + [len(text)]
        for section, end in zip(found, ends, strict=False):
            said = chat_text.said(text, section)
            if said:
                start, close, heading = (
                    position_of(text, offset, self._encoding) for offset in (section.start, end, section.begin)
                )
                spans.append(Span(start, close, one_line(said), heading))
        return spans

    def links(self, uri: object) -> list[Span]:
        """Return the links of a document."""
        text = self.text(uri)
        spans = []
        for link in chat_text.links(text) if text is not None else ():
            start, end = (position_of(text or "", offset, self._encoding) for offset in (link.start, link.end))
            spans.append(Span(start, end, link.target, end))
        return spans

    def definition(self, uri: object, at: Position) -> tuple[str, int] | None:
        """Return where the link at a position leads: a file's URI, and a line from 0."""
        here = [span for span in self.links(uri) if span.start.line == at.line and span.text.startswith("file:")]
        under = [span for span in here if span.start.character <= at.character < span.end.character]
        for span in under or here[:1]:
            target, _, line = span.text.partition("#L")
            return target, int(line) - 1 if line.isdigit() else 0
        return None


def _mentioned(name: str) -> str:
    return f'@"{name}"' if " " in name else f"@{name}"


def _about(command: CommandInfo) -> str:
    return f"{command.hint}  {command.description}".strip()


def _values(session: Session, command: str) -> list[tuple[str, str]]:
    """Return what can follow a command."""
    if command == "model":
        return [(model.selector, model.title) for model in session.choice.offered]
    if command == "mode":
        return [(mode.id, mode.description) for mode in MODES]
    thinking = session.choice.model.thinking
    return [(level, "") for level in ("on", *(thinking.levels if thinking is not None else ()))]
