"""What Amazon Bedrock and Google Vertex AI refuse of requests to Anthropic's models, beyond what Anthropic refuses."""

import json
from typing import Any

from tests.support.rules import anthropic
from tests.support.rules.common import Complaints, Object, Refusal, first


def bedrock(body: Object) -> Refusal | None:
    return first(_complaints(body, "bedrock-2023-05-31", names=("model", "stream", "cache_control")))


def vertex(body: Object) -> Refusal | None:
    return first(_complaints(body, "vertex-2023-10-16", names=("model", "cache_control")))


def error_of_bedrock(refused: Refusal) -> bytes:
    return json.dumps({"message": refused.message}).encode()


def _complaints(body: Object, version: str, names: tuple[str, ...]) -> Complaints:
    if body.get("anthropic_version") != version:
        yield Refusal(f'anthropic_version: "{version}" expected')
    for name in names:
        if name in body:
            yield Refusal(f"{name}: Extra inputs are not permitted")
    plain: dict[str, Any] = {name: value for name, value in body.items() if name != "anthropic_version"}
    refused = anthropic.refusal(plain | {"model": "m"})
    if refused is not None:
        yield refused
