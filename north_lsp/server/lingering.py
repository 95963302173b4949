"""The time after a client has gone that comes back: what runs ends its step, and nothing more begins.

A turn that stands still then is left to the next process, as if this one had been killed there: its coroutines never
run on, so the process ends without them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import anyio

from north_lsp.acp.agent import AcpAgent
from north_lsp.acp.initialize import Client
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.session import Session
from north_lsp.rpc.peer import Peer
from north_lsp.server.ending import Ending

_LONGEST_SECONDS = 600.0
_POLL_SECONDS = 0.05


async def end(agent: AcpAgent, client: Client, peer: Peer, environment: Environment, ending: Ending) -> None:
    """End the sessions of a connection that has ended; does not return where a turn is left to the next process."""
    is_left = client.comes_back and not peer.is_killed and await _leave(agent.sessions, lambda: peer.is_killed)
    ending.begin("turn left" if is_left else peer.ended_by, peer.exit_code)
    await agent.close("exit")
    if is_left:
        ending.step = "costs"
        await environment.costs.finish()
        ending.log_exit()
        os._exit(0)


async def _leave(sessions: Sequence[Session], is_killed: Callable[[], bool]) -> bool:
    """Wait until nothing is at work, for a limited time; returns whether a turn was left to the next process."""
    for session in sessions:
        session.leave()
    with anyio.move_on_after(_LONGEST_SECONDS):
        while any(one.is_busy and not one.stands_still for one in sessions) and not is_killed():
            await anyio.sleep(_POLL_SECONDS)
    left = [session for session in sessions if session.stands_still]
    for session in left:
        await session.hand_over()
    return bool(left)
