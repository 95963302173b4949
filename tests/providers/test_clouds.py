"""OpenAI's models on Azure and Google's on Vertex AI, with the vendors' real libraries against servers here."""

import json
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import anyio.abc
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from north_lsp.providers.base import Done, Failed, ModelRequest, UserMessage
from north_lsp.providers.catalog.listing import rows
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.clouds import AZURE, VERTEX, cloud_address
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.factory import make_provider
from north_lsp.providers.keys.check import key_problem
from tests.providers.adapters.vendors import ask
from tests.support.model_server import ModelServer
from tests.support.script import answer, say

REQUEST = ModelRequest("m", "Be good.", [UserMessage("q")], [], 4000)


@pytest.mark.parametrize(
    ("api", "environ", "address"),
    [
        (AZURE, {"AZURE_OPENAI_RESOURCE_NAME": "ours"}, "https://ours.openai.azure.com/openai/v1"),
        (AZURE, {"AZURE_OPENAI_RESOURCE_NAME": "a/b?c"}, "https://a%2Fb%3Fc.openai.azure.com/openai/v1"),
        (AZURE, {}, None),
        (VERTEX, {"GOOGLE_CLOUD_PROJECT": "p"}, None),
        (VERTEX, {"GOOGLE_CLOUD_LOCATION": "europe-west4"}, None),
        (
            VERTEX,
            {"GCLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"},
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google",
        ),
        (
            VERTEX,
            {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "global"},
            "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google",
        ),
        ("openai-responses", {"AZURE_OPENAI_RESOURCE_NAME": "ours"}, None),
    ],
)
def test_addresses(api: str, environ: dict[str, str], address: str | None) -> None:
    assert cloud_address(api, environ) == address


def azure(server: ModelServer, **more: str) -> dict[str, str]:
    return {"AZURE_OPENAI_BASE_URL": f"{server.url}/openai/v1", "AZURE_OPENAI_API_KEY": "k", **more}


async def test_azure_is_asked_as_openai_is_but_by_deployment_and_key(server: ModelServer, tmp_path: Path) -> None:
    environ = azure(server, AZURE_OPENAI_DEPLOYMENT_NAME_MAP="gpt-5.1=our-gpt, house-model=house, =x")
    known = load_catalog(tmp_path, environ)
    assert [model.id for model in known.models if model.provider.id == "azure-openai"] == ["gpt-5.1", "house-model"]
    assert known.problems == ("AZURE_OPENAI_DEPLOYMENT_NAME_MAP: expected model=deployment, found '=x'",)
    assert known.default(environ).selector == "azure-openai/gpt-5.1"
    assert known.find("gpt-5.1").selector == "azure-openai/gpt-5.1"
    assert known.find("gpt-5.1").prices == known.find("openai/gpt-5.1").prices
    assert known.find("house-model").window_known is False
    server.script(answer(say("Hi")), answer(say("Hi")))
    for version in ("v1", "2025-04-01-preview"):
        await ask(make_provider(known.find("gpt-5.1"), environ | {"AZURE_OPENAI_API_VERSION": version}), REQUEST)
    first, second = server.requests
    assert (first.path, second.path) == (
        "/openai/v1/responses",
        "/openai/v1/responses?api-version=2025-04-01-preview",
    )
    assert first.body["model"] == "our-gpt"
    assert first.headers["api-key"] == "k"


def test_without_deployments_azure_has_the_models_of_openai_under_their_own_names(tmp_path: Path) -> None:
    known = load_catalog(tmp_path, {"AZURE_OPENAI_RESOURCE_NAME": "ours", "AZURE_OPENAI_API_KEY": "k"})
    openai = [model.id for model in known.models if model.provider.id == "openai"]
    assert [model.id for model in known.models if model.provider.id == "azure-openai"] == openai
    assert all(model.wire_id is None for model in known.models if model.provider.id == "azure-openai")
    assert known.models[-1].id == "offline"


async def test_a_key_of_azure_is_checked_where_it_belongs(server: ModelServer, tmp_path: Path) -> None:
    server.pages["/openai/v1/models"] = {"data": []}
    known = load_catalog(tmp_path, azure(server))
    info = next(one for one in known.providers if one.id == "azure-openai")
    assert await key_problem(info, "k", azure(server)) is None


def test_a_cloud_without_an_address_says_what_to_set(tmp_path: Path) -> None:
    known = load_catalog(tmp_path, {})
    reasons = {row.model.selector: row.reason for row in rows(known)}
    assert reasons["google-vertex/gemini-2.5-pro"] == (
        "has no address: set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"
    )
    with pytest.raises(MissingCredential, match="set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"):
        make_provider(known.find("google-vertex/gemini-2.5-pro"), {})


def service_account(folder: Path, server: ModelServer) -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form, hidden = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path = folder / "account.json"
    account = {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "1",
        "private_key": key.private_bytes(serialization.Encoding.PEM, form, hidden).decode(),
        "client_email": "north@p.example",
        "token_uri": f"{server.url}/token",
    }
    path.write_text(json.dumps(account))
    return str(path)


def vertex(folder: Path, server: ModelServer, account: str) -> dict[str, str]:
    return {"GOOGLE_VERTEX_BASE_URL": f"{server.url}/google", "GOOGLE_APPLICATION_CREDENTIALS": account}


async def test_vertex_is_asked_with_a_token_that_is_fetched_once(server: ModelServer, tmp_path: Path) -> None:
    server.pages["/token"] = {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}
    environ = vertex(tmp_path, server, service_account(tmp_path, server))
    provider = make_provider(load_catalog(tmp_path, environ).find("google-vertex/gemini-2.5-pro"), environ)
    server.script(answer(say("Hi")), answer(say("Ho")))
    for _ in range(2):
        assert isinstance([event async for event in provider.stream(REQUEST)][-1], Done)
    await provider.aclose()
    paths = [request.path for request in server.requests]
    assert paths == ["/google/models/m:streamGenerateContent?alt=sse"] * 2
    assert [request.headers["Authorization"] for request in server.requests] == ["Bearer t", "Bearer t"]
    assert "x-goog-api-key" not in {name.lower() for name in server.requests[0].headers}


async def test_a_stop_does_not_wait_for_googles_token(server: ModelServer, tmp_path: Path) -> None:
    asked, may_answer, gone = anyio.Event(), anyio.Event(), anyio.Event()
    token = b'{"access_token": "t", "expires_in": 3600}'

    async def watch(stream: anyio.abc.SocketStream) -> None:
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                await stream.receive()
        gone.set()

    async def hold(stream: anyio.abc.SocketStream) -> None:
        async with stream, anyio.create_task_group() as tasks:
            await stream.receive()
            tasks.start_soon(watch, stream)
            asked.set()
            await may_answer.wait()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(token)}\r\n\r\n"
            await stream.send(head.encode() + token)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    account = service_account(tmp_path, cast(Any, SimpleNamespace(url=f"http://127.0.0.1:{port}")))
    environ = vertex(tmp_path, server, account)
    provider = make_provider(load_catalog(tmp_path, environ).find("google-vertex/gemini-2.5-pro"), environ)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, hold)
        async with anyio.create_task_group() as turn:
            turn.start_soon(ask, provider, REQUEST)
            await asked.wait()
            turn.cancel_scope.cancel()
        assert not gone.is_set()  # it has ended although there is no token yet
        may_answer.set()
        await gone.wait()
        tasks.cancel_scope.cancel()
    await provider.aclose()


@pytest.mark.parametrize("account", ["missing.json", "broken.json"])
async def test_credentials_that_cannot_be_used_are_said(server: ModelServer, tmp_path: Path, account: str) -> None:
    (tmp_path / "broken.json").write_text("{}")
    environ = vertex(tmp_path, server, str(tmp_path / account))
    provider = make_provider(load_catalog(tmp_path, environ).find("google-vertex/gemini-2.5-pro"), environ)
    events = await ask(provider, REQUEST)
    assert isinstance(events[-1], Failed)
    assert "gcloud auth application-default login" in events[-1].message
    assert server.requests == []
