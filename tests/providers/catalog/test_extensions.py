"""Providers that the user has written in Python: found, checked, and held to the contract of streams."""

import json
import re
from pathlib import Path

import pytest

from north_lsp.providers.base import (
    Block,
    BlockEnd,
    Done,
    Failed,
    ModelRequest,
    StreamEvent,
    Text,
    TextDelta,
    UserMessage,
)
from north_lsp.providers.catalog.extension_places import ExtensionPlaces
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.factory import make_provider
from north_lsp.providers.keys.check import key_problem
from north_lsp.providers.keys.sign_in import Grant
from north_lsp.providers.keys.sources import Keys
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from tests.end_to_end.test_faults import opened, prompt, texts
from tests.end_to_end.world import World
from tests.support.inside import inside

EXAMPLE = re.search(
    r"## Providers in Python.*?```python\n(.*?)```", Path("docs/models.md").read_text("utf-8"), re.DOTALL
)
HEAD = """
from north_lsp.providers.base import *
def setup(api):
    api.register_provider({"id": "mine", "models": [{"id": "m-1"}], "stream": stream})
"""
REQUEST = ModelRequest("m-1", "", [UserMessage("Hello")], (), 100)


def written(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / "extensions" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder


async def test_one_that_is_switched_off_is_not_loaded_and_what_is_not_there_is_said(world: World) -> None:
    code = "from pathlib import Path\ndef setup(api): Path(__file__ + '.ran').touch()\n"
    folder = written(world.folder / "config", code, "off/__init__.py")
    written(world.folder / "config", code, "on.py")
    names = ["extension-module:off", "extension-module:gone"]
    (world.folder / "config" / "config.json").write_text(json.dumps({"disabledExtensions": names}))
    async with inside(world.environ) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "/extensions") == "end_turn"
        said = "he setting `disabledExtensions` names extension-module:gone, which does not exist"
        await client.wait_update(lambda update: said in str(update))
        (off,) = [row for row in texts(client).splitlines() if row.startswith("- `off`")]
        assert off.endswith("Not used: the setting `disabledExtensions` names it")
    ran = [path.relative_to(world.folder / "config" / "extensions").as_posix() for path in folder.rglob("*.ran")]
    assert ran == ["on.py.ran"]


async def test_those_that_the_settings_name_count_too_each_once(world: World) -> None:
    code = "from pathlib import Path\ndef setup(api): Path(__file__ + '.ran').touch()\n"
    own = written(world.folder / "config", code, "own.py") / "extensions"
    there = written(world.folder, code, "one.py") / "extensions"
    for name in ("folder/two.py", "folder/three/__init__.py", "package/__init__.py"):
        written(world.folder, code, name)
    (there / "folder/link.py").symlink_to(own / "own.py")
    named = [there / "one.py", there / "folder", there / "package", there / "one.py", there / "gone.py"]
    (world.folder / "config/config.json").write_text(json.dumps({"extensions": [str(one) for one in named]}))
    async with inside(world.environ) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "/extensions") == "end_turn"
        await client.wait_update(
            lambda update: f"he setting `extensions` names {named[-1]}, which does not exist" in str(update)
        )
        names = re.findall(r"^- `(.*?)`", texts(client), re.MULTILINE)
        assert names == ["own", "one", "three", "two", "package"]
    ran = sorted(path.relative_to(world.folder).as_posix() for path in world.folder.rglob("*.py.ran"))
    assert ran == [
        "config/extensions/own.py.ran",
        "extensions/folder/three/__init__.py.ran",
        "extensions/folder/two.py.ran",
        "extensions/one.py.ran",
        "extensions/package/__init__.py.ran",
    ]


async def test_the_example_of_the_manual_answers_in_the_editor(world: World) -> None:
    assert EXAMPLE is not None
    written(world.folder / "config", EXAMPLE[1], "mine/__init__.py")
    async with inside(world.environ, "mine/m-1") as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Hi") == "end_turn"
        assert texts(client) == "Hello."


def test_it_stands_in_the_catalogue_and_replaces_a_provider_of_its_name(tmp_path: Path) -> None:
    written(tmp_path, HEAD.replace("mine", "groq") + "stream = print")
    (tmp_path / "models.yml").write_text(
        "providers: {other: {baseUrl: 'http://h/v1', api: openai-completions, auth: none, models: [{id: x}]}}"
    )
    known = load_catalog(tmp_path, {})
    assert known.problems == ()
    model = known.find("groq/m-1")
    assert (model.source, known.is_available(model), model.window_known) == ("extension", True, False)
    assert [info.id for info in known.providers].count("groq") == 1
    assert known.find("other/x")
    assert known.models[-1].api == "offline"
    assert load_catalog(tmp_path, {}).find("groq/m-1") == model  # its code ran once


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 +", "SyntaxError"),
        ("import nothing_like_this", "No module named"),
        ("x = 1", "it has no function setup"),
        ("def setup(api): raise RuntimeError('no luck')", "RuntimeError: no luck"),
        ("def setup(api): raise SystemExit(3)", "SystemExit: 3"),
        ("async def setup(api): api.register_tool({})", "no attribute 'register_tool'"),
        ("def setup(api): api.register_provider({'id': 'a', 'stream': print})", "models must list at least one"),
        ("def setup(api): api.register_provider({'id': 'a', 'models': [{'id': 'm'}]})", "stream must be a function"),
        (
            "def setup(api): api.register_provider({'id': 'A b', 'models': [{'id': 'm'}], 'stream': print})",
            "a provider's id may contain only lowercase letters",
        ),
        (
            "def setup(api): api.register_provider({'id': 'a', 'models': [{'id': 'm', 'size': 1}], 'stream': print})",
            "models[0].size: this key is unknown",
        ),
        (
            "def setup(api): api.register_provider({'id': 'a', 'models': [{'id': b'm'}], 'stream': print})",
            "ValueError: register_provider: Object of type bytes is not JSON serializable",
        ),
        (
            "def setup(api): api.register_provider({'baseUrl': 'https://a', 'api': 'x', 'stream': print})",
            "has an API of its own: leave out api",
        ),
        (
            "def setup(api): api.register_provider({'stream': print, 'oauth': 1})",
            "oauth belong to a provider with a baseUrl",
        ),
    ],
)
def test_what_cannot_be_used_is_left_out_and_said(tmp_path: Path, text: str, said: str) -> None:
    written(tmp_path, text)
    written(tmp_path, HEAD + "stream = print", "good.py")
    known = load_catalog(tmp_path, {})
    (problem,) = known.problems
    assert problem.startswith(f"the extension {tmp_path}/extensions/mine.py is not used: ")
    assert said in problem
    assert known.find("mine/m-1")


async def streamed(tmp_path: Path, body: str) -> list[StreamEvent]:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    written(tmp_path, f"{HEAD}\nasync def stream(request):\n{lines}\n")
    model = load_catalog(tmp_path, {}).find("mine/m-1")
    provider = make_provider(model, {})
    events = [event async for event in provider.stream(REQUEST)]
    await provider.aclose()
    return events


SAYS = "yield TextDelta(0, 'Half')\nyield TextDelta(0, ' of')"


@pytest.mark.parametrize(
    ("body", "said", "retryable"),
    [
        (SAYS, "mine ended its answer without Done or Failed", True),
        (f"{SAYS}\nraise ValueError('broken')", "mine failed (ValueError: broken)", False),
        (f"{SAYS}\nyield 'text'", "mine failed (TypeError: str is not a stream event)", False),
    ],
)
async def test_a_stream_that_breaks_the_contract_fails(tmp_path: Path, body: str, said: str, retryable: bool) -> None:
    *_, last = await streamed(tmp_path, body)
    assert isinstance(last, Failed)
    assert last.message.startswith(said)
    assert (last.partial.text, last.retryable) == ("Half of", retryable)


async def test_nothing_comes_behind_the_end(tmp_path: Path) -> None:
    block: Block = Text("Whole")
    body = (
        "yield TextDelta(0, 'Whole')\nyield BlockEnd(0, Text('Whole'))\n"
        "yield Done('stop', AssistantMessage((Text('Whole'),)))\nyield TextDelta(1, 'more')"
    )
    events = await streamed(tmp_path, body)
    assert events[:2] == [TextDelta(0, "Whole"), BlockEnd(0, block)]
    assert isinstance(events[2], Done)
    assert len(events) == 3
    (failed,) = await streamed(tmp_path / "other", "raise RuntimeError('at once')\nyield 1")
    assert isinstance(failed, Failed)


async def test_a_stream_for_a_server_gets_its_address_the_users_key_and_headers(tmp_path: Path) -> None:
    definition = "'baseUrl': 'https://a.example/v9/', 'apiKeyEnv': 'A_KEY', 'headers': {'X-Team': 'lamps'}"
    written(
        tmp_path,
        HEAD.replace('"models"', f'{definition}, "models"')
        + "async def stream(request, server):\n    said = f'{server.address} {server.key} {dict(server.headers)}'\n"
        "    yield Done('stop', AssistantMessage((Text(said),)))\n",
    )
    known = load_catalog(tmp_path, {})
    assert known.problems == ()
    model = known.find("mine/m-1")
    assert (model.api, known.is_available(model)) == ("extension", False)
    with pytest.raises(MissingCredential, match="A_KEY"):
        make_provider(model, {})
    assert await key_problem(model.provider, "k-1", {}) is None  # nobody but the extension could ask
    (event,) = [one async for one in make_provider(model, {"A_KEY": "k-1"}).stream(REQUEST)]
    assert isinstance(event, Done)
    assert event.message.text == "https://a.example/v9 k-1 {'X-Team': 'lamps'}"


async def test_a_stream_for_a_server_that_users_sign_in_to_gets_their_token(tmp_path: Path) -> None:
    oauth = {"authorizeUrl": "https://a.example/x", "tokenUrl": "https://a.example/y", "clientId": "north"}
    definition = f"'baseUrl': 'https://a.example', 'auth': 'oauth', 'oauth': {oauth}"
    written(
        tmp_path,
        HEAD.replace('"models"', f'{definition}, "models"')
        + "async def stream(request, server):\n    yield Done('stop', AssistantMessage((Text(server.key),)))\n",
    )
    store = CredentialStore(Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state"))
    store.keep_sign_in("mine", "Mine", Grant("token-0123456789", "refresh-0123456789", 2.0**33).to_json())
    keys = Keys(store)
    keys.refresh()
    provider = make_provider(load_catalog(tmp_path, {}).find("mine/m-1"), {}, keys=keys)
    (event,) = [one async for one in provider.stream(REQUEST)]
    assert isinstance(event, Done)
    assert event.message.text == "token-0123456789"


def test_one_without_a_stream_is_a_provider_as_in_models_yml(tmp_path: Path) -> None:
    oauth = {"authorizeUrl": "https://a.example/x", "tokenUrl": "https://a.example/y", "clientId": "north"}
    written(
        tmp_path,
        "def setup(api):\n    api.register_provider({'id': 'mine', 'name': 'Mine', 'baseUrl': 'https://a.example',"
        f" 'api': 'anthropic-messages', 'auth': 'oauth', 'oauth': {oauth}, 'models': [{{'id': 'm-1'}}]}})\n",
    )
    known = load_catalog(tmp_path, {})
    assert known.problems == ()
    model = known.find("mine/m-1")
    assert (model.api, model.source, model.provider.title) == ("anthropic-messages", "extension", "Mine")
    assert model.provider.sign_in is not None
    assert model.provider.sign_in.client_id == "north"
    assert not known.is_available(model)


def test_a_path_that_depends_on_the_folder_in_which_north_runs_names_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "setup.py").write_text("")
    monkeypatch.chdir(tmp_path)
    places = ExtensionPlaces(tmp_path / "own", ("", ".", "setup.py", str(tmp_path / "setup.py")), ())
    assert list(places.files()) == [tmp_path / "setup.py"]
    assert len(places.problems()) == 3
