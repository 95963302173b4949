"""Takes secrets out of texts that leave their place: debug logs, crash reports, bundles. By their form, and by names of
fields; what looks like neither stays. Pure."""

import re
from collections.abc import Iterable

MASK = "[masked]"
_LEAST = 8

KEY_FORMS = re.compile(
    r"\bsk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}"  # Anthropic, OpenAI, OpenRouter
    r"|\bAIza[A-Za-z0-9_-]{30,}"  # Google
    r"|\b(?:gsk_|xai-|dop_v1_)[A-Za-z0-9]{20,}|\b[prs]k_(?:live|test)_[A-Za-z0-9]{10,}"  # Groq, xAI and others
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"  # AWS
    r"|xox[abposr]-[A-Za-z0-9-]{10,}"  # Slack
    r"|\bnpm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|\bhf_[A-Za-z0-9]{30,}"
    r"|\bey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"  # JSON Web Tokens
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
    r"|(?<=://)[^/\s:@]{1,100}:[^/\s@]{1,200}(?=@)"  # a password in an address
)
"""What is a key by its form alone. Conversations that are exported are masked by it, too, and keep everything else."""
_LIKELY_FORMS = re.compile(  # also names in code may look so: nobody misses them in a log
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\b(?:gh[pousr]|github_pat|glpat|xox[abposr]|npm|pypi|hf|gsk|xai|dop_v1)[-_][A-Za-z0-9_-]{12,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)",
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
    return KEY_FORMS.sub(MASK, _LIKELY_FORMS.sub(MASK, text))  # the wider forms first: they take a key whole


def is_secret_name(name: str) -> bool:
    """Tell whether a field or variable of this name usually holds a secret."""
    return _FIELD.fullmatch(f"{name}=x") is not None


def _mask_value(match: re.Match[str]) -> str:
    value = match["value"]
    if _HARMLESS.fullmatch(value) or value.startswith((MASK, f'"{MASK}')):  # numbers of tokens are no secrets
        return match[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match['name']}{quote}{MASK}{quote}"
