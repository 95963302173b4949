"""Takes secrets out of texts that leave their place: debug logs, crash reports, bundles. By their form, and by names of
fields; what looks like neither stays. Pure."""

import re
from collections.abc import Iterable

MASK = "[masked]"
_LEAST = 8

_FORMS = re.compile(
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,}"  # OpenAI, Anthropic, Stripe and many others
    r"|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\b(?:gh[pousr]|github_pat|glpat|xox[abposr]|npm|pypi|hf|gsk|xai|dop_v1)[-_][A-Za-z0-9_-]{12,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)",  # the user and password of an address
    re.DOTALL,
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_FIELD = re.compile(
    r"(?i)(?P<name>[\w.-]*(?:api[_-]?key|secret|passw(?:or)?d|passphrase|token|credential|authorization|cookie)[\w.-]*"
    r"[\"']?\s*[:=]\s*)(?P<value>\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s,;}\])]+)"
)
_HARMLESS = re.compile(r"[\"']?(?:\d{1,9}|true|false|null|none|)[\"']?", re.IGNORECASE)


def masked(text: str, known: Iterable[str] = ()) -> str:
    """Return the text with secrets replaced; `known` are some that are to be found whatever they look like."""
    for secret in sorted({one for one in known if len(one) >= _LEAST}, key=len, reverse=True):
        text = text.replace(secret, MASK)
    text = _BEARER.sub(lambda match: f"{match[1]} {MASK}", text)
    text = _FIELD.sub(_mask_value, text)
    return _FORMS.sub(MASK, text)


def is_secret_name(name: str) -> bool:
    """Tell whether a field or variable of this name usually holds a secret."""
    return _FIELD.fullmatch(f"{name}=x") is not None


def _mask_value(match: re.Match[str]) -> str:
    value = match["value"]
    if _HARMLESS.fullmatch(value) or value.startswith((MASK, f'"{MASK}')):  # numbers of tokens are no secrets
        return match[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match['name']}{quote}{MASK}{quote}"
