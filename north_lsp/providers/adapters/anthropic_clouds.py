"""Claude on Amazon Bedrock and on Google Vertex AI, through the clients of Anthropic's SDK for them: they sign the
requests and know the errors. The Messages API is the same but for where a model is named, and for what is not there yet
(the automatic cache marker). Imported only for these two."""

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx2

from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.adapters.anthropic_sdk import bedrock_client, vertex_client
from north_lsp.providers.adapters.aws_event_stream import AwsEventStreamDecoder
from north_lsp.providers.adapters.sse import SseDecoder
from north_lsp.providers.adapters.wire import Decoder, Refused
from north_lsp.providers.base import Timeouts
from north_lsp.providers.clouds import aws_region
from north_lsp.providers.credentials import MissingCredential

_LEFT_OUT = ("model", "cache_control")
_NO_CREDENTIALS = (
    "sign in with `aws sso login` or `aws configure`, or set AWS_BEARER_TOKEN_BEDROCK; AWS_PROFILE names a profile"
)


@dataclass(frozen=True, slots=True)
class Cloud:
    """Where and how the Messages API is asked. `path` has a place for the model's id; `problem` makes the refusal of
    an exception by which the cloud's own library says that it has no credentials, None for any other."""

    client: Any
    path: str
    version: str
    streams_by_path: bool
    decoder: Callable[[], Decoder]
    problem: Callable[[Exception], Refused | None]

    def path_of(self, model: str) -> str:
        return self.path.format(quote(model, safe=":@"))

    def body(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request's fields as the cloud takes them."""
        left_out = (*_LEFT_OUT, "stream") if self.streams_by_path else _LEFT_OUT
        return {"anthropic_version": self.version} | {key: value for key, value in body.items() if key not in left_out}


def bedrock(
    address: str, secret: str | None, environ: Mapping[str, str], http: httpx2.AsyncClient, timeouts: Timeouts
) -> Cloud:
    """Make the client for Amazon Bedrock; without a bearer token (`secret`) requests are signed with the credentials
    that Amazon's own library finds. Raises MissingCredential where that is not installed."""
    if secret is None and importlib.util.find_spec("boto3") is None:
        raise MissingCredential(
            "Amazon Bedrock needs a package to sign requests: run `pip install 'north-lsp[bedrock]'` where North is "
            "installed, or set AWS_BEARER_TOKEN_BEDROCK"
        )
    named = {
        "aws_access_key": environ.get("AWS_ACCESS_KEY_ID") or None,
        "aws_secret_key": environ.get("AWS_SECRET_ACCESS_KEY") or None,
        "aws_session_token": environ.get("AWS_SESSION_TOKEN") or None,
        "aws_profile": environ.get("AWS_PROFILE") or None,
    }
    client = bedrock_client()(
        api_key=secret, aws_region=aws_region(environ), base_url=address, **_common(http, timeouts),
        **(named if secret is None else {}),
    )  # fmt: skip
    path = "/model/{}/invoke-with-response-stream"
    return Cloud(client, path, "bedrock-2023-05-31", True, AwsEventStreamDecoder, _aws_problem)


def vertex(address: str, http: httpx2.AsyncClient, timeouts: Timeouts) -> Cloud:
    """Make the client for Google Vertex AI; `http` puts the token into the requests."""
    client = vertex_client()(
        region="global", project_id="none", access_token="none", base_url=address, **_common(http, timeouts)
    )
    path = "/models/{}:streamRawPredict"
    return Cloud(client, path, "vertex-2023-10-16", False, SseDecoder, _no_problem)


def _common(http: httpx2.AsyncClient, timeouts: Timeouts) -> dict[str, Any]:
    limits = httpx2.Timeout(timeouts.idle, connect=timeouts.connect)
    return {"http_client": http, "max_retries": 0, "timeout": limits, "open_telemetry": False}


def _aws_problem(error: Exception) -> Refused | None:
    is_aws = type(error).__module__.partition(".")[0] in ("botocore", "boto3")
    if not is_aws and not (isinstance(error, RuntimeError) and "AWS credentials" in str(error)):
        return None
    reason = f"{_NO_CREDENTIALS} ({one_line(str(error), 120)})"
    return Refused(401, {}, {"error": {"message": reason}}, reason)


def _no_problem(_: Exception) -> None:
    return None
