"""Opens each protocol's connection. Everything here is imported before the first answer, so it is kept light."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from north_lsp.rpc.messages import INVALID_REQUEST, SERVER_NOT_INITIALIZED, Params, RpcError
from north_lsp.rpc.opening import Opening

Protocol = Literal["acp", "lsp"]


def open_connection(protocol: Protocol, environ: Mapping[str, str], token: str | None = None) -> Opening:
    """Make the opening of a connection; `token` is the secret that a client must present, if any."""
    if protocol == "acp":
        from north_lsp.rpc.framing import NewlineFraming

        return Opening(NewlineFraming(), lambda params: _initialize_acp(params, environ))
    from north_lsp.rpc.framing import HeaderFraming

    def initialize(params: Params) -> dict[str, Any]:
        return _initialize_lsp(params, environ, token)

    return Opening(HeaderFraming(), initialize, SERVER_NOT_INITIALIZED)


def _initialize_acp(params: Params, environ: Mapping[str, str]) -> dict[str, Any]:
    from north_lsp.acp.initialize import initialize_result
    from north_lsp.providers.catalog.sign_in_names import sign_in_names

    return initialize_result(params, sign_in_names(environ))


def _initialize_lsp(params: Params, environ: Mapping[str, str], token: str | None) -> dict[str, Any]:
    from north_lsp.lsp.initialize import initialize_result, read_client, read_token

    if token is not None:
        import hmac

        given = read_token(params) or ""
        if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode()):
            raise RpcError(
                INVALID_REQUEST, "initializationOptions.north.token is not the token that the server printed"
            )
    client = read_client(params)
    return initialize_result(params, _initialize_acp(client.acp, environ) if client.acp is not None else None)


def claim_stdio() -> tuple[int, int]:
    """Take standard input and output for the protocol; all other printing goes to standard error from then on."""
    read_fd, write_fd = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return read_fd, write_fd
