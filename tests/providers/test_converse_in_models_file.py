"""Models of any maker on Amazon Bedrock, as models.yml names them: the key, or the signature of AWS."""

import sys
from pathlib import Path

import pytest

from north_lsp.providers.adapters.aws_signature import AwsSignature
from north_lsp.providers.base import Done, Failed
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.clouds import region_at
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.factory import make_provider
from north_lsp.providers.keys.routes import Route
from north_lsp.providers.keys.sources import Keys
from tests.providers.adapters.vendors import ask
from tests.providers.test_claude_in_clouds import CHAIN, headers, made, request, signature
from tests.support.model_server import ModelServer
from tests.support.script import answer, say

NOVA = "us.amazon.nova-pro-v1:0"
FILE = """providers:
  bedrock:
    baseUrl: {address}
    api: bedrock-converse-stream
    {auth}
    models:
      - id: nova
        wireModelId: {model}
        input: [text, image]
        contextWindow: 300000
"""


def write(folder: Path, address: str, auth: str, model: str = NOVA) -> None:
    (folder / "models.yml").write_text(FILE.format(address=address, auth=auth, model=model))


async def test_a_key_of_bedrocks_is_sent(server: ModelServer, tmp_path: Path) -> None:
    write(tmp_path, server.url, "apiKeyEnv: AWS_BEARER_TOKEN_BEDROCK")
    server.script(answer(say("Hi")))
    environ = {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-key"}
    assert isinstance((await ask(made(tmp_path, environ, "bedrock/nova"), request()))[-1], Done)
    (sent,) = server.requests
    assert sent.path == f"/model/{NOVA}/converse-stream"
    assert headers(sent)["authorization"] == "Bearer bedrock-key"


async def test_without_a_key_requests_are_signed(server: ModelServer, tmp_path: Path) -> None:
    pytest.importorskip("botocore")
    write(tmp_path, server.url, "auth: none")
    server.script(answer(say("Hi")))
    events = await ask(made(tmp_path, CHAIN, "bedrock/nova"), request())
    assert isinstance(events[-1], Done), events[-1]
    (sent,) = server.requests
    given = headers(sent)
    assert given["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert given["x-amz-security-token"] == "session-token"
    assert given["authorization"].endswith(signature(sent, CHAIN["AWS_SECRET_ACCESS_KEY"], "eu-west-1"))


async def test_an_arn_is_one_part_of_the_path(server: ModelServer, tmp_path: Path) -> None:
    pytest.importorskip("botocore")
    arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc"
    write(tmp_path, server.url, "auth: none", arn)
    server.script(answer(say("Hi")))
    assert isinstance((await ask(made(tmp_path, CHAIN, "bedrock/nova"), request()))[-1], Done)
    (sent,) = server.requests
    assert sent.path == f"/model/{arn.replace('/', '%2F')}/converse-stream"
    assert headers(sent)["authorization"].endswith(signature(sent, CHAIN["AWS_SECRET_ACCESS_KEY"], "eu-west-1"))


async def test_credentials_that_are_not_there_are_said(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("botocore")
    for name in CHAIN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    write(tmp_path, server.url, "auth: none")
    failed = (await ask(made(tmp_path, {}, "bedrock/nova"), request()))[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, server.requests) == ("auth", [])
    assert "aws sso login" in failed.message
    assert "no credentials were found" in failed.message


@pytest.mark.parametrize("api", ["bedrock-converse-stream", "anthropic-bedrock"])
async def test_an_endpoint_of_the_editors_gets_no_credential_of_the_users(
    server: ModelServer, tmp_path: Path, api: str
) -> None:
    write(tmp_path, "https://bedrock-runtime.us-east-1.amazonaws.com", "auth: none")
    file = tmp_path / "models.yml"
    file.write_text(file.read_text("utf-8").replace("bedrock-converse-stream", api), "utf-8")
    keys = Keys()
    keys.routes.set("bedrock", Route(server.url, {"X-Team": "editors"}))
    server.script(answer(say("Hi")))
    model = load_catalog(tmp_path, CHAIN).find("bedrock/nova")
    assert isinstance((await ask(make_provider(model, CHAIN, keys=keys), request()))[-1], Done)
    given = headers(server.requests[0])
    assert given["x-team"] == "editors"
    assert "AWS4" not in given.get("authorization", "")
    assert "x-amz-security-token" not in given


def test_the_package_that_signs_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    with pytest.raises(MissingCredential, match=r"pip install 'north-lsp\[bedrock\]'"):
        AwsSignature({}, "us-east-1")


@pytest.mark.parametrize(
    ("address", "region"),
    [
        ("https://bedrock-runtime.eu-central-1.amazonaws.com", "eu-central-1"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/", "us-gov-west-1"),
        ("https://vpce-1-2.bedrock-runtime.us-west-2.vpce.amazonaws.com", "us-west-2"),
        ("https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("https://gateway.example/bedrock-runtime.us-west-2.amazonaws.com", "ap-south-1"),
    ],
)
def test_the_address_says_for_which_region_is_signed(address: str, region: str) -> None:
    assert region_at(address, {"AWS_REGION": "ap-south-1"}) == region
