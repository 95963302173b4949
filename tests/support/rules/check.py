"""Holds a request to the rules of the API that its path names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from tests.support.rules import anthropic, chat, clouds, converse, google, responses


@dataclass(frozen=True)
class Refused:
    message: str
    body: bytes


def check_http(path: str, body: Mapping[str, Any]) -> Refused | None:
    """Return what the vendor answers with status 400, None for a request that it accepts or a path without rules."""
    end = path.rsplit("/", 1)[-1]
    match end:
        case "messages":
            refusal, words = anthropic.refusal(body), anthropic.error_body
        case "responses":
            refusal, words = responses.refusal(body), responses.error_body
        case "completions":
            refusal, words = chat.refusal(body), chat.error_body
        case "invoke-with-response-stream":
            refusal, words = clouds.bedrock(body), clouds.error_of_bedrock
        case "converse-stream":
            refusal, words = converse.refusal(body, unquote(path.split("/")[-2])), converse.error_body
        case _ if end.endswith(":streamRawPredict"):
            refusal, words = clouds.vertex(body), anthropic.error_body
        case _ if ":streamGenerateContent" in end:
            refusal, words = google.refusal(body, unquote(end.partition(":")[0])), google.error_body
        case _:
            return None
    return None if refusal is None else Refused(refusal.message, words(refusal))
