"""OpenAI's models on Azure, Google's on Vertex AI, Anthropic's there and all makers' on Amazon Bedrock: the environment
says where they are served. Pure; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.switches import is_on

AZURE = "azure-openai-responses"
VERTEX = "google-vertex"
BEDROCK = "anthropic-bedrock"
CONVERSE = "bedrock-converse-stream"
ON_BEDROCK = (BEDROCK, CONVERSE)
CLAUDE_ON_VERTEX = "anthropic-vertex"
BEDROCK_TOKEN = "AWS_BEARER_TOKEN_BEDROCK"
BEDROCK_SWITCH = "NORTH_BEDROCK"
_REGION_IN_HOST = lazy_pattern(r"(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.(?:vpce\.)?amazonaws\.com(?:\.cn)?$")

_AWS_WANTED = f"set {BEDROCK_TOKEN}, or {BEDROCK_SWITCH}=1 for the AWS credentials of this machine"
_WANTED = {
    AZURE: "set AZURE_OPENAI_RESOURCE_NAME, or AZURE_OPENAI_BASE_URL",
    VERTEX: "set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION",
    CLAUDE_ON_VERTEX: "set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION",
    BEDROCK: _AWS_WANTED,
    CONVERSE: _AWS_WANTED,
}


def cloud_address(api: str, environ: Mapping[str, str]) -> str | None:
    """Return the address that a cloud's variables stand for, None for another API or without them."""
    if api == AZURE:
        resource = _value(environ, "AZURE_OPENAI_RESOURCE_NAME")
        return f"https://{quote(resource, safe='')}.openai.azure.com/openai/v1" if resource else None
    if api == VERTEX:
        project = _value(environ, "GOOGLE_CLOUD_PROJECT") or _value(environ, "GCLOUD_PROJECT")
        location = _value(environ, "GOOGLE_CLOUD_LOCATION")
        if not project or not location:
            return None
        region, project = quote(location, safe=""), quote(project, safe=":")
        host = "aiplatform.googleapis.com" if region == "global" else f"{region}-aiplatform.googleapis.com"
        return f"https://{host}/v1/projects/{project}/locations/{region}/publishers/google"
    if api in ON_BEDROCK:
        # Whoever works with AWS has its credentials in the environment; that is no wish to pay for models there.
        is_wanted = _value(environ, BEDROCK_TOKEN) or is_on(environ, BEDROCK_SWITCH)
        return f"https://bedrock-runtime.{quote(aws_region(environ), safe='')}.amazonaws.com" if is_wanted else None
    return None


def aws_region(environ: Mapping[str, str]) -> str:
    """Return the region whose Bedrock is asked."""
    return _value(environ, "AWS_REGION") or _value(environ, "AWS_DEFAULT_REGION") or "us-east-1"


def region_at(address: str, environ: Mapping[str, str]) -> str:
    """Return the region of an address: the one that its host names, as Bedrock's do, else the environment's."""
    found = _REGION_IN_HOST.search((urlsplit(address).hostname or "").lower())
    return found[1] if found is not None else aws_region(environ)


def on_bedrock(id: str, region: str) -> str | None:
    """Return the inference profile by which one of Anthropic's models is asked in a region, None if there is none."""
    name = f"anthropic.{id}-v1:0"
    match region.partition("-")[0]:
        case "us" if not region.startswith("us-gov"):
            return f"us.{name}"
        case _ if "-opus-4-2025" in id or "-opus-4-1-" in id:  # in the United States alone
            return None
        case "eu":
            return f"eu.{name}"
        case "ap" if "-sonnet-4-2025" in id:
            return f"apac.{name}"
        case _:
            return f"global.{name}"


def claude_on_vertex(address: str, id: str) -> tuple[str, str]:
    """Return where one of Anthropic's models is served on Vertex AI, and its id there. `address` is that of Google's
    own models."""
    family, _, day = id.rpartition("-")
    before, end, _ = address.rpartition("/publishers/google")
    return (f"{before}/publishers/anthropic" if end else address), f"{family}@{day}"


def what_to_set(api: str) -> str | None:
    """Say which variables name the address, None for an API that no cloud serves."""
    return _WANTED.get(api)


def azure_query(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the query of every request to Azure: its current API needs none."""
    version = _value(environ, "AZURE_OPENAI_API_VERSION")
    return {"api-version": version} if version not in ("", "v1") else {}


def azure_deployments(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the deployment of each model in `AZURE_OPENAI_DEPLOYMENT_NAME_MAP` (`model=deployment,…`), and the entries
    that cannot be read."""
    found: dict[str, str] = {}
    wrong: list[str] = []
    for entry in _value(environ, "AZURE_OPENAI_DEPLOYMENT_NAME_MAP").split(","):
        model, _, deployment = (part.strip() for part in entry.partition("="))
        if model and deployment:
            found[model] = deployment
        elif entry.strip():
            wrong.append(entry.strip())
    return found, wrong


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip()
