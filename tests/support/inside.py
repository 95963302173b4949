"""The server in the test's own process, on a real socket: for tests that check messages, of which there are many."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from north_lsp.rpc.pipe import DescriptorPipe
from north_lsp.server.connection import serve_acp
from north_lsp.server.opening import open_connection
from north_lsp.server.options import Options
from tests.support.acp_schema import Oracle
from tests.support.client import RawAcpClient
from tests.support.patience import PATIENCE


@asynccontextmanager
async def inside(
    environ: Mapping[str, str],
    model: str | None = None,
    north: Mapping[str, object] | None = None,
    capabilities: Mapping[str, object] | None = None,
) -> AsyncIterator[RawAcpClient]:
    """Yield an initialized client that announces North's extensions as in `north`, and other `capabilities`. At the end
    everything that was sent is checked."""
    ours, theirs = socket.socketpair()
    opening = open_connection("acp", environ)
    announced = {**(capabilities or {}), "_meta": {"north": dict(north or {})}}
    params = {"protocolVersion": 1, "clientCapabilities": announced}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    assert list(opening.feed(opening.framing.encode(hello)))
    descriptors = theirs.detach()
    reader, writer = await asyncio.open_connection(sock=ours, limit=2**26)
    client = RawAcpClient(reader, writer)
    server = asyncio.create_task(
        serve_acp(opening, DescriptorPipe(descriptors, os.dup(descriptors)), Options(environ, model=model))
    )
    reading = asyncio.create_task(client.read())
    try:
        yield client
    finally:
        writer.close()
        assert await asyncio.wait_for(server, PATIENCE) == 0
        os.close(descriptors)
        reading.cancel()
    Oracle.load().check_transcript(client.transcript)
