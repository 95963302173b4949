"""Turns a model's failure into one kind and one sentence with the next step. Status and the vendor's own error code
decide; the wording of an error counts only if they say nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import AssistantMessage, ErrorKind, Failed

_RETRYABLE: frozenset[ErrorKind] = frozenset({"network", "rate_limit", "overloaded"})
_TEXT_LIMIT = 300
_LONGEST_WAIT_MS = 31 * 24 * 3600 * 1000

_CODES: dict[str, ErrorKind] = {
    # Anthropic's error types
    "overloaded_error": "overloaded",
    "api_error": "overloaded",
    "timeout_error": "overloaded",
    "rate_limit_error": "rate_limit",
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "quota_exhausted",
    "not_found_error": "bad_request",
    "request_too_large": "bad_request",
    # OpenAI's codes and types, and those of the servers that follow it
    "context_length_exceeded": "context_overflow",
    "exceed_context_size_error": "context_overflow",
    "model_max_prompt_tokens_exceeded": "context_overflow",
    "string_above_max_length": "context_overflow",
    "insufficient_quota": "quota_exhausted",
    "billing_hard_limit_reached": "quota_exhausted",
    "billing_not_active": "quota_exhausted",
    "rate_limit_exceeded": "rate_limit",
    "invalid_api_key": "auth",
    "server_error": "overloaded",
    "internal_error": "overloaded",
    "internal_server_error": "overloaded",
    "service_unavailable": "overloaded",
    "unavailable_error": "overloaded",
    "server_overloaded": "overloaded",
    "model_overloaded": "overloaded",
    "slow_down": "rate_limit",
    "model_not_found": "bad_request",
    "vector_store_timeout": "overloaded",
    # Amazon's exceptions
    "throttlingexception": "rate_limit",
    "accessdeniedexception": "auth",
    "expiredtokenexception": "auth",
    "unrecognizedclientexception": "auth",
    "validationexception": "bad_request",
    "resourcenotfoundexception": "bad_request",
    "internalserverexception": "overloaded",
    "modelerrorexception": "overloaded",
    "modelnotreadyexception": "overloaded",
    "modelstreamerrorexception": "overloaded",
    "modeltimeoutexception": "overloaded",
    "serviceunavailableexception": "overloaded",
    # Google's statuses
    "resource_exhausted": "rate_limit",
    "unauthenticated": "auth",
    "permission_denied": "auth",
    "unavailable": "overloaded",
    "deadline_exceeded": "overloaded",
    "internal": "overloaded",
}
_STATUSES: dict[int, ErrorKind] = {
    401: "auth",
    402: "quota_exhausted",
    403: "auth",
    408: "overloaded",
    409: "overloaded",
    424: "overloaded",  # something behind the server failed
    425: "overloaded",
    429: "rate_limit",
}
_OVERFLOW = lazy_pattern(
    r"prompt is too long|input is too long|exceeds? the (available )?context|context[ _]length[ _]exceeded"
    r"|maximum context length|exceeds the (model's )?(maximum )?context"
    r"|context (window|length) (of|is|has been) exceeded"
    r"|exceed context limit|exceeds (the )?(model's )?context|greater than the context length"
    r"|maximum prompt length is|reduce the length of the messages|too many (input )?tokens|max(imum)? input tokens"
    r"|input token count .{0,40}exceeds|prompt too long|input tokens exceed",
    re.IGNORECASE,
)
_QUOTA = lazy_pattern(
    r"credit balance is too low|insufficient (credits|balance|quota|funds)|exceeded your current quota", re.I
)
_DAILY = lazy_pattern(r"per[ _]?(day|month)", re.I)
_BAD_KEY = lazy_pattern(r"api key (is )?(not valid|expired|not found)|pass a valid api key", re.I)
_OVERLOAD = lazy_pattern(r"overloaded|temporarily unavailable|at capacity|loading model", re.I)
_NO_MODEL = lazy_pattern(
    r"model.{0,120}(not found|does not exist|not exist|unknown|invalid|not a valid)"
    r"|unknown model|no such model|invalid model",
    re.I | re.S,
)

_STEPS = {
    "accessdeniedexception": "see in Bedrock's console whether the account has access to this model, and let its "
    "credentials call bedrock:InvokeModelWithResponseStream",
    "expiredtokenexception": "sign in to AWS again, as with `aws sso login`",
}
"""What to do, by the vendor's own code, where the kind alone says too little."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is served, for messages: `title` is the provider's, `address` its base address, `key` says where
    its key came from (empty if there is none). `is_vendors` says that the address is the vendor's own, which nobody
    needs to check."""

    title: str
    address: str
    key: str = ""
    is_vendors: bool = False


class Refused(Exception):
    """The server answered with an error: `status`, or None for an error within a stream. `body` is its JSON, None if it
    is none, and `raw` its text."""

    def __init__(self, status: int | None, headers: Mapping[str, str], body: object, raw: str) -> None:
        super().__init__(raw)
        self.status = status
        self.headers = headers
        self.body = body
        self.raw = raw


def describe(body: object, fallback: str = "") -> tuple[str, str]:
    """Return the code and the text of an error in any vendor's form: `{"error": {"type", "code", "message"}}`,
    `{"error": "…"}`, `{"message"}`, `{"detail"}`, or the inner object alone. The code is the most specific field."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(inner, str):
        return "", inner or fallback
    if not isinstance(inner, Mapping):
        return "", fallback
    codes = [str(inner[key]) for key in ("code", "type", "status") if inner.get(key) not in (None, "")]
    code = next((code for code in codes if code.lower() in _CODES), codes[0] if codes else "")
    text = inner.get("message") or inner.get("detail") or fallback
    metadata = inner.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("raw"):  # OpenRouter: what its upstream said
        text = f"{text}: {metadata['raw']}"
    return code, str(text)


def kind_of(status: int | None, code: str, text: str, *, passes: bool = False) -> ErrorKind:
    """Return the kind of an error answer (`status` None: an error within a stream). `passes` says that the vendor named
    a time after which a limit no longer holds."""
    by_code = _CODES.get(code.lower())
    if by_code in ("context_overflow", "quota_exhausted"):
        return by_code
    if status is None and by_code is None and code.isdigit():
        status = int(code)
    # Local model servers answer 500 for a prompt that does not fit.
    may_overflow = status in (None, 400, 413, 422) or (status is not None and status >= 500)
    # Amazon words the limit of a minute like a prompt that is too long: "Too many tokens, please wait".
    may_overflow = may_overflow and by_code != "rate_limit"
    if may_overflow and _OVERFLOW.search(text):
        return "context_overflow"
    # Google words the limits of a minute like a quota that is used up.
    is_short = passes and status == 429 and by_code == "rate_limit"
    if _QUOTA.search(text) and status in (None, 400, 402, 403, 429) and not is_short:
        return "quota_exhausted"
    if status in (None, 400) and _BAD_KEY.search(text):
        return "auth"
    if status is None:
        return by_code or ("overloaded" if _OVERLOAD.search(text) else "bad_request")
    by_status = _STATUSES.get(status) or ("overloaded" if status >= 500 else None)
    if by_status is not None:
        return by_status
    return by_code if by_code is not None and status == 400 and by_code != "overloaded" else "bad_request"


def failed(
    kind: ErrorKind, message: str, partial: AssistantMessage, status: int | None = None, wait_ms: int | None = None
) -> Failed:
    return Failed(kind, message, partial, status, kind in _RETRYABLE, retry_after_ms=wait_ms)


def refused(error: Refused, endpoint: Endpoint, model: str, partial: AssistantMessage, now: float) -> Failed:
    """Return the failure for an error answer. `now` is in seconds since 1970."""
    status, headers, body = error.status, error.headers, error.body
    code, text = describe(body, "")
    # Amazon names the error in a header: "ValidationException:http://internal.amazon.com/coral/…".
    code = code or headers.get("x-amzn-errortype", "").partition(":")[0]
    is_json = isinstance(body, Mapping)
    wait = retry_after_ms(headers, now)
    kind = kind_of(status, code, text or error.raw, passes=wait is not None and not _DAILY.search(f"{body}"))
    if status is not None and 300 <= status < 400:
        target = one_line(headers.get("location", "another address"), 200)
        message = f"{endpoint.address} redirects requests to {target}; set that address if you trust it"
        return failed("bad_request", message, partial, status)
    said = one_line(text, _TEXT_LIMIT) if text else ""
    step = _next_step(kind, endpoint, model, status, code, text, is_json)
    where = f"{endpoint.title} answered {status}" if status is not None else f"{endpoint.title} reported an error"
    message = f"{where}: {said}" if said else where
    if said.endswith("."):
        message = message[:-1]
    answer = failed(kind, f"{message}; {step}", partial, status, wait)
    should = headers.get("x-should-retry")
    if should == "false" and answer.retryable:
        return Failed(kind, answer.message, partial, status, False, retry_after_ms=answer.retry_after_ms)
    return answer


def _next_step(
    kind: ErrorKind, endpoint: Endpoint, model: str, status: int | None, code: str, text: str, is_json: bool
) -> str:
    if (known := _STEPS.get(code.lower())) is not None:
        return known
    match kind:
        case "auth":
            if endpoint.key:
                return f"check the key in {endpoint.key}"
            return "it needs a key, and none is set: add an apiKeyEnv in models.yml"
        case "rate_limit":
            return "wait a moment and try again"
        case "overloaded":
            return "try again in a moment, or choose another model"
        case "quota_exhausted":
            return "add credit there, or choose another model"
        case "context_overflow":
            return (
                "the conversation is too long for this model: start a new one, or choose a model with a larger window"
            )
        case _:
            pass
    if "inference profile" in text:
        return "name the inference profile as the model's wireModelId in models.yml"
    if code == "model_not_found" or _NO_MODEL.search(text):
        return f"check that it offers the model {one_line(model, 100)!r}, or choose another"
    if status == 404 and is_json:
        name = one_line(model, 100)
        return f"check that it offers the model {name!r}, and that {endpoint.address} is a model server's address"
    if status in (404, 405, 501) and not is_json:
        return f"check that {endpoint.address} is a model server's address"
    if status == 413:
        return "the request is too large: start a new conversation"
    return "choose another model, or change the request"


def unreachable(endpoint: Endpoint, cause: str, partial: AssistantMessage) -> Failed:
    """Return the failure for a connection that could not be made, or that broke before an answer."""
    reason = one_line(cause, 200)
    step = f"check the network, and that {endpoint.address} is right and running"
    if endpoint.is_vendors:
        step = "check the network and the proxy, then send the prompt again"
    return failed("network", f"{endpoint.title} could not be reached ({reason}); {step}", partial)


def broken(endpoint: Endpoint, what: str, partial: AssistantMessage) -> Failed:
    """Return the failure for a stream that broke. `what` completes "the answer from X …"."""
    return failed("network", f"the answer from {endpoint.title} {one_line(what, 200)}; try again", partial)


def no_model_server(endpoint: Endpoint, what: str, partial: AssistantMessage) -> Failed:
    """Return the failure for an address that answers, but not as a model server does."""
    message = f"{endpoint.address} answered with {one_line(what, 100)} where a model's answer was expected"
    return failed("bad_request", f"{message}; check that it is a model server's address", partial)


def retry_after_ms(headers: Mapping[str, str], now: float) -> int | None:
    """Return how long the server asks to wait, in milliseconds, from the first usable header that says so."""
    for name, scale in (("retry-after-ms", 1.0), ("retry-after", 1000.0), ("x-ratelimit-reset-ms", 1.0)):
        text = headers.get(name, "").strip()
        wait = _number(text)
        if wait is not None:
            wait = _from_epoch(wait * scale / 1000, now) * 1000 if name.endswith("reset-ms") else wait * scale
        elif name == "retry-after" and text:
            wait = _until_date(text, now)
        if wait is not None and 0 <= wait <= _LONGEST_WAIT_MS:
            return round(wait)
    reset = _number(headers.get("x-ratelimit-reset", ""))
    if reset is not None:
        wait = _from_epoch(reset, now) * 1000
        if 0 <= wait <= _LONGEST_WAIT_MS:
            return round(wait)
    return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _from_epoch(seconds: float, now: float) -> float:
    """Return seconds to wait; the number is a time since 1970 (in seconds or milliseconds) or already a delay."""
    if seconds > 1e11:
        return seconds / 1000 - now
    return seconds - now if seconds > 1e9 else seconds


def _until_date(text: str, now: float) -> float | None:
    try:
        return max(parsedate_to_datetime(text).timestamp() - now, 0) * 1000
    except (ValueError, OverflowError, TypeError):
        return None
