"""The settings of what models may have of the web."""

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class WebSettings:
    """Whether pages are fetched."""

    fetch_enabled: bool = setting(
        "web_fetch.enabled",
        True,
        "Offer models the tool `web_fetch`, which fetches pages of hosts that you allow.",
        strict=False,
        project="stricter",
    )
