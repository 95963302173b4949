"""Takes secrets out of texts that leave their place: debug logs, crash reports, bundles. By their form, and by names of
fields; what looks like neither stays. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from north_lsp.lazy_pattern import lazy_pattern

MASK = "[masked]"
_LEAST = 8
PLACEHOLDER = lazy_pattern(r"<<\$env:S(\d{1,6})>>")
"""What stands for a secret in requests, in logs and in exports; each conversation counts its own."""


class Form(NamedTuple):
    """A form of keys. Whatever matches has one of the `hints` in it: looking for those is much quicker."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]


BEGINNING = r"(?:\b|(?<=\\[nrtbf]))"
"""Where a word begins, also after the escape of a line end in a text that is JSON: there, `\\n` ends in a letter."""


def _form(expression: str, *hints: str) -> Form:
    return Form(hints, lazy_pattern(f"|{expression}".replace("|\\b", f"|{BEGINNING}")[1:]))


FORMS = (
    _form(r"\bsk-(?=[A-Za-z_-]{0,100}\d)[A-Za-z0-9_-]{16,}", "sk-"),  # Anthropic, OpenAI, OpenRouter
    _form(
        r"\bAIza[A-Za-z0-9_-]{30,}|\bGOCSPX-[A-Za-z0-9_-]{20,}|\bya29\.[A-Za-z0-9_-]{20,}", "AIza", "GOCSPX-", "ya29."
    ),
    _form(r"\b(?:gsk_|xai-|do[opr]_v1_|pplx-|r8_)[A-Za-z0-9]{20,}", "gsk_", "xai-", "_v1_", "pplx-", "r8_"),
    _form(
        r"\b[prs]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{24,}", "k_live_", "k_test_", "whsec_"
    ),  # Stripe
    _form(
        r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
    ),
    _form(r"glpat-[A-Za-z0-9_-]{16,}|\bATATT3[A-Za-z0-9_=-]{30,}", "glpat-", "ATATT3"),  # GitLab, Atlassian
    _form(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "AKIA", "ASIA"),  # AWS
    _form(r"xox[abposr]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{20,}", "xox", "xapp-"),  # Slack
    _form(r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}", "hooks.slack.com/services/"),
    _form(r"\bnpm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|\bhf_[A-Za-z0-9]{30,}", "npm_", "pypi-", "hf_"),
    _form(
        r"\brubygems_[0-9a-f]{48}|\bdckr_pat_[A-Za-z0-9_-]{20,}|\bdp\.pt\.[A-Za-z0-9]{40,}",
        "rubygems_",
        "dckr_pat_",
        "dp.pt.",
    ),
    _form(
        r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}|\bkey-[0-9a-f]{32}\b|\bSK[0-9a-f]{32}\b", "SG.", "key-", "SK"
    ),
    _form(r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|\bsq0(?:atp|csp)-[A-Za-z0-9_-]{22,}", "shp", "sq0"),
    _form(
        r"\bdapi[0-9a-f]{32}|\bhv[sb]\.[A-Za-z0-9_-]{24,}|\bNRAK-[A-Z0-9]{27}|\bglsa_[A-Za-z0-9_]{32,}",
        "dapi",
        "hvs.",
        "hvb.",
        "NRAK-",
        "glsa_",
    ),
    _form(
        r"\bfigd_[A-Za-z0-9_-]{20,}|\blin_api_[A-Za-z0-9]{30,}|\bntn_[A-Za-z0-9]{30,}|\bPMAK-[0-9a-f-]{40,}",
        "figd_",
        "lin_api_",
        "ntn_",
        "PMAK-",
    ),
    _form(
        r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b|\bAGE-SECRET-KEY-1[A-Z0-9]{50,}|\bsbp_[0-9a-f]{40}",
        ":AA",
        "AGE-SECRET-KEY-1",
        "sbp_",
    ),
    _form(r"(?<=AccountKey=)[A-Za-z0-9+/=]{40,}", "AccountKey="),  # Azure
    _form(r"\bey[A-Za-z0-9_-]{10,1000}\.ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", ".ey"),  # JSON Web Tokens
    _form(r"(?<=://)[^/\s:@\"'`<>\\]{1,100}:(?![{$<%*])[^/\s@\"'`<>\\]{1,200}(?=@)", "://"),  # a password in an address
)
"""What is a key by its form alone, apart from private keys, which have several lines."""
_PRIVATE_KEY = r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
KEY_FORMS = lazy_pattern("|".join([*(form.pattern.pattern for form in FORMS), _PRIVATE_KEY]))
"""What is a key by its form alone. Conversations that are exported are masked by it, too, and keep everything else."""
_LIKELY_FORMS = lazy_pattern(  # also names in code may look so: nobody misses them in a log
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\b(?:gh[pousr]|github_pat|glpat|xox[abposr]|npm|pypi|hf|gsk|xai|dop_v1)[-_][A-Za-z0-9_-]{12,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)",
    re.DOTALL,
)
_BEARER = lazy_pattern(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_FIELD = lazy_pattern(  # a word is looked at once, however long: the lookaheads give nothing back
    r"(?i)(?<![\w.-])(?=[\w.-]*?(?:api[_-]?key|secret|passw(?:or)?d|passphrase|token|credential|authorization|cookie))"
    r"(?P<name>(?=(?P<word>[\w.-]+))(?P=word)[\"']?\s*[:=]\s*)(?P<value>\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s,;}\])]+)"
)
_HARMLESS = lazy_pattern(r"[\"']?(?:\d{1,9}|true|false|null|none|)[\"']?", re.IGNORECASE)


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
