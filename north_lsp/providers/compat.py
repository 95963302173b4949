"""The differences between servers that speak OpenAI's Chat Completions. Data and pure functions; imports nothing
heavy."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.vocabulary import camel_case

ThinkingFormat = Literal["openai", "openrouter", "zai", "qwen", "qwen-chat-template"]


@dataclass(frozen=True, slots=True)
class Compat:
    """The differences as flags. The defaults are those of an unknown server. The names are those of `compat` in
    models.yml, in snake case; docs/models.md describes what they do."""

    supports_store: bool = False
    supports_developer_role: bool = False
    supports_usage_in_streaming: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    supports_tool_choice: bool = True
    disable_reasoning_on_forced_tool_choice: bool = False
    supports_reasoning_effort: bool = False
    reasoning_effort_map: Mapping[str, str] = field(default_factory=dict)
    thinking_format: ThinkingFormat = "openai"
    reasoning_content_field: Literal["reasoning_content", "reasoning", "reasoning_text"] | None = None
    requires_reasoning_content_for_tool_calls: bool = False
    requires_assistant_content_for_tool_calls: bool = False
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    requires_thinking_as_text: bool = False
    requires_mistral_tool_ids: bool = False
    supports_strict_mode: bool = False
    tool_strict_mode: Literal["none", "all_strict"] = "none"
    open_router_routing: Mapping[str, object] = field(default_factory=dict)
    vercel_gateway_routing: Mapping[str, object] = field(default_factory=dict)
    extra_body: Mapping[str, object] = field(default_factory=dict)
    supports_cache_points: bool | None = None  # of Amazon's Converse; None: as far as the model's maker has them
    edit_patch: bool = False  # belongs to the model, on any API; read by `Model.wants_patches`

    @property
    def strict_tools(self) -> bool:
        """Whether tools are sent with strict schemas."""
        return self.supports_strict_mode and self.tool_strict_mode == "all_strict"


def host_of(address: str) -> str:
    return (urlsplit(address).hostname or "").lower()


def is_local(address: str) -> bool:
    """Return whether a server runs on this machine."""
    host = host_of(address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def serves_tiers(address: str | None, api: str) -> bool:
    """Return whether a server supports the service tiers that the settings can name."""
    return address is not None and host_of(address) == "api.openai.com" and api.startswith("openai-")


def preset(address: str) -> dict[str, Any]:
    """Return what is known about a host, as fields of Compat."""
    host = host_of(address)
    if host == "api.openai.com" or host.endswith(".azure.com"):
        return {
            "supports_store": True,
            "supports_developer_role": True,
            "supports_reasoning_effort": True,
            "max_tokens_field": "max_completion_tokens",
        }
    if host == "openrouter.ai":
        return {"supports_reasoning_effort": True, "thinking_format": "openrouter"}
    if host == "api.z.ai":
        return {"thinking_format": "zai"}
    if host == "api.mistral.ai":
        return {"requires_mistral_tool_ids": True}
    if host == "api.x.ai":
        return {"supports_reasoning_effort": True}
    if host == "api.deepseek.com":
        return {"requires_reasoning_content_for_tool_calls": True}
    return {}


def compat_for(address: str, configured: Mapping[str, Any]) -> Compat:
    """Return the flags of a model. What the user has set wins over what is known about the host."""
    return Compat(**{**preset(address), **configured})


_COMPLAINT = lazy_pattern(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra (field|input|param)"
    r"|invalid (param|role|field|argument)|instead|does not exist|no such",
    re.IGNORECASE,
)
_UNSUPPORTED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("stream_options", {"supports_usage_in_streaming": False}),
    ("max_completion_tokens", {"max_tokens_field": "max_tokens"}),
    ("max_tokens", {"max_tokens_field": "max_completion_tokens"}),
    ("reasoning_effort", {"supports_reasoning_effort": False}),
    ("tool_choice", {"supports_tool_choice": False}),
    ("store", {"supports_store": False}),
    ("developer", {"supports_developer_role": False}),
    ("strict", {"supports_strict_mode": False, "tool_strict_mode": "none"}),
)


def without_unsupported(compat: Compat, text: str) -> Compat | None:
    """Return the flags after a 400 that names a parameter the server does not know, None if it names none of ours.

    "Use 'max_completion_tokens' instead of 'max_tokens'" names both: the one that was sent is the one to change.
    """
    if not _COMPLAINT.search(text):
        return None
    for name, change in _UNSUPPORTED:
        if name in text and name in _sent(compat):
            return replace(compat, **change)
    return None


def advice(before: Compat, after: Compat, title: str) -> str:
    """Return a message saying what to write in models.yml, so that the server need not refuse a request first."""
    changed = {item.name: getattr(after, item.name) for item in fields(after)}
    flags = [
        f"{camel_case(name)}: {str(value).lower() if isinstance(value, bool) else value}"
        for name, value in changed.items()
        if value != getattr(before, name)
    ]
    return f"{title} refused a parameter that North now leaves out: set compat {{{', '.join(flags)}}} in models.yml"


def _sent(compat: Compat) -> set[str]:
    """Return which of the parameters in `_UNSUPPORTED` a request with these flags has."""
    return {
        compat.max_tokens_field,
        *(["stream_options"] if compat.supports_usage_in_streaming else []),
        *(["reasoning_effort"] if compat.supports_reasoning_effort else []),
        *(["store"] if compat.supports_store else []),
        *(["developer"] if compat.supports_developer_role else []),
        *(["strict"] if compat.supports_strict_mode else []),
    }
