"""What may be imported when `initialize` is answered, when a session is open, and when the first text of an answer is
shown: importing is most of what a user waits for. A name is added to a list only if the answer needs it."""

import sys
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer
from tests.support.moments import Moments, moments
from tests.support.script import answer, say

_TO_INITIALIZE = {
    "north_lsp",
    "north_lsp.acp",
    "north_lsp.acp.initialize",
    "north_lsp.cli",
    "north_lsp.cli.arguments",
    "north_lsp.cli.commands",
    "north_lsp.cli.main",
    "north_lsp.lazy_dataclass",
    "north_lsp.lazy_pattern",
    "north_lsp.providers",
    "north_lsp.providers.catalog",
    "north_lsp.providers.catalog.models_path",
    "north_lsp.providers.catalog.sign_in_names",
    "north_lsp.rpc",
    "north_lsp.rpc.fragments",
    "north_lsp.rpc.framing",
    "north_lsp.rpc.messages",
    "north_lsp.rpc.opening",
    "north_lsp.server",
    "north_lsp.server.garbage",
    "north_lsp.server.opening",
    "north_lsp.server.options",
    "north_lsp.storage",
    "north_lsp.storage.locations",
    "north_lsp.systems",
    "north_lsp.systems.posix",
}
_TO_OPEN = {"anyio", "sniffio", "typing_extensions"}
_TO_ASK_ANTHROPIC = _TO_OPEN | {
    "annotated_types",
    "anthropic",
    "backports",
    "h11",
    "httpcore2",
    "httpx2",
    "idna",
    "jiter",
    "opentelemetry",
    "pydantic",
    "pydantic_core",
    "truststore",
    "typing_inspection",
}
_OF_NO_USE_TO_OPEN = (
    "north_lsp.agent.calls.dispatch",
    "north_lsp.agent.compaction.compactor",
    "north_lsp.agent.context.conversation_context",
    "north_lsp.agent.context.rules",
    "north_lsp.agent.edits.review",
    "north_lsp.agent.edits.undo",
    "north_lsp.agent.exports.page",
    "north_lsp.agent.log.export",
    "north_lsp.agent.session.commands",
    "north_lsp.agent.session.completion",
    "north_lsp.agent.session.configuration",
    "north_lsp.agent.session.intake",
    "north_lsp.agent.session.keeping.remembering",
    "north_lsp.agent.session.learning",
    "north_lsp.agent.session.services.surroundings",
    "north_lsp.agent.session.tasks",
    "north_lsp.agent.session.turns.delivery",
    "north_lsp.agent.session.turns.model_turns",
    "north_lsp.agent.shell.run",
    "north_lsp.agent.templates",
    "north_lsp.agent.turn.turn",
    "north_lsp.cli.doctor",
    "north_lsp.command_policy.grammar",
    "north_lsp.command_policy.rules",
    "north_lsp.command_policy.tables",
    "north_lsp.lsp.service",
    "north_lsp.mcp",
    "north_lsp.providers.adapters",
    "north_lsp.providers.offline",
    "north_lsp.server.telemetry",
    "north_lsp.slash",
    "north_lsp.storage.janitor",
    "north_lsp.storage.listing",
    "north_lsp.storage.search",
    "north_lsp.tools.base",
    "north_lsp.tools.builtin",
    "north_lsp.tools.edit.drafting",
    "north_lsp.tools.registry",
    "north_lsp.workspace.apply.apply",
    "north_lsp.workspace.search.search",
    "north_lsp.workspace.structure",
    "platform",
    "random",
    "shutil",
    "tempfile",
)
_OF_NO_USE_TO_ANSWER = (
    "north_lsp.agent.calls.host",
    "north_lsp.agent.exports.page",
    "north_lsp.agent.learning.explorer",
    "north_lsp.agent.shell.run",
    "north_lsp.cli.doctor",
    "north_lsp.command_policy.grammar",
    "north_lsp.lsp.service",
    "north_lsp.mcp",
    "north_lsp.providers.adapters.google",
    "north_lsp.providers.adapters.openai_chat",
    "north_lsp.providers.adapters.openai_responses",
    "north_lsp.tools.arguments",
    "north_lsp.tools.builtin",
    "north_lsp.tools.read",
    "north_lsp.workspace.formats.archives",
    "north_lsp.workspace.formats.office",
    "tarfile",
    "xml.etree",
)
_OF_NO_USE_WITHOUT_A_NETWORK = ("email", "http", "importlib.resources", "urllib.request")


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Moments:
    return moments(tmp_path_factory.mktemp("offline"), {"NORTH_MODEL": "offline"})


def _packages(loaded: frozenset[str]) -> set[str]:
    """Return the packages that are neither Python's nor North's. (Names that begin with `_` are installers' hooks.)"""
    names = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names - {"north_lsp"}
    return {name for name in names if not name.startswith("_")}


def _needless(loaded: frozenset[str], of_no_use: tuple[str, ...]) -> list[str]:
    return sorted({one for one in of_no_use for name in loaded if name == one or name.startswith(f"{one}.")})


def test_initialize_needs_these_modules_alone(offline: Moments) -> None:
    own = {name for name in offline.initialized if name.partition(".")[0] == "north_lsp"}
    assert own - _TO_INITIALIZE == set()
    assert _packages(offline.initialized) == set()
    assert not {"asyncio", "ssl", "socket", "subprocess", "tomllib", "sqlite3", "logging"} & offline.initialized


def test_opening_a_session_needs_these_packages_alone(offline: Moments) -> None:
    assert _packages(offline.opened) - _TO_OPEN == set()
    assert _needless(offline.opened, _OF_NO_USE_TO_OPEN) == []


def test_the_offline_model_answers_with_these_packages_alone(offline: Moments) -> None:
    assert _packages(offline.answered) - _TO_OPEN == set()
    assert _needless(offline.answered, (*_OF_NO_USE_TO_ANSWER, *_OF_NO_USE_WITHOUT_A_NETWORK)) == []


def test_anthropics_models_answer_with_these_packages_alone(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.json").write_text('{"selectedModel": "haiku-4-5"}')
    with ModelServer() as model:
        model.script(answer(say("Hello.")))
        loaded = moments(tmp_path, {"ANTHROPIC_API_KEY": "sk-ant-1234567890", "ANTHROPIC_BASE_URL": model.url})
    assert _packages(loaded.answered) - _TO_ASK_ANTHROPIC == set()
    assert _needless(loaded.answered, (*_OF_NO_USE_TO_ANSWER, "anthropic.resources.beta")) == []


def test_own_clients_wait_for_no_library_of_lsp(tmp_path: Path) -> None:
    loaded = moments(tmp_path, {"NORTH_MODEL": "offline"}, "lsp")
    assert _packages(loaded.answered) - _TO_OPEN == set()
