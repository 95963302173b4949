"""Claude on Amazon Bedrock and on Google Vertex AI: the clients of Anthropic's own SDK against servers here, which
refuse what those vendors refuse."""

import hashlib
import hmac
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from north_lsp.providers.base import (
    AssistantMessage,
    Done,
    Failed,
    ModelRequest,
    Provider,
    Reasoning,
    StreamEvent,
    Text,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from north_lsp.providers.catalog.listing import rows
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.factory import make_provider
from north_lsp.providers.model import Extras
from tests.providers.adapters.vendors import ask
from tests.providers.test_clouds import service_account, vertex
from tests.support.model_server import ModelServer, RecordedRequest
from tests.support.script import Cut, Raw, Say, StreamError, answer, call, fail, say, think, usage

TOOLS = [ToolSpec("look", "Looks.", {"type": "object", "properties": {"path": {"type": "string"}}})]
CHAIN = {
    "NORTH_BEDROCK": "1",
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "AWS_SESSION_TOKEN": "session-token",
    "AWS_REGION": "eu-west-1",
}


def request(*more: object) -> ModelRequest:
    messages = [UserMessage("Question"), *more]
    return ModelRequest("m", "Be good.", messages, TOOLS, 8000, "c", Reasoning(2000))  # type: ignore[arg-type] # any messages


def bedrock(server: ModelServer, **more: str) -> dict[str, str]:
    return {"ANTHROPIC_BEDROCK_BASE_URL": server.url, "AWS_BEARER_TOKEN_BEDROCK": "bedrock-token", **more}


def made(folder: Path, environ: dict[str, str], selector: str = "amazon-bedrock/sonnet-4-5") -> Provider:
    return make_provider(load_catalog(folder, environ).find(selector), environ)


def headers(request: RecordedRequest) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}


async def test_a_whole_exchange_on_bedrock(server: ModelServer, tmp_path: Path) -> None:
    server.script(
        answer(think("Hm."), say("I will look."), call("look", path="a.py"), usage(input=50, cache_read=7, output=20)),
        answer(say("It is fine.")),
    )
    provider = made(tmp_path, bedrock(server))
    events = [event async for event in provider.stream(request())]
    done = events[-1]
    assert isinstance(done, Done)
    assert (done.reason, done.message.text, done.message.usage.cache_read) == ("toolUse", "I will look.", 7)
    (called,) = done.message.calls
    assert dict(called.arguments) == {"path": "a.py"}
    kept = AssistantMessage(done.message.blocks, done.reason, model="m")
    last = (await ask(provider, request(kept, ToolResult(called.id, "look", "nothing", False))))[-1]
    assert isinstance(last, Done)
    first, second = server.requests
    path = "/model/global.anthropic.claude-sonnet-4-5-20250929-v1:0/invoke-with-response-stream"
    assert first.path == path.replace("global.", "us.")  # without a region it is us-east-1
    assert headers(first)["authorization"] == "Bearer bedrock-token"
    assert first.body["anthropic_version"] == "bedrock-2023-05-31"
    # The marks of caches stand where the vendor does not set them itself.
    mark = {"type": "ephemeral"}
    assert first.body["system"][0]["cache_control"] == mark
    assert first.body["messages"][-1]["content"][-1]["cache_control"] == mark
    assert "cache_control" not in str(second.body["messages"][:-1])
    assert second.body["messages"][1]["content"][0] == {"type": "thinking", "thinking": "Hm.", "signature": "signature"}


@pytest.mark.parametrize(
    ("region", "model", "path"),
    [
        ("us-west-2", "opus-4", "us.anthropic.claude-opus-4-20250514-v1:0"),
        ("eu-central-1", "sonnet-4", "eu.anthropic.claude-sonnet-4-20250514-v1:0"),
        ("ap-southeast-1", "sonnet-4", "apac.anthropic.claude-sonnet-4-20250514-v1:0"),
        ("ap-southeast-1", "haiku-4-5", "global.anthropic.claude-haiku-4-5-20251001-v1:0"),
    ],
)
async def test_the_region_decides_which_profile_is_asked(
    server: ModelServer, tmp_path: Path, region: str, model: str, path: str
) -> None:
    environ = bedrock(server, AWS_DEFAULT_REGION=region)
    server.script(answer(say("Hi")))
    await ask(made(tmp_path, environ, f"amazon-bedrock/{model}"), request())
    assert server.requests[0].path == f"/model/{path}/invoke-with-response-stream"


def test_what_is_offered_where_and_for_how_much(tmp_path: Path) -> None:
    def offered(region: str) -> dict[str, float]:
        known = load_catalog(tmp_path, {"AWS_BEARER_TOKEN_BEDROCK": "t", "AWS_REGION": region})
        return {one.alias: one.prices.input for one in known.models if one.provider.id == "amazon-bedrock"}

    assert "opus-4-1" in offered("us-east-1")
    assert "opus-4-1" not in offered("eu-west-1")
    assert (offered("eu-west-1")["sonnet-4-5"], offered("ap-south-1")["sonnet-4-5"]) == (3.3, 3.0)
    assert offered("eu-west-1")["sonnet-4"] == 3.0


def test_aws_credentials_alone_are_no_wish_to_use_bedrock(tmp_path: Path) -> None:
    environ = {name: value for name, value in CHAIN.items() if name != "NORTH_BEDROCK"}
    known = load_catalog(tmp_path, environ)
    assert not [one for one in known.models if one.provider.id == "amazon-bedrock"]
    assert known.default(environ).selector == "offline/offline"
    with_token = load_catalog(tmp_path, {"AWS_BEARER_TOKEN_BEDROCK": "t"})
    assert with_token.default({"AWS_BEARER_TOKEN_BEDROCK": "t"}).alias == "sonnet-4-5"
    assert load_catalog(tmp_path, CHAIN).default(CHAIN).selector == "amazon-bedrock/claude-sonnet-4-5-20250929"


def signature(sent: RecordedRequest, secret: str, region: str) -> str:
    """The signature that Amazon would compute of what arrived."""
    given = headers(sent)
    _, _, rest = given["authorization"].partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    names = parts["SignedHeaders"].split(";")
    listed = "".join(f"{name}:{given[name].strip()}\n" for name in names)
    path = quote(urlsplit(sent.path).path, safe="/-_.~")
    asked = "\n".join([sent.method, path, "", listed, parts["SignedHeaders"], hashlib.sha256(sent.raw).hexdigest()])
    day, scope = given["x-amz-date"][:8], f"{given['x-amz-date'][:8]}/{region}/bedrock/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", given["x-amz-date"], scope, hashlib.sha256(asked.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for word in (day, region, "bedrock", "aws4_request"):
        key = hmac.digest(key, word.encode(), "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


async def test_without_a_token_requests_are_signed(server: ModelServer, tmp_path: Path) -> None:
    pytest.importorskip("boto3")
    server.script(answer(say("Hi")))
    environ = CHAIN | {"ANTHROPIC_BEDROCK_BASE_URL": server.url}
    events = await ask(made(tmp_path, environ), request())
    assert isinstance(events[-1], Done), events[-1]
    (sent,) = server.requests
    given = headers(sent)
    assert given["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert given["x-amz-security-token"] == "session-token"
    assert given["authorization"].endswith(signature(sent, CHAIN["AWS_SECRET_ACCESS_KEY"], "eu-west-1"))
    assert CHAIN["AWS_SECRET_ACCESS_KEY"] not in str(given) + sent.raw.decode()


async def test_credentials_that_are_not_there_are_said(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("boto3")
    for name in CHAIN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    environ = {"NORTH_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": server.url, "AWS_PROFILE": "no-such-profile"}
    failed = (await ask(made(tmp_path, environ), request()))[-1]
    assert isinstance(failed, Failed)
    assert failed.kind == "auth"
    assert "aws sso login" in failed.message
    assert "no-such-profile" in failed.message
    assert server.requests == []


async def test_a_gateway_may_sign_in_norths_place(server: ModelServer, tmp_path: Path) -> None:
    server.script(answer(say("Hi")))
    environ = {"ANTHROPIC_BEDROCK_BASE_URL": server.url, "AWS_BEDROCK_SKIP_AUTH": "1"}
    assert isinstance((await ask(made(tmp_path, environ), request()))[-1], Done)
    assert "AWS4" not in headers(server.requests[0])["authorization"]


def test_signed_requests_cannot_be_changed_later(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "models.yml").write_text(
        "providers: {amazon-bedrock: {requestTransform: {stripHeaders: ['x-stainless-*']}}}"
    )
    environ = CHAIN | {"ANTHROPIC_BEDROCK_BASE_URL": server.url}
    with pytest.raises(MissingCredential, match="requestTransform cannot strip or set headers"):
        made(tmp_path, environ)
    assert made(tmp_path, bedrock(server))


@pytest.mark.parametrize(
    ("failure", "kind", "says"),
    [
        (answer(fail(429, "ThrottlingException", "Too many tokens")), "rate_limit", "Too many tokens"),
        (answer(fail(403, "AccessDeniedException", "no access to the model")), "auth", "no access to the model"),
        (answer(fail(400, "ValidationException", "Input is too long for requested model.")), "context_overflow", ""),
        (answer(Say("Half"), StreamError("rate_limit_error", "Slow down")), "rate_limit", "Slow down"),
        (answer(Say("Half"), StreamError("overloaded_error", "Busy")), "overloaded", "Busy"),
        (answer(Say("Half"), Cut()), "network", ""),
        (answer(Raw(b"event: ping\ndata: {}\n\n", "application/vnd.amazon.eventstream")), "network", "checksum"),
    ],
)
async def test_failures_on_bedrock(server: ModelServer, tmp_path: Path, failure: object, kind: str, says: str) -> None:
    server.script(failure)  # type: ignore[arg-type] # an answer
    failed = (await ask(made(tmp_path, bedrock(server)), request()))[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, says in failed.message) == (kind, True), failed.message


async def test_claude_on_vertex(server: ModelServer, tmp_path: Path) -> None:
    server.pages["/token"] = {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}
    environ = vertex(tmp_path, server, service_account(tmp_path, server))
    place = "/v1/projects/p/locations/europe-west1/publishers"
    environ["GOOGLE_VERTEX_BASE_URL"] = f"{server.url}{place}/google"
    server.script(answer(think("Hm."), say("Hi"), usage(input=9)), answer(say("Ho")))
    provider = made(tmp_path, environ, "google-vertex/claude-sonnet-4-5-20250929")
    events: list[StreamEvent] = [event async for event in provider.stream(request())]
    done = events[-1]
    assert isinstance(done, Done)
    assert (done.message.text, done.message.usage.input) == ("Hi", 9)
    await ask(provider, request(AssistantMessage((Text("Hi"),)), UserMessage("More")))
    path = f"{place}/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict"
    assert [one.path for one in server.requests] == [path] * 2
    first, second = server.requests
    assert first.body["anthropic_version"] == "vertex-2023-10-16"
    assert first.body["stream"] is True
    assert [headers(one)["authorization"] for one in server.requests] == ["Bearer t"] * 2
    assert second.body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize("account", ["missing.json", "broken.json"])
async def test_claude_on_vertex_without_credentials_says_what_to_do(
    server: ModelServer, tmp_path: Path, account: str
) -> None:
    (tmp_path / "broken.json").write_text("{}")
    environ = vertex(tmp_path, server, str(tmp_path / account))
    failed = (await ask(made(tmp_path, environ, "google-vertex/claude-sonnet-4-5-20250929"), request()))[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable, server.requests) == ("auth", False, [])
    assert "gcloud auth application-default login" in failed.message


def test_vertex_offers_claude_beside_gemini(tmp_path: Path) -> None:
    environ = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "global"}
    known = load_catalog(tmp_path, environ)
    found = known.find("google-vertex/opus-4-5")
    assert found.wire_id == "claude-opus-4-5@20251101"
    assert found.address == "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic"
    assert found.prices.input == 5.0
    reasons = {row.model.selector: row.reason for row in rows(known, "google-vertex/")}
    assert reasons["google-vertex/claude-opus-4-5-20251101"] is None
    assert known.default(environ).selector == "google-vertex/gemini-2.5-pro"


async def test_caches_of_an_hour_are_not_asked_for(server: ModelServer, tmp_path: Path) -> None:
    """Only some models have them there, and the others refuse the request."""
    environ = bedrock(server)
    server.script(answer(say("Hi")))
    model = load_catalog(tmp_path, environ).find("amazon-bedrock/sonnet-4-5")
    await ask(make_provider(model, environ, extras=Extras(long_cache=True)), request())
    assert "ttl" not in str(server.requests[0].body)


def test_the_clients_cost_next_to_nothing() -> None:
    script = """
import sys
import north_lsp.providers.adapters.anthropic
before = len(sys.modules)
from north_lsp.providers.adapters.anthropic_sdk import bedrock_client, vertex_client
client = bedrock_client()(api_key="k", aws_region="us-east-1", open_telemetry=False)
vertex_client()(region="global", project_id="p", access_token="t", open_telemetry=False)
assert len(sys.modules) - before < 100, len(sys.modules) - before  # 2,300 with everything
assert not [name for name in sys.modules if name.startswith(("anthropic.resources.beta", "boto"))]
assert client.messages.create and client.beta.messages  # and are whole for whoever asks for more
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)
