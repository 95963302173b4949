"""Tells the user of conversations whose folder has moved to the one that a session was opened in."""

from north_lsp.acp.initialize import Client
from north_lsp.agent.ports.editor import UserInterface
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.session.moved_folders import MovedFolders
from north_lsp.agent.session.session import Session
from north_lsp.display import visible


async def tell_of_moved_folder(moved: MovedFolders, session: Session, client: Client, editor: UserInterface) -> None:
    """Ask whether they continue here. A client that does not know North may not expect a question between turns: it is
    told the slash command instead."""
    root = session.roots[0]
    told = await (moved.ask(root, session.questions) if client.knows_north and client.has_ui else moved.hint(root))
    if told is not None:
        await editor.show(Notice("info", visible(told)))
