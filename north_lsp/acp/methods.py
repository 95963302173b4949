"""ACP's methods besides those that every conversation begins with. Loaded with the first of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from north_lsp.acp.artifacts import artifact_methods
from north_lsp.acp.checkpoints import checkpoint_methods
from north_lsp.acp.config import config_methods
from north_lsp.acp.context import context_methods
from north_lsp.acp.control import control_methods
from north_lsp.acp.draft_session_methods import draft_session_methods
from north_lsp.acp.exports import export_methods
from north_lsp.acp.importing import import_method
from north_lsp.acp.initialize import Client
from north_lsp.acp.learning import learning_methods
from north_lsp.acp.library import library_methods
from north_lsp.acp.listing import list_method
from north_lsp.acp.look import look_methods
from north_lsp.acp.models import model_methods
from north_lsp.acp.navigation import navigation_methods
from north_lsp.acp.paths import path_methods
from north_lsp.acp.permissions import permission_methods
from north_lsp.acp.provider_routes import provider_route_methods
from north_lsp.acp.salvaging import salvage_method
from north_lsp.acp.storage import storage_methods
from north_lsp.acp.task_methods import task_methods
from north_lsp.acp.todo_methods import todo_methods
from north_lsp.acp.trash import trash_methods
from north_lsp.acp.work_methods import work_methods
from north_lsp.agent.session.configuration import Configuration
from north_lsp.agent.session.keeping.kept_data import KeptData
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.agent.session.library.library import Library
from north_lsp.agent.session.library.trash import Trash
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.session import Session
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.model_selection import Allowed
from north_lsp.rpc.messages import Params
from north_lsp.rpc.peer import Handler, Peer


@dataclass(frozen=True)
class Served:
    """The sessions that are served to `client`: `session` finds that of a request, `end_one` closes one, `allowed` says
    which models one may use."""

    session: Callable[[Params], Session]
    sessions: Mapping[str, Session]
    conversations: Conversations
    end_one: Callable[[str], Awaitable[None]]
    allowed: Callable[[Params], Allowed]
    client: Client


def more_methods(served: Served, environment: Environment, peer: Peer, prompt: Handler) -> dict[str, Handler]:
    """Return the methods by name; `prompt` is what answers `session/prompt`."""
    session, locations, settings = served.session, environment.locations, environment.settings_file
    library = library_methods(Library(locations), session, served.sessions)
    return {
        "session/list": list_method(served.conversations),
        "_north/sessions/import": import_method(served.conversations),
        "_north/sessions/salvage": salvage_method(served.conversations),
        **storage_methods(KeptData(locations)),
        **checkpoint_methods(session),
        **model_methods(environment, served.allowed, peer, served.client),
        **permission_methods(session),
        **artifact_methods(session),
        **look_methods(session),
        **path_methods(session),
        **context_methods(session),
        **config_methods(session, Configuration(settings), settings.take_editor),
        **todo_methods(session),
        **work_methods(session),
        **task_methods(session),
        **navigation_methods(session),
        **control_methods(session, prompt),
        **library,
        **draft_session_methods(library, served.sessions, served.conversations, served.end_one),
        **provider_route_methods(environment.models),
        **export_methods(served.sessions.get, environment),
        **learning_methods(session),
        **trash_methods(Trash(locations)),
    }
