"""The settings of what happens when a conversation fills its model's window."""

import re

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting

_ADDRESS = r"^(https://[^/\s@]+|http://(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?)(/\S*)?$"


def _server_address(value: object) -> str:
    """Check an address that conversations are sent to. Raises ValueError."""
    if not isinstance(value, str) or re.search(_ADDRESS, value) is None:
        raise ValueError("must be an https address, or an http address on this machine")
    return value


@dataclass(frozen=True)
class CompactionSettings:
    """When conversations are summarized, by whom, and how much of them stays as it is."""

    enabled: bool = setting(
        "compaction.enabled",
        True,
        "Summarize the older part of a conversation when it has nearly filled the model's context window; what is "
        "replaced stays in the conversation's log. With `false`, only `/compact` does.",
        project="yes",
    )
    reserve_tokens: int = setting(
        "compaction.reserveTokens",
        16_384,
        "How many tokens of the context window are left free, at most a quarter of it: a conversation that needs them "
        "is summarized.",
        high=1_000_000,
        project="yes",
    )
    keep_recent_tokens: int = setting(
        "compaction.keepRecentTokens",
        20_000,
        "How many tokens of the newest messages a summary leaves as they are, at most 30 % of the context window.",
        high=1_000_000,
        project="yes",
    )
    auto_continue: bool = setting(
        "compaction.autoContinue",
        True,
        "When a conversation was summarized after an answer while its todo list has open tasks, have the model "
        "continue with them at once.",
        strict=False,
        project="stricter",
    )
    remote_endpoint: str | None = setting(
        "compaction.remoteEndpoint",
        None,
        "The address of a server of yours that writes summaries in place of models: https, or http on this machine. It "
        'gets a POST of `{"systemPrompt", "prompt"}` and answers with `{"summary"}`. Without a summary of it there is '
        "none.",
        parse=_server_address,
        schema={"type": "string", "pattern": _ADDRESS},
    )
    model: str | None = setting(
        "compaction.model",
        None,
        "A selector of the model that writes summaries; without it, the model that answers does, else those of the "
        "roles `fast` and `default`.",
    )
