"""OpenAI's models on Azure and Google's on Vertex AI: the environment says where they are served. Pure; imports nothing
heavy."""

from collections.abc import Mapping
from urllib.parse import quote

AZURE = "azure-openai-responses"
VERTEX = "google-vertex"

_WANTED = {
    AZURE: "set AZURE_OPENAI_RESOURCE_NAME, or AZURE_OPENAI_BASE_URL",
    VERTEX: "set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION",
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
    return None


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
