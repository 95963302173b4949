"""Tells and asks the user about conversations whose folder has moved, or is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from north_lsp.agent.ports.events import Notice
from north_lsp.agent.session.opening.other_folders import UnlikeFolder, is_agreed
from north_lsp.agent.session.process.asking import Questions
from north_lsp.display import visible
from north_lsp.rpc.messages import INVALID_REQUEST, RpcError

if TYPE_CHECKING:
    from north_lsp.acp.initialize import Client
    from north_lsp.agent.ports.editor import UserInterface
    from north_lsp.agent.session.opening.moved_folders import MovedFolders
    from north_lsp.agent.session.session import Session


async def tell_of_moved_folder(moved: MovedFolders, session: Session, client: Client, editor: UserInterface) -> None:
    """Ask whether they continue here. A client that does not know North may not expect a question between turns: it is
    told the slash command instead."""
    root = session.roots[0]
    told = await (moved.ask(root, session.questions) if client.knows_north and client.has_ui else moved.hint(root))
    if told is not None:
        await editor.show(Notice("info", visible(told)))


async def ensure_agreed(unlike: UnlikeFolder, editor: UserInterface) -> None:
    """Ask whether a conversation continues in a folder that is not like its own. Raises RpcError unless the user says
    so."""
    if not await is_agreed(unlike, Questions(editor)):
        raise RpcError(INVALID_REQUEST, visible(str(unlike)), {"code": "OTHER_FOLDER", "folder": unlike.root})
