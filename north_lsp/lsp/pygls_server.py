"""Creates the language server that pygls runs for North. The only module that imports pygls and lsprotocol."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcMethodNotFound, JsonRpcRequestCancelled
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from north_lsp import __version__
from north_lsp.lsp.features import Features, Offered, Span
from north_lsp.lsp.initialize import COMMANDS
from north_lsp.workspace.language_features import Position

# It would write what clients send to standard error; what fails is in North's own log.
logging.getLogger("pygls").addHandler(logging.NullHandler())
logging.getLogger("pygls").propagate = False


class _Writer:
    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write

    def write(self, data: bytes) -> None:
        self._write(data)

    def close(self) -> None:
        """Do nothing: the peer owns the connection."""


_converter = cache(default_converter)
"""Between messages and pygls's types, for all connections: it writes code for each type that it meets, and keeps it."""


class _Server(LanguageServer):
    def __init__(self, on_failure: Callable[[str, BaseException], None]) -> None:
        sync = types.TextDocumentSyncKind.Incremental
        super().__init__("north", __version__, text_document_sync_kind=sync, converter_factory=_converter)
        self._on_failure = on_failure

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log the error, unless it is the client's and was answered; by default pygls shows a popup to the user."""
        if not isinstance(error, JsonRpcMethodNotFound | JsonRpcRequestCancelled):
            self._on_failure(f"pygls {getattr(source, '__name__', source)}", error)


def _served_by_the_peer(*arguments: object) -> None:
    """Do nothing: commands and lenses are announced through pygls, but served by North's own service, which can be
    cancelled."""


_KINDS = {
    "command": types.CompletionItemKind.Function,
    "file": types.CompletionItemKind.File,
    "value": types.CompletionItemKind.EnumMember,
}


def make_server(
    write: Callable[[bytes], None], on_failure: Callable[[str, BaseException], None], features: Features
) -> LanguageServer:
    """Return a server that passes every outgoing message to `write` as bare JSON."""
    server = _Server(on_failure)
    for command in COMMANDS:
        server.command(command)(_served_by_the_peer)
    server.feature(types.TEXT_DOCUMENT_CODE_LENS)(_served_by_the_peer)
    inline = types.InlineCompletionOptions()
    server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, inline)(_served_by_the_peer)
    kinds = types.CodeActionOptions([types.CodeActionKind.QuickFix, types.CodeActionKind.Refactor])
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)(_served_by_the_peer)
    _serve(server, features)
    server.protocol.set_writer(_Writer(write), include_headers=False)
    return server


def _serve(server: LanguageServer, features: Features) -> None:
    """Serve what is offered in documents."""

    async def complete(params: types.CompletionParams) -> types.CompletionList:
        found = await features.complete(params.text_document.uri, _at(params.position))
        return types.CompletionList(found.is_incomplete, [_item(one, rank) for rank, one in enumerate(found.items)])

    def hover(params: types.HoverParams) -> types.Hover | None:
        text = features.hover(params.text_document.uri, _at(params.position))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text is not None else None

    def fold(params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        return [types.FoldingRange(first, last) for first, last in features.folds(params.text_document.uri)]

    def symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        spans = features.prompts(params.text_document.uri)
        kind = types.SymbolKind.String
        return [
            types.DocumentSymbol(one.text, kind, _range(one), types.Range(_range(one).start, _place(one.heading_end)))
            for one in spans
        ]

    def links(params: types.DocumentLinkParams) -> list[types.DocumentLink]:
        spans = features.links(params.text_document.uri)
        return [types.DocumentLink(_range(one), target=one.text) for one in spans]

    def definition(params: types.DefinitionParams) -> types.Location | None:
        found = features.definition(params.text_document.uri, _at(params.position))
        if found is None:
            return None
        at = types.Position(found[1], 0)
        return types.Location(found[0], types.Range(at, at))

    server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["/", "@"]))(complete)
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)
    server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)(fold)
    server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)(symbols)
    server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)(links)
    server.feature(types.TEXT_DOCUMENT_DEFINITION)(definition)


def _item(one: Offered, rank: int) -> types.CompletionItem:
    range = types.Range(_place(one.start), _place(one.end))
    return types.CompletionItem(
        one.shown,
        kind=_KINDS[one.kind],
        detail=one.about,
        sort_text=f"{rank:04}",
        filter_text=one.new,
        text_edit=types.TextEdit(range, one.new),
    )


def _at(position: types.Position) -> Position:
    return Position(position.line, position.character)


def _place(position: Position) -> types.Position:
    return types.Position(position.line, position.character)


def _range(span: Span) -> types.Range:
    return types.Range(_place(span.start), _place(span.end))
