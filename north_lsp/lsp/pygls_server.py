"""Creates the language server that pygls runs for North. The only module that imports pygls and lsprotocol."""

from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from north_lsp import __version__
from north_lsp.lsp.initialize import COMMANDS


class _Writer:
    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write

    def write(self, data: bytes) -> None:
        self._write(data)

    def close(self) -> None:
        """Do nothing: the peer owns the connection."""


class _Server(LanguageServer):
    def __init__(self, on_failure: Callable[[str, BaseException], None]) -> None:
        super().__init__("north", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Incremental)
        self._on_failure = on_failure

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log the error; by default pygls shows a popup to the user."""
        self._on_failure(f"pygls {getattr(source, '__name__', source)}", error)


def _served_by_the_peer(*arguments: object) -> None:
    """Do nothing: commands and lenses are announced through pygls, but served by North's own service, which can be
    cancelled."""


def make_server(write: Callable[[bytes], None], on_failure: Callable[[str, BaseException], None]) -> LanguageServer:
    """Return a server that passes every outgoing message to `write` as bare JSON."""
    server = _Server(on_failure)
    for command in COMMANDS:
        server.command(command)(_served_by_the_peer)
    server.feature(types.TEXT_DOCUMENT_CODE_LENS)(_served_by_the_peer)
    kinds = types.CodeActionOptions([types.CodeActionKind.QuickFix])
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)(_served_by_the_peer)
    server.protocol.set_writer(_Writer(write), include_headers=False)
    return server
